//! stub
mod raw;
pub(crate) mod tagged;
use crate::error::{JsonError, JsonReason};
use crate::path::Path;
pub use raw::RawJson;
#[derive(Debug)]
pub enum ParseFault {
    TooDeep,
    Syntax { offset: usize },
}
pub fn parse_value(text: &str, _d: usize) -> Result<serde_json::Value, ParseFault> {
    serde_json::from_str(text).map_err(|e| ParseFault::Syntax {
        offset: e.column().saturating_sub(1),
    })
}
pub fn type_name(v: &serde_json::Value) -> &'static str {
    match v {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "a boolean",
        serde_json::Value::Number(_) => "a number",
        serde_json::Value::String(_) => "a string",
        serde_json::Value::Array(_) => "an array",
        serde_json::Value::Object(_) => "an object",
    }
}
pub fn from_value<T: serde::de::DeserializeOwned>(v: serde_json::Value) -> Result<T, JsonError> {
    serde_json::from_value(v)
        .map_err(|e| JsonError::new(JsonReason::InvalidValue, Path::root(), e.to_string()))
}
pub fn plain_from_str<T: serde::de::DeserializeOwned>(v: &str) -> Result<T, JsonError> {
    serde_json::from_str(v)
        .map_err(|e| JsonError::new(JsonReason::InvalidValue, Path::root(), e.to_string()))
}
pub fn plain_to_string<T: serde::Serialize + ?Sized>(v: &T) -> Result<String, JsonError> {
    serde_json::to_string(v)
        .map_err(|e| JsonError::new(JsonReason::InvalidValue, Path::root(), e.to_string()))
}
