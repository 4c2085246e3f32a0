//! A schema that is ready to check values.

use std::fmt;

use serde_json::{Map, Value};

use crate::compile::{self, Program};
use crate::error::SchemaError;
use crate::fault::SchemaFault;
use crate::view::View;
use crate::walk::Walk;

/// A JSON Schema that was checked and is ready to check values.
///
/// Drafts 4, 6, 7, 2019-09 and 2020-12 are known; `$schema` says which one is meant, and without it the last is.
/// Nothing is ever fetched: references lead to parts of the schema itself, or to the meta-schema of a draft.
///
/// # Examples
///
/// ```
/// use allm_schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::compile(&json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
///     "required": ["city"],
/// }))?;
/// assert!(schema.accepts(&json!({"city": "Oslo", "days": 3})));
///
/// let faults = schema.faults(&json!({"days": 0}), 8);
/// let told: Vec<(&str, &str)> = faults.iter().map(|f| (&*f.path, &*f.message)).collect();
/// assert_eq!(told, [("/city", "must be there"), ("/days", "must be at least 1")]);
/// # Ok::<(), allm_schema::SchemaError>(())
/// ```
pub struct Schema {
    program: Program,
}

impl Schema {
    /// Checks a schema and makes it ready.
    ///
    /// # Errors
    ///
    /// The schema is not one: a keyword has a value of the wrong form, a pattern is not a regular expression, a
    /// reference leads nowhere or out of the schema, `$schema` names a draft that is not known, or it is nested
    /// too deep.
    ///
    /// # Examples
    ///
    /// ```
    /// use allm_schema::Schema;
    /// use serde_json::json;
    ///
    /// assert!(Schema::compile(&json!({"minLength": 3})).is_ok());
    /// assert_eq!(Schema::compile(&json!({"minLength": -3})).unwrap_err().place(), "/minLength");
    /// ```
    pub fn compile(schema: &Value) -> Result<Schema, SchemaError> {
        let program = compile::compile(schema)?;
        Ok(Schema { program })
    }

    /// Whether a value fits the schema.
    ///
    /// # Examples
    ///
    /// ```
    /// use allm_schema::Schema;
    /// use serde_json::json;
    ///
    /// let schema = Schema::compile(&json!({"multipleOf": 0.1}))?;
    /// assert!(schema.accepts(&json!(0.3)));
    /// # Ok::<(), allm_schema::SchemaError>(())
    /// ```
    pub fn accepts(&self, value: &Value) -> bool {
        Walk::over(&self.program, View::of(value)).accepts()
    }

    /// Whether an object fits the schema.
    ///
    /// # Examples
    ///
    /// ```
    /// use allm_schema::Schema;
    /// use serde_json::{Map, json};
    ///
    /// let schema = Schema::compile(&json!({"required": ["city"]}))?;
    /// assert!(!schema.accepts_object(&Map::new()));
    /// # Ok::<(), allm_schema::SchemaError>(())
    /// ```
    pub fn accepts_object(&self, object: &Map<String, Value>) -> bool {
        Walk::over(&self.program, View::Object(object)).accepts()
    }

    /// What is wrong with a value: the first `limit` faults, in an order that is always the same. There are none
    /// if the schema accepts it.
    ///
    /// # Examples
    ///
    /// ```
    /// use allm_schema::Schema;
    /// use serde_json::json;
    ///
    /// let schema = Schema::compile(&json!({"items": {"type": "string"}}))?;
    /// let faults = schema.faults(&json!(["a", 1, 2, 3]), 2);
    /// let paths: Vec<&str> = faults.iter().map(|fault| &*fault.path).collect();
    /// assert_eq!(paths, ["/1", "/2"]);
    /// # Ok::<(), allm_schema::SchemaError>(())
    /// ```
    pub fn faults(&self, value: &Value, limit: usize) -> Vec<SchemaFault> {
        Walk::over(&self.program, View::of(value)).faults(limit)
    }

    /// What is wrong with an object, as [`Schema::faults`] tells it.
    ///
    /// # Examples
    ///
    /// ```
    /// use allm_schema::Schema;
    /// use serde_json::{Map, json};
    ///
    /// let schema = Schema::compile(&json!({"required": ["city"]}))?;
    /// assert_eq!(schema.object_faults(&Map::new(), 1)[0].path, "/city");
    /// # Ok::<(), allm_schema::SchemaError>(())
    /// ```
    pub fn object_faults(&self, object: &Map<String, Value>, limit: usize) -> Vec<SchemaFault> {
        Walk::over(&self.program, View::Object(object)).faults(limit)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A schema may hold values that are nobody's business.
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}
