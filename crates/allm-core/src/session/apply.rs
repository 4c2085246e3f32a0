//! What an entry makes of a session. No clock, no closure, no randomness: whatever they decided is in the entry.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::call::{AwaitedResult, CallState, Evidence, Outcome, Wait, WaitKind, WaitReason};
use super::entry::{Annotated, Created, Decision, EntryBody, QueuedMessage, UserMessage};
use super::hash::{RunningHash, input_hash};
use super::hashed::Hashed;
use super::key::CallKey;
use super::state::{Notes, Session};
use super::turn::{OpenTurn, TurnCall};
use crate::data::{
    CallFailure, EntryClass, Event, FailureReason, HaltReason, InputId, Map, Message, Thread,
    Timestamp, Version,
};
use crate::encode;
use crate::run::{Input, Run, RunEnd};

/// What applying an entry brought about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    /// What can be told once the entry is durable.
    pub events: Vec<Event>,
    /// How the run ended, if it did with this entry.
    pub ended: Option<RunEnd>,
}

/// An entry that does not fit the session. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The version that the entry would have had.
    pub version: Version,
    /// What does not fit.
    pub what: &'static str,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the entry at version {} does not fit: {}",
            self.version, self.what
        )
    }
}

impl std::error::Error for Misfit {}

/// What stands around the body of an entry.
#[derive(Clone, Debug)]
pub struct EntryFacts {
    /// When, by the store's clock.
    pub at: Timestamp,
    /// The number of the machine's rules.
    pub machine: u32,
    /// The caller's name for the input.
    pub input_id: Option<InputId>,
}

impl EntryFacts {
    /// An entry of the present rules, at this time.
    #[must_use]
    pub const fn at(at: Timestamp) -> Self {
        Self {
            at,
            machine: Run::MACHINE,
            input_id: None,
        }
    }
}

type Done = Result<(), &'static str>;

impl Session {
    /// Applies an entry.
    ///
    /// # Errors
    ///
    /// When it does not fit; the session is as it was.
    pub fn apply(&mut self, body: &EntryBody, facts: &EntryFacts) -> Result<Applied, Misfit> {
        // The parts are shared, so a copy is cheap, and an entry that does not fit leaves nothing behind.
        let mut next = self.clone();
        let applied = next.take_in(body, facts)?;
        *self = next;
        Ok(applied)
    }

    /// Applies an entry to a copy, which is of no use any more when it does not fit.
    pub(super) fn take_in(
        &mut self,
        body: &EntryBody,
        facts: &EntryFacts,
    ) -> Result<Applied, Misfit> {
        let version = self.version.next();
        let mut applied = Applied::default();
        match self.take(body, facts, &mut applied) {
            Ok(()) => Ok(applied),
            Err(what) => Err(Misfit { version, what }),
        }
    }

    fn take(&mut self, body: &EntryBody, facts: &EntryFacts, applied: &mut Applied) -> Done {
        let is_first = matches!(body, EntryBody::Created(_));
        if is_first != self.uid.is_none() {
            return Err("a session begins with `created`, once");
        }
        if self.updated_at.is_some_and(|last| facts.at < last) {
            return Err("its time is before that of the entry before");
        }
        match body {
            EntryBody::Created(created) => self.create(created, facts.at),
            EntryBody::UserMessage(message) => self.take_message(message)?,
            EntryBody::Annotated(notes) => self.annotate(notes),
            EntryBody::StopRequested(_) => self.stop(applied)?,
            EntryBody::LateOutcome(late) => self.take_late(
                late.call,
                Evidence {
                    attempt: late.attempt,
                    outcome: late.outcome,
                    content: late.content.clone(),
                },
            ),
            EntryBody::Answered(_)
            | EntryBody::ResultSubmitted(_)
            | EntryBody::ApprovalDecided(_)
            | EntryBody::RerunAllowed(_)
            | EntryBody::Expired(_) => self.take_answer(body, applied)?,
            EntryBody::RunStarted(started) => {
                self.machine = facts.machine;
                self.start_run(started, facts.at, applied)?;
            }
            EntryBody::ModelResponded(responded) => self.take_response(responded, applied)?,
            EntryBody::ModelFailed(failed) => self.take_failure(failed, applied)?,
            EntryBody::CallsPlanned(planned) => self.take_plan(planned, facts.at, applied)?,
            EntryBody::ToolIntent(intent) => self.take_intent(intent)?,
            EntryBody::ToolOutcome(outcome) => self.take_outcome(outcome, applied)?,
            EntryBody::Halted(halted) => self.take_halt(halted, applied)?,
            EntryBody::WentOn(_) => self.go_on(applied)?,
            EntryBody::RunFailed(failed) => {
                self.fail_run(&failed.kind, &failed.message, applied)?;
            }
            EntryBody::Recovered(recovered) => self.take_recovery(recovered, facts.at, applied)?,
        }
        if body.class() == EntryClass::Progress
            && let Some(state) = &mut self.run
        {
            state.clock.tick(facts.at);
        }
        // What a driver appends beside an input is no input.
        if let Some(id) = &facts.input_id
            && body.class() == EntryClass::Input
        {
            self.remember(id, body)?;
        }
        self.version = self.version.next();
        self.updated_at = Some(facts.at);
        Ok(())
    }

    fn create(&mut self, created: &Created, at: Timestamp) {
        self.begin_with(
            created.thread.clone(),
            created.context.clone(),
            created.metadata.clone(),
            created.tags.clone(),
        );
        self.uid = Some(created.uid);
        self.created_at = Some(at);
    }

    /// What the first entry will say. A session without an entry shows it, and keeps it in its JSON; one that has an entry
    /// is left as it is.
    pub fn begin_with(
        &mut self,
        thread: Thread,
        context: Map,
        metadata: Map,
        tags: BTreeMap<String, String>,
    ) {
        if self.uid.is_some() {
            return;
        }
        self.thread = thread;
        self.history = RunningHash::default();
        self.notes = Hashed::new(Notes {
            context,
            metadata,
            tags,
        });
    }

    fn annotate(&mut self, changed: &Annotated) {
        let notes = self.notes.change();
        if let Some(context) = &changed.context {
            notes.context.clone_from(context);
        }
        if let Some(metadata) = &changed.metadata {
            notes.metadata.clone_from(metadata);
        }
        if let Some(tags) = &changed.tags {
            notes.tags.clone_from(tags);
        }
    }

    fn remember(&mut self, id: &InputId, body: &EntryBody) -> Done {
        let hash = input_hash(body).map_err(|_| "it cannot be written as JSON")?;
        let recent = self.recent_inputs.change();
        if recent.len() == Self::REMEMBERED_INPUTS {
            recent.pop_front();
        }
        recent.push_back((id.clone(), hash));
        Ok(())
    }

    fn take_message(&mut self, queued: &UserMessage) -> Done {
        let message = Arc::new(queued.message.clone());
        self.inbox.push(QueuedMessage {
            message: Arc::clone(&message),
            delivery: queued.delivery,
        });
        if let Some(state) = &mut self.run
            && queued.delivery != super::entry::Delivery::NextRun
        {
            let told = state.run.apply(Input::Message(message));
            told.map_err(|_| "the run takes no message")?;
        }
        Ok(())
    }

    /// Takes an input that answers a wait.
    fn take_answer(&mut self, body: &EntryBody, applied: &mut Applied) -> Done {
        let key = match body {
            EntryBody::Answered(entry) => entry.call,
            EntryBody::ResultSubmitted(entry) => entry.call,
            EntryBody::ApprovalDecided(entry) => entry.call,
            EntryBody::RerunAllowed(entry) => entry.call,
            EntryBody::Expired(entry) => entry.call,
            _ => return Err("it answers nothing"),
        };
        let decided = input_hash(body).map_err(|_| "it cannot be written as JSON")?;
        let call = self.waiting(key)?;
        let id = call.call.id.clone();
        let name = call.call.original_name().to_owned();
        let kind = call.wait().map(Wait::kind);
        match body {
            EntryBody::Answered(entry) if kind == Some(WaitKind::Question) => {
                call.answered(entry.content.clone());
            }
            EntryBody::ResultSubmitted(entry) if kind == Some(WaitKind::Result) => {
                let content = entry.content.clone();
                let message = match entry.outcome {
                    Outcome::Ok => Message::tool_result(id, content),
                    Outcome::Failed => Message::tool_error(id, content),
                    _ => return Err("a submitted result is `ok` or `failed`"),
                };
                call.close(entry.outcome, message);
            }
            EntryBody::ApprovalDecided(entry) => {
                let Some(Wait::Approval(approval)) = call.wait() else {
                    return Err("the call waits for no approval");
                };
                if approval.approval_id != entry.approval_id
                    || approval.arguments_hash != entry.arguments_hash
                {
                    return Err("the decision is about another approval");
                }
                let mut approved = super::call::Approved {
                    id: entry.approval_id,
                    arguments_hash: approval.arguments_hash,
                    tool_fingerprint: approval.tool_fingerprint,
                    edited: None,
                };
                match &entry.decision {
                    Decision::Approved => {}
                    Decision::Edited(edit) => {
                        approved.arguments_hash = super::call::arguments_hash(&edit.arguments);
                        approved.edited = Some(edit.arguments.clone());
                        call.edited = Some(edit.arguments.clone());
                    }
                    Decision::Denied(denied) => {
                        let failure = encode::denied(&name, &denied.reason);
                        let message = Message::tool_error(id, failure.to_content());
                        call.close(Outcome::Denied, message);
                    }
                }
                if !matches!(entry.decision, Decision::Denied(_)) {
                    call.state = CallState::Ready {
                        approval: Some(approved),
                    };
                }
            }
            EntryBody::RerunAllowed(_) => match call.wait() {
                Some(Wait::Result(AwaitedResult {
                    reason: WaitReason::UnknownOutcome,
                    approval,
                    ..
                })) => {
                    let approval = approval.clone();
                    call.state = CallState::Ready { approval };
                }
                _ => return Err("the call's outcome is not unknown"),
            },
            EntryBody::Expired(entry) => {
                let due = call.wait().and_then(Wait::expires_at);
                if due != Some(entry.deadline) {
                    return Err("the wait does not expire then");
                }
                let failure = encode::closed(FailureReason::Expired, &name);
                call.close(
                    Outcome::Expired,
                    Message::tool_error(id, failure.to_content()),
                );
            }
            _ => return Err("the call waits for something else"),
        }
        if !matches!(body, EntryBody::Expired(_)) {
            call.decided = Some(decided);
        }
        if self.run.is_some() {
            self.tell_run(key, applied)
        } else {
            self.settle_turn();
            Ok(())
        }
    }

    /// Tells an unfinished run where a call stands now.
    fn tell_run(&mut self, key: CallKey, applied: &mut Applied) -> Done {
        let Some(call) = self.call(key) else {
            return Err("there is no such call");
        };
        let index = key.index;
        let input = match (&call.state, &call.message) {
            (CallState::Ready { .. }, _) => Input::CallReady { index },
            (CallState::Closed(_), Some(message)) => Input::CallClosed {
                index,
                message: Arc::clone(message),
                tail: call.tail(),
            },
            _ => return Err("the call is neither ready nor closed"),
        };
        self.feed(input, applied)
    }

    /// Gives the run an input and takes over what it makes of it.
    pub(super) fn feed(&mut self, input: Input, applied: &mut Applied) -> Done {
        let state = self.run.as_mut().ok_or("no run is unfinished")?;
        let before = state.run.settled_thread();
        let events = state
            .run
            .apply(input)
            .map_err(|_| "the run waits for something else")?;
        applied.events.extend(events);
        self.after_feed(before, applied);
        Ok(())
    }

    /// After an input: messages that were delivered are no longer in the inbox, and a run that has ended is put away.
    pub(super) fn after_feed(&mut self, before: crate::data::Thread, applied: &mut Applied) {
        let Some(state) = &self.run else { return };
        if state.run.queued().is_empty() {
            self.inbox
                .retain(|queued| queued.delivery == super::entry::Delivery::NextRun);
        }
        match state.run.end().cloned() {
            Some(end) => self.end_run(end, before, applied),
            None => self.forget_messages(),
        }
    }

    /// A turn that is closed stands in the conversation, and nowhere else.
    pub(super) fn forget_messages(&mut self) {
        if let Some(turn) = &mut self.open_turn
            && turn.is_closed()
            && turn.has_messages()
        {
            Arc::make_mut(turn).settle();
        }
    }

    fn take_late(&mut self, key: CallKey, evidence: Evidence) {
        let call = match &mut self.open_turn {
            Some(turn) => Arc::make_mut(turn).get_mut(key),
            None => None,
        };
        let Some(call) = call else { return };
        match &mut call.state {
            CallState::Waiting(Wait::Result(wait)) => wait.evidence.push(evidence),
            // A person may yet be asked.
            CallState::Intended(_) => call.evidence.push(evidence),
            _ => {}
        }
    }

    /// Somebody wants an end: a run is told, or what waits is closed.
    fn stop(&mut self, applied: &mut Applied) -> Done {
        if self.run.is_some() {
            self.feed(Input::Cancel, applied)?;
            if self.run.as_ref().is_some_and(|state| state.run.asks_now()) {
                self.feed(Input::HaltWhen(crate::run::HaltAnswer::GoOn), applied)?;
            }
            return Ok(());
        }
        if self.failure.is_none() && self.unfinished_turn().is_none() {
            return Err("there is nothing to stop");
        }
        if self.unfinished_turn().is_some() {
            self.close_calls(Outcome::Cancelled, FailureReason::Cancelled);
            self.settle_turn();
        }
        self.failure = None;
        self.last_halt = Some(HaltReason::Cancelled);
        Ok(())
    }

    /// Closes what is not closed, because nothing goes on.
    pub(super) fn close_calls(&mut self, outcome: Outcome, reason: FailureReason) {
        let Some(turn) = &mut self.open_turn else {
            return;
        };
        if turn.is_closed() {
            return;
        }
        for call in &mut Arc::make_mut(turn).calls {
            let (outcome, reason) = match call.state {
                CallState::Closed(_) => continue,
                CallState::Intended(_) => (Outcome::UnknownOutcome, FailureReason::UnknownOutcome),
                CallState::Ready { .. } | CallState::Waiting(_) => (outcome, reason),
            };
            let failure: CallFailure = encode::closed(reason, call.call.original_name());
            let id = call.call.id.clone();
            call.change()
                .close(outcome, Message::tool_error(id, failure.to_content()));
        }
    }

    /// Makes a turn whose last call was closed just now a part of what was said.
    fn settle_turn(&mut self) {
        if let Some(turn) = &mut self.open_turn
            && turn.is_closed()
        {
            turn.lay_out(&mut self.thread);
            Arc::make_mut(turn).settle();
        }
    }

    pub(super) fn call(&self, key: CallKey) -> Option<&TurnCall> {
        self.open_turn.as_ref()?.get(key)
    }

    fn waiting(&mut self, key: CallKey) -> Result<&mut TurnCall, &'static str> {
        let turn = self.open_turn.as_mut().ok_or("no turn is open")?;
        let call = Arc::make_mut(turn)
            .get_mut(key)
            .ok_or("there is no such call")?;
        match call.state {
            CallState::Waiting(_) => Ok(call),
            _ => Err("the call waits for nothing"),
        }
    }

    pub(super) fn turn_mut(&mut self) -> Result<&mut OpenTurn, &'static str> {
        let turn = self.open_turn.as_mut().ok_or("no turn is open")?;
        Ok(Arc::make_mut(turn))
    }
}
