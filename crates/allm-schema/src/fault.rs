//! What is wrong with a value.

use std::fmt;

/// One thing that a value lacks or has against its schema, and where.
///
/// # Examples
///
/// ```
/// use allm_schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::compile(&json!({"properties": {"city": {"type": "string"}}})).unwrap();
/// let faults = schema.faults(&json!({"city": 5}), 8);
/// assert_eq!(faults[0].path, "/city");
/// assert_eq!(faults[0].message, "must be a string");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaFault {
    /// A JSON Pointer into the value. A property that is missing has the path that it would have.
    pub path: String,
    /// What must be so, as a part of a sentence: "must be a string". Shows no part of the value.
    pub message: String,
}

impl fmt::Display for SchemaFault {
    /// The path and the message, or the message alone if the value as a whole is meant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.path {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}
