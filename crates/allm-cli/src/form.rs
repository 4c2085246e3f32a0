//! The form that an answer must have.

use std::path::Path;

use allm::ResponseFormat;
use allm_schema::Schema;
use serde_json::Value;

use crate::problem::{Exit, Problem};

/// How many faults of an answer are told.
const MAX_FAULTS: usize = 10;

/// A JSON Schema for the answer.
pub(crate) struct Form {
    schema: Value,
    compiled: Schema,
}

impl Form {
    pub(crate) fn read(file: &Path) -> Result<Self, Problem> {
        let shown = file.display();
        let text = std::fs::read_to_string(file).map_err(|error| {
            let what = match error.kind() {
                std::io::ErrorKind::NotFound => format!("the schema {shown} is not there"),
                _ => format!("the schema {shown} cannot be read: {error}"),
            };
            Problem::usage(what).advice("name a file with a JSON Schema")
        })?;
        let schema: Value = serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            Problem::usage(format!(
                "{shown}:{line}:{column}: the schema is no JSON: {what}"
            ))
        })?;
        if !schema.is_object() {
            let what = format!("the schema {shown} is no JSON object");
            return Err(Problem::usage(what).advice("it looks like {\"type\": \"object\", …}"));
        }
        let compiled = Schema::compile(&schema).map_err(|error| {
            let place = error.place();
            Problem::usage(format!("the schema {shown} is wrong at #{place}: {error}"))
        })?;
        Ok(Self { schema, compiled })
    }

    /// The form that a stored run asked for; `None` if it asked for none that could be checked.
    pub(crate) fn of(format: &ResponseFormat) -> Option<Self> {
        let ResponseFormat::JsonSchema(format) = format else {
            return None;
        };
        let schema = format.schema.clone();
        let compiled = Schema::compile(&schema).ok()?;
        Some(Self { schema, compiled })
    }

    pub(crate) fn response_format(&self) -> ResponseFormat {
        ResponseFormat::json_schema("answer", self.schema.clone())
    }

    /// The answer as a value, or what is wrong with it.
    fn parse(&self, text: &str) -> Result<Value, Vec<String>> {
        let value: Value = serde_json::from_str(text.trim())
            .map_err(|error| vec![format!("it is no JSON: {error}")])?;
        let faults = self.compiled.faults(&value, MAX_FAULTS);
        match faults.is_empty() {
            true => Ok(value),
            false => Err(faults.iter().map(ToString::to_string).collect()),
        }
    }

    /// The answer as a value, if it fits.
    pub(crate) fn check(&self, text: &str) -> Result<Value, Problem> {
        self.parse(text).map_err(|faults| {
            let faults = faults.join("\n  ");
            let what = format!("the answer does not fit the schema:\n  {faults}");
            Problem::new(Exit::Unfinished, what).advice("ask again, or ask a larger model")
        })
    }
}
