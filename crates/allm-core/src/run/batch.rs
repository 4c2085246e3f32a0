//! The calls of one turn while some of them run.

use std::sync::Arc;

use super::command::CallToRun;
use super::halt::HaltFacts;
use super::input::{InputError, InputReason, Stop};
use super::options::{OpenBatch, OpenSlot};
use super::outcome::ToolOutcome;
use super::state::OpenCall;
use crate::data::{AnswerTo, CallFailure, Message, Part, Response, ToolCall};

/// The calls of one turn while some of them run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Batch {
    pub(super) response: Response,
    /// One for each call of the response, in call order.
    pub(super) slots: Vec<Slot>,
    /// The calls of the response once more, to be handed out without being copied.
    calls: Vec<Arc<ToolCall>>,
    running: usize,
    /// Whether the turn was opened by an earlier run, which has told its step.
    pub(super) resumed: bool,
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
        /// What is said after the results of the turn: a question and its answer.
        tail: Vec<Arc<Message>>,
    },
    /// The library answers it when the batch has drained.
    Closing(CallFailure),
    /// It was stopped before it started.
    NotStarted,
    /// It is left for the caller.
    Manual,
    /// It asked a person, and is to be run again with the answer.
    Asking(HaltFacts),
}

impl Slot {
    /// Whether it asked a person, who has not answered.
    pub(super) const fn asks(&self) -> bool {
        matches!(
            self,
            Self::Asking(_)
                | Self::Done {
                    halt: Some(HaltFacts::Asked { .. }),
                    ..
                }
        )
    }

    /// Whether it has no message and waits for somebody outside.
    pub(super) const fn waits(&self) -> bool {
        matches!(self, Self::Manual | Self::Asking(_))
    }
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
            resumed: false,
        }
    }

    /// The turn that an earlier run left open.
    pub(super) fn resumed(open: OpenBatch) -> Self {
        let calls = open.response.tool_calls();
        let slots = open
            .calls
            .into_iter()
            .zip(calls)
            .map(|(slot, call)| match slot {
                OpenSlot::Ready => Slot::Running,
                OpenSlot::Waiting => Slot::Manual,
                OpenSlot::Asked {
                    message,
                    question,
                    opts,
                } => Slot::Done {
                    message,
                    halt: Some(HaltFacts::asked(
                        &question,
                        &call.id,
                        &opts,
                        AnswerTo::Model,
                    )),
                    tail: Vec::new(),
                },
                OpenSlot::AskedToGoOn { question, opts } => {
                    Slot::Asking(HaltFacts::asked(&question, &call.id, &opts, AnswerTo::Tool))
                }
                OpenSlot::Closed { message, tail } => Slot::Done {
                    message,
                    halt: None,
                    tail,
                },
            });
        let slots = slots.collect();
        Self {
            resumed: true,
            ..Self::new(open.response, slots)
        }
    }

    /// All calls, to be planned.
    pub(super) fn to_plan(response: &Response) -> Vec<CallToRun> {
        let calls = response.tool_calls().iter().zip(0..);
        calls
            .map(|(call, index)| CallToRun {
                index,
                call: Arc::new(call.clone()),
            })
            .collect()
    }

    fn slot(&mut self, index: u32) -> Result<&mut Slot, InputError> {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let slot = self.slots.get_mut(place);
        slot.ok_or_else(|| InputReason::UnknownCall.into())
    }

    /// A call that waited is to be run. Gives whether it is to be counted: one that asked was run before.
    pub(super) fn make_ready(&mut self, index: u32) -> Result<bool, InputError> {
        let slot = self.slot(index)?;
        if !slot.waits() {
            return Err(InputReason::AlreadyDone.into());
        }
        let counts = *slot == Slot::Manual;
        *slot = Slot::Running;
        self.running += 1;
        Ok(counts)
    }

    /// A call that was to be run has to wait.
    pub(super) fn make_wait(&mut self, index: u32) -> Result<(), InputError> {
        let slot = self.slot(index)?;
        if *slot != Slot::Running {
            return Err(InputReason::AlreadyDone.into());
        }
        *slot = Slot::Manual;
        self.running -= 1;
        Ok(())
    }

    /// A call that waited, or that asked a person, has its answer from outside.
    pub(super) fn answer(
        &mut self,
        index: u32,
        message: Arc<Message>,
        tail: Vec<Arc<Message>>,
    ) -> Result<(), InputError> {
        let slot = self.slot(index)?;
        if *slot != Slot::Manual && !slot.asks() {
            return Err(InputReason::AlreadyDone.into());
        }
        *slot = Slot::Done {
            message,
            halt: None,
            tail,
        };
        Ok(())
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
            manual: slot.waits(),
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
        outcome: &ToolOutcome,
        note: Option<String>,
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
            Slot::Closing(_) | Slot::Manual | Slot::Asking(_) => {
                return Err(InputReason::UnknownCall.into());
            }
        }
        *slot = match (outcome.message(call), HaltFacts::of_outcome(call, outcome)) {
            (Some(message), halt) => Slot::Done {
                message: Arc::new(noted(message, note)),
                halt,
                tail: Vec::new(),
            },
            (None, Some(asked)) => Slot::Asking(asked),
            (None, None) if stop.is_some() => Slot::NotStarted,
            (None, None) => return Err(InputReason::NotStopping.into()),
        };
        self.running -= 1;
        Ok(())
    }

    /// The halt of the lowest index.
    pub(super) fn halt(&self) -> Option<&HaltFacts> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Done { halt, .. } => halt.as_ref(),
            Slot::Asking(asked) => Some(asked),
            _ => None,
        })
    }
}

/// The message with a text before its content.
pub(crate) fn noted(mut message: Message, note: Option<String>) -> Message {
    if let Some(note) = note {
        message.content.insert(0, Part::text(note));
    }
    message
}
