//! The calls of one turn while some of them run.

use std::sync::Arc;

use super::command::CallToRun;
use super::halt::HaltFacts;
use super::input::{InputError, InputReason, Stop};
use super::outcome::ToolOutcome;
use super::state::OpenCall;
use crate::data::{CallFailure, Message, Response, ToolCall};

/// The calls of one turn while some of them run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Batch {
    pub(super) response: Response,
    /// One for each call of the response, in call order.
    pub(super) slots: Vec<Slot>,
    /// The calls of the response once more, to be handed out without being copied.
    calls: Vec<Arc<ToolCall>>,
    running: usize,
}

/// Where one call stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Slot {
    /// The driver runs it.
    Running,
    /// It has its message.
    Done {
        message: Arc<Message>,
        halt: Option<HaltFacts>,
    },
    /// The library answers it when the batch has drained.
    Closing(CallFailure),
    /// It was stopped before it started.
    NotStarted,
    /// It is left for the caller.
    Manual,
}

impl Batch {
    pub(super) fn new(response: Response, slots: Vec<Slot>) -> Self {
        let running = slots.iter().filter(|slot| **slot == Slot::Running).count();
        let calls = response.tool_calls().iter().cloned().map(Arc::new);
        Self {
            calls: calls.collect(),
            response,
            slots,
            running,
        }
    }

    /// The calls that are still to be answered by the driver.
    pub(super) fn running(&self) -> impl Iterator<Item = CallToRun> {
        let calls = self.calls.iter().zip(&self.slots).zip(0..);
        let running = calls.filter(|((_, slot), _)| **slot == Slot::Running);
        running.map(|((call, _), index)| CallToRun {
            index,
            call: Arc::clone(call),
        })
    }

    pub(super) fn open_calls(&self) -> Vec<OpenCall> {
        let calls = self.response.tool_calls().iter().zip(&self.slots).zip(0..);
        let open = calls.filter(|((_, slot), _)| !matches!(slot, Slot::Done { .. }));
        open.map(|((call, slot), index)| OpenCall {
            index,
            id: call.id.clone(),
            manual: *slot == Slot::Manual,
        })
        .collect()
    }

    /// Whether every call that the driver runs has come to its end.
    pub(super) fn is_drained(&self) -> bool {
        self.running == 0
    }

    /// Takes what a call came to.
    pub(super) fn close(
        &mut self,
        index: u32,
        outcome: ToolOutcome,
        stop: Option<Stop>,
    ) -> Result<(), InputError> {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let call = self.response.tool_calls().get(place);
        let (Some(call), Some(slot)) = (call, self.slots.get_mut(place)) else {
            return Err(InputReason::UnknownCall.into());
        };
        match slot {
            Slot::Running => {}
            Slot::Done { .. } | Slot::NotStarted => return Err(InputReason::AlreadyDone.into()),
            Slot::Closing(_) | Slot::Manual => return Err(InputReason::UnknownCall.into()),
        }
        *slot = match outcome.message(call) {
            Some(message) => Slot::Done {
                message: Arc::new(message),
                halt: HaltFacts::of_outcome(call, &outcome),
            },
            None if stop.is_some() => Slot::NotStarted,
            None => return Err(InputReason::NotStopping.into()),
        };
        self.running -= 1;
        Ok(())
    }

    /// The halt of the lowest index.
    pub(super) fn halt(&self) -> Option<&HaltFacts> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Done { halt, .. } => halt.as_ref(),
            _ => None,
        })
    }
}
