//! The tools that are offered.

use serde_json::{Value, json};

/// A tool as it is offered.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The schema of its arguments.
    pub schema: Value,
}

/// The tool of S2, which nobody runs.
#[must_use]
pub fn note() -> Offered {
    Offered {
        name: "note",
        description: "Keeps a text.",
        schema: json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
    }
}

/// The tool of S4.
#[must_use]
pub fn add() -> Offered {
    Offered {
        name: "add",
        description: "Adds two numbers.",
        schema: json!({
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        }),
    }
}

/// The tool of S6.
#[must_use]
pub fn lookup() -> Offered {
    Offered {
        name: "lookup",
        description: "Finds what is known of a key.",
        schema: json!({"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}),
    }
}
