//! What the model sees of a call: its value or its failure as text, within a bound.

mod failure;

use serde_json::Value;

use crate::error::{EncodeError, text};
use crate::handler::ToolResultEncoder;
use crate::json::Sorted;

pub(crate) use failure::listed;
pub use failure::{closed, denied, report, unknown_tool};

/// The default encoder: a string passes unchanged, every other value becomes compact JSON with sorted keys.
///
/// ```
/// use allm_core::{JsonEncoder, ToolResultEncoder};
/// use serde_json::json;
///
/// assert_eq!(JsonEncoder.encode(&json!("hi")).unwrap(), "hi");
/// assert_eq!(JsonEncoder.encode(&json!({"a": [1, null]})).unwrap(), r#"{"a":[1,null]}"#);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonEncoder;

impl ToolResultEncoder for JsonEncoder {
    fn encode(&self, value: &Value) -> Result<String, EncodeError> {
        match value {
            Value::String(text) => Ok(text.clone()),
            value => {
                serde_json::to_string(&Sorted(value)).map_err(|e| EncodeError::new(e.to_string()))
            }
        }
    }
}

/// `content`, cut at `limit` bytes with a visible mark if it is longer.
///
/// The cut is made between characters; the mark does not count.
#[must_use]
pub fn bound(content: String, limit: usize) -> String {
    text::cut(content, limit)
}
