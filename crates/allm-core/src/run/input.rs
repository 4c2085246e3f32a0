//! What the driver tells the machine.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::outcome::ToolOutcome;
use crate::data::{CallFailure, Message, Response};
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
        /// What the model is told before the result.
        note: Option<String>,
    },
    /// What becomes of each call of the answer, in call order: the answer to `PlanCalls`.
    Planned(Vec<PlannedCall>),
    /// A call that waited for somebody outside is to be run after all.
    CallReady {
        /// The call's place in the response.
        index: u32,
    },
    /// A call that was to be run has to wait for somebody outside after all.
    CallWaits {
        /// The call's place in the response.
        index: u32,
    },
    /// A call that waited, or that asked a person, has its answer from outside.
    CallClosed {
        /// The call's place in the response.
        index: u32,
        /// Its message.
        message: Arc<Message>,
        /// What is said after the results: a question and its answer.
        tail: Vec<Arc<Message>>,
    },
    /// A message for the model: delivered when the open turn is closed, before the next answer is asked for.
    Message(Arc<Message>),
    /// The model call was broken off for a message, and is made again. What had come of the answer stays in the
    /// conversation, and what waits is delivered.
    Interrupted(Option<Box<Response>>),
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
            note: None,
        }
    }
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlannedCall {
    /// It is run.
    Run {
        /// Whether it counts in the tool-call budget.
        counted: bool,
    },
    /// It is left for somebody outside.
    Wait,
    /// It is closed with this failure, and the run goes on.
    Refuse(CallFailure),
    /// No tool has its name.
    Unknown,
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
    /// There is not one plan for each call.
    WrongPlan,
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
            InputReason::WrongPlan => "there must be one plan for each call of the answer",
        })
    }
}

impl std::error::Error for InputError {}
