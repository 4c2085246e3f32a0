//! What can be wrong with one of our JSON documents.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::reason::reasons;
use crate::path::Path;

reasons! {
    /// Why a document could not be read or written.
    JsonReason, retryable [] {
        /// Not JSON at all: bad syntax, invalid UTF-8, half a surrogate, a key twice in one object, text after the end.
        Malformed => "malformed",
        /// The document has no `v`.
        MissingVersion => "missing_version",
        /// The document's `v` is newer than this library reads.
        UnsupportedVersion => "unsupported_version",
        /// The document is of another type than was asked for.
        WrongType => "wrong_type",
        /// A field that this format does not have.
        UnknownField => "unknown_field",
        /// A required field is absent.
        MissingField => "missing_field",
        /// A field holds something that it cannot hold.
        InvalidValue => "invalid_value",
        /// More levels of nesting than are read.
        TooDeep => "too_deep",
        /// The document is larger than the reader's limit.
        TooLarge => "too_large",
    }
}

/// A document that could not be read or written: why, and where in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonError {
    /// Why.
    pub reason: JsonReason,
    /// Where in the document.
    #[serde(default, skip_serializing_if = "Path::is_root")]
    pub path: Path,
    /// The line of the text, from 1, where the text itself is at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column of the text, from 1, where the text itself is at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The document's `v`, where that is the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
    /// What was found and what was expected. Names fields and types, never content.
    pub message: String,
}

impl JsonError {
    /// An error at `path`.
    pub fn new(reason: JsonReason, path: Path, message: impl Into<String>) -> Self {
        Self {
            reason,
            path,
            line: None,
            column: None,
            found: None,
            message: message.into(),
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.reason, self.path)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, " (line {line}, column {column})")?;
        }
        write!(f, ": {}", super::text::one_line(&self.message))
    }
}

impl std::error::Error for JsonError {}
