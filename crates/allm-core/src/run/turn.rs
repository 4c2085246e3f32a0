//! One turn: what becomes of an answer.

use std::sync::Arc;

use serde_json::{Value, json};

use super::after::AfterTurn;
use super::batch::{Batch, Slot};
use super::finalize::Pass;
use super::input::Stop;
use super::options::Planning;
use super::outcome::encoded;
use super::repair::{Repair, has_nameless, nameless};
use super::state::Run;
use crate::data::{
    CallFailure, Event, FailureReason, FinishReason, HaltReason, HasCalls, Map, Message, Messages,
    Mode, Request, Response, StepResult, ToolCall,
};
use crate::encode;
use crate::error::{Error, Failure};
use crate::json::to_value;

/// The key that marks a message which did not come to its end.
pub(crate) const PARTIAL: &str = "partial";

/// What a finished turn leaves behind.
struct Finished {
    response: Response,
    results: Messages,
    /// What is said after the results: questions and their answers.
    tail: Messages,
    manual: Vec<ToolCall>,
    metadata: Map,
    done: bool,
    /// Whether an earlier run has told the step.
    resumed: bool,
    after: AfterTurn,
}

impl Run {
    /// What is sent in this turn.
    pub(super) fn request(&self) -> Request {
        let mut request = self.setup.request.clone();
        request.messages = self.thread.messages.clone();
        match &self.pass {
            Pass::One => {
                request.tools.clone_from(&self.setup.offered);
                if self.setup.options.structured_finalize.is_some() {
                    request.response_format = None;
                }
            }
            Pass::Two(_) => {
                request.tools.clear();
                request.tool_choice = None;
                request.parallel_tool_calls = None;
            }
        }
        request
    }

    /// Takes an answer that ended, well or not. The order of the cases is the order of the contract.
    pub(super) fn take_answer(&mut self, mut response: Response, events: &mut Vec<Event>) {
        self.settle(&mut response, events);
        self.count(&response);
        let failed = response.finish_reason == Some(FinishReason::Error);
        let has_calls = !response.tool_calls().is_empty();
        // An answer that ended on its own, and asks for nothing, stands.
        let stop = self.stop.filter(|_| failed || has_calls);
        if let Some(stop) = stop {
            self.close_all(response, &stop_halt(self, stop), stop_reason(stop), events);
        } else if failed {
            let failure = response.error.clone().unwrap_or_else(Failure::interrupted);
            self.close_all(
                response,
                &AfterTurn::failed(&failure),
                FailureReason::NotExecuted,
                events,
            );
        } else if !has_calls && self.goes_on_with_queued() {
            let finished = Finished {
                done: false,
                ..Finished::bare(response, AfterTurn::go_on())
            };
            self.finish_turn(finished, events);
        } else if !has_calls {
            let after = AfterTurn::halt(HaltReason::Completed, Map::new());
            self.finish_turn(Finished::bare(response, after), events);
        } else if response.finish_reason.is_some_and(FinishReason::is_cut) {
            let after = AfterTurn::truncated(self.turn(), response.finish_reason);
            self.close_all(response, &after, FailureReason::Truncated, events);
        } else if self.pass == Pass::One && self.setup.options.mode == Mode::Manual {
            self.leave_to_caller(response, events);
        } else {
            self.plan(response, events);
        }
    }

    /// Takes what had come of an answer that was stopped.
    pub(super) fn take_partial(
        &mut self,
        mut partial: Response,
        stop: Stop,
        events: &mut Vec<Event>,
    ) {
        if partial.error.is_none() {
            let failure = stop_failure(stop);
            events.push(Event::error(failure.clone()));
            partial.error = Some(failure);
        }
        self.take_answer(partial, events);
    }

    /// Makes the answer consistent: calls repaired, error and finish reason in step. The argument text was read by the
    /// driver, within its limits, and is not read again.
    fn settle(&self, response: &mut Response, events: &mut Vec<Event>) {
        let failed =
            response.error.is_some() || response.finish_reason == Some(FinishReason::Error);
        let cut = failed || response.finish_reason.is_some_and(FinishReason::is_cut);
        let turn = self.setup.first_turn.saturating_add(self.turn());
        Repair::new(turn).message(&mut response.message, cut);
        if failed {
            // A call without a name in an answer that failed anyway is told by that failure.
            response.error.get_or_insert_with(Failure::interrupted);
        } else if has_nameless(&response.message) {
            let failure = nameless();
            events.push(Event::error(failure.clone()));
            response.error = Some(failure);
        }
        response.finish_reason = if response.error.is_some() {
            Some(FinishReason::Error)
        } else {
            FinishReason::settled(response.finish_reason, HasCalls::of(response.tool_calls()))
        };
    }

    fn count(&mut self, response: &Response) {
        self.counters.add(&response.usage);
        if self.pass == Pass::One {
            self.counters.turns += 1;
        }
    }

    /// A message for the model that came during the last answer is answered before the run ends.
    fn goes_on_with_queued(&self) -> bool {
        !self.queued.is_empty() && self.pass == Pass::One && self.stop.is_none()
    }

    /// Puts the messages that wait into the conversation.
    pub(super) fn deliver(&mut self) {
        let queued = std::mem::take(&mut self.queued);
        self.thread.messages.extend(queued.iter().cloned());
    }

    /// Keeps what had come of an answer that was broken off. Its calls are closed, and were not run.
    pub(super) fn keep_partial(&mut self, mut partial: Response) {
        let turn = self.setup.first_turn.saturating_add(self.turn());
        Repair::new(turn).message(&mut partial.message, true);
        partial.finish_reason = Some(FinishReason::Error);
        self.counters.add(&partial.usage);
        if let Some(message) = assistant_message(&partial) {
            let slots = partial.tool_calls().iter();
            let slots = slots.map(|call| closing(FailureReason::Cancelled, call));
            let results = close(&partial, slots.collect(), &mut Vec::new());
            self.thread.messages.push(message);
            self.thread.messages.extend(results.iter().cloned());
        }
    }

    /// `Mode::Manual`: every call is the caller's, unchecked.
    fn leave_to_caller(&mut self, response: Response, events: &mut Vec<Event>) {
        let turn = self.turn();
        let finished = Finished {
            metadata: object(json!({"mode": "manual"})),
            done: false,
            ..Finished::bare(response, AfterTurn::manual(turn, None))
        };
        self.finish_turn(finished, events);
    }

    /// Ends the turn of a batch whose calls have all come to their end.
    pub(super) fn finish_batch(&mut self, batch: Batch, events: &mut Vec<Event>) {
        let turn = self.turn();
        let halt = batch.halt().cloned();
        if let Some(stop) = self.stop {
            let mut after = stop_halt(self, stop);
            after.step_facts = halt.map(|halt| halt.facts()).unwrap_or_default();
            let reason = stop_reason(stop);
            let slots = batch.slots.into_iter().zip(batch.response.tool_calls());
            let in_session = self.setup.options.planning == Planning::Driver;
            let slots = slots.map(|(slot, call)| match slot {
                Slot::NotStarted | Slot::Manual | Slot::Asking(_) | Slot::Running => {
                    closing(reason, call)
                }
                // In a session a question waits for its answer, and the stop closes it like any other wait.
                slot if in_session && slot.asks() => closing(reason, call),
                slot => slot,
            });
            let slots: Vec<Slot> = slots.collect();
            let tail = tail_of(&slots);
            let results = close(&batch.response, slots, events);
            let finished = Finished {
                results,
                tail,
                metadata: after.step_metadata(),
                resumed: batch.resumed,
                ..Finished::bare(batch.response, after)
            };
            return self.finish_turn(finished, events);
        }
        let manual: Vec<ToolCall> = batch
            .response
            .tool_calls()
            .iter()
            .zip(&batch.slots)
            .filter(|(_, slot)| slot.waits())
            .map(|(call, _)| call.clone())
            .collect();
        let after = match &halt {
            Some(halt) => AfterTurn::halted(halt, turn, &manual),
            None if !manual.is_empty() => AfterTurn::manual(turn, Some(&manual)),
            None => AfterTurn::go_on(),
        };
        let mut metadata = halt
            .clone()
            .map(super::HaltFacts::into_metadata)
            .unwrap_or_default();
        if !manual.is_empty() {
            metadata.insert("manual_tool_calls".to_owned(), calls_value(&manual));
        }
        let tail = tail_of(&batch.slots);
        let results = close(&batch.response, batch.slots, events);
        let finished = Finished {
            results,
            tail,
            manual,
            metadata,
            done: halt.is_some(),
            resumed: batch.resumed,
            ..Finished::bare(batch.response, after)
        };
        self.finish_turn(finished, events);
    }

    /// Closes every call of the answer for one reason, and halts.
    pub(super) fn close_all(
        &mut self,
        response: Response,
        after: &AfterTurn,
        reason: FailureReason,
        events: &mut Vec<Event>,
    ) {
        let slots = response
            .tool_calls()
            .iter()
            .map(|call| closing(reason, call))
            .collect();
        self.close_slots(response, slots, after, events);
    }

    pub(super) fn close_slots(
        &mut self,
        response: Response,
        slots: Vec<Slot>,
        after: &AfterTurn,
        events: &mut Vec<Event>,
    ) {
        let results = close(&response, slots, events);
        let finished = Finished {
            results,
            metadata: after.step_metadata(),
            ..Finished::bare(response, after.clone())
        };
        self.finish_turn(finished, events);
    }

    /// Puts the turn into the conversation, records the step and decides what comes next.
    fn finish_turn(&mut self, finished: Finished, events: &mut Vec<Event>) {
        if let Some(message) = assistant_message(&finished.response) {
            self.thread.messages.push(message);
            self.thread
                .messages
                .extend(finished.results.iter().cloned());
            self.thread.messages.extend(finished.tail.iter().cloned());
        }
        if finished.resumed {
            return self.after_resumed(finished.after, events);
        }
        let step = Arc::new(StepResult {
            step_index: self.turn(),
            response: Arc::new(finished.response),
            thread: self.thread.clone(),
            mode: match self.pass {
                Pass::One => self.setup.options.mode,
                Pass::Two(_) => Mode::Auto,
            },
            manual_tool_calls: finished.manual,
            tool_results: finished.results,
            done: finished.done,
            metadata: finished.metadata,
        });
        Arc::make_mut(&mut self.steps).push(Arc::clone(&step));
        events.push(Event::StepCompleted(step));
        self.after_turn(finished.after, events);
    }
}

impl Finished {
    /// A turn without results and metadata.
    fn bare(response: Response, after: AfterTurn) -> Self {
        Self {
            response,
            results: Messages::new(),
            tail: Messages::new(),
            resumed: false,
            manual: Vec::new(),
            metadata: Map::new(),
            done: true,
            after,
        }
    }
}

/// The answer as it stands in the conversation; `None` for a failed one of which neither text nor a named call came.
/// Calls without a name, which only a failed answer has, are left out.
pub(crate) fn assistant_message(response: &Response) -> Option<Message> {
    let message = &response.message;
    let named = message
        .tool_calls
        .iter()
        .filter(|call| !call.name.is_empty());
    let message = Message {
        tool_calls: named.cloned().collect(),
        finish_reason: response.finish_reason,
        origin: message.origin.clone(),
        name: message.name.clone(),
        metadata: partial_mark(message),
        ..Message::assistant(message.content.clone())
    };
    let failed = response.finish_reason == Some(FinishReason::Error);
    let is_there = !failed || !message.tool_calls.is_empty() || !message.text().is_empty();
    is_there.then_some(message)
}

/// Of a provider's own facts nothing goes on; that an answer did not come to its end does.
fn partial_mark(message: &Message) -> Map {
    let mark = message.metadata.get_key_value(PARTIAL);
    mark.map(|(key, value)| (key.clone(), value.clone()))
        .into_iter()
        .collect()
}

pub(super) fn closing(reason: FailureReason, call: &ToolCall) -> Slot {
    Slot::Closing(encode::closed(reason, call.original_name()))
}

/// What is said after the results, in call order.
fn tail_of(slots: &[Slot]) -> Messages {
    let tails = slots.iter().filter_map(|slot| match slot {
        Slot::Done { tail, .. } => Some(tail),
        _ => None,
    });
    tails.flatten().cloned().collect()
}

/// The tool messages of the turn in call order, and the events of the calls that the library closes.
fn close(response: &Response, slots: Vec<Slot>, events: &mut Vec<Event>) -> Messages {
    let mut results = Messages::new();
    for ((call, slot), index) in response.tool_calls().iter().zip(slots).zip(0..) {
        match slot {
            Slot::Done { message, .. } => results.push(message),
            Slot::Closing(failure) if !call.name.is_empty() => {
                results.push(close_one(index, call, &failure, events));
            }
            Slot::Closing(_)
            | Slot::Manual
            | Slot::Asking(_)
            | Slot::NotStarted
            | Slot::Running => {}
        }
    }
    results
}

/// No encoder is asked about a call that the library closes.
fn close_one(
    index: u32,
    call: &ToolCall,
    failure: &CallFailure,
    events: &mut Vec<Event>,
) -> Message {
    let content = failure.to_content();
    events.push(encoded(index, call, &content, true));
    Message::tool_error(call.id.clone(), content)
}

pub(super) fn stop_reason(stop: Stop) -> FailureReason {
    match stop {
        Stop::Cancelled => FailureReason::Cancelled,
        Stop::Deadline(_) => FailureReason::DeadlineExceeded,
    }
}

pub(super) fn stop_halt(run: &Run, stop: Stop) -> AfterTurn {
    AfterTurn::stopped(stop, run.limit_of_stop(stop))
}

/// The failure of a model call that was stopped.
pub(super) fn stop_failure(stop: Stop) -> Failure {
    use crate::error::{StreamError, StreamReason};
    let error = match stop {
        Stop::Cancelled => StreamError::new(StreamReason::Cancelled, "the run was cancelled"),
        Stop::Deadline(_) => {
            StreamError::new(StreamReason::Timeout, "a deadline of the run passed")
        }
    };
    Failure::from(Error::from(error))
}

pub(super) fn calls_value(calls: &[ToolCall]) -> Value {
    // Calls hold text and JSON values only, so writing them cannot fail.
    to_value(calls).unwrap_or_default()
}

pub(super) fn object(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
