//! What the driver's entries make of a session.

use std::sync::Arc;

use super::apply::Applied;
use super::call::{
    Approval, AwaitedResult, CallState, Intent, Outcome, Wait, WaitReason, arguments_hash,
};
use super::entry::{
    CallPlan, CallsPlanned, Delivery, Halted, ModelEnd, ModelFailed, ModelResponded, Operation,
    OutcomePolicy, PlanOfCall, Recovered, RunStarted, ToolIntent, ToolOutcomeEntry,
};
use super::hash::started_hash;
use super::run_state::{RunClock, RunState};
use super::state::{Session, SessionFailure, marked_partial};
use super::turn::{OpenTurn, TurnCall};
use crate::data::{CallFailure, FailureReason, HaltReason, Message, Mode, Response, Timestamp};
use crate::encode;
use crate::run::{
    Command, HaltAnswer, Input, PlannedCall, Planning, Run, RunSetup, Stop, assistant_message,
    noted,
};

type Done = Result<(), &'static str>;

impl Session {
    pub(super) fn start_run(
        &mut self,
        started: &RunStarted,
        at: Timestamp,
        applied: &mut Applied,
    ) -> Done {
        if self.run.is_some() {
            return Err("a run is unfinished");
        }
        let open = self.unfinished_turn().map(|turn| turn.to_batch());
        if let Some(failure) = self.failure.take()
            && started.op == Operation::Reply
            && open.is_none()
        {
            self.keep_what_was_seen(&failure);
        }
        let is_open = open.is_some();
        if is_open {
            // What waits for this run comes after the open turn.
            for queued in &mut self.inbox {
                queued.delivery = Delivery::NextTurn;
            }
        } else {
            let inbox = std::mem::take(&mut self.inbox);
            let messages = inbox.into_iter().map(|queued| queued.message);
            self.thread.messages.extend(messages);
        }
        let history = self.history.advance(&self.thread);
        let setup = RunSetup {
            request: started.request.clone(),
            options: started.options.clone(),
            request_id: started.request_id.clone(),
            first_turn: self.turn,
            open,
            history: Some(history.map_err(|_| "a message cannot be written as JSON")?),
            ..RunSetup::new(self.thread.clone())
        };
        if setup.options.planning != Planning::Driver {
            return Err("the calls of a session are planned by its driver");
        }
        let mut begun = Run::start(setup).map_err(|_| "its settings are refused")?;
        if is_open && begun.run.end().is_none() {
            for queued in &self.inbox {
                let told = begun.run.apply(Input::Message(Arc::clone(&queued.message)));
                told.map_err(|_| "the run takes no message")?;
            }
        }
        applied.events.extend(begun.events);
        let model = started.model.as_ref();
        let hash = started_hash(started.op, model, started.hooks, &started.tools);
        self.run = Some(Box::new(RunState {
            id: started.run,
            op: started.op,
            model: started.model.clone(),
            hooks: started.hooks,
            tools: started.tools.clone(),
            started: hash.map_err(|_| "its start cannot be written as JSON")?,
            attempt: 1,
            partial: None,
            interrupted: false,
            recoveries: 0,
            clock: RunClock::started(at),
            run: begun.run,
        }));
        if let Some(end) = self.run.as_ref().and_then(|state| state.run.end().cloned()) {
            self.end_run(end, self.thread.clone(), applied);
        }
        Ok(())
    }

    /// The user answers what was seen of a failed answer, so it is part of the conversation.
    fn keep_what_was_seen(&mut self, failure: &SessionFailure) {
        let Some(partial) = &failure.partial else {
            return;
        };
        let text = partial.text();
        if !text.is_empty() {
            let message = Message {
                origin: partial.message.origin.clone(),
                finish_reason: partial.finish_reason,
                ..Message::assistant(text)
            };
            self.thread.messages.push(marked_partial(message));
        }
    }

    pub(super) fn take_response(
        &mut self,
        responded: &ModelResponded,
        applied: &mut Applied,
    ) -> Done {
        let state = self.run.as_mut().ok_or("no run is unfinished")?;
        if responded.turn != self.turn.saturating_add(1) || responded.attempt != state.attempt {
            return Err("it is about another turn or attempt");
        }
        state.attempt = 1;
        state.partial = None;
        state.interrupted = false;
        state.recoveries = 0;
        let before = state.run.settled_thread();
        let place = state.run.thread().len();
        let input = Input::responded(responded.response.clone());
        let events = state.run.apply(input);
        applied
            .events
            .extend(events.map_err(|_| "the run waits for something else")?);
        let open = open_turn_of(&state.run, responded.turn, place);
        self.turn = responded.turn;
        self.usage.add(&responded.response.usage);
        self.open_turn = open.map(Arc::new);
        self.after_feed(before, applied);
        Ok(())
    }

    pub(super) fn take_failure(&mut self, failed: &ModelFailed, applied: &mut Applied) -> Done {
        let state = self.run.as_mut().ok_or("no run is unfinished")?;
        if failed.turn != self.turn.saturating_add(1) || failed.attempt != state.attempt {
            return Err("it is about another turn or attempt");
        }
        state.recoveries = 0;
        self.usage.add(&failed.usage);
        let mut partial = failed.partial.clone();
        if let Some(partial) = &mut partial {
            partial.error.get_or_insert_with(|| failed.error.clone());
        }
        match failed.end {
            ModelEnd::Failed => {
                let input = match partial {
                    Some(partial) => Input::responded(partial),
                    None => Input::refused(failed.error.clone()),
                };
                self.feed(input, applied)?;
            }
            ModelEnd::Stopped => {
                let partial = partial.map(kept);
                self.feed(Input::stopped(partial), applied)?;
            }
            ModelEnd::Interrupted => {
                state.attempt = state.attempt.saturating_add(1);
                state.interrupted = true;
                let for_message =
                    |queued: &super::entry::QueuedMessage| queued.delivery == Delivery::Interrupt;
                if self.inbox.iter().any(for_message) {
                    let partial = partial.map(kept).map(Box::new);
                    self.feed(Input::Interrupted(partial), applied)?;
                } else {
                    state.partial = partial;
                }
            }
        }
        if let Some(failure) = &mut self.failure {
            Arc::make_mut(failure).turn = failed.turn;
        }
        Ok(())
    }

    pub(super) fn take_plan(
        &mut self,
        planned: &CallsPlanned,
        at: Timestamp,
        applied: &mut Applied,
    ) -> Done {
        let turn = self.turn_mut()?;
        if planned.turn != turn.turn {
            return Err("it is about another turn");
        }
        for plan in &planned.calls {
            let key = turn.key(plan.index);
            let call = turn.get_mut(key).ok_or("there is no such call")?;
            if !matches!(call.state, CallState::Ready { .. }) {
                return Err("the call is not to be planned");
            }
            take_call_plan(call, key, plan, at);
        }
        let calls = turn.calls.len();
        let state = self.run.as_ref().ok_or("no run is unfinished")?;
        if matches!(state.run.command(), Command::PlanCalls(_)) {
            let in_order = planned
                .calls
                .iter()
                .zip(0..)
                .all(|(plan, at)| plan.index == at);
            if !in_order || planned.calls.len() != calls {
                return Err("not every call is planned");
            }
            let plans = planned.calls.iter().map(to_planned).collect();
            self.feed(Input::Planned(plans), applied)?;
            if self.run.is_none() && self.last_halt == Some(HaltReason::Error) {
                // The turn has failed as a whole and is no part of the conversation.
                self.open_turn = None;
            }
            return Ok(());
        }
        for plan in &planned.calls {
            if !matches!(plan.plan, CallPlan::Approve(_)) {
                return Err("a call is planned again only to be approved again");
            }
            self.feed(Input::CallWaits { index: plan.index }, applied)?;
        }
        Ok(())
    }

    pub(super) fn take_intent(&mut self, intent: &ToolIntent) -> Done {
        let state = self.run.as_ref().ok_or("no run is unfinished")?;
        if state.run.stop().is_some() {
            return Err("the run is being stopped, and nothing new is run");
        }
        let call = self.turn_mut()?.get_mut(intent.call);
        let call = call.ok_or("there is no such call")?;
        if intent.attempt != call.attempts.saturating_add(1) {
            return Err("it is about another attempt");
        }
        let approval = match &call.state {
            CallState::Ready { approval } => approval.clone(),
            CallState::Intended(former) => former.approval.clone(),
            CallState::Waiting(_) | CallState::Closed(_) => {
                return Err("the call is not to be run");
            }
        };
        call.attempts = intent.attempt;
        call.state = CallState::Intended(Intent {
            attempt: intent.attempt,
            key: intent.key.clone(),
            effect: intent.effect.clone(),
            deadline: intent.deadline,
            approval,
        });
        Ok(())
    }

    pub(super) fn take_outcome(&mut self, entry: &ToolOutcomeEntry, applied: &mut Applied) -> Done {
        let state = self.run.as_mut().ok_or("no run is unfinished")?;
        state.recoveries = 0;
        let stop = state.run.stop();
        let call = self.turn_mut()?.get_mut(entry.call);
        let call = call.ok_or("there is no such call")?;
        if !matches!(call.state, CallState::Ready { .. } | CallState::Intended(_)) {
            return Err("the call is not being run");
        }
        let index = entry.call.index;
        if entry.policy == OutcomePolicy::AskPerson {
            let approval = call.intent().and_then(|intent| intent.approval.clone());
            call.state = CallState::Waiting(Wait::Result(AwaitedResult {
                reason: WaitReason::UnknownOutcome,
                evidence: std::mem::take(&mut call.evidence),
                expires_at: None,
                approval,
            }));
            return self.feed(Input::CallWaits { index }, applied);
        }
        let outcome = entry.to_outcome();
        let note = call.note();
        match (&entry.question, outcome.message(&call.call)) {
            (Some(question), _) => call.ask(question.clone()),
            (None, Some(message)) => call.close(entry.outcome, noted(message, note.clone())),
            (None, None) => {
                let reason = match stop {
                    Some(Stop::Deadline(_)) => FailureReason::DeadlineExceeded,
                    _ => FailureReason::Cancelled,
                };
                let failure = encode::closed(reason, call.call.original_name());
                let id = call.call.id.clone();
                call.close(entry.outcome, Message::tool_error(id, failure.to_content()));
            }
        }
        applied.events.extend(outcome.events(index, &call.call));
        let input = Input::ToolDone {
            index,
            outcome: Box::new(outcome),
            note,
        };
        self.feed(input, applied)
    }

    pub(super) fn take_halt(&mut self, halted: &Halted, applied: &mut Applied) -> Done {
        match (&halted.reason, halted.scope) {
            (HaltReason::HaltWhen, None) => self.feed(Input::HaltWhen(HaltAnswer::Halt), applied),
            (HaltReason::DeadlineExceeded, Some(scope)) => {
                self.feed(Input::DeadlinePassed(scope), applied)?;
                let stopped = self
                    .run
                    .as_deref()
                    .is_some_and(|state| state.run.asks_now() && state.run.stop().is_some());
                if stopped {
                    self.go_on(applied)?;
                }
                Ok(())
            }
            _ => Err("it is neither `halt_when` nor a deadline"),
        }
    }

    pub(super) fn go_on(&mut self, applied: &mut Applied) -> Done {
        self.feed(Input::HaltWhen(HaltAnswer::GoOn), applied)
    }

    pub(super) fn take_recovery(
        &mut self,
        recovered: &Recovered,
        at: Timestamp,
        applied: &mut Applied,
    ) -> Done {
        let state = self.run.as_mut().ok_or("no run is unfinished")?;
        if state.id != recovered.run {
            return Err("it is about another run");
        }
        state.recoveries = state.recoveries.saturating_add(1);
        state.clock.hand_over(at);
        state.interrupted = false;
        if recovered.lost_model_call {
            state.attempt = state.attempt.saturating_add(1);
            state.partial = None;
            self.usage.lost_calls = self.usage.lost_calls.saturating_add(1);
        }
        if state.recoveries >= recovered.limit {
            let message = "the run was taken over again and again without getting anywhere";
            self.fail_run("crash_loop", message, applied)?;
        }
        Ok(())
    }
}

/// What had come of an answer, as it stays in the conversation.
fn kept(mut partial: Response) -> Response {
    partial.message = marked_partial(partial.message);
    partial
}

/// The open turn that an answer makes, at this place of the conversation.
fn open_turn_of(run: &Run, turn: u32, position: usize) -> Option<OpenTurn> {
    if let Some(response) = run.open_response() {
        let message = assistant_message(response)?;
        return Some(OpenTurn::new(turn, message, position));
    }
    let step = run.steps().last()?;
    let message = assistant_message(&step.response)?;
    if step.response.error.is_some() && run.stop().is_none() || message.tool_calls.is_empty() {
        return None;
    }
    let mut open = OpenTurn::new(turn, message, position);
    for call in open.calls_mut() {
        call.state = if step.mode == Mode::Manual && step.tool_results.is_empty() {
            CallState::Waiting(Wait::Result(manual(None)))
        } else {
            let outcome = match run.stop() {
                Some(_) => Outcome::Cancelled,
                None => Outcome::NotRun,
            };
            CallState::Closed(outcome)
        };
    }
    Some(open)
}

const fn manual(expires_at: Option<Timestamp>) -> AwaitedResult {
    AwaitedResult {
        reason: WaitReason::Manual,
        evidence: Vec::new(),
        expires_at,
        approval: None,
    }
}

fn take_call_plan(call: &mut TurnCall, key: super::key::CallKey, plan: &PlanOfCall, at: Timestamp) {
    match &plan.plan {
        CallPlan::Run(_) => call.state = CallState::Ready { approval: None },
        CallPlan::Manual(plan) => {
            call.state = CallState::Waiting(Wait::Result(manual(plan.expires_at)));
        }
        CallPlan::Approve(plan) => {
            let arguments = call.call.arguments.as_deref().cloned().unwrap_or_default();
            call.edited = None;
            call.decided = None;
            call.approval_id = Some(plan.approval_id);
            call.state = CallState::Waiting(Wait::Approval(Box::new(Approval {
                approval_id: plan.approval_id,
                call: key,
                tool: call.call.original_name().into(),
                arguments_hash: arguments_hash(&arguments),
                arguments,
                tool_fingerprint: plan.tool_fingerprint,
                requested_at: at,
                expires_at: plan.expires_at,
                reason: plan.reason.clone(),
            })));
        }
        CallPlan::Refuse(plan) => close_with(call, &plan.failure),
        CallPlan::Unknown => {
            // As the run tells it, which knows no tools by name.
            let none: [&str; 0] = [];
            let failure = encode::unknown_tool(call.call.original_name(), none);
            close_with(call, &failure);
        }
    }
}

fn close_with(call: &mut TurnCall, failure: &CallFailure) {
    let message = Message::tool_error(call.call.id.clone(), failure.to_content());
    call.close(Outcome::of_reason(failure.reason), message);
}

fn to_planned(plan: &PlanOfCall) -> PlannedCall {
    match &plan.plan {
        CallPlan::Run(plan) => PlannedCall::Run {
            counted: !plan.free,
        },
        CallPlan::Manual(_) | CallPlan::Approve(_) => PlannedCall::Wait,
        CallPlan::Refuse(plan) => PlannedCall::Refuse(plan.failure.clone()),
        CallPlan::Unknown => PlannedCall::Unknown,
    }
}
