//! The record of a finished turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map as JsonMap, Value};

use super::Map;
use super::finish::FinishReason;
use super::messages::Messages;
use super::response::Response;
use super::thread::Thread;
use super::tool_call::ToolCall;
use crate::error::{Error, Failure, Interrupted};

/// Who runs the calls of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The library, all but those of manual tools.
    #[default]
    Auto,
    /// The caller.
    Manual,
}

/// The record of a finished turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[must_use = "a turn may have failed: look at its response or use into_result()"]
pub struct StepResult {
    /// Which turn of the run, from 0.
    pub step_index: u32,
    /// What the model answered; shared with the result of the run.
    pub response: Arc<Response>,
    /// The conversation with this turn in it.
    pub thread: Thread,
    /// Who ran the calls.
    pub mode: Mode,
    /// The calls left for the caller: those of manual tools, and those that asked a person to go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manual_tool_calls: Vec<ToolCall>,
    /// All tool messages of the turn in call order, those of closed calls included.
    #[serde(default, skip_serializing_if = "Messages::is_empty")]
    pub tool_results: Messages,
    /// Whether there is nothing to go on with.
    pub done: bool,
    /// Why the turn halted, if it did, and what belongs to that.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
}

impl StepResult {
    /// The calls that wait for the caller, in the order of the model: those of manual tools and those that asked a person
    /// to go on, or all in [`Mode::Manual`]. Each needs one tool message before the thread can be sent.
    #[must_use]
    pub fn open_calls(&self) -> &[ToolCall] {
        match self.mode {
            Mode::Auto => &self.manual_tool_calls,
            // Calls of a turn that was cut off, failed or was stopped are closed.
            Mode::Manual if self.done => &[],
            Mode::Manual => self.response.tool_calls(),
        }
    }

    /// The question, when a tool asked one.
    #[must_use]
    pub fn pending_question(&self) -> Option<&str> {
        self.metadata.get("pending_question")?.as_str()
    }

    /// What the asking handler gave to the user interface, when a tool asked.
    #[must_use]
    pub fn ask_user_opts(&self) -> Option<&Map> {
        self.metadata.get("ask_user_opts")?.as_object()
    }

    /// The value with which a handler halted the turn.
    #[must_use]
    pub fn halt_result(&self) -> Option<&Value> {
        self.metadata.get("halt_result")
    }

    /// The failure that ended the turn, if one did.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        let in_metadata = || {
            let error = self.metadata.get("error")?;
            Failure::deserialize(error).ok()
        };
        self.response.error.clone().or_else(in_metadata)
    }

    /// This step, unless its turn failed.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] when the model's answer failed or was stopped; the error of an unknown tool.
    pub fn into_result(self) -> Result<Self, Error> {
        let halted = self.metadata.get("halted_reason").and_then(Value::as_str);
        let answer_failed = self.response.finish_reason == Some(FinishReason::Error)
            || self.response.error.is_some();
        match self.failure() {
            Some(failure) if halted == Some("error") && !answer_failed => Err(failure.into()),
            _ if answer_failed || halted == Some("error") => {
                Err(Interrupted::new(Arc::unwrap_or_clone(self.response)).into())
            }
            _ => Ok(self),
        }
    }
}
