//! Checks values against JSON Schemas, and says what is wrong and where.
//!
//! ```
//! use allm_schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::compile(&json!({"type": "string", "maxLength": 5}))?;
//! assert!(schema.accepts(&json!("short")));
//! assert_eq!(schema.faults(&json!("much too long"), 1)[0].message, "must have at most 5 characters");
//! # Ok::<(), allm_schema::SchemaError>(())
//! ```

mod compile;
mod content;
mod draft;
mod equal;
mod error;
mod fault;
mod form;
mod format;
mod message;
mod node;
mod number;
mod pattern;
mod place;
mod resources;
mod schema;
mod types;
mod uri;
mod view;
mod walk;

pub use error::SchemaError;
pub use fault::SchemaFault;
pub use schema::Schema;
