//! The calls of the open turn, as they come to their ends.

use super::batch::Batch;
use super::input::{InputError, InputReason};
use super::outcome::ToolOutcome;
use super::state::{Phase, Run};
use crate::data::Event;

impl Run {
    pub(super) fn take_outcome(
        &mut self,
        index: u32,
        outcome: &ToolOutcome,
        note: Option<String>,
        events: &mut Vec<Event>,
    ) -> Result<(), InputError> {
        let Phase::Tools(batch) = &mut self.phase else {
            return Err(InputReason::NotExpected.into());
        };
        batch.close(index, outcome, note, self.stop)?;
        self.call_moved(index, events);
        Ok(())
    }

    pub(super) fn open_batch(&mut self) -> Result<&mut Batch, InputError> {
        match &mut self.phase {
            Phase::Tools(batch) => Ok(batch),
            _ => Err(InputReason::NotExpected.into()),
        }
    }

    /// A call of the open turn stands elsewhere now; the turn may be over with it.
    pub(super) fn call_moved(&mut self, index: u32, events: &mut Vec<Event>) {
        self.history.call_ended(index);
        match std::mem::replace(&mut self.phase, Phase::Model) {
            Phase::Tools(batch) => self.run_batch(*batch, events),
            phase => self.phase = phase,
        }
    }

    /// Runs what is to be run of the batch, or ends its turn.
    pub(super) fn run_batch(&mut self, batch: Batch, events: &mut Vec<Event>) {
        if batch.is_drained() {
            self.history.turn_closed();
            self.finish_batch(batch, events);
        } else {
            self.phase = Phase::Tools(Box::new(batch));
        }
    }
}
