//! The one reducer from events to answers, steps and results.

mod blocks;
mod calls;
mod turn;

use std::fmt;
use std::sync::Arc;

use crate::data::{
    ChatResult, Event, HaltReason, Map, Messages, Mode, Response, StepResult, Thread,
};
use crate::error::StreamError;
use crate::run::assistant_message;
use turn::TurnFold;

/// The one reducer from events to answers, steps and results. Every awaited form is the fold of its streamed form.
///
/// It is total: no event, in whatever order, makes it fail or panic. A text delta costs no allocation beyond the growth
/// of the text.
///
/// ```
/// use allm_core::{Event, Fold};
///
/// let mut fold = Fold::new();
/// fold.push(&Event::text_delta("Hel"));
/// fold.push(&Event::text_delta("lo"));
/// assert_eq!(fold.response().text(), "Hello");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fold {
    given: Option<Thread>,
    turn: TurnFold,
    steps: Vec<Arc<StepResult>>,
    failed: bool,
    result: Option<Arc<ChatResult>>,
}

/// A fold that was given no thread and saw no step has no conversation to tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoThread;

impl fmt::Display for NoThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no thread was given to the fold and no step was folded")
    }
}

impl std::error::Error for NoThread {}

impl Fold {
    /// A fold that knows no conversation: good for answers, and for results that events carry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A fold of the events of a run over this conversation.
    #[must_use]
    pub fn with_thread(thread: Thread) -> Self {
        Self {
            given: Some(thread),
            ..Self::default()
        }
    }

    /// Takes one event in.
    pub fn push(&mut self, event: &Event) {
        if self.result.is_some() {
            return;
        }
        match event {
            Event::StepCompleted(step) => {
                self.steps.push(Arc::clone(step));
                self.turn = TurnFold::default();
            }
            Event::ChatCompleted(completed) => self.result = Some(Arc::clone(&completed.result)),
            Event::Error(error) => {
                self.failed = true;
                self.turn.fail(&error.error);
            }
            event => self.turn.push(event),
        }
    }

    /// Whether the provider's answer of the present turn has ended, well or not.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.turn.is_terminated()
    }

    /// The error that stands for the end of a provider's stream, when it ends without its closing event.
    #[must_use]
    pub fn missing_end(&self) -> Option<Event> {
        let error = || Event::error(crate::error::Error::from(StreamError::interrupted()));
        (!self.is_terminated()).then(error)
    }

    /// The answer of the present turn as far as it has come.
    pub fn response(&self) -> Response {
        self.turn.clone().into_response()
    }

    /// The same, of a turn that is over: what nobody else holds is not copied.
    pub fn into_response(self) -> Response {
        self.turn.into_response()
    }

    /// The first finished step, else one made of what has come.
    ///
    /// # Errors
    ///
    /// Without any thread.
    pub fn step_result(&self) -> Result<Arc<StepResult>, NoThread> {
        if let Some(step) = self.steps.first() {
            return Ok(Arc::clone(step));
        }
        let mut thread = self.given.clone().ok_or(NoThread)?;
        let response = self.response();
        if !self.turn.is_empty() {
            thread.messages.extend(assistant_message(&response));
        }
        let tool_results: Messages = self.turn.tool_messages().cloned().collect();
        thread.messages.extend(tool_results.iter().cloned());
        Ok(Arc::new(StepResult {
            step_index: 0,
            response: Arc::new(response),
            thread,
            mode: Mode::Auto,
            manual_tool_calls: Vec::new(),
            tool_results,
            done: self.turn.halt_metadata().is_some() || self.failed,
            metadata: self.turn.halt_metadata().cloned().unwrap_or_default(),
        }))
    }

    /// The result that the events told; before its end a run counts as failed if an error came, else as cancelled.
    ///
    /// # Errors
    ///
    /// Without any thread.
    pub fn chat_result(&self) -> Result<Arc<ChatResult>, NoThread> {
        if let Some(result) = &self.result {
            return Ok(Arc::clone(result));
        }
        let last = self.steps.last();
        let thread = last.map(|step| &step.thread).or(self.given.as_ref());
        let final_response = if self.turn.is_empty() {
            last.map(|step| step.response.clone())
        } else {
            Some(Arc::new(self.response()))
        };
        Ok(Arc::new(ChatResult {
            thread: thread.ok_or(NoThread)?.clone(),
            final_response,
            steps: self.steps.clone(),
            halted_reason: if self.failed {
                HaltReason::Error
            } else {
                HaltReason::Cancelled
            },
            pending_question: None,
            pending_tool_call_id: None,
            metadata: Map::new(),
        }))
    }

    /// The steps so far.
    #[must_use]
    pub fn steps(&self) -> &[Arc<StepResult>] {
        &self.steps
    }
}
