//! The error inside the readers, which gathers its path on the way up.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use crate::error::{JsonError, JsonReason};
use crate::path::Segment;

/// What went wrong, with the steps to its place from the inside out.
///
/// Boxed, because every value on the good path is moved in a `Result` beside it.
#[derive(Debug)]
pub(super) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    reason: JsonReason,
    /// The byte where the text is at fault.
    offset: Option<usize>,
    /// The version of the document, where that is the fault.
    found: Option<u64>,
    trail: Vec<Segment>,
    message: Cow<'static, str>,
}

impl Fault {
    pub(super) fn new(reason: JsonReason, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            reason,
            offset: None,
            found: None,
            trail: Vec::new(),
            message: message.into(),
        }))
    }

    /// A fault of the text itself, at a byte of it.
    pub(super) fn in_text(reason: JsonReason, offset: usize, message: &'static str) -> Self {
        let mut fault = Self::new(reason, message);
        fault.0.offset = Some(offset);
        fault
    }

    /// The document is of a version that is not known.
    pub(super) fn newer(found: u64, supported: u64) -> Self {
        let message = format!("found version {found}, supported is {supported}");
        let mut fault = Self::new(JsonReason::UnsupportedVersion, message);
        fault.0.found = Some(found);
        fault
    }

    pub(super) fn reason(&self) -> JsonReason {
        self.0.reason
    }

    pub(super) fn message(&self) -> &str {
        &self.0.message
    }

    /// The byte where the text is at fault.
    pub(super) fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// This fault, seen from one step further out.
    pub(super) fn within(mut self, segment: impl Into<Segment>) -> Self {
        self.0.trail.push(segment.into());
        self
    }

    /// The error to hand out; `text` is what was read, to count lines in.
    pub(super) fn into_error(self, text: &str) -> JsonError {
        let Inner {
            reason,
            offset,
            found,
            trail,
            message,
        } = *self.0;
        let path = trail.into_iter().rev().collect();
        let mut error = JsonError::new(reason, path, message);
        error.found = found;
        if let Some(offset) = offset {
            let before = text.get(..offset).unwrap_or(text);
            place(&mut error, before);
        }
        error
    }
}

/// Sets the line and the column (in characters) of the place after `before`.
pub(super) fn place(error: &mut JsonError, before: &str) {
    let lines = before.bytes().filter(|byte| *byte == b'\n').count();
    let last = before.rsplit('\n').next().unwrap_or_default();
    error.line = u64::try_from(lines + 1).ok();
    error.column = u64::try_from(last.chars().count() + 1).ok();
}

/// The kind of a value. Its content stays out of every message.
fn kind(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "an integer",
        Unexpected::Float(_) => "a fractional number",
        Unexpected::Char(_) | Unexpected::Str(_) => "a string",
        Unexpected::Bytes(_) => "bytes",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "an array",
        Unexpected::Map => "an object",
        _ => "something else",
    }
}

/// Our own vocabulary, as in "one of `a`, `b`".
fn one_of(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [name] => name.clone(),
        _ => format!("one of {}", names.join(", ")),
    }
}

impl serde::ser::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(JsonReason::InvalidValue, message.to_string())
    }
}

impl Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(JsonReason::InvalidValue, message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = format!("expected {expected}, found {}", kind(found));
        Self::new(JsonReason::InvalidValue, message)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = format!("{} that does not fit, expected {expected}", kind(found));
        Self::new(JsonReason::InvalidValue, message)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let message = format!("expected {expected}, found {length} entries");
        Self::new(JsonReason::InvalidValue, message)
    }

    fn unknown_variant(_found: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("unknown name, expected {}", one_of(expected));
        Self::new(JsonReason::InvalidValue, message)
    }

    /// The name of the field is put in by the map, which holds every key.
    fn unknown_field(_found: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("no such field, expected {}", one_of(expected));
        Self::new(JsonReason::UnknownField, message)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(JsonReason::MissingField, "the field is required").within(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(JsonReason::Malformed, "the field stands twice").within(field)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.reason, self.0.message)
    }
}

impl std::error::Error for Fault {}
