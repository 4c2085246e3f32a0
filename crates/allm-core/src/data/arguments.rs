//! Reading the argument text of a call.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Map;
use super::tool_call::ToolCall;
use crate::error::{JsonError, JsonReason};
use crate::json::{self, ForeignFault};
use crate::path::Path;

/// How much argument text of one call is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentLimits {
    /// The longest text, in bytes.
    pub max_bytes: usize,
    /// The deepest nesting.
    pub max_depth: usize,
}

impl Default for ArgumentLimits {
    fn default() -> Self {
        Self {
            max_bytes: crate::limits::MAX_TOOL_ARGUMENTS,
            max_depth: crate::limits::MAX_ARGUMENT_DEPTH,
        }
    }
}

/// What is wrong with the argument text of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MalformedArguments {
    /// The text is not JSON.
    NotJson {
        /// The byte where reading stopped.
        offset: usize,
    },
    /// The text is JSON, but not an object.
    NotObject {
        /// What it is.
        found: &'static str,
    },
    /// The answer ended before the call did.
    Incomplete,
    /// The text is longer than the limit and was not read.
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The text nests deeper than the limit.
    TooDeep,
}

impl fmt::Display for MalformedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { offset } => write!(f, "the arguments are not JSON (at byte {offset})"),
            Self::NotObject { found } => {
                write!(f, "the arguments must be a JSON object, found {found}")
            }
            Self::Incomplete => f.write_str("the answer ended before the arguments did"),
            Self::TooLong { bytes } => write!(f, "the arguments are too long ({bytes} bytes)"),
            Self::TooDeep => f.write_str("the arguments are nested too deeply"),
        }
    }
}

/// Whether the text means "no arguments".
pub(crate) fn means_none(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    text.is_empty() || text == "null"
}

/// The arguments in `text`.
pub(crate) fn parse(text: &str, limits: ArgumentLimits) -> Result<Map, MalformedArguments> {
    if text.len() > limits.max_bytes {
        return Err(MalformedArguments::TooLong { bytes: text.len() });
    }
    if means_none(text) {
        return Ok(Map::new());
    }
    match json::foreign_value(text, limits.max_depth) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(MalformedArguments::NotObject {
            found: kind_of(&other),
        }),
        Err(ForeignFault::TooDeep) => Err(MalformedArguments::TooDeep),
        Err(ForeignFault::Syntax { offset }) => Err(MalformedArguments::NotJson { offset }),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The arguments of `call` as a type of the caller's.
pub(crate) fn decode<T: DeserializeOwned>(call: &ToolCall) -> Result<T, JsonError> {
    match (&call.arguments, call.fault()) {
        (Some(arguments), None) => json::foreign_as(arguments),
        (_, fault) => {
            let message = fault.map_or_else(String::new, |fault| fault.to_string());
            Err(JsonError::new(JsonReason::Malformed, Path::root(), message))
        }
    }
}
