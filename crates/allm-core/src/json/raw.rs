//! JSON kept as the text that came.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::limits::Limits;
use super::parse::{self, Duplicates};
use super::sorted::Sorted;
use super::tree;
use super::value::value_to_string;
use crate::error::JsonError;

/// The exact text of one JSON value, as it was received. Cheap to clone.
///
/// Two are equal if their bytes are. In our own JSON it is a string that holds the text. `Debug` shows the length only,
/// for the content belongs to the user.
///
/// ```
/// use allm_core::json::RawJson;
///
/// let raw = RawJson::new(r#"{"b": 1.0, "a": 2}"#)?;
/// assert_eq!(raw.as_str(), r#"{"b": 1.0, "a": 2}"#);
/// assert_eq!(raw.to_value()["a"], 2);
/// assert_eq!(format!("{raw:?}"), "RawJson(18 bytes)");
/// # Ok::<(), allm_core::JsonError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Arc<str>);

impl RawJson {
    /// Keeps a text that is one JSON value. A key may stand twice in an object: what came is kept.
    ///
    /// # Errors
    ///
    /// `malformed` for anything but one JSON value, `too_deep` for more than [`MAX_DEPTH`](super::MAX_DEPTH) levels,
    /// `invalid_value` for a number beyond the range of a 64-bit float.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, JsonError> {
        let text = text.into();
        parse::check(&text, Limits::OWN).map_err(|fault| fault.into_error(&text))?;
        Ok(Self(text))
    }

    /// The compact text of a tree, with sorted keys.
    ///
    /// # Errors
    ///
    /// `too_deep` for more than [`MAX_DEPTH`](super::MAX_DEPTH) levels.
    pub fn from_value(value: &Value) -> Result<Self, JsonError> {
        value_to_string(&Sorted(value)).map(|text| Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tree of the text. Of a key that stands twice the last one counts.
    #[must_use]
    pub fn to_value(&self) -> Value {
        // The text was checked by the same parser.
        parse::tree(&self.0, Limits::OWN, Duplicates::Keep)
            .and_then(tree::read)
            .unwrap_or_default()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({} bytes)", self.0.len())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The path inside the text is made of the user's keys and stays out of the message.
        Self::new(text).map_err(|error| {
            de::Error::custom(format_args!("not one JSON value: {}", error.message))
        })
    }
}
