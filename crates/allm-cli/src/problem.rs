//! What went wrong, for a person: what it is, where, and what to do about it. And how the program ends.

use std::fmt;
use std::process::ExitCode;

use crate::sessions::fault::of_machine;
use crate::transcript::plain::harmless;

/// How the program ends. Scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what it was asked to do.
    Done = 0,
    /// The model, a tool, the store or the machine failed.
    Failed = 1,
    /// It was asked in a wrong way: arguments, configuration, a file that is not there.
    Usage = 2,
    /// It waits for a person: an approval, a question, a result. The session is kept.
    Waiting = 3,
    /// There is no final answer: a limit, a refusal, an answer that was cut or that does not fit its schema.
    Unfinished = 4,
    /// Ctrl-C.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Problem {
    /// How the program ends by it.
    pub(crate) exit: Exit,
    /// What went wrong, and where.
    what: String,
    /// What to do about it.
    advice: Option<String>,
}

impl Problem {
    /// It was asked in a wrong way.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// Something failed.
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self::new(Exit::Failed, what)
    }

    /// A problem that ends the program in this way.
    pub(crate) fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self {
            exit,
            what: what.into(),
            advice: None,
        }
    }

    /// With what to do about it.
    #[must_use]
    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// What went wrong, and where.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// What to do about it.
    pub(crate) fn what_to_do(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Says it on standard error. What a server or a file said in it makes a terminal do nothing.
    #[expect(clippy::print_stderr, reason = "that is where problems are told")]
    pub(crate) fn tell(&self) {
        eprintln!("{}", harmless(&self.to_string()));
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allm: {}", self.what)?;
        match &self.advice {
            Some(advice) => write!(f, "\n  {advice}"),
            None => Ok(()),
        }
    }
}

impl From<allm::EngineError> for Problem {
    fn from(error: allm::EngineError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<allm::SessionError> for Problem {
    fn from(error: allm::SessionError) -> Self {
        let of_machine = error.store_reason().and_then(of_machine);
        of_machine.unwrap_or_else(|| Self::failed(error.to_string()))
    }
}

impl From<allm::StoreError> for Problem {
    fn from(error: allm::StoreError) -> Self {
        allm::SessionError::from(error).into()
    }
}
