//! An error as plain data: what events and results carry.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map as JsonMap, Value};

use super::{
    AdapterError, AdapterReason, EngineError, EngineReason, Error, ErrorKind, JsonError,
    JsonReason, StreamError, StreamReason, ToolError, ToolReason, ValidationError,
    ValidationReason,
};
#[cfg(feature = "sessions")]
use super::{SessionError, SessionReason};
use crate::data::Map;
use crate::json::{from_value, to_value};
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
    #[serde(serialize_with = "crate::json::sorted")]
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
            // What could not be stored is for the caller, not for events.
            #[cfg(feature = "sessions")]
            Error::Session(error) => (error.message.clone(), Map::new()),
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
    match to_value(error) {
        Ok(Value::Object(fields)) => without_own(fields),
        _ => Map::new(),
    }
}

/// Not made for each type of error.
fn without_own(mut fields: Map) -> Map {
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
    /// becomes the family's most general one; metadata that its family has no place for is left out.
    fn from(failure: Failure) -> Self {
        match failure.kind {
            ErrorKind::Engine => Self::from(failure.typed(
                &Form::with_metadata(&["provider", "checked"]),
                EngineReason::from_code,
                |reason, message| {
                    EngineError::new(reason.unwrap_or(EngineReason::InvalidConfig), message)
                },
            )),
            ErrorKind::Stream => Self::from(failure.typed(
                &Form::only(&["provider", "event_index", "request_id"]),
                StreamReason::from_code,
                |reason, message| {
                    StreamError::new(reason.unwrap_or(StreamReason::Interrupted), message)
                },
            )),
            ErrorKind::Json => Self::from(failure.typed(
                &Form::only(&["path", "line", "column", "found"]),
                JsonReason::from_code,
                |reason, message| {
                    JsonError::new(
                        reason.unwrap_or(JsonReason::Malformed),
                        Path::root(),
                        message,
                    )
                },
            )),
            ErrorKind::Tool => Self::from(failure.typed(
                &Form::with_metadata(&["tool_name", "tool_call_id"]),
                ToolReason::from_code,
                |reason, message| {
                    ToolError::new(reason.unwrap_or(ToolReason::HandlerRaised), message)
                },
            )),
            ErrorKind::Validation => {
                let reason = ValidationReason::from_code(&failure.reason);
                let faults = failure.metadata.get("faults");
                Self::Validation(ValidationError::new(
                    reason.unwrap_or(ValidationReason::InvalidRequest),
                    faults
                        .and_then(|faults| from_value(faults).ok())
                        .unwrap_or_default(),
                ))
            }
            #[cfg(feature = "sessions")]
            ErrorKind::Session => {
                let reason = SessionReason::from_code(&failure.reason);
                let reason = reason.unwrap_or(SessionReason::InvalidState);
                Self::from(SessionError::new(reason, failure.message))
            }
            // A session's, too, where there are none.
            _ => Self::from(failure.typed(
                &Form::only(ADAPTER_FIELDS),
                AdapterReason::from_code,
                |reason, message| {
                    let reason = reason.unwrap_or(AdapterReason::Unknown);
                    AdapterError::new("unknown", reason, message)
                },
            )),
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

/// Where the metadata of a failure goes in its typed error.
struct Form {
    /// The keys that are fields of their own.
    fields: &'static [&'static str],
    /// Whether there is a field `metadata` for the others.
    metadata: bool,
}

impl Form {
    const fn only(fields: &'static [&'static str]) -> Self {
        Self {
            fields,
            metadata: false,
        }
    }

    const fn with_metadata(fields: &'static [&'static str]) -> Self {
        Self {
            fields,
            metadata: true,
        }
    }
}

impl Failure {
    /// The error that these fields make; where they make none, one of nothing but reason and message.
    fn typed<E: DeserializeOwned, R: Copy>(
        self,
        form: &Form,
        from_code: impl Fn(&str) -> Option<R>,
        bare: impl Fn(Option<R>, String) -> E,
    ) -> E {
        let Some(reason) = from_code(&self.reason) else {
            return bare(None, self.message);
        };
        let message = self.message.clone();
        from_value(&self.into_fields(form)).unwrap_or_else(|_| bare(Some(reason), message))
    }

    /// Not made for each type of error.
    fn into_fields(self, form: &Form) -> Value {
        let (mut fields, mut metadata) = (Map::new(), Map::new());
        for (key, value) in self.metadata {
            let place = if form.fields.contains(&key.as_str()) {
                &mut fields
            } else {
                &mut metadata
            };
            place.insert(key, value);
        }
        fields.insert("reason".to_owned(), self.reason.into());
        fields.insert("message".to_owned(), self.message.into());
        if form.metadata && !metadata.is_empty() {
            fields.insert("metadata".to_owned(), Value::Object(metadata));
        }
        Value::Object(fields)
    }
}
