//! What is wrong with a schema.

use std::fmt;

/// Why a schema could not be compiled, and where in the schema.
///
/// # Examples
///
/// ```
/// use allm_schema::Schema;
/// use serde_json::json;
///
/// let error = Schema::compile(&json!({"properties": {"age": {"type": "integr"}}})).unwrap_err();
/// assert_eq!(error.place(), "/properties/age/type");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    place: String,
    message: String,
}

impl SchemaError {
    pub(crate) fn new(place: String, message: impl Into<String>) -> Self {
        let message = message.into();
        SchemaError { place, message }
    }

    /// A JSON Pointer to what is wrong, from the root of the schema. The root itself is `""`.
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SchemaError {}
