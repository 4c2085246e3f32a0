//! How calls of a session are named.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::data::ToolCallId;

/// Names a call of a session for ever: its turn, and its place among the calls of that turn. Written `t3.c1`.
///
/// ```
/// use allm_core::session::CallKey;
///
/// let key = CallKey { turn: 3, index: 1 };
/// assert_eq!(key.to_string(), "t3.c1");
/// assert_eq!("t3.c1".parse(), Ok(key));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey {
    /// The turn; the first of a session is 1.
    pub turn: u32,
    /// The place among the turn's calls, from 0.
    pub index: u32,
}

/// A text that is not a [`CallKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidCallKey;

impl fmt::Display for InvalidCallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the name of a call: expected turn and place, as in `t3.c1`")
    }
}

impl std::error::Error for InvalidCallKey {}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}.c{}", self.turn, self.index)
    }
}

impl FromStr for CallKey {
    type Err = InvalidCallKey;

    fn from_str(text: &str) -> Result<Self, InvalidCallKey> {
        let parts = text
            .strip_prefix('t')
            .and_then(|rest| rest.split_once(".c"));
        let number = |digits: &str| digits.parse::<u32>().ok();
        let key = parts.and_then(|(turn, index)| {
            Some(Self {
                turn: number(turn)?,
                index: number(index)?,
            })
        });
        // One key has one text: no sign and no leading zero.
        key.filter(|key| key.to_string() == text)
            .ok_or(InvalidCallKey)
    }
}

impl Serialize for CallKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Which call an operation means: by its key, or by its id, which names a call of the open turn and no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallRef {
    /// By its key.
    Key(CallKey),
    /// By its id.
    Id(ToolCallId),
}

impl fmt::Display for CallRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => key.fmt(f),
            Self::Id(id) => id.fmt(f),
        }
    }
}

impl From<CallKey> for CallRef {
    fn from(key: CallKey) -> Self {
        Self::Key(key)
    }
}

impl From<&CallKey> for CallRef {
    fn from(key: &CallKey) -> Self {
        Self::Key(*key)
    }
}

impl From<ToolCallId> for CallRef {
    fn from(id: ToolCallId) -> Self {
        Self::Id(id)
    }
}

impl From<&ToolCallId> for CallRef {
    fn from(id: &ToolCallId) -> Self {
        Self::Id(id.clone())
    }
}

impl From<&str> for CallRef {
    /// An id. A key is made with [`CallKey`], so that an id that looks like one is never mistaken for it.
    fn from(id: &str) -> Self {
        Self::Id(id.into())
    }
}
