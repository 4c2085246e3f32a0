//! The JSON form of a step inside a longer record.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Map as JsonMap;

use super::Map;
use super::messages::Messages;
use super::response::Response;
use super::step::{Mode, StepResult};
use super::thread::Thread;
use super::tool_call::ToolCall;

/// A step whose thread is written as its length where it is the beginning of the record's thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepForm {
    step_index: u32,
    response: Arc<Response>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<Thread>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread_length: Option<usize>,
    mode: Mode,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    manual_tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Messages::is_empty")]
    tool_results: Messages,
    done: bool,
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    metadata: Map,
}

impl StepForm {
    /// The forms of the steps of a record.
    pub(crate) fn of_all(steps: &[Arc<StepResult>], whole: &Thread) -> Vec<Self> {
        let form = |step: &Arc<StepResult>| {
            let own = &step.thread;
            let is_beginning =
                own.metadata == whole.metadata && own.messages.is_prefix_of(&whole.messages);
            Self::of(step, is_beginning)
        };
        steps.iter().map(form).collect()
    }

    /// The form of a step whose thread is told by its length.
    pub(crate) fn beginning(step: &StepResult) -> Self {
        Self::of(step, true)
    }

    fn of(step: &StepResult, is_beginning: bool) -> Self {
        Self {
            step_index: step.step_index,
            response: Arc::clone(&step.response),
            thread: (!is_beginning).then(|| step.thread.clone()),
            thread_length: is_beginning.then(|| step.thread.len()),
            mode: step.mode,
            manual_tool_calls: step.manual_tool_calls.clone(),
            tool_results: step.tool_results.clone(),
            done: step.done,
            metadata: step.metadata.clone(),
        }
    }

    /// The steps of these forms.
    pub(crate) fn into_steps(
        forms: Vec<Self>,
        whole: &Thread,
    ) -> Result<Vec<Arc<StepResult>>, &'static str> {
        // From the last to the first, so that each thread is cut from the next longer one.
        let mut longest = whole.clone();
        let mut steps = Vec::with_capacity(forms.len());
        for form in forms.into_iter().rev() {
            let thread = match (form.thread, form.thread_length) {
                (Some(thread), None) => thread,
                (None, Some(length)) if length <= whole.len() => {
                    if length > longest.len() {
                        longest = whole.clone();
                    }
                    longest.messages.truncate(length);
                    longest.clone()
                }
                (None, Some(_)) => return Err("`thread_length` is larger than the thread"),
                _ => return Err("a step has either `thread` or `thread_length`"),
            };
            steps.push(Arc::new(StepResult {
                step_index: form.step_index,
                response: form.response,
                thread,
                mode: form.mode,
                manual_tool_calls: form.manual_tool_calls,
                tool_results: form.tool_results,
                done: form.done,
                metadata: form.metadata,
            }));
        }
        steps.reverse();
        Ok(steps)
    }
}
