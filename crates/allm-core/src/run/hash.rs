//! The hash of a run's state.

use std::sync::Arc;

use serde::Serialize;

use super::batch::{Batch, Slot};
use super::counters::Counters;
use super::form::{PassForm, PhaseForm, SetupForm, SlotForm};
use super::input::Stop;
use super::setup::Setup;
use super::state::{Phase, Run};
use super::tree::HashTree;
use crate::data::step_form::StepForm;
use crate::data::{Hash, Map, Message, Messages, StepResult, Thread, is_false};
use crate::error::JsonError;
use crate::json;

/// How far the run has been hashed.
///
/// Closed turns never change, so each message and each step is hashed once, when somebody asks; and so are the setup, the
/// open answer and each of its calls, once more when it has ended.
#[derive(Clone, Debug)]
pub(super) struct History {
    hash: Hash,
    messages: usize,
    steps: usize,
    setup: Option<Hash>,
    /// `None` when no turn is open, and when nobody has asked since it was opened.
    open: Option<OpenTurn>,
}

/// The hashes of the turn whose calls run.
#[derive(Clone, Debug)]
struct OpenTurn {
    response: Hash,
    calls: HashTree,
    /// The calls that have ended since.
    ended: Vec<u32>,
}

impl History {
    pub(super) const fn new() -> Self {
        Self {
            hash: Hash::ZERO,
            messages: 0,
            steps: 0,
            setup: None,
            open: None,
        }
    }

    /// Goes on from a hash that somebody has kept of the messages that were given.
    pub(super) fn after(hash: Option<Hash>, given: usize) -> Self {
        match hash {
            Some(hash) => Self {
                hash,
                messages: given,
                ..Self::new()
            },
            None => Self::new(),
        }
    }

    /// Notes that a call of the open turn has come to its end.
    pub(super) fn call_ended(&mut self, index: u32) {
        if let Some(open) = &mut self.open {
            open.ended.push(index);
        }
    }

    /// Forgets the open turn: it is closed, and the next one is another.
    pub(super) fn turn_closed(&mut self) {
        self.open = None;
    }

    fn link(&mut self, value: &impl Serialize) -> Result<(), JsonError> {
        self.hash = Hash::of(&self.hash, &json::canonical(value)?);
        Ok(())
    }

    /// Takes in what has come since the last time.
    fn advance(
        &mut self,
        setup: &Setup,
        thread: &Thread,
        steps: &[Arc<StepResult>],
        phase: &Phase,
    ) -> Result<(), JsonError> {
        if self.setup.is_none() {
            self.setup = Some(hash_of(&SetupForm::of(setup))?);
        }
        self.open = match (phase, self.open.take()) {
            (Phase::Tools(batch), Some(open)) => Some(open.advanced(batch)?),
            (Phase::Tools(batch), None) => Some(OpenTurn::new(batch)?),
            _ => None,
        };
        self.take_messages(setup.given, thread)?;
        for step in steps.iter().skip(self.steps) {
            self.take_messages(step.thread.len(), &step.thread)?;
            self.link(&StepForm::beginning(step))?;
            self.steps += 1;
        }
        Ok(())
    }

    fn take_messages(&mut self, until: usize, thread: &Thread) -> Result<(), JsonError> {
        while self.messages < until {
            match thread.messages.get(self.messages) {
                Some(message) => self.link(&**message)?,
                None => break,
            }
            self.messages += 1;
        }
        Ok(())
    }
}

impl OpenTurn {
    fn new(batch: &Batch) -> Result<Self, JsonError> {
        let calls: Result<Vec<Hash>, JsonError> = batch.slots.iter().map(call_hash).collect();
        Ok(Self {
            response: hash_of(&batch.response)?,
            calls: HashTree::new(calls?),
            ended: Vec::new(),
        })
    }

    fn advanced(mut self, batch: &Batch) -> Result<Self, JsonError> {
        for index in std::mem::take(&mut self.ended) {
            let place = usize::try_from(index).unwrap_or(usize::MAX);
            if let Some(slot) = batch.slots.get(place) {
                self.calls.set(place, call_hash(slot)?);
            }
        }
        Ok(self)
    }
}

fn call_hash(slot: &Slot) -> Result<Hash, JsonError> {
    hash_of(&SlotForm::from(slot.clone()))
}

fn hash_of(value: &impl Serialize) -> Result<Hash, JsonError> {
    Ok(Hash::of_bytes(&json::canonical(value)?))
}

/// What the machine waits for; an open turn stands by its hashes.
#[derive(Serialize)]
#[serde(untagged)]
enum HashedPhase {
    Tools {
        response: Hash,
        calls: Hash,
        count: usize,
        #[serde(skip_serializing_if = "is_false")]
        resumed: bool,
    },
    Other(PhaseForm),
}

impl HashedPhase {
    fn of(phase: &Phase, open: Option<&OpenTurn>) -> Self {
        match (phase, open) {
            (Phase::Tools(batch), Some(open)) => Self::Tools {
                response: open.response,
                calls: open.calls.root(),
                count: batch.slots.len(),
                resumed: batch.resumed,
            },
            (phase, _) => Self::Other(PhaseForm::of(phase)),
        }
    }
}

/// What the hash is taken of: what cannot change any more stands by its hash.
#[derive(Serialize)]
struct StateForm<'a> {
    machine: u32,
    setup: Option<Hash>,
    history: Hash,
    #[serde(serialize_with = "crate::json::sorted")]
    thread_metadata: &'a Map,
    /// Messages that belong to no closed turn: a nudge, a question.
    open_messages: Vec<&'a Message>,
    steps: usize,
    counters: &'a Counters,
    pass: Option<PassForm<'a>>,
    stop: Option<Stop>,
    #[serde(skip_serializing_if = "Messages::is_empty")]
    queued: &'a Messages,
    phase: HashedPhase,
}

impl Run {
    /// SHA-256 over the canonical JSON of the state, in which the closed history stands by its running hash, and the setup
    /// and the open turn by theirs: the cost grows neither with the history nor with the calls of the open turn, as each
    /// part is hashed once.
    ///
    /// # Errors
    ///
    /// When a value of the caller's or a provider's cannot be written as JSON.
    pub fn state_hash(&mut self) -> Result<Hash, JsonError> {
        let Self {
            history,
            setup,
            thread,
            steps,
            phase,
            ..
        } = self;
        history.advance(setup, thread, steps, phase)?;
        self.hash_over(&self.history)
    }

    /// The same for a shared run; what was closed since the last [`state_hash`](Self::state_hash) is hashed again each
    /// time.
    pub(super) fn current_hash(&self) -> Result<Hash, JsonError> {
        let mut history = self.history.clone();
        history.advance(&self.setup, &self.thread, &self.steps, &self.phase)?;
        self.hash_over(&history)
    }

    fn hash_over(&self, history: &History) -> Result<Hash, JsonError> {
        let open = self.thread.messages.iter_from(history.messages);
        let state = StateForm {
            machine: Self::MACHINE,
            setup: history.setup,
            history: history.hash,
            thread_metadata: &self.thread.metadata,
            open_messages: open.map(|message| &**message).collect(),
            steps: self.steps.len(),
            counters: &self.counters,
            pass: PassForm::of(&self.pass),
            stop: self.stop,
            queued: &self.queued,
            phase: HashedPhase::of(&self.phase, history.open.as_ref()),
        };
        hash_of(&state)
    }
}
