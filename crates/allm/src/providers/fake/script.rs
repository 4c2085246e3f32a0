//! What one attempt is answered with.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use allm_core::json::RawJson;
use allm_core::{
    AdapterError, AdapterReason, FinishReason, Part, ResponseId, StreamReason, ToolCallId, Usage,
};

use super::fault::{ScriptFault, ScriptFaultReason};
use super::step::{Step, whole_call};

/// What one attempt is answered with, step by step.
///
/// A text alone is a script, too: `fake.reply("Sunny.")`. Without a [`finish`](Self::finish) the answer ends after the
/// last step, with `tool_calls` when there are calls, else with `stop`.
///
/// # Faults
///
/// A step after one that ends the script, a second finish, a reason that no provider gives, arguments that are no object
/// and text that is no JSON are found when the step is added. The methods stay chainable: the script keeps the first
/// fault with the step's number, takes no further step, and tells it with [`check`](Self::check). A [`Fake`](super::Fake)
/// that was given such a script fails **every** call with it, so that a test cannot pass over it.
///
/// # As JSON
///
/// A script is a document of the type `fake_script`:
///
/// ```
/// use allm::{Script, json};
/// use serde_json::json;
///
/// let script = Script::new().text("Let me look.").call("weather", json!({"city": "Boston"}));
/// let text = json::to_string(&script)?;
/// assert_eq!(
///     text,
///     r#"{"v":1,"type":"fake_script","data":{"steps":[{"text":"Let me look."},"#.to_owned()
///         + r#"{"call":{"name":"weather","arguments":{"city":"Boston"}}}]}}"#
/// );
/// assert_eq!(json::from_str::<Script>(&text)?, script);
/// # Ok::<(), allm::JsonError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a script does nothing until a fake is given it"]
pub struct Script {
    steps: Vec<Step>,
    fault: Option<ScriptFault>,
}

impl Script {
    /// A script without steps: an answer without any part, ended with `stop`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Visible text in one piece. Text steps in a row are one part; what gives no content (a delay, a raw event, usage …)
    /// does not end the row.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.push(Step::Text(text.into()))
    }

    /// Visible text in these pieces.
    pub fn chunks<T: Into<String>>(self, chunks: impl IntoIterator<Item = T>) -> Self {
        self.push(Step::Chunks(texts(chunks)))
    }

    /// Visible text in pieces of one character.
    pub fn typed(self, text: impl Into<String>) -> Self {
        self.push(Step::Typed(text.into()))
    }

    /// Thinking in one piece. Steps in a row are one part, as for text.
    pub fn reasoning(self, text: impl Into<String>) -> Self {
        self.push(Step::Reasoning(text.into()))
    }

    /// A part of thinking with the JSON text that its provider wants back. It stands alone, whatever is beside it; an
    /// empty text is left out.
    pub fn reasoning_opaque(self, text: impl Into<String>, opaque: impl Into<String>) -> Self {
        match RawJson::new(opaque.into()) {
            Ok(opaque) => self.push(Step::ReasoningOpaque {
                text: text.into(),
                opaque,
            }),
            Err(_) => self.fail_at("reasoning_opaque", ScriptFaultReason::NotJson),
        }
    }

    /// A call with an id of the fake's: `call_1`, `call_2` … over the life of the instance. Arguments are anything that
    /// is written as a JSON object; `()` is none.
    pub fn call(self, name: impl Into<String>, arguments: impl Serialize) -> Self {
        self.call_step(None, name.into(), &arguments)
    }

    /// A call with this id; an empty one is that of a provider that sends none.
    pub fn call_with_id(
        self,
        id: impl Into<ToolCallId>,
        name: impl Into<String>,
        arguments: impl Serialize,
    ) -> Self {
        self.call_step(Some(id.into()), name.into(), &arguments)
    }

    /// A call with this argument text, malformed or not.
    pub fn call_raw(self, name: impl Into<String>, raw_arguments: impl Into<String>) -> Self {
        self.push(Step::CallRaw {
            name: name.into(),
            raw_arguments: raw_arguments.into(),
        })
    }

    /// A call whose argument text comes in these pieces.
    pub fn call_chunked<T: Into<String>>(
        self,
        name: impl Into<String>,
        fragments: impl IntoIterator<Item = T>,
    ) -> Self {
        self.push(Step::CallChunked {
            name: name.into(),
            fragments: texts(fragments),
        })
    }

    /// A call that is begun and never completed; before [`cut`](Self::cut), a failure, or `finish(Length)`.
    pub fn call_cut_off<T: Into<String>>(
        self,
        name: impl Into<String>,
        fragments: impl IntoIterator<Item = T>,
    ) -> Self {
        self.push(Step::CallCutOff {
            name: name.into(),
            fragments: texts(fragments),
        })
    }

    /// Any part, as one of its own. Its text, if it has any, is one piece.
    pub fn part(self, part: Part) -> Self {
        self.push(Step::Part(Box::new(part)))
    }

    /// Something on the wire that gives no content, such as a ping: a `raw_chunk` of this JSON text for those who asked
    /// for them, and a sign of life for all.
    pub fn raw(self, json: impl Into<String>) -> Self {
        match RawJson::new(json.into()) {
            Ok(json) => self.push(Step::Raw(json)),
            Err(_) => self.fail_at("raw", ScriptFaultReason::NotJson),
        }
    }

    /// What the completion says of usage.
    pub fn usage(self, usage: Usage) -> Self {
        self.push(Step::Usage(Box::new(usage)))
    }

    /// The provider's id of the answer.
    pub fn id(self, id: impl Into<ResponseId>) -> Self {
        self.push(Step::Id(id.into()))
    }

    /// The model that really answers; without it the one that was asked.
    pub fn model(self, model: impl Into<String>) -> Self {
        self.push(Step::Model(model.into()))
    }

    /// Ends the answer with this reason; `finish(None)` with none at all.
    pub fn finish(self, reason: impl Into<Option<FinishReason>>) -> Self {
        self.push(Step::Finish {
            reason: reason.into(),
            raw: None,
        })
    }

    /// Ends the answer with this reason and the provider's own word for it.
    pub fn finish_raw(
        self,
        reason: impl Into<Option<FinishReason>>,
        raw: impl Into<String>,
    ) -> Self {
        self.push(Step::Finish {
            reason: reason.into(),
            raw: Some(raw.into()),
        })
    }

    /// Silence on tokio's clock before the next step, rounded up to whole milliseconds. The call's limits hold: a delay
    /// beyond one of them ends as a real silence would.
    pub fn delay(self, delay: Duration) -> Self {
        let millis = delay.as_nanos().div_ceil(1_000_000);
        self.push(Step::Delay(u64::try_from(millis).unwrap_or(u64::MAX)))
    }

    /// Ends with an error. Before any content it is the attempt's only event, later one in mid-stream.
    pub fn fail(self, reason: AdapterReason) -> Self {
        self.push(Step::Fail(reason))
    }

    /// Ends with this error. Our id of the request is put in if it has none.
    pub fn fail_with(self, error: AdapterError) -> Self {
        self.push(Step::FailWith(Box::new(error)))
    }

    /// Gives an error and goes on as if nothing had happened, which no good adapter does: for tests of consumers.
    pub fn fail_and_continue(self, reason: AdapterReason) -> Self {
        self.push(Step::FailAndContinue(reason))
    }

    /// Ends with an error of the stream.
    pub fn stream_fail(self, reason: StreamReason) -> Self {
        self.push(Step::StreamFail(reason))
    }

    /// Ends without a closing event.
    pub fn cut(self) -> Self {
        self.push(Step::Cut)
    }

    /// Says nothing more. The first of the call's limits to expire ends it; without any it lasts until the stream is
    /// cancelled or dropped.
    pub fn hang(self) -> Self {
        self.push(Step::Hang)
    }

    /// Says whether the script can be played.
    ///
    /// # Errors
    ///
    /// The first step that cannot stand where it stands.
    pub fn check(&self) -> Result<(), ScriptFault> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    pub(super) fn of_steps(steps: Vec<Step>) -> Self {
        steps.into_iter().fold(Self::new(), Self::push)
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    fn call_step<T: Serialize>(self, id: Option<ToolCallId>, name: String, arguments: &T) -> Self {
        match whole_call("", "", arguments).and_then(|call| call.arguments) {
            Some(arguments) => self.push(Step::Call {
                id,
                name,
                arguments: Arc::unwrap_or_clone(arguments),
            }),
            None => self.fail_at("call", ScriptFaultReason::NotAnObject),
        }
    }

    fn push(mut self, step: Step) -> Self {
        match step.fault_after(self.steps.last()) {
            Some(reason) => self.fail_at(step.name(), reason),
            None if self.fault.is_some() => self,
            None => {
                self.steps.push(step);
                self
            }
        }
    }

    /// The first fault is kept: a refused step is not counted, so later numbers would be wrong.
    fn fail_at(mut self, name: &'static str, reason: ScriptFaultReason) -> Self {
        let step = self.steps.len() + 1;
        self.fault.get_or_insert(ScriptFault { step, name, reason });
        self
    }
}

impl From<&str> for Script {
    /// One text step.
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}

impl From<String> for Script {
    /// One text step.
    fn from(text: String) -> Self {
        Self::new().text(text)
    }
}

fn texts<T: Into<String>>(pieces: impl IntoIterator<Item = T>) -> Vec<String> {
    pieces.into_iter().map(Into::into).collect()
}
