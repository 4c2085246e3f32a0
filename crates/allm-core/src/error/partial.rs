//! Errors that carry the answer as far as it came.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Error, Failure, StreamError};
use crate::data::Response;

/// An answer that failed after it had begun: what had come, and why it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interrupted {
    /// What had come.
    pub partial: Response,
    /// Why it ended.
    pub source: Error,
}

impl Interrupted {
    /// Of a failed answer.
    #[must_use]
    pub fn new(partial: Response) -> Self {
        let source = match &partial.error {
            Some(failure) => Error::from(failure.clone()),
            None => Error::from(StreamError::interrupted()),
        };
        Self { partial, source }
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer was interrupted")
    }
}

/// An answer that ended, but not with `stop`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unfinished {
    /// The answer.
    pub partial: Response,
}

impl Unfinished {
    /// Of an answer that did not end with `stop`.
    #[must_use]
    pub fn new(partial: Response) -> Self {
        Self { partial }
    }

    /// How it ended, as a snake_case code.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.partial
            .finish_reason
            .map_or("unfinished", crate::data::FinishReason::as_str)
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer ended with `{}`, not `stop`", self.reason())
    }
}

impl Failure {
    /// A stream's own end, as data.
    #[must_use]
    pub fn interrupted() -> Self {
        Self::from(&Error::from(StreamError::interrupted()))
    }
}
