//! What the driver tells the machine.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::outcome::ToolOutcome;
use crate::data::Response;
use crate::error::Failure;

/// What the driver tells the machine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Input {
    /// The model answered: at least one event of the provider came, and the answer ended, well or not.
    Responded(Box<Response>),
    /// The model call could not be made, or failed before its first event.
    Refused(Box<Failure>),
    /// The model call was stopped, with what had come of the answer; `None` if no event had.
    Stopped(Option<Box<Response>>),
    /// A call of the batch came to its end.
    ToolDone {
        /// The call's place in the response.
        index: u32,
        /// What it came to.
        outcome: Box<ToolOutcome>,
    },
    /// What `halt_when` said: whether to halt.
    HaltWhen(HaltAnswer),
    /// The caller cancelled. Legal at any time; after the end, and a second time, it does nothing.
    Cancel,
    /// A deadline passed. Legal at any time; after the end it does nothing.
    DeadlinePassed(DeadlineScope),
}

impl Input {
    /// The model answered.
    #[must_use]
    pub fn responded(response: Response) -> Self {
        Self::Responded(Box::new(response))
    }

    /// The model call could not be made.
    pub fn refused(failure: impl Into<Failure>) -> Self {
        Self::Refused(Box::new(failure.into()))
    }

    /// The model call was stopped.
    #[must_use]
    pub fn stopped(partial: Option<Response>) -> Self {
        Self::Stopped(partial.map(Box::new))
    }

    /// A call came to its end.
    #[must_use]
    pub fn tool_done(index: u32, outcome: ToolOutcome) -> Self {
        Self::ToolDone {
            index,
            outcome: Box::new(outcome),
        }
    }
}

/// What `halt_when` said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HaltAnswer {
    /// Stop here.
    Halt,
    /// Go on.
    GoOn,
}

/// Which deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeadlineScope {
    /// That of the turn.
    Turn,
    /// That of the run.
    Run,
}

/// What stops a run from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The caller cancelled. It outranks a deadline.
    Cancelled,
    /// A deadline passed.
    Deadline(DeadlineScope),
}

/// Why an input was refused. The state is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputReason {
    /// The machine waits for something else.
    NotExpected,
    /// The batch has no such call.
    UnknownCall,
    /// The call has its outcome already; a late one reaches nobody.
    AlreadyDone,
    /// A call can be left unstarted, and a model call stopped, only when the machine asked for it.
    NotStopping,
    /// The run has no such deadline.
    NoSuchDeadline,
}

/// An input that the machine refused. The state is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputError {
    /// Why.
    pub reason: InputReason,
}

impl From<InputReason> for InputError {
    fn from(reason: InputReason) -> Self {
        Self { reason }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reason {
            InputReason::NotExpected => {
                "the machine waits for something else; ask it for its command"
            }
            InputReason::UnknownCall => "the batch has no call with this index",
            InputReason::AlreadyDone => "the call has its outcome already",
            InputReason::NotStopping => "the machine has not asked for anything to be stopped",
            InputReason::NoSuchDeadline => "the run was started without this deadline",
        })
    }
}

impl std::error::Error for InputError {}
