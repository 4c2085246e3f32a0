//! `calculator`: the value of an expression, worked out here and not by the model.

mod functions;
mod number;
mod parse;
#[cfg(test)]
mod tests;

use allm::{Effect, Tool};
use serde::Deserialize;
use serde_json::json;

/// What is wrong with an expression, and at which character of it, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    column: usize,
    what: String,
}

impl Fault {
    fn new(column: usize, what: impl Into<String>) -> Self {
        Self {
            column,
            what: what.into(),
        }
    }
}

#[derive(Deserialize)]
struct Asked {
    expression: String,
}

pub(super) fn tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {"expression": {
            "type": "string",
            "examples": ["12 * 34"],
            "description": "Such as (2 + 3)^2 / sqrt(7). Has + - * / % ^, pi, e, sqrt, round, floor, ceil, abs, min, max, exp, ln, log10, log2, sin, cos, tan, asin, acos, atan."
        }},
        "required": ["expression"]
    });
    Tool::new("calculator", "Works out an arithmetic expression.", schema)
        .effect(Effect::Pure)
        .blocking(|asked: Asked| value(&asked.expression))
}

/// The value of an expression as text, or what is wrong with it.
fn value(expression: &str) -> Result<String, String> {
    let value = parse::value(expression).and_then(|value| value.shown());
    value.map_err(|fault| format!("column {}: {}", fault.column, fault.what))
}
