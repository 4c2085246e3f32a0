//! What a handler replies.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::Map;
use super::halt::is_reserved;
use crate::error::{EncodeError, ToolError, ToolReason};

/// What a handler says. It *replies*, also with an error; a crash is a [`ToolError`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolReply {
    /// Success; the value goes to the encoder.
    Ok(ReplyValue),
    /// The tool reports a failure.
    Error(ReportedError),
    /// Stop and ask a person.
    AskUser {
        /// The question.
        question: String,
        /// For the user interface; none of it is enforced.
        opts: Map,
    },
    /// End the run.
    Halt {
        /// The run's halt reason; not empty and not reserved.
        reason: String,
        /// The run's halt result.
        value: ReplyValue,
    },
}

impl ToolReply {
    /// Success with anything that serialises.
    pub fn ok<T: Serialize + ?Sized>(value: &T) -> Self {
        Self::Ok(ReplyValue::of(value))
    }

    /// A failure that the tool reports: a text, or a [`ReportedError`] with details for the model.
    ///
    /// ```
    /// use allm_core::{ReportedError, ToolReply};
    /// use serde_json::json;
    ///
    /// let declined = ReportedError::new("the card was declined").details(json!({"code": 51}));
    /// assert_eq!(ToolReply::error(declined.clone()), ToolReply::Error(declined));
    /// assert_eq!(ToolReply::error("closed"), ToolReply::Error(ReportedError::new("closed")));
    /// ```
    pub fn error(error: impl Into<ReportedError>) -> Self {
        Self::Error(error.into())
    }

    /// Ask a person.
    pub fn ask(question: impl Into<String>) -> Self {
        Self::ask_with(question, Map::new())
    }

    /// Ask a person, with options for the user interface.
    pub fn ask_with(question: impl Into<String>, opts: Map) -> Self {
        Self::AskUser {
            question: question.into(),
            opts,
        }
    }

    /// End the run with this reason and value.
    pub fn halt<T: Serialize + ?Sized>(reason: impl Into<String>, value: &T) -> Self {
        Self::Halt {
            reason: reason.into(),
            value: ReplyValue::of(value),
        }
    }

    /// Reads the reply of a tool that speaks JSON: `{"ok": v}`, `{"error": "text"}` or
    /// `{"error": {"message", "details"?}}`, `{"ask_user": {"question", "opts"?}}`, `{"halt": {"reason", "value"}}`;
    /// exactly one key.
    ///
    /// # Errors
    ///
    /// `invalid_return` with the offending value as cause for anything else, a bare value too.
    pub fn from_json(value: Value) -> Result<Self, ToolError> {
        read_untyped(&value).ok_or_else(|| {
            ToolError::new(
                ToolReason::InvalidReturn,
                "the tool's reply has none of the forms that a reply can have",
            )
            .cause(value.to_string())
        })
    }

    /// This reply, if it keeps the rules: a question that says something, a halt reason that is neither empty nor
    /// reserved.
    ///
    /// # Errors
    ///
    /// `invalid_return`; for a reserved reason its name stands in `metadata.reserved_halt_atom`.
    pub fn checked(self) -> Result<Self, ToolError> {
        let invalid = |message: &str| ToolError::new(ToolReason::InvalidReturn, message);
        match &self {
            Self::AskUser { question, .. } if question.trim().is_empty() => {
                Err(invalid("the tool asked an empty question"))
            }
            Self::Halt { reason, .. } if reason.is_empty() => {
                Err(invalid("the tool halted without a reason"))
            }
            Self::Halt { reason, .. } if is_reserved(reason) => {
                let mut error = invalid("the tool halted with a reason that the loop itself uses");
                error.metadata.insert(
                    "reserved_halt_atom".to_owned(),
                    Value::from(reason.as_str()),
                );
                Err(error)
            }
            _ => Ok(self),
        }
    }
}

fn read_untyped(value: &Value) -> Option<ToolReply> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    let (key, inside) = object.iter().next()?;
    let only =
        |object: &Map, known: &[&str]| object.keys().all(|key| known.contains(&key.as_str()));
    match (key.as_str(), inside) {
        ("ok", value) => Some(ToolReply::Ok(value.clone().into())),
        ("error", Value::String(message)) => Some(ToolReply::Error(ReportedError::new(message))),
        ("error", Value::Object(error)) if only(error, &["message", "details"]) => {
            let reported = ReportedError::new(error.get("message")?.as_str()?);
            Some(ToolReply::Error(match error.get("details") {
                Some(details) => reported.details(details.clone()),
                None => reported,
            }))
        }
        ("ask_user", Value::Object(ask)) if only(ask, &["question", "opts"]) => {
            let question = ask.get("question")?.as_str()?;
            let opts = match ask.get("opts") {
                None => Map::new(),
                Some(opts) => opts.as_object()?.clone(),
            };
            Some(ToolReply::ask_with(question, opts))
        }
        ("halt", Value::Object(halt)) if only(halt, &["reason", "value"]) => {
            Some(ToolReply::Halt {
                reason: halt.get("reason")?.as_str()?.to_owned(),
                value: halt.get("value")?.clone().into(),
            })
        }
        _ => None,
    }
}

/// A handler's value as JSON, or why it is none. The runner reports the latter as `encoding_failed`.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyValue(Result<Value, EncodeError>);

impl ReplyValue {
    /// Of anything that serialises; a failure, and a panic, of its `Serialize` is kept.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        let value = catch_unwind(AssertUnwindSafe(|| serde_json::to_value(value)));
        Self(match value {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(EncodeError::new(error.to_string())),
            Err(_) => Err(EncodeError::new("the value's Serialize panicked")),
        })
    }

    /// The value.
    ///
    /// # Errors
    ///
    /// Why it could not be made into JSON.
    pub fn get(&self) -> Result<&Value, &EncodeError> {
        self.0.as_ref()
    }

    /// The value itself.
    ///
    /// # Errors
    ///
    /// Why it could not be made into JSON.
    pub fn into_inner(self) -> Result<Value, EncodeError> {
        self.0
    }
}

impl From<Value> for ReplyValue {
    fn from(value: Value) -> Self {
        Self(Ok(value))
    }
}

/// What a handler said when it failed. Never rewritten into a [`ToolError`].
///
/// A handler may return it as its error, so that the model is told more than a message:
///
/// ```
/// use allm_core::ReportedError;
/// use serde_json::json;
///
/// async fn pay(cents: u64) -> Result<String, ReportedError> {
///     if cents > 10_000 {
///         return Err(ReportedError::new("too much").details(json!({"limit": 10_000})));
///     }
///     Ok("paid".to_owned())
/// }
/// # let _ = pay;
/// ```
#[derive(Clone)]
pub struct ReportedError {
    /// What it said.
    pub message: String,
    /// A value that it chose to give to the model.
    pub details: Option<Value>,
    source: Option<Arc<dyn Any + Send + Sync>>,
}

impl ReportedError {
    /// A report without a source.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            details: None,
            source: None,
        }
    }

    /// Of an error value: its `Display` is the message, and it is kept for closures to look at. What is a report
    /// already, boxed or not, stays as it is.
    pub fn of<E: fmt::Display + Send + Sync + 'static>(error: E) -> Self {
        if let Some(report) = as_report(&error) {
            return report.clone();
        }
        Self {
            message: error.to_string(),
            details: None,
            source: Some(Arc::new(error)),
        }
    }

    /// With a value for the model.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The handler's own error, if it is of this type.
    #[must_use]
    pub fn source_ref<E: 'static>(&self) -> Option<&E> {
        self.source.as_ref()?.downcast_ref()
    }
}

fn as_report(error: &dyn Any) -> Option<&ReportedError> {
    let boxed = || {
        let error = error.downcast_ref::<Box<dyn StdError + Send + Sync>>()?;
        error.downcast_ref()
    };
    error.downcast_ref().or_else(boxed)
}

impl From<&str> for ReportedError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<String> for ReportedError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl fmt::Display for ReportedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for ReportedError {}

impl PartialEq for ReportedError {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message && self.details == other.details
    }
}

impl fmt::Debug for ReportedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportedError")
            .field("message", &self.message)
            .field("details", &self.details)
            .finish_non_exhaustive()
    }
}
