//! What a transcript is made of.

use allm::session::{CallKey, Outcome};
use allm::{ApprovalId, Part, Role, Timestamp, Usage};

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Item {
    /// Somebody said something.
    Said(Box<Said>),
    /// The model called a tool; all that came of it is here.
    Call(Box<Call>),
    /// Anything else.
    Note(Note),
}

/// Somebody said something.
#[derive(Debug)]
pub(crate) struct Said {
    /// When; `None` for what was there before the session.
    pub(crate) at: Option<Timestamp>,
    pub(crate) who: Role,
    pub(crate) parts: Vec<Part>,
    /// The model that said it.
    pub(crate) model: Option<String>,
    /// Whether it was broken off.
    pub(crate) partial: bool,
    /// What it used.
    pub(crate) usage: Usage,
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Call {
    /// Its name for ever; `None` for what was there before the session.
    pub(crate) key: Option<CallKey>,
    pub(crate) tool: String,
    /// As the model wrote them.
    pub(crate) arguments: String,
    /// What happened to it, in order.
    pub(crate) steps: Vec<Step>,
}

/// Something that happened to a call.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) at: Option<Timestamp>,
    pub(crate) what: What,
}

/// What happened to a call.
#[derive(Debug)]
pub(crate) enum What {
    /// A person is asked to agree.
    ApprovalAsked {
        id: ApprovalId,
        reason: Option<String>,
        expires_at: Option<Timestamp>,
    },
    /// A person agreed.
    Approved { by: Option<String> },
    /// A person agreed to other arguments.
    Edited {
        arguments: String,
        by: Option<String>,
    },
    /// A person did not agree.
    Denied { reason: String, by: Option<String> },
    /// A result is to come from outside; also because nobody knows what became of the call.
    ResultAwaited { unknown: bool },
    /// Nobody answered in time.
    Expired,
    /// It began.
    Began { attempt: u32 },
    /// It asked a person.
    Asked { question: String },
    /// A person answered.
    Answered {
        parts: Vec<Part>,
        by: Option<String>,
    },
    /// A person said that it did not happen and may be run again.
    RunAgain { by: Option<String> },
    /// A result came too late to count.
    Late { outcome: Outcome, content: String },
    /// It has its outcome.
    Ended {
        outcome: Outcome,
        parts: Vec<Part>,
        /// Who gave the result, where it came from outside.
        by: Option<String>,
        /// How long it ran, in milliseconds.
        took: Option<u64>,
    },
}

/// Something besides the conversation.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) at: Option<Timestamp>,
    pub(crate) kind: NoteKind,
    pub(crate) text: String,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// Something failed.
    Failure,
    /// A run stopped before its answer was final.
    Halt,
    /// Good to know.
    Information,
}

impl Call {
    /// What it came to.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.steps.iter().rev().find_map(|step| match step.what {
            What::Ended { outcome, .. } => Some(outcome),
            What::Denied { .. } => Some(Outcome::Denied),
            What::Expired => Some(Outcome::Expired),
            What::Answered { .. } => Some(Outcome::Asked),
            _ => None,
        })
    }

    /// How long it ran, in milliseconds.
    pub(crate) fn took(&self) -> Option<u64> {
        self.steps.iter().rev().find_map(|step| match step.what {
            What::Ended { took, .. } => took,
            _ => None,
        })
    }
}
