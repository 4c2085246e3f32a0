//! The hash of a session's state.

use serde::Serialize;

use super::entry::{EntryBody, Hooks, Operation, QueuedMessage, RecordedTool};
use super::form::{CallForm, FailureForm};
use super::run_state::{RunClock, RunState};
use super::state::{Session, SessionUsage};
use super::turn::OpenTurn;
use crate::data::{
    HaltReason, Hash, Map, ModelRef, SessionId, SessionUid, Thread, Timestamp, Version,
};
use crate::error::JsonError;
use crate::json;

/// How far the conversation has been hashed. Closed messages never change, so each is hashed once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningHash {
    hash: Option<Hash>,
    messages: usize,
}

impl RunningHash {
    /// The hash of all messages of the thread.
    pub(super) fn advance(&mut self, thread: &Thread) -> Result<Hash, JsonError> {
        let mut hash = self.hash.unwrap_or(Hash::ZERO);
        for message in thread.messages.iter_from(self.messages) {
            hash = Hash::of(&hash, &json::canonical(&**message)?);
        }
        self.hash = Some(hash);
        self.messages = thread.len();
        Ok(hash)
    }
}

/// What the hash is taken of: what does not change with most entries stands by its hash.
#[derive(Serialize)]
struct StateForm<'a> {
    id: &'a SessionId,
    uid: Option<SessionUid>,
    version: Version,
    machine: u32,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    thread: Hash,
    messages: usize,
    #[serde(serialize_with = "crate::json::sorted")]
    thread_metadata: &'a Map,
    turn: u32,
    open_turn: Option<TurnHash>,
    inbox: &'a [QueuedMessage],
    recent_inputs: Hash,
    run: Option<RunHash<'a>>,
    failure: Option<FailureForm<'a>>,
    last_halt: Option<&'a HaltReason>,
    usage: &'a SessionUsage,
    notes: Hash,
}

#[derive(Serialize)]
struct TurnHash {
    turn: u32,
    message: Hash,
    calls: Vec<Hash>,
}

#[derive(Serialize)]
struct RunHash<'a> {
    id: crate::data::RunId,
    attempt: u32,
    interrupted: bool,
    recoveries: u32,
    clock: RunClock,
    partial: Option<&'a crate::data::Response>,
    started: Hash,
    state: Hash,
}

impl Session {
    /// SHA-256 over the canonical JSON of the session, in which the messages of closed turns stand by their running hash,
    /// and an unfinished run, the caller's facts and the remembered inputs by theirs. Its cost does not grow with the
    /// history.
    ///
    /// # Errors
    ///
    /// When a value of the caller's or a provider's cannot be written as JSON.
    pub fn state_hash(&mut self) -> Result<Hash, JsonError> {
        let run = match &mut self.run {
            None => None,
            Some(state) => Some(state.run.state_hash()?),
        };
        // While a run goes on, the run's own hash covers what came since its beginning.
        let thread = self.history.advance(&self.thread)?;
        self.hash_over(thread, run)
    }

    /// The same for a shared session; what was closed since the last [`state_hash`](Self::state_hash) is hashed again
    /// each time.
    pub(super) fn current_hash(&self) -> Result<Hash, JsonError> {
        self.clone().state_hash()
    }

    fn hash_over(&self, thread: Hash, run: Option<Hash>) -> Result<Hash, JsonError> {
        let open_turn = match &self.open_turn {
            None => None,
            Some(turn) => Some(turn_hash(turn)?),
        };
        let run = match (&self.run, run) {
            (Some(state), Some(hash)) => Some(run_hash(state, hash)),
            _ => None,
        };
        let state = StateForm {
            id: &self.id,
            uid: self.uid,
            version: self.version,
            machine: self.machine,
            created_at: self.created_at,
            updated_at: self.updated_at,
            thread,
            messages: self.thread.len(),
            thread_metadata: &self.thread.metadata,
            turn: self.turn,
            open_turn,
            inbox: &self.inbox,
            recent_inputs: self.recent_inputs.hash()?,
            run,
            failure: self.failure.as_deref().map(FailureForm::of),
            last_halt: self.last_halt.as_ref(),
            usage: &self.usage,
            notes: self.notes.hash()?,
        };
        hash_of(&state)
    }
}

fn turn_hash(turn: &OpenTurn) -> Result<TurnHash, JsonError> {
    let mut calls = Vec::with_capacity(turn.calls.len());
    for (index, call) in (0..).zip(&turn.calls) {
        calls.push(call.hash_by(|call| {
            let form = CallForm::of(index, call);
            let messages = (&call.message, &call.question, &call.answer);
            hash_of(&(form, messages))
        })?);
    }
    Ok(TurnHash {
        turn: turn.turn,
        message: turn.message.hash()?,
        calls,
    })
}

const fn run_hash(state: &RunState, hash: Hash) -> RunHash<'_> {
    RunHash {
        id: state.id,
        attempt: state.attempt,
        interrupted: state.interrupted,
        recoveries: state.recoveries,
        clock: state.clock,
        partial: state.partial.as_ref(),
        started: state.started,
        state: hash,
    }
}

/// The hash of what a run was started with.
pub(super) fn started_hash(
    op: Operation,
    model: Option<&ModelRef>,
    hooks: Hooks,
    tools: &[RecordedTool],
) -> Result<Hash, JsonError> {
    hash_of(&(op, model, hooks, tools))
}

pub(super) fn hash_of(value: &impl Serialize) -> Result<Hash, JsonError> {
    Ok(Hash::of_bytes(&json::canonical(value)?))
}

/// The hash of an input, by which a repetition is recognised. Who gave it is no part of it.
pub(super) fn input_hash(body: &EntryBody) -> Result<Hash, JsonError> {
    let mut body = body.clone();
    match &mut body {
        EntryBody::Answered(entry) => entry.by = None,
        EntryBody::ResultSubmitted(entry) => entry.by = None,
        EntryBody::ApprovalDecided(entry) => entry.by = None,
        EntryBody::RerunAllowed(entry) => entry.by = None,
        EntryBody::StopRequested(entry) => entry.by = None,
        _ => {}
    }
    hash_of(&body)
}
