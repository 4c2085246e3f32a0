//! What can be wrong with a script.

use std::fmt;

/// The first step of a script that cannot stand where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptFault {
    /// The step's number, from 1.
    pub step: usize,
    /// The step's name, as in JSON.
    pub name: &'static str,
    /// What is wrong with it.
    pub reason: ScriptFaultReason,
}

/// What is wrong with a step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptFaultReason {
    /// It would never be played: the step of this name ended the script.
    AfterEnd(&'static str),
    /// The script has a finish already.
    SecondFinish,
    /// A provider never ends with this reason: `no_scripted_response` is the fake's own word for a test that ran out of
    /// replies, and `cancelled` that of the caller's token.
    IllegalReason(&'static str),
    /// The arguments are no JSON object that a call may have; `call_raw` is the step for such.
    NotAnObject,
    /// The text is not one JSON value.
    NotJson,
}

impl fmt::Display for ScriptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} (`{}`): {}", self.step, self.name, self.reason)
    }
}

impl fmt::Display for ScriptFaultReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AfterEnd(end) => write!(f, "it stands after `{end}`, which ends the script"),
            Self::SecondFinish => f.write_str("the script has a finish already"),
            Self::IllegalReason(reason) => write!(f, "no provider ends with `{reason}`"),
            Self::NotAnObject => f.write_str("the arguments are no JSON object"),
            Self::NotJson => f.write_str("the text is not one JSON value"),
        }
    }
}

impl std::error::Error for ScriptFault {}
