//! Which calls of an answer are run.

use super::after::AfterTurn;
use super::batch::{Batch, Slot};
use super::finalize::Pass;
use super::input::{InputError, InputReason, PlannedCall};
use super::options::{Planning, UnknownTools};
use super::state::{Phase, Run};
use super::turn::{closing, stop_halt, stop_reason};
use crate::data::{Event, FailureReason, FinishReason, HaltReason, Response, ToolCall};
use crate::encode;
use crate::error::{EngineError, Error, Failure};

impl Run {
    /// Decides which calls run, which are left for the caller, and whether any may run at all; or has it decided.
    pub(super) fn plan(&mut self, response: Response, events: &mut Vec<Event>) {
        if self.setup.options.planning == Planning::Driver && self.pass == Pass::One {
            self.phase = Phase::Plan(Box::new(response));
            return;
        }
        let plan = |call: &ToolCall| match self.pass {
            Pass::One => match self.setup.known.get(call.original_name()) {
                None => PlannedCall::Unknown,
                Some(tool) if tool.manual => PlannedCall::Wait,
                Some(tool) => PlannedCall::Run {
                    counted: tool.counted,
                },
            },
            Pass::Two(_) => PlannedCall::Unknown,
        };
        let plans = response.tool_calls().iter().map(plan).collect();
        self.start_batch(response, plans, events);
    }

    /// Takes what the driver has decided about each call.
    pub(super) fn take_plans(
        &mut self,
        plans: Vec<PlannedCall>,
        events: &mut Vec<Event>,
    ) -> Result<(), InputError> {
        match &self.phase {
            Phase::Plan(response) if plans.len() == response.tool_calls().len() => {}
            Phase::Plan(_) => return Err(InputReason::WrongPlan.into()),
            _ => return Err(InputReason::NotExpected.into()),
        }
        match std::mem::replace(&mut self.phase, Phase::Model) {
            Phase::Plan(response) => self.start_batch(*response, plans, events),
            phase => self.phase = phase,
        }
        Ok(())
    }

    /// A stop that comes before anything is planned closes every call at once.
    pub(super) fn stop_planning(&mut self, events: &mut Vec<Event>) {
        let Some(stop) = self.stop else { return };
        match std::mem::replace(&mut self.phase, Phase::Model) {
            Phase::Plan(response) => {
                let after = stop_halt(self, stop);
                self.close_all(*response, &after, stop_reason(stop), events);
            }
            phase => self.phase = phase,
        }
    }

    fn start_batch(
        &mut self,
        mut response: Response,
        plans: Vec<PlannedCall>,
        events: &mut Vec<Event>,
    ) {
        let refuses = self.setup.options.unknown_tools == UnknownTools::Refuse
            || matches!(self.pass, Pass::Two(_));
        let calls = response.tool_calls();
        let mut planned = calls.iter().zip(&plans);
        let unknown = planned.find(|(_, plan)| refuses && **plan == PlannedCall::Unknown);
        if let Some((unknown, _)) = unknown {
            let error = Error::from(EngineError::unknown_tool(unknown.original_name()));
            let failure = Failure::from(error);
            events.push(Event::error(failure.clone()));
            let slots = calls.iter().zip(&plans).map(|(call, plan)| match plan {
                PlannedCall::Unknown => closing(FailureReason::UnknownTool, call),
                _ => closing(FailureReason::NotExecuted, call),
            });
            let slots = slots.collect();
            let after = AfterTurn::failed(&failure);
            // As the events tell it: an error makes the answer a failed one.
            response.finish_reason = Some(FinishReason::Error);
            response.error = Some(failure);
            return self.close_slots(response, slots, &after, events);
        }
        let is_counted = |plan: &&PlannedCall| matches!(plan, PlannedCall::Run { counted: true });
        let counted = plans.iter().filter(is_counted).count();
        let counted = u64::try_from(counted).unwrap_or(u64::MAX);
        if let Some(metadata) = self
            .counters
            .no_room_for(counted, &self.setup.options.budgets)
        {
            let after = AfterTurn::halt(HaltReason::BudgetExhausted, metadata);
            return self.close_all(response, &after, FailureReason::BudgetExhausted, events);
        }
        let slots = plans.into_iter().zip(calls).map(|(plan, call)| match plan {
            PlannedCall::Run { .. } => Slot::Running,
            PlannedCall::Wait => Slot::Manual,
            PlannedCall::Refuse(failure) => Slot::Closing(failure),
            PlannedCall::Unknown => Slot::Closing(encode::unknown_tool(
                call.original_name(),
                self.setup.known.keys(),
            )),
        });
        let slots = slots.collect();
        self.counters.tool_calls = self.counters.tool_calls.saturating_add(counted);
        self.run_batch(Batch::new(response, slots), events);
    }
}
