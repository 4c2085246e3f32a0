//! Plain values, without the envelope of a document.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::limits::Limits;
use super::node::Node;
use super::parse::{self, Duplicates};
use super::tree;
use super::write::{self, Form};
use crate::error::{JsonError, JsonReason};
use crate::path::Path;

/// Reads a value that stands without an envelope, as strictly as a document.
///
/// # Errors
///
/// Every reason of a document but those of its envelope. Paths start at the value.
pub fn value_from_slice<T: DeserializeOwned>(bytes: &[u8], limits: Limits) -> Result<T, JsonError> {
    let text = parse::text(bytes, limits)?;
    parse::tree(text, limits, Duplicates::Refuse)
        .and_then(tree::read::<T>)
        .map_err(|fault| fault.into_error(text))
}

/// Reads a value out of what was read before. Not by `serde_json`: what reads each type from its values is as large as what
/// reads it from ours.
pub(crate) fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, JsonError> {
    tree::read(Node::from(value)).map_err(|fault| fault.into_error(""))
}

/// The tree of a value. Not by `serde_json`, for the same reason.
///
/// # Errors
///
/// Those of [`value_to_vec`].
pub(crate) fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, JsonError> {
    value_from_slice(&value_to_vec(value)?, Limits::OWN)
}

/// Writes a value without an envelope: keys in the order of declaration, no spaces.
///
/// # Errors
///
/// `invalid_value` for a number that is not finite and for what a type refuses to write, `too_deep` for more than
/// [`MAX_DEPTH`](super::MAX_DEPTH) levels; each with the path.
pub fn value_to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, JsonError> {
    write::to_vec(value, Form::Declared)
}

/// [`value_to_vec`], as text.
///
/// # Errors
///
/// Those of [`value_to_vec`].
pub fn value_to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, JsonError> {
    text(write::to_vec(value, Form::Declared)?)
}

/// What the writer wrote, as text. Only a type that writes raw bytes of its own could make it fail.
pub(super) fn text(bytes: Vec<u8>) -> Result<String, JsonError> {
    String::from_utf8(bytes)
        .map_err(|_| JsonError::new(JsonReason::Malformed, Path::root(), "invalid UTF-8"))
}
