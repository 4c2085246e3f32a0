//! What a message can be made from.

use serde::Serialize;

use super::part::Part;
use crate::error::JsonError;

/// Content for a message: text, one part, a list of parts, or a value as compact JSON text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content(Vec<Part>);

impl Content {
    /// A value as one text part of compact JSON.
    ///
    /// # Errors
    ///
    /// When the value cannot be written as JSON (a map whose keys are lists, a number that is not finite).
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, JsonError> {
        crate::json::value_to_string(value).map(Self::from)
    }

    /// The parts.
    #[must_use]
    pub fn into_parts(self) -> Vec<Part> {
        self.0
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self(vec![Part::text(text)])
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self(vec![Part::text(text)])
    }
}

impl From<Part> for Content {
    fn from(part: Part) -> Self {
        Self(vec![part])
    }
}

impl From<Vec<Part>> for Content {
    fn from(parts: Vec<Part>) -> Self {
        Self(parts)
    }
}

impl<const N: usize> From<[Part; N]> for Content {
    fn from(parts: [Part; N]) -> Self {
        Self(parts.into())
    }
}
