//! What becomes of the calls of an answer, before any of them is begun.

use std::time::Duration;

use allm_core::run::{CallToRun, Command, UnknownTools};
use allm_core::session::{
    ApprovePlan, CallPlan, CallsPlanned, EntryBody, ManualPlan, PlanOfCall, RefusePlan, RunPlan,
    tool_fingerprint,
};
use allm_core::{ApprovalId, SessionError, Timestamp, Tool, ToolCall, encode};

use super::Driver;
use super::calls::later;
use crate::random;
use crate::sessions::emit::Sink;
use crate::sessions::journal::Journal;
use crate::tools::Planned;

/// How long a person has to agree to a call, if nobody says otherwise.
const APPROVAL_EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

impl<J: Journal, S: Sink> Driver<'_, J, S> {
    /// Takes in an answer that has calls. What becomes of them, and what begins at once, goes with it in one append, because
    /// nothing is to be done in between. But a policy about approvals sees no answer that is not durable, and what stops
    /// the run comes before what would begin.
    pub(super) async fn take_calls(&mut self, answer: EntryBody) -> Result<(), SessionError> {
        let asks = self.planner.policy.is_some();
        let stops = self.is_cancelled_now() || self.signals.closing.is_cancelled();
        if asks || stops || !self.signals.may_drive() || !self.journal.stage(&answer)? {
            self.append(vec![answer]).await?;
            return Ok(());
        }
        let planned = match self.command() {
            Some(Command::PlanCalls(calls)) => self.plan_calls(&calls).await,
            _ => Ok(()),
        };
        // Whatever came of it, the answer is kept.
        self.append(Vec::new()).await?;
        planned
    }

    /// Decides about every call of the answer, and begins those that may begin.
    pub(super) async fn plan_calls(&mut self, calls: &[CallToRun]) -> Result<(), SessionError> {
        let planned = self.calls_planned(calls).await?;
        if !self.journal.stage(&planned)? {
            self.append(vec![planned]).await?;
            return Ok(());
        }
        let begun = match self.command() {
            Some(Command::RunTools(calls)) => self.begin_calls(&calls).await,
            _ => Ok(()),
        };
        self.append(Vec::new()).await?;
        begun
    }

    fn command(&self) -> Option<Command> {
        Some(self.session().run()?.run().command())
    }

    async fn calls_planned(&mut self, calls: &[CallToRun]) -> Result<EntryBody, SessionError> {
        let now = self.journal.now().await?;
        let plans = calls.iter().map(|call| PlanOfCall {
            index: call.index,
            plan: self.plan_of(&call.call, now),
        });
        let planned = CallsPlanned {
            turn: self.session().turn(),
            calls: plans.collect(),
        };
        Ok(EntryBody::CallsPlanned(planned))
    }

    fn plan_of(&self, call: &ToolCall, now: Timestamp) -> CallPlan {
        let planned = {
            let _entered = self.spans.run().enter();
            self.planner.plan(call)
        };
        match planned {
            Planned::Run { counted } => CallPlan::Run(RunPlan { free: !counted }),
            Planned::Manual => CallPlan::Manual(ManualPlan {
                expires_at: self.wait_until(now),
            }),
            Planned::Approve { reason } => match self.planner.tools.get(call.original_name()) {
                Some(entry) => CallPlan::Approve(self.approval(&entry.tool, reason, now)),
                None => CallPlan::Unknown,
            },
            Planned::Refuse(failure) => CallPlan::Refuse(RefusePlan { failure }),
            Planned::Unknown if self.tells_unknown() => CallPlan::Refuse(RefusePlan {
                failure: self.unknown_tool(call),
            }),
            Planned::Unknown => CallPlan::Unknown,
        }
    }

    pub(super) fn approval(
        &self,
        tool: &Tool,
        reason: Option<String>,
        now: Timestamp,
    ) -> ApprovePlan {
        let settings = &self.plan.settings;
        let expiry = settings.approval_expiry.get_or(Some(APPROVAL_EXPIRY));
        ApprovePlan {
            approval_id: ApprovalId::from_bytes(random::bytes()),
            tool_fingerprint: tool_fingerprint(tool),
            expires_at: expiry.and_then(|expiry| later(now, expiry)),
            reason,
        }
    }

    /// When it is too late to answer a question that is asked now, or to give a result that is waited for from now on.
    pub(super) fn wait_until(&self, now: Timestamp) -> Option<Timestamp> {
        let expiry = self.plan.settings.wait_expiry.get();
        expiry.and_then(|expiry| later(now, expiry))
    }

    pub(super) fn tells_unknown(&self) -> bool {
        let options = self.session().run().map(|state| state.run().options());
        options.is_some_and(|options| options.unknown_tools == UnknownTools::TellModel)
    }

    pub(super) fn unknown_tool(&self, call: &ToolCall) -> allm_core::CallFailure {
        let names = self.planner.tools.list().iter().map(|tool| &tool.name);
        encode::unknown_tool(call.original_name(), names)
    }
}
