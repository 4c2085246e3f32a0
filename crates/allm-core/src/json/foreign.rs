//! JSON from elsewhere: a model's arguments and answers.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fault::Fault;
use super::limits::Limits;
use super::node::Node;
use super::parse::{self, Duplicates};
use super::tree;
use crate::error::{JsonError, JsonReason};

/// Why a text from elsewhere is no value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ForeignFault {
    TooDeep,
    Syntax { offset: usize },
}

/// The value in a text from elsewhere. Of a key that stands twice the last one counts.
pub(crate) fn foreign_value(text: &str, max_depth: usize) -> Result<Value, ForeignFault> {
    let limits = Limits {
        max_bytes: usize::MAX,
        max_depth,
    };
    let fault = |fault: Fault| match fault.reason() {
        JsonReason::TooDeep => ForeignFault::TooDeep,
        _ => ForeignFault::Syntax {
            offset: fault.offset().unwrap_or(text.len()),
        },
    };
    parse::tree(text, limits, Duplicates::Keep)
        .and_then(tree::read)
        .map_err(fault)
}

/// A value from elsewhere as a type of the caller's.
pub(crate) fn foreign_as<T: DeserializeOwned>(value: &Value) -> Result<T, JsonError> {
    tree::read(Node::from(value)).map_err(|fault| fault.into_error(""))
}
