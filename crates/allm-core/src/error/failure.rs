//! An error as plain data: what events and results carry.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map as JsonMap, Value};

use super::{
    AdapterError, AdapterReason, EngineError, EngineReason, Error, ErrorKind, JsonError,
    JsonReason, StreamError, StreamReason, ToolError, ToolReason, ValidationError,
    ValidationReason,
};
use crate::data::Map;
use crate::path::Path;

/// An error as plain data: what events and results carry. Holds no cause.
///
/// The typed error can be had back with `Error::from(failure)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The family.
    pub kind: ErrorKind,
    /// The snake_case code.
    pub reason: String,
    /// In one line.
    pub message: String,
    /// Status, codes, request ids, `retry_after` …
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub metadata: Map,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let (message, fields) = match error {
            Error::Engine(error) => (error.message.clone(), fields_of(error)),
            Error::Adapter(error) => (error.message.clone(), fields_of(error)),
            Error::Stream(error) => (error.message.clone(), fields_of(error)),
            Error::Json(error) => (error.message.clone(), fields_of(error)),
            Error::Tool(error) => (error.message.clone(), fields_of(error)),
            Error::Validation(error) => (error.to_string(), fields_of(error)),
            Error::Interrupted(interrupted) => return Self::from(&interrupted.source),
            Error::Unfinished(unfinished) => (unfinished.to_string(), Map::new()),
        };
        Self {
            kind: error.kind(),
            reason: error.reason().to_owned(),
            message,
            metadata: fields,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

/// The fields of an error other than reason, message and cause; its own metadata moves up.
fn fields_of<E: Serialize>(error: &E) -> Map {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(error) else {
        return Map::new();
    };
    for own in ["reason", "message", "cause"] {
        fields.remove(own);
    }
    if let Some(Value::Object(metadata)) = fields.remove("metadata") {
        for (key, value) in metadata {
            fields.entry(key).or_insert(value);
        }
    }
    fields
}

impl From<Failure> for Error {
    /// The typed error that this is the data of. A reason that its family does not have (it came from elsewhere)
    /// becomes the family's most general one.
    fn from(failure: Failure) -> Self {
        match failure.kind {
            ErrorKind::Engine => Self::from(failure.typed(
                &["provider", "checked"],
                |code| EngineReason::from_code(code).is_some(),
                |message| EngineError::new(EngineReason::InvalidConfig, message),
            )),
            ErrorKind::Stream => Self::from(failure.typed(
                &["provider", "event_index", "request_id"],
                |code| StreamReason::from_code(code).is_some(),
                |message| StreamError::new(StreamReason::Interrupted, message),
            )),
            ErrorKind::Json => Self::from(failure.typed(
                &["path", "line", "column"],
                |code| JsonReason::from_code(code).is_some(),
                |message| JsonError::new(JsonReason::Malformed, Path::root(), message),
            )),
            ErrorKind::Tool => Self::from(failure.typed(
                &["tool_name", "tool_call_id"],
                |code| ToolReason::from_code(code).is_some(),
                |message| ToolError::new(ToolReason::HandlerRaised, message),
            )),
            ErrorKind::Validation => {
                let reason = ValidationReason::from_code(&failure.reason);
                let faults = failure.metadata.get("faults").cloned().unwrap_or_default();
                Self::Validation(ValidationError::new(
                    reason.unwrap_or(ValidationReason::InvalidRequest),
                    serde_json::from_value(faults).unwrap_or_default(),
                ))
            }
            ErrorKind::Adapter | ErrorKind::Session | ErrorKind::Unfinished => {
                Self::from(failure.typed(
                    ADAPTER_FIELDS,
                    |code| AdapterReason::from_code(code).is_some(),
                    |message| AdapterError::new("unknown", AdapterReason::Unknown, message),
                ))
            }
        }
    }
}

const ADAPTER_FIELDS: &[&str] = &[
    "provider",
    "status",
    "provider_code",
    "provider_type",
    "param",
    "provider_request_id",
    "request_id",
    "retry_after",
    "attempts",
    "details",
];

impl Failure {
    /// The error that these fields make, or the fallback where they make none.
    fn typed<E: DeserializeOwned>(
        self,
        known: &[&str],
        is_code: impl Fn(&str) -> bool,
        fallback: impl Fn(String) -> E,
    ) -> E {
        if !is_code(&self.reason) {
            return fallback(self.message);
        }
        let (mut fields, metadata): (Map, Map) = self
            .metadata
            .into_iter()
            .partition(|(key, _)| known.contains(&key.as_str()));
        fields.insert("reason".to_owned(), self.reason.into());
        fields.insert("message".to_owned(), self.message.clone().into());
        if !metadata.is_empty() {
            fields.insert("metadata".to_owned(), Value::Object(metadata));
        }
        serde_json::from_value(Value::Object(fields)).unwrap_or_else(|_| fallback(self.message))
    }
}
