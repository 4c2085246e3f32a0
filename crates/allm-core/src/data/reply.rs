//! What a handler replies.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::halt::is_reserved;
use super::{Map, Part, Source};
use crate::error::{EncodeError, ToolError, ToolReason};
use crate::json::Sorted;
use crate::limits::{MAX_ARGUMENT_DEPTH, MAX_HANDLER_STATE, MAX_TOOL_MEDIA, MAX_TOOL_MEDIA_PARTS};

/// What a handler says. It *replies*, also with an error; a crash is a [`ToolError`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolReply {
    /// Success; the value goes to the encoder.
    Ok(ReplyValue),
    /// Success with pictures or files; the value goes to the encoder, the others to the model as they are.
    OkWith {
        /// The value.
        value: ReplyValue,
        /// The pictures and files: at most [`MAX_TOOL_MEDIA_PARTS`](crate::limits::MAX_TOOL_MEDIA_PARTS), together at most
        /// [`MAX_TOOL_MEDIA`](crate::limits::MAX_TOOL_MEDIA) bytes, here and not elsewhere, each with its MIME type.
        media: Vec<Part>,
    },
    /// The tool reports a failure.
    Error(ReportedError),
    /// Stop and ask a person, who answers the model.
    AskUser {
        /// The question.
        question: String,
        /// For the user interface; none of it is enforced.
        opts: Map,
    },
    /// Stop and ask a person, and be called again with the answer. The call stays open until then.
    AskAndGoOn {
        /// The question.
        question: String,
        /// For the user interface; none of it is enforced.
        opts: Map,
        /// What the handler gets back with the answer; up to
        /// [`MAX_HANDLER_STATE`](crate::limits::MAX_HANDLER_STATE) bytes of JSON.
        state: Option<Value>,
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

    /// Success with anything that serialises, and with pictures or files for the model to look at.
    ///
    /// ```
    /// use allm_core::{Image, Part, ToolReply};
    ///
    /// let picture = Image::from_bytes(vec![0x89, b'P', b'N', b'G'], "image/png");
    /// let reply = ToolReply::ok_with("the chart of May", [Part::image(picture)]);
    /// assert!(reply.checked().is_ok());
    /// ```
    pub fn ok_with<T: Serialize + ?Sized>(
        value: &T,
        media: impl IntoIterator<Item = Part>,
    ) -> Self {
        let value = ReplyValue::of(value);
        let media: Vec<Part> = media.into_iter().collect();
        match media.is_empty() {
            true => Self::Ok(value),
            false => Self::OkWith { value, media },
        }
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

    /// Ask a person, who answers the model.
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

    /// Ask a person, and go on with the answer: the handler is called again, with the same arguments and the answer in
    /// [`ToolContext::answer`](crate::ToolContext::answer). Until then the call stays open.
    ///
    /// ```
    /// use allm_core::{ToolContext, ToolReply};
    ///
    /// async fn book(_: serde_json::Value, ctx: ToolContext) -> ToolReply {
    ///     match &ctx.answer {
    ///         None => ToolReply::ask_and_go_on("Window or aisle?"),
    ///         Some(answer) => ToolReply::ok(&format!("booked: {}", answer.text())),
    ///     }
    /// }
    /// # let _ = book;
    /// ```
    pub fn ask_and_go_on(question: impl Into<String>) -> Self {
        Self::ask_and_go_on_with(question, Map::new(), None)
    }

    /// As [`ask_and_go_on`](Self::ask_and_go_on), with options for the user interface and a state of the handler's own,
    /// which comes back as [`Answer::state`](crate::Answer::state).
    pub fn ask_and_go_on_with(
        question: impl Into<String>,
        opts: Map,
        state: impl Into<Option<Value>>,
    ) -> Self {
        Self::AskAndGoOn {
            question: question.into(),
            opts,
            state: state.into(),
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
    /// `{"error": {"message", "details"?}}`, `{"ask_user": {"question", "opts"?}}` or
    /// `{"ask_user": {"question", "opts"?, "answer_to": "tool", "state"?}}`, `{"halt": {"reason", "value"}}`; exactly
    /// one key.
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
            .cause(Sorted(&value).to_string())
        })
    }

    /// This reply, if it keeps the rules: pictures and files that can be sent along, a question that says something, a
    /// state that is not too large, a halt reason that is neither empty nor reserved.
    ///
    /// # Errors
    ///
    /// `invalid_return`; for a reserved reason its name stands in `metadata.reserved_halt_atom`.
    pub fn checked(self) -> Result<Self, ToolError> {
        let invalid = |message: &str| ToolError::new(ToolReason::InvalidReturn, message);
        match &self {
            Self::OkWith { media, .. } => match wrong_media(media) {
                Some(wrong) => Err(invalid(wrong)),
                None => Ok(self),
            },
            Self::AskUser { question, .. } | Self::AskAndGoOn { question, .. }
                if question.trim().is_empty() =>
            {
                Err(invalid("the tool asked an empty question"))
            }
            Self::AskAndGoOn {
                state: Some(state), ..
            } if !is_small(state) => Err(invalid(
                "the state that the tool gave with its question is too large or too deep",
            )),
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

/// What is wrong with the pictures and files of a reply.
fn wrong_media(media: &[Part]) -> Option<&'static str> {
    if media.len() > MAX_TOOL_MEDIA_PARTS {
        return Some("the tool replied with too many pictures and files");
    }
    let mut room = MAX_TOOL_MEDIA;
    for part in media {
        let (source, mime) = match part {
            Part::Image(part) => (&part.image.source, &part.image.mime_type),
            Part::File(part) => (&part.file.source, &part.file.mime_type),
            _ => return Some("the tool replied with something that is no picture and no file"),
        };
        if mime.as_deref().is_none_or(str::is_empty) {
            return Some("the tool replied with a picture or file without a MIME type");
        }
        // What is too long anyway is not read.
        if matches!(source, Source::Base64(text) if text.len() / 4 > room) {
            return Some("the tool replied with pictures and files that are too large");
        }
        let Ok(bytes) = source.to_bytes() else {
            return Some("the tool replied with a picture or file that is not here");
        };
        let Some(left) = room.checked_sub(bytes.len()) else {
            return Some("the tool replied with pictures and files that are too large");
        };
        room = left;
    }
    None
}

/// Whether a handler's state can be kept with its question.
fn is_small(state: &Value) -> bool {
    is_within(state, MAX_ARGUMENT_DEPTH) && Sorted(state).to_string().len() <= MAX_HANDLER_STATE
}

fn is_within(value: &Value, levels: usize) -> bool {
    let below = |value: &Value| is_within(value, levels.saturating_sub(1));
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(below),
        Value::Object(fields) => levels > 0 && fields.values().all(below),
        _ => true,
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
        ("ask_user", Value::Object(ask))
            if only(ask, &["question", "opts", "answer_to", "state"]) =>
        {
            let question = ask.get("question")?.as_str()?;
            let opts = match ask.get("opts") {
                None => Map::new(),
                Some(opts) => opts.as_object()?.clone(),
            };
            let state = ask.get("state").cloned();
            match ask.get("answer_to").map(Value::as_str) {
                Some(Some("tool")) => Some(ToolReply::ask_and_go_on_with(question, opts, state)),
                None | Some(Some("model")) if state.is_none() => {
                    Some(ToolReply::ask_with(question, opts))
                }
                _ => None,
            }
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
