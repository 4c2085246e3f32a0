//! What a key source could not do.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::cause::Cause;

/// What a key source could not do. It ends the call as `key_source_failed`.
///
/// Whoever makes one redacts both texts first: they hold no key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyError {
    /// In one line.
    pub message: String,
    /// What it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl KeyError {
    /// An error without a cause.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause: None,
        }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::text::one_line(&self.message))
    }
}

super::sourced!(KeyError);
