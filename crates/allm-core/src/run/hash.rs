//! The hash of a run's state.

use std::sync::Arc;

use serde::Serialize;

use super::counters::Counters;
use super::form::{PassForm, PhaseForm, SetupForm};
use super::input::Stop;
use super::state::Run;
use crate::data::step_form::StepForm;
use crate::data::{Hash, Map, Message, StepResult, Thread};
use crate::error::JsonError;
use crate::json;

/// How far the closed history has been hashed.
///
/// Closed turns never change, so each message and each step is hashed once, when somebody asks.
#[derive(Clone, Debug)]
pub(super) struct History {
    hash: Hash,
    messages: usize,
    steps: usize,
}

impl History {
    pub(super) const fn new() -> Self {
        Self {
            hash: Hash::ZERO,
            messages: 0,
            steps: 0,
        }
    }

    fn link(&mut self, value: &impl Serialize) -> Result<(), JsonError> {
        self.hash = Hash::of(&self.hash, &json::canonical(value)?);
        Ok(())
    }

    /// Takes in what has been closed since the last time.
    fn advance(
        &mut self,
        given: usize,
        thread: &Thread,
        steps: &[Arc<StepResult>],
    ) -> Result<(), JsonError> {
        self.take_messages(given, thread)?;
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

/// What the hash is taken of: the open part as it is, the closed part by its running hash.
#[derive(Serialize)]
struct StateForm<'a> {
    machine: u32,
    setup: SetupForm<'a>,
    history: Hash,
    thread_metadata: &'a Map,
    /// Messages that belong to no closed turn: a nudge, a question.
    open_messages: Vec<&'a Message>,
    steps: usize,
    counters: &'a Counters,
    pass: Option<PassForm<'a>>,
    stop: Option<Stop>,
    phase: PhaseForm,
}

impl Run {
    /// SHA-256 over the canonical JSON of the state, in which the closed history stands by its running hash: the cost
    /// does not grow with the history, as each closed turn is hashed once.
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
            ..
        } = self;
        history.advance(setup.given, thread, steps)?;
        self.hash_over(&self.history)
    }

    /// The same for a shared run; what was closed since the last [`state_hash`](Self::state_hash) is hashed again each
    /// time.
    pub(super) fn current_hash(&self) -> Result<Hash, JsonError> {
        let mut history = self.history.clone();
        history.advance(self.setup.given, &self.thread, &self.steps)?;
        self.hash_over(&history)
    }

    fn hash_over(&self, history: &History) -> Result<Hash, JsonError> {
        let open = self.thread.messages.iter_from(history.messages);
        let state = StateForm {
            machine: Self::MACHINE,
            setup: SetupForm::of(&self.setup),
            history: history.hash,
            thread_metadata: &self.thread.metadata,
            open_messages: open.map(|message| &**message).collect(),
            steps: self.steps.len(),
            counters: &self.counters,
            pass: PassForm::of(&self.pass),
            stop: self.stop,
            phase: PhaseForm::of(&self.phase),
        };
        Ok(Hash::of_bytes(&json::canonical(&state)?))
    }
}
