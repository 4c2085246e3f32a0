//! The result of a run.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map as JsonMap, Value};

use super::Map;
use super::exhausted::ExhaustedBudget;
use super::halt::HaltReason;
use super::id::ToolCallId;
use super::response::Response;
use super::step::StepResult;
use super::step_form::StepForm;
use super::thread::Thread;
use super::tool_call::ToolCall;
use super::usage::Usage;
use crate::error::{Error, Failure, Interrupted, Unfinished};

/// The result of a run: where the conversation stands and why it stopped there.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a run may have failed: look at halted_reason or use into_result()"]
pub struct ChatResult {
    /// The conversation, with a question at its end if a tool asked one.
    pub thread: Thread,
    /// The last step's answer; `None` without steps.
    pub final_response: Option<Arc<Response>>,
    /// The finished turns.
    pub steps: Vec<Arc<StepResult>>,
    /// Why the run stopped.
    pub halted_reason: HaltReason,
    /// The question, when a tool asked one.
    pub pending_question: Option<String>,
    /// The call that asked.
    pub pending_tool_call_id: Option<ToolCallId>,
    /// What belongs to the reason.
    pub metadata: Map,
}

impl ChatResult {
    /// Whether something other than the final answer stopped the run.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.halted_reason != HaltReason::Completed
    }

    /// The last answer's text as it is, partial or not.
    #[must_use]
    pub fn text(&self) -> String {
        self.final_response
            .as_ref()
            .map(|response| response.text())
            .unwrap_or_default()
    }

    /// The calls that wait for the caller, in the order of the model: those of manual tools and those that asked a person
    /// to go on, or all in [`Mode::Manual`](crate::Mode::Manual). Empty when the run did not stop for calls.
    ///
    /// Each needs one tool message before the thread can be sent again:
    ///
    /// ```
    /// # fn run(_: &allm_core::ToolCall) -> String { String::new() }
    /// # fn example(result: allm_core::ChatResult) {
    /// use allm_core::Message;
    ///
    /// let mut thread = result.thread.clone();
    /// for call in result.open_calls() {
    ///     thread.push(Message::tool_result(call.id.clone(), run(call)));
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn open_calls(&self) -> &[ToolCall] {
        self.steps.last().map_or(&[], |step| step.open_calls())
    }

    /// The final answer as JSON of a type of the caller's. Nothing is repaired.
    ///
    /// # Errors
    ///
    /// The failure; [`Error::Unfinished`] when the run halted without its final answer, or this was cut; the path of the
    /// first fault when the text does not fit.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        match (&self.halted_reason, &self.final_response) {
            (HaltReason::Completed, Some(response)) => response.parse(),
            (reason, response) => {
                let response = response.as_deref().cloned();
                let unfinished = Unfinished::halted(reason.clone(), response);
                self.clone().into_result().and(Err(unfinished.into()))
            }
        }
    }

    /// What all turns used together.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let usages = self.steps.iter().map(|step| step.response.usage.clone());
        usages.reduce(std::ops::Add::add).unwrap_or_default()
    }

    /// What the asking handler gave to the user interface, when a tool asked: see
    /// [`ToolReply::ask_with`](crate::ToolReply::ask_with).
    ///
    /// ```
    /// # fn example(result: allm_core::ChatResult) {
    /// if let Some(question) = &result.pending_question {
    ///     let choices = result.ask_user_opts().and_then(|opts| opts.get("choices"));
    ///     println!("{question} {choices:?}");
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn ask_user_opts(&self) -> Option<&Map> {
        self.metadata.get("ask_user_opts")?.as_object()
    }

    /// The value with which a handler halted the run: see [`ToolReply::halt`](crate::ToolReply::halt).
    ///
    /// ```
    /// # fn example(result: allm_core::ChatResult) -> Option<()> {
    /// if result.halted_reason.as_str() == "plan_submitted" {
    ///     let steps = result.halt_result()?.get("steps")?;
    ///     println!("{steps}");
    /// }
    /// # Some(())
    /// # }
    /// ```
    #[must_use]
    pub fn halt_result(&self) -> Option<&Value> {
        self.metadata.get("halt_result")
    }

    /// The budget that ended the run, if one did.
    ///
    /// ```
    /// # fn example(result: allm_core::ChatResult) {
    /// use allm_core::ExhaustedBudget;
    ///
    /// if let Some(ExhaustedBudget::Tokens { limit, used }) = result.exhausted_budget() {
    ///     println!("{used} of {limit} tokens");
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn exhausted_budget(&self) -> Option<ExhaustedBudget> {
        ExhaustedBudget::of_metadata(&self.metadata)
    }

    /// The failure that ended the run, if one did.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        let error = self.metadata.get("error")?;
        Failure::deserialize(error).ok()
    }

    /// This result, unless the run failed.
    ///
    /// # Errors
    ///
    /// The failure, when the reason is `error`: [`Error::Interrupted`] with the partial answer where there is one.
    pub fn into_result(self) -> Result<Self, Error> {
        if self.halted_reason != HaltReason::Error {
            return Ok(self);
        }
        let failure = self.failure();
        match (self.final_response, failure) {
            (Some(response), _) if response.error.is_some() => {
                Err(Interrupted::new(Arc::unwrap_or_clone(response)).into())
            }
            (_, Some(failure)) => Err(failure.into()),
            (_, None) => Err(Failure::interrupted().into()),
        }
    }
}

/// The JSON form. A step's thread that is the beginning of the result's is written as its length: otherwise the text of
/// a long run would grow with the square of its turns.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatForm {
    thread: Thread,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    final_response: Option<Arc<Response>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepForm>,
    halted_reason: HaltReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending_question: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending_tool_call_id: Option<ToolCallId>,
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    metadata: Map,
}

impl Serialize for ChatResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = ChatForm {
            thread: self.thread.clone(),
            final_response: self.final_response.clone(),
            steps: StepForm::of_all(&self.steps, &self.thread),
            halted_reason: self.halted_reason.clone(),
            pending_question: self.pending_question.clone(),
            pending_tool_call_id: self.pending_tool_call_id.clone(),
            metadata: self.metadata.clone(),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChatResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = ChatForm::deserialize(deserializer)?;
        let steps =
            StepForm::into_steps(form.steps, &form.thread).map_err(serde::de::Error::custom)?;
        Ok(Self {
            steps,
            thread: form.thread,
            final_response: form.final_response,
            halted_reason: form.halted_reason,
            pending_question: form.pending_question,
            pending_tool_call_id: form.pending_tool_call_id,
            metadata: form.metadata,
        })
    }
}
