//! JSON from elsewhere: a model's arguments and answers.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fault::Fault;
use super::limits::Limits;
use super::node::Node;
use super::parse::{self, Duplicates};
use super::tree;
use crate::data::Map;
use crate::error::{JsonError, JsonReason};

/// Why a text from elsewhere is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFault {
    /// It nests deeper than the limit.
    TooDeep,
    /// It is not one JSON value.
    Syntax {
        /// The byte where reading stopped.
        offset: usize,
    },
}

/// The value in a text from elsewhere: a model's arguments, the reply of a child process. Of a key that stands twice the
/// last one counts.
///
/// More than [`MAX_DEPTH`](super::MAX_DEPTH) levels count as that many.
///
/// # Errors
///
/// When the text is not one JSON value, or nests deeper.
pub fn foreign_value(text: &str, max_depth: usize) -> Result<Value, ForeignFault> {
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

/// An object from elsewhere as a type of the caller's.
pub(crate) fn foreign_as<T: DeserializeOwned>(fields: &Map) -> Result<T, JsonError> {
    tree::read(Node::from(fields)).map_err(|fault| fault.into_error(""))
}
