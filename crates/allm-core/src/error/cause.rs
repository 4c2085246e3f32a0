//! What an error came from, as text.

use std::error::Error as StdError;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The cause of an error, kept as text so that every error clones and serialises.
///
/// Whoever makes one redacts the text first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// What it said.
    pub message: String,
    /// What it came from in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<Cause>>,
}

impl Cause {
    /// A cause without a cause.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// An error and all it came from, as text; at most sixteen levels.
    pub fn of(error: &(dyn StdError + 'static)) -> Self {
        Self::chain(error, 16)
    }

    fn chain(error: &(dyn StdError + 'static), levels: u32) -> Self {
        let source = error.source().filter(|_| levels > 1);
        Self {
            message: error.to_string(),
            source: source.map(|source| Box::new(Self::chain(source, levels - 1))),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::text::one_line(&self.message))
    }
}

impl StdError for Cause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
