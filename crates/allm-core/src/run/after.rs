//! After a turn: does the run stop, and why.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::HaltFacts;
use super::finalize::Pass;
use super::input::{DeadlineScope, Stop};
use super::state::{Phase, Run, RunEnd};
use super::turn::{calls_value, object, stop_failure};
use crate::data::{
    AnswerTo, ChatCompleted, ChatResult, Event, FinishReason, HaltReason, Map, Message, ToolCall,
    ToolCallId,
};
use crate::error::Failure;

/// What a turn itself says about going on.
#[derive(Clone, Debug)]
pub(super) struct AfterTurn {
    /// Why the run stops; `None` if the turn leaves it open.
    pub(super) reason: Option<HaltReason>,
    /// What belongs to the reason in the result's metadata.
    pub(super) metadata: Map,
    /// The question, the call that asked it, and who gets the answer.
    pub(super) question: Option<(String, ToolCallId, AnswerTo)>,
    /// What a call had made of the turn before a stop overruled it; for the step's metadata.
    pub(super) step_facts: Map,
}

impl AfterTurn {
    pub(super) fn go_on() -> Self {
        Self {
            reason: None,
            metadata: Map::new(),
            question: None,
            step_facts: Map::new(),
        }
    }

    pub(super) fn halt(reason: HaltReason, metadata: Map) -> Self {
        Self {
            reason: Some(reason),
            metadata,
            ..Self::go_on()
        }
    }

    pub(super) fn failed(failure: &Failure) -> Self {
        Self::halt(HaltReason::Error, object(json!({"error": failure})))
    }

    pub(super) fn truncated(turn: u32, finish: Option<FinishReason>) -> Self {
        let metadata = json!({"truncated_turn_index": turn, "finish_reason": finish});
        Self::halt(HaltReason::Truncated, object(metadata))
    }

    pub(super) fn stopped(stop: Stop, limit: Option<Duration>) -> Self {
        match stop {
            Stop::Cancelled => Self::halt(HaltReason::Cancelled, Map::new()),
            Stop::Deadline(scope) => {
                let limit = limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
                let metadata = json!({"scope": scope, "limit_ms": limit});
                Self::halt(HaltReason::DeadlineExceeded, object(metadata))
            }
        }
    }

    /// Calls are left for the caller: those of manual tools, or all in `Mode::Manual`.
    pub(super) fn manual(turn: u32, calls: Option<&[ToolCall]>) -> Self {
        let mut metadata = object(json!({"manual_turn_index": turn}));
        if let Some(calls) = calls {
            metadata.insert("manual_tool_calls".to_owned(), calls_value(calls));
        }
        Self::halt(HaltReason::ManualToolCalls, metadata)
    }

    /// A call halted; calls left for the caller are told beside it.
    pub(super) fn halted(halt: &HaltFacts, turn: u32, manual: &[ToolCall]) -> Self {
        let mut metadata = halt.facts();
        if !manual.is_empty() {
            metadata.extend(Self::manual(turn, Some(manual)).metadata);
        }
        let question = match halt {
            HaltFacts::Asked {
                question,
                tool_call_id,
                answer_to,
                ..
            } => Some((question.clone(), tool_call_id.clone(), *answer_to)),
            HaltFacts::Halted { .. } | HaltFacts::Failed { .. } => None,
        };
        Self {
            question,
            ..Self::halt(halt.reason(), metadata)
        }
    }

    /// The metadata of a step that the library itself ended: the reason, and the failure if there is one.
    pub(super) fn step_metadata(&self) -> Map {
        let mut metadata = self.step_facts.clone();
        if let Some(reason) = &self.reason {
            metadata.insert("halted_reason".to_owned(), reason.as_str().into());
        }
        if let Some(error) = self.metadata.get("error") {
            metadata.insert("error".to_owned(), error.clone());
        }
        metadata
    }
}

impl Run {
    pub(super) fn limit_of_stop(&self, stop: Stop) -> Option<Duration> {
        match stop {
            Stop::Cancelled => None,
            Stop::Deadline(scope) => self.limit_of(scope),
        }
    }

    pub(super) fn after_turn(&mut self, after: AfterTurn, events: &mut Vec<Event>) {
        if self.is_step() {
            if let Some(step) = self.steps.last() {
                self.phase = Phase::Done(RunEnd::Step(Arc::clone(step)));
            }
        } else if after.reason.is_some() {
            self.end_pass(after, events);
        } else if self.asks_halt_when() {
            self.phase = Phase::HaltWhen;
        } else {
            self.after_halt_when(false, events);
        }
    }

    /// The rest of the decisions, once `halt_when` has spoken or there is none.
    pub(super) fn after_halt_when(&mut self, halt: bool, events: &mut Vec<Event>) {
        let options = &self.setup.options;
        let done = self.counters.turns >= options.max_turns;
        let after = if halt {
            let index = self.turn().saturating_sub(1);
            let metadata = object(json!({"halt_when_step_index": index}));
            AfterTurn::halt(HaltReason::HaltWhen, metadata)
        } else if done {
            let metadata = object(json!({"max_turns": options.max_turns}));
            AfterTurn::halt(HaltReason::MaxTurns, metadata)
        } else if let Some(after) = self.nothing_left() {
            after
        } else {
            self.deliver();
            self.phase = Phase::Model;
            return;
        };
        self.end_pass(after, events);
    }

    /// After the turn that an earlier run had left open: its step was told, and `halt_when` was asked then.
    pub(super) fn after_resumed(&mut self, after: AfterTurn, events: &mut Vec<Event>) {
        if after.reason.is_some() {
            self.end_pass(after, events);
        } else {
            self.after_halt_when(false, events);
        }
    }

    /// What stops the run before another model call: a stop, or a budget that is used up.
    pub(super) fn nothing_left(&self) -> Option<AfterTurn> {
        if let Some(stop) = self.stop {
            return Some(AfterTurn::stopped(stop, self.limit_of_stop(stop)));
        }
        let metadata = self.counters.used_up(&self.setup.options.budgets)?;
        Some(AfterTurn::halt(HaltReason::BudgetExhausted, metadata))
    }

    /// Takes the refusal of a model call: no event of the provider came.
    pub(super) fn take_refusal(&mut self, failure: Failure, events: &mut Vec<Event>) {
        if let Some(stop) = self.stop {
            return self.stop_without_answer(stop, events);
        }
        events.push(Event::error(failure.clone()));
        if self.steps.is_empty() {
            self.phase = Phase::Done(RunEnd::Refused(Box::new(failure)));
            return;
        }
        let after = AfterTurn::failed(&failure);
        self.leave_second_pass(Some(&failure));
        self.end_pass(after, events);
    }

    /// Ends a run whose model call was stopped before anything came.
    pub(super) fn stop_without_answer(&mut self, stop: Stop, events: &mut Vec<Event>) {
        if self.is_step() {
            let failure = stop_failure(stop);
            events.push(Event::error(failure.clone()));
            self.phase = Phase::Done(RunEnd::Refused(Box::new(failure)));
            return;
        }
        self.leave_second_pass(None);
        let after = AfterTurn::stopped(stop, self.limit_of_stop(stop));
        self.end_pass(after, events);
    }

    /// Ends the pass: goes on to the second one, or ends the run.
    pub(super) fn end_pass(&mut self, after: AfterTurn, events: &mut Vec<Event>) {
        let Some(after) = self.open_second_pass(after) else {
            return;
        };
        let mut metadata = after.metadata;
        metadata.extend(self.finalize_marker(after.reason.as_ref()));
        // What is between a person and a tool is no part of the conversation with the model.
        if let Some((question, id, AnswerTo::Model)) = &after.question {
            self.thread.messages.push(question_message(question, id));
        }
        let question = after.question.map(|(question, id, _)| (question, id));
        let (pending_question, pending_tool_call_id) = question.unzip();
        let result = Arc::new(ChatResult {
            thread: self.thread.clone(),
            final_response: self.steps.last().map(|step| step.response.clone()),
            steps: self.steps.to_vec(),
            halted_reason: after.reason.unwrap_or(HaltReason::Completed),
            pending_question,
            pending_tool_call_id,
            metadata,
        });
        events.push(Event::ChatCompleted(ChatCompleted {
            result: Arc::clone(&result),
        }));
        self.phase = Phase::Done(RunEnd::Result(result));
        self.pass = Pass::One;
    }
}

/// The question as it stands at the end of the conversation.
pub(crate) fn question_message(question: &str, id: &ToolCallId) -> Message {
    Message {
        metadata: object(json!({"ask_user": true, "tool_call_id": id})),
        ..Message::assistant(question)
    }
}

impl DeadlineScope {
    /// The stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Run => "run",
        }
    }
}

impl From<DeadlineScope> for Value {
    fn from(scope: DeadlineScope) -> Self {
        scope.as_str().into()
    }
}
