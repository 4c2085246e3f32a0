//! Errors: one type per layer, each with a closed set of reasons.
//!
//! Every error clones, serialises and reads back equal. `Display` is one line for its own level; what it came from is
//! behind `source()`. No error holds a key, a prompt or a body.

mod adapter;
mod cause;
mod engine;
mod failure;
mod json;
mod key;
mod media;
mod partial;
pub(crate) mod reason;
#[cfg(feature = "sessions")]
mod session;
mod store;
mod stream;
pub(crate) mod text;
mod tool;
mod validation;

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::json::tagged::tagged;

pub use adapter::{AdapterError, AdapterReason, MAX_PROVIDER_TEXT};
pub use cause::Cause;
pub use engine::{EngineError, EngineReason};
pub use failure::Failure;
pub use json::{JsonError, JsonReason};
pub use key::KeyError;
pub use media::{DataUriError, SourceError};
pub use partial::{Interrupted, Unfinished};
#[cfg(feature = "sessions")]
pub use session::{SessionError, SessionReason};
pub use store::{StoreError, StoreReason};
pub use stream::{StreamError, StreamReason};
pub use tool::{EncodeError, ToolError, ToolReason};
pub use validation::{Fault, FaultCode, ValidationError, ValidationReason};

/// `std::error::Error` for an error whose source is its field `cause`.
macro_rules! sourced {
    ($name:ident) => {
        impl std::error::Error for $name {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                self.cause.as_ref().map(|cause| cause as _)
            }
        }
    };
}
use sourced;

/// The family of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// Before a provider is asked.
    Engine,
    /// A value that was given.
    Validation,
    /// The provider.
    Adapter,
    /// The provider's stream.
    Stream,
    /// A document of ours.
    Json,
    /// A tool.
    Tool,
    /// A session.
    Session,
    /// An answer that ended, but not with `stop`.
    Unfinished,
}

/// Anything that can go wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Error {
    /// Before a provider is asked.
    Engine(Box<EngineError>),
    /// A value that was given.
    Validation(ValidationError),
    /// The provider.
    Adapter(Box<AdapterError>),
    /// The provider's stream.
    Stream(Box<StreamError>),
    /// A document of ours.
    Json(Box<JsonError>),
    /// A tool.
    Tool(Box<ToolError>),
    /// A session.
    #[cfg(feature = "sessions")]
    Session(Box<SessionError>),
    /// An answer that failed after it had begun.
    Interrupted(Box<Interrupted>),
    /// An answer that ended, but not with `stop`.
    Unfinished(Box<Unfinished>),
}

tagged!(Error {
    "engine" => Engine(Box<EngineError>),
    "validation" => Validation(ValidationError),
    "adapter" => Adapter(Box<AdapterError>),
    "stream" => Stream(Box<StreamError>),
    "json" => Json(Box<JsonError>),
    "tool" => Tool(Box<ToolError>),
    #[cfg(feature = "sessions")]
    "session" => Session(Box<SessionError>),
    "interrupted" => Interrupted(Box<Interrupted>),
    "unfinished" => Unfinished(Box<Unfinished>),
});

impl Error {
    /// The family; that of its source for an interrupted answer.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(_) => ErrorKind::Engine,
            Self::Validation(_) => ErrorKind::Validation,
            Self::Adapter(_) => ErrorKind::Adapter,
            Self::Stream(_) => ErrorKind::Stream,
            Self::Json(_) => ErrorKind::Json,
            Self::Tool(_) => ErrorKind::Tool,
            #[cfg(feature = "sessions")]
            Self::Session(_) => ErrorKind::Session,
            Self::Interrupted(interrupted) => interrupted.source.kind(),
            Self::Unfinished(_) => ErrorKind::Unfinished,
        }
    }

    /// The stable snake_case code; that of its source for an interrupted answer.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.reason.as_str(),
            Self::Validation(error) => error.reason.as_str(),
            Self::Adapter(error) => error.reason.as_str(),
            Self::Stream(error) => error.reason.as_str(),
            Self::Json(error) => error.reason.as_str(),
            Self::Tool(error) => error.reason.as_str(),
            #[cfg(feature = "sessions")]
            Self::Session(error) => error.reason.as_str(),
            Self::Interrupted(interrupted) => interrupted.source.reason(),
            Self::Unfinished(unfinished) => unfinished.reason(),
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Adapter(error) => error.reason.is_retryable(),
            Self::Stream(error) => error.reason.is_retryable(),
            #[cfg(feature = "sessions")]
            Self::Session(error) => error.reason.is_retryable(),
            Self::Interrupted(interrupted) => interrupted.source.is_retryable(),
            Self::Engine(_)
            | Self::Validation(_)
            | Self::Json(_)
            | Self::Tool(_)
            | Self::Unfinished(_) => false,
        }
    }

    /// How long the provider asks to wait, when it said so in a way that can be read.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Adapter(error) => error.retry_after,
            Self::Interrupted(interrupted) => interrupted.source.retry_after(),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Validation(error) => error.fmt(f),
            Self::Adapter(error) => error.fmt(f),
            Self::Stream(error) => error.fmt(f),
            Self::Json(error) => error.fmt(f),
            Self::Tool(error) => error.fmt(f),
            #[cfg(feature = "sessions")]
            Self::Session(error) => error.fmt(f),
            Self::Interrupted(error) => error.fmt(f),
            Self::Unfinished(error) => error.fmt(f),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Engine(error) => error.source(),
            Self::Adapter(error) => error.source(),
            Self::Stream(error) => error.source(),
            Self::Tool(error) => error.source(),
            #[cfg(feature = "sessions")]
            Self::Session(error) => error.source(),
            Self::Interrupted(error) => Some(&error.source),
            Self::Validation(_) | Self::Json(_) | Self::Unfinished(_) => None,
        }
    }
}

macro_rules! boxed {
    ($($(#[$when:meta])* $variant:ident($error:ty)),+ $(,)?) => {$(
        $(#[$when])*
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(Box::new(error))
            }
        }
    )+};
}

boxed!(
    Engine(EngineError),
    Adapter(AdapterError),
    Stream(StreamError),
    Json(JsonError),
    Tool(ToolError),
    #[cfg(feature = "sessions")]
    Session(SessionError),
    Interrupted(Interrupted),
    Unfinished(Unfinished),
);

impl From<ValidationError> for Error {
    fn from(error: ValidationError) -> Self {
        Self::Validation(error)
    }
}
