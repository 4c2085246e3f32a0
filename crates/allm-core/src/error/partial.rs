//! Errors that carry the answer as far as it came.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::text::one_line;
use super::{Error, Failure, StreamError};
use crate::data::{HaltReason, Response};

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

/// An answer that ended, but not with `stop`, or a run that halted without being completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unfinished {
    /// The answer; the last one of a run, if it had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Response>,
    /// Why the run halted, where it is about a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted_reason: Option<HaltReason>,
}

impl Unfinished {
    /// Of an answer that did not end with `stop`.
    #[must_use]
    pub fn new(partial: Response) -> Self {
        Self {
            partial: Some(partial),
            halted_reason: None,
        }
    }

    /// Of a run that was not completed.
    #[must_use]
    pub fn halted(reason: HaltReason, last: Option<Response>) -> Self {
        Self {
            partial: last,
            halted_reason: Some(reason),
        }
    }

    /// How it ended, as a snake_case code; `custom` for a reason of the application's own.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        let finish = || {
            let response = self.partial.as_ref()?;
            Some(response.finish_reason?.as_str())
        };
        match &self.halted_reason {
            Some(reason) => reason.code(),
            None => finish().unwrap_or("unfinished"),
        }
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.halted_reason {
            Some(reason) => write!(f, "the run halted with `{}`", one_line(reason.as_str())),
            None => write!(f, "the answer ended with `{}`, not `stop`", self.reason()),
        }
    }
}

impl Failure {
    /// A stream's own end, as data.
    #[must_use]
    pub fn interrupted() -> Self {
        Self::from(&Error::from(StreamError::interrupted()))
    }
}
