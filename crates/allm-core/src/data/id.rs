//! Ids: text with a type of its own, cheap to clone.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::error::{Fault, FaultCode, ValidationError, ValidationReason};

macro_rules! ids {
    ($( $(#[$meta:meta])* $name:ident ),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        text_of!($name);
    )+};
}

macro_rules! text_of {
    ($name:ident) => {
        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<String> for $name {
            fn eq(&self, other: &String) -> bool {
                &*self.0 == other.as_str()
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }
    };
}

ids! {
    /// Names a tool call inside its message. Unique there; a provider may use the same id again in a later turn.
    ToolCallId,
    /// The provider's id of a response.
    ResponseId,
    /// Our id of one outermost call: one for a whole run, its turns, handlers and responses.
    RequestId,
    /// A tenant of the application, handed to key sources.
    TenantId,
    /// The name of a provider, as in the part of a model string before the colon.
    ProviderName,
    /// The name of a tool.
    ToolName,
    /// Tells the deltas of several blocks of one answer apart (`p0`, `p1` …).
    PartId,
    /// Who writes to a session: made by each driver and submitter for itself, unlike any other's.
    WriterId,
    /// Where a listing goes on. Only the store that made it can read it.
    Cursor,
}

impl ToolCallId {
    /// Whether the provider sent no id.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

macro_rules! bounded_ids {
    ($( $(#[$meta:meta])* $name:ident, $path:literal, $reason:ident, $what:literal );+ $(;)?) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        text_of!($name);

        impl $name {
            /// The longest id, in bytes.
            pub const MAX_BYTES: usize = 200;

            /// An id that keeps the rules.
            ///
            /// # Errors
            ///
            #[doc = concat!("A fault at `", $path, "` when the text is empty, too long or holds a control character.")]
            pub fn new(text: impl Into<Arc<str>>) -> Result<Self, ValidationError> {
                let text = text.into();
                match fault_of(&text) {
                    None => Ok(Self(text)),
                    Some(code) => {
                        let fault = Fault::new($path, code)
                            .detail("1 to 200 bytes without control characters");
                        Err(ValidationError::new(ValidationReason::$reason, vec![fault]))
                    }
                }
            }
        }

        impl FromStr for $name {
            type Err = ValidationError;

            /// As [`new`](Self::new).
            fn from_str(text: &str) -> Result<Self, ValidationError> {
                Self::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::new(text).map_err(|_| {
                    de::Error::custom(concat!(
                        $what,
                        " has 1 to 200 bytes and no control characters"
                    ))
                })
            }
        }
    )+};
}

fn fault_of(text: &str) -> Option<FaultCode> {
    if text.is_empty() {
        Some(FaultCode::Empty)
    } else if text.len() > SessionId::MAX_BYTES {
        Some(FaultCode::TooLarge)
    } else if text.chars().any(char::is_control) {
        Some(FaultCode::InvalidFormat)
    } else {
        None
    }
}

bounded_ids! {
    /// Names a session: 1 to 200 bytes, no control characters; chosen by the caller.
    ///
    /// ```
    /// use allm_core::SessionId;
    ///
    /// let id: SessionId = "user-7/chat-3".parse()?;
    /// assert_eq!(id, "user-7/chat-3");
    /// assert!("".parse::<SessionId>().is_err());
    /// # Ok::<(), allm_core::ValidationError>(())
    /// ```
    SessionId, "id", InvalidSession, "a session id";
    /// Names one input to a session, so that giving it again is not a second one: 1 to 200 bytes, no control
    /// characters; chosen by the caller.
    InputId, "input_id", InvalidSessionInput, "an input id";
}
