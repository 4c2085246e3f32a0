//! Tool calls of a session: planned, intended, run, closed.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use allm_core::run::{CallToRun, PolicyDecision, ToolOutcome, UnknownTools};
use allm_core::session::{
    ApprovePlan, Approved, CallKey, CallPlan, CallState, CallsPlanned, EntryBody, ManualPlan,
    Outcome, OutcomeSource, PlanOfCall, RefusePlan, RunFailed, RunPlan, ToolIntent,
    ToolOutcomeEntry, TurnCall, arguments_hash, tool_fingerprint,
};
use allm_core::{
    ApprovalId, Effect, FailureReason, SessionError, Timestamp, Tool, ToolCall, encode,
    idempotency_key,
};
use futures_core::Stream;
use tokio::time::timeout;

use super::Driver;
use crate::random;
use crate::sessions::emit::Sink;
use crate::sessions::journal::Journal;
use crate::tools::{BatchItem, BatchRun, Planned};

/// How long a person has to agree to a call, if nobody says otherwise.
const APPROVAL_EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

/// The kind of the failure when what was to be run is not what was approved.
pub(crate) const APPROVAL_MISMATCH: &str = "approval_mismatch";

/// How long calls are heard out when the session was lost.
const HEARD_OUT: Duration = Duration::from_secs(5);

impl<J: Journal, S: Sink> Driver<'_, J, S> {
    /// Decides about every call of the answer.
    pub(super) async fn plan_calls(&mut self, calls: &[CallToRun]) -> Result<(), SessionError> {
        let now = self.journal.now().await?;
        let plans = calls.iter().map(|call| PlanOfCall {
            index: call.index,
            plan: self.plan_of(&call.call, now),
        });
        let planned = CallsPlanned {
            turn: self.session().turn(),
            calls: plans.collect(),
        };
        self.append(vec![EntryBody::CallsPlanned(planned)]).await?;
        Ok(())
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

    fn approval(&self, tool: &Tool, reason: Option<String>, now: Timestamp) -> ApprovePlan {
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
    fn wait_until(&self, now: Timestamp) -> Option<Timestamp> {
        let expiry = self.plan.settings.wait_expiry.get();
        expiry.and_then(|expiry| later(now, expiry))
    }

    fn tells_unknown(&self) -> bool {
        let options = self.session().run().map(|state| state.run().options());
        options.is_some_and(|options| options.unknown_tools == UnknownTools::TellModel)
    }

    fn unknown_tool(&self, call: &ToolCall) -> allm_core::CallFailure {
        let names = self.planner.tools.list().iter().map(|tool| &tool.name);
        encode::unknown_tool(call.original_name(), names)
    }

    /// Begins the calls that are not going on yet.
    pub(super) async fn begin_calls(&mut self, calls: &[CallToRun]) -> Result<(), SessionError> {
        let turn = self.session().turn();
        if self.begun_turn != turn {
            self.begun_turn = turn;
            self.begun.clear();
            self.stopping = false;
        }
        let fresh: Vec<u32> = calls
            .iter()
            .map(|call| call.index)
            .filter(|index| !self.begun.contains_key(index))
            .collect();
        if fresh.is_empty() {
            return Ok(());
        }
        let now = self.journal.now().await?;
        let mut bodies = Vec::new();
        let mut runs = Vec::new();
        for index in fresh {
            let key = CallKey { turn, index };
            let Some(call) = self.session().open_turn().and_then(|turn| turn.get(key)) else {
                continue;
            };
            let call = call.clone();
            match self.first_step(key, &call, now) {
                FirstStep::Run(call) => runs.push(call),
                FirstStep::Intend(intent, call) => {
                    bodies.push(EntryBody::ToolIntent(intent));
                    runs.push(call);
                }
                FirstStep::Close(entry) => bodies.push(EntryBody::ToolOutcome(entry)),
                FirstStep::Probe => {
                    self.begin_probe(key, &call, now);
                    self.begun.insert(index, call.attempts);
                }
                FirstStep::AskAgain(plan) => {
                    bodies.push(EntryBody::CallsPlanned(CallsPlanned {
                        turn,
                        calls: vec![PlanOfCall {
                            index,
                            plan: CallPlan::Approve(plan),
                        }],
                    }));
                }
                FirstStep::Mismatch => {
                    let failed = RunFailed {
                        kind: APPROVAL_MISMATCH.to_owned(),
                        message: format!("the arguments of the call {key} are not those approved"),
                    };
                    self.append(vec![EntryBody::RunFailed(failed)]).await?;
                    return Ok(());
                }
            }
        }
        // What others did meanwhile may have changed what is to be run: then the machine is asked again.
        if !bodies.is_empty() && !self.append(bodies).await? {
            return Ok(());
        }
        if !runs.is_empty() {
            self.run_calls(runs);
        }
        Ok(())
    }

    fn run_calls(&mut self, calls: Vec<CallToRun>) {
        if self.session().run().is_none() {
            return;
        }
        let turn = self.session().turn();
        for CallToRun { index, .. } in &calls {
            let key = CallKey {
                turn,
                index: *index,
            };
            let call = self.session().open_turn().and_then(|turn| turn.get(key));
            let attempt = call.map_or(1, |call| call.attempts.max(1));
            self.begun.insert(*index, attempt);
        }
        let (tools, settings) = (self.planner.tools.clone(), Arc::clone(&self.planner.runner));
        let batch = self
            .spans
            .step()
            .in_scope(|| BatchRun::start(calls, tools, settings, turn));
        self.batches.push(batch);
    }

    /// Runs one call whose intent is written.
    pub(super) fn run_one(&mut self, key: CallKey, call: &TurnCall) {
        self.run_calls(vec![CallToRun {
            index: key.index,
            call: Arc::new(effective(call)),
        }]);
    }

    /// How a call is begun: as its tool's effect and what is known of earlier attempts allow.
    fn first_step(&self, key: CallKey, call: &TurnCall, now: Timestamp) -> FirstStep {
        let name = call.call.original_name();
        let intent = call.intent();
        let Some(entry) = self.planner.tools.get(name) else {
            return FirstStep::Close(match intent {
                Some(_) => Box::new(self.unknown_outcome(key, call)),
                None => Box::new(self.removed_tool(key, call)),
            });
        };
        let tool = &entry.tool;
        let approval = approval_of(call);
        if approval.is_some_and(|approval| !is_as_approved(call, approval)) {
            return FirstStep::Mismatch;
        }
        let is_void = is_void(call, tool);
        if is_void && intent.is_none() {
            let reason = "the tool has changed since it was approved".to_owned();
            return FirstStep::AskAgain(self.approval(tool, Some(reason), now));
        }
        let recorded = match intent {
            Some(intent) => Some(&intent.effect),
            None => self.recorded_effect(name),
        };
        let effect = recorded.map_or(&tool.effect, |recorded| stricter(recorded, &tool.effect));
        let to_run = CallToRun {
            index: key.index,
            call: Arc::new(effective(call)),
        };
        match (effect, intent) {
            (Effect::Reconcile(_), Some(_)) => FirstStep::Probe,
            // It may have begun, and nobody agreed to what the tool is now.
            (_, Some(_)) if is_void => FirstStep::Close(Box::new(self.unknown_outcome(key, call))),
            (Effect::Pure, _) => FirstStep::Run(to_run),
            (Effect::Idempotent, _) | (_, None) => {
                FirstStep::Intend(Box::new(self.intent(key, call, tool, now)), to_run)
            }
            (_, Some(_)) => FirstStep::Close(Box::new(self.unknown_outcome(key, call))),
        }
    }

    fn recorded_effect(&self, name: &str) -> Option<&Effect> {
        let tools = &self.session().run()?.tools;
        let tool = tools.iter().find(|tool| tool.name == name);
        tool.map(|tool| &tool.effect)
    }

    /// That a call is about to be run.
    pub(super) fn intent(
        &self,
        key: CallKey,
        call: &TurnCall,
        tool: &Tool,
        now: Timestamp,
    ) -> ToolIntent {
        let arguments = self.handler_arguments(call);
        let limit = tool.timeout.unwrap_or(self.planner.runner.tool_timeout);
        let deadline = later(now, limit.saturating_add(self.call_slack));
        ToolIntent {
            call: key,
            attempt: call.attempts.saturating_add(1),
            tool: tool.name.clone(),
            effect: tool.effect.clone(),
            key: self.idempotency_key(key, tool, &arguments),
            arguments_hash: arguments_hash(&arguments),
            deadline: deadline.unwrap_or(now),
            approval_id: approval_of(call).map(|approval| approval.id),
        }
    }

    pub(super) fn idempotency_key(
        &self,
        key: CallKey,
        tool: &Tool,
        arguments: &allm_core::Map,
    ) -> String {
        let owner = &self.planner.runner.key_owner;
        idempotency_key(owner, key.turn, key.index, tool.name.as_str(), arguments)
    }

    /// What the handler will get; what the model sent, where the handler will not be asked at all.
    pub(super) fn handler_arguments(&self, call: &TurnCall) -> allm_core::Map {
        let entry = self.planner.tools.get(call.call.original_name());
        let checked = entry.map(|entry| self.planner.arguments(entry, &effective(call)));
        match checked {
            Some(Ok(arguments)) => arguments,
            _ => call.arguments(),
        }
    }

    /// A call that began and whose outcome nobody knows.
    pub(super) fn unknown_outcome(&self, key: CallKey, call: &TurnCall) -> ToolOutcomeEntry {
        let reason = FailureReason::UnknownOutcome;
        let failure = encode::closed(reason, call.call.original_name());
        let outcome = ToolOutcome::failed(failure);
        let source = OutcomeSource::Recovery;
        let mut entry = ToolOutcomeEntry::new(key, call.attempts, outcome, source);
        if self.plan.settings.on_unknown_outcome.get() == Some(crate::OnUnknownOutcome::AskPerson) {
            entry.policy = allm_core::session::OutcomePolicy::AskPerson;
        }
        entry
    }

    /// A call that was to be run when its tool was removed.
    fn removed_tool(&self, key: CallKey, call: &TurnCall) -> ToolOutcomeEntry {
        let failure = self.unknown_tool(&call.call);
        let outcome = ToolOutcome::Failed {
            content: failure.to_content(),
            failure,
            decision: if self.tells_unknown() {
                PolicyDecision::Continue
            } else {
                PolicyDecision::Halt { exception: None }
            },
        };
        ToolOutcomeEntry::new(key, call.attempts, outcome, OutcomeSource::Recovery)
    }

    /// Ends what runs, and closes what has not begun.
    pub(super) async fn stop_calls(&mut self, calls: &[CallToRun]) -> Result<(), SessionError> {
        let Some(stop) = self.stop() else {
            return Ok(());
        };
        if !std::mem::replace(&mut self.stopping, true) {
            for batch in &mut self.batches {
                batch.stop(stop);
            }
        }
        let probed: Vec<u32> = self.probes.drain(..).map(|probe| probe.key.index).collect();
        let turn = self.session().turn();
        let open = self.session().open_turn();
        let idle = calls
            .iter()
            .filter(|call| !self.begun.contains_key(&call.index) || probed.contains(&call.index));
        let bodies: Vec<EntryBody> = idle
            .filter_map(|call| {
                let key = CallKey {
                    turn,
                    index: call.index,
                };
                let open = open?.get(key)?;
                let entry = match open.intent() {
                    Some(_) => self.unknown_outcome(key, open),
                    None => not_started(key, open),
                };
                Some(EntryBody::ToolOutcome(Box::new(entry)))
            })
            .collect();
        if !bodies.is_empty() {
            self.append(bodies).await?;
        }
        Ok(())
    }

    /// What calls still come to when the session was lost: they are told to stop, and heard out for a short while.
    pub(super) async fn late_outcomes(&mut self) -> Vec<EntryBody> {
        self.own.cancel();
        let turn = self.begun_turn;
        let mut late = Vec::new();
        let mut batches = std::mem::take(&mut self.batches);
        let heard = async {
            for batch in &mut batches {
                while let Some(item) = poll_fn(|cx| Pin::new(&mut *batch).poll_next(cx)).await {
                    if let BatchItem::Done { index, outcome, .. } = item
                        && outcome != ToolOutcome::NotStarted
                    {
                        let attempt = self.begun.get(&index).copied().unwrap_or(1);
                        let key = CallKey { turn, index };
                        let source = OutcomeSource::Handler;
                        let entry = ToolOutcomeEntry::new(key, attempt, outcome, source);
                        late.push(EntryBody::ToolOutcome(Box::new(entry)));
                    }
                }
            }
        };
        let _ = timeout(HEARD_OUT, heard).await;
        late
    }

    pub(super) async fn take_item(&mut self, item: BatchItem) -> Result<(), SessionError> {
        match item {
            BatchItem::Event(event) => {
                self.sink.emit(event).await;
                Ok(())
            }
            BatchItem::Done { index, outcome, .. } => self.take_outcome(index, outcome).await,
        }
    }

    async fn take_outcome(&mut self, index: u32, outcome: ToolOutcome) -> Result<(), SessionError> {
        let turn = self.session().turn();
        let key = CallKey { turn, index };
        let Some(call) = self.session().open_turn().and_then(|turn| turn.get(key)) else {
            return Ok(());
        };
        if call.outcome().is_some() {
            return Ok(());
        }
        let call = call.clone();
        let stopped = self.stop().is_some();
        if !stopped && self.begin_second_look(key, &call, &outcome) {
            return Ok(());
        }
        let attempt = call.attempts.max(1);
        let mut entry = ToolOutcomeEntry::new(key, attempt, outcome, OutcomeSource::Handler);
        if let Some(question) = &mut entry.question
            && self.plan.settings.wait_expiry.get().is_some()
        {
            let now = self.journal.now().await?;
            question.expires_at = self.wait_until(now);
        }
        // What the stop itself ended is cancelled, whatever it looked like to the runner.
        if stopped && matches!(entry.outcome, Outcome::Crashed | Outcome::TimedOut) {
            entry.outcome = Outcome::Cancelled;
        }
        self.append(vec![EntryBody::ToolOutcome(Box::new(entry))])
            .await?;
        Ok(())
    }
}

/// How a call is begun.
enum FirstStep {
    /// It is run at once.
    Run(CallToRun),
    /// It is run once its intent is written.
    Intend(Box<ToolIntent>, CallToRun),
    /// It is not run.
    Close(Box<ToolOutcomeEntry>),
    /// The far side is asked whether it happened.
    Probe,
    /// A person is asked again.
    AskAgain(ApprovePlan),
    /// What would be run is not what was approved.
    Mismatch,
}

fn not_started(key: CallKey, call: &TurnCall) -> ToolOutcomeEntry {
    let source = OutcomeSource::Recovery;
    ToolOutcomeEntry::new(key, call.attempts, ToolOutcome::NotStarted, source)
}

/// What a person agreed to, for a gated call.
fn approval_of(call: &TurnCall) -> Option<&Approved> {
    match &call.state {
        CallState::Ready { approval } => approval.as_ref(),
        CallState::Intended(intent) => intent.approval.as_ref(),
        CallState::Waiting(_) | CallState::Closed(_) => None,
    }
}

/// Whether the tool is another one than a person agreed to.
pub(super) fn is_void(call: &TurnCall, tool: &Tool) -> bool {
    let approval = approval_of(call);
    approval.is_some_and(|approval| approval.tool_fingerprint != tool_fingerprint(tool))
}

/// Whether what would be run is what a person agreed to. What stands in the session is looked at again, not believed.
fn is_as_approved(call: &TurnCall, approval: &Approved) -> bool {
    approval.arguments_hash == arguments_hash(&call.arguments())
}

/// The call with the arguments that it is run with.
fn effective(call: &TurnCall) -> ToolCall {
    let model = &call.call;
    let arguments = call.arguments();
    if model.arguments.as_ref() == Some(&arguments) {
        return ToolCall::clone(model);
    }
    let raw = serde_json::Value::Object(arguments.clone()).to_string();
    let mut edited = ToolCall::parsed(
        model.id.clone(),
        &*model.name,
        &raw,
        allm_core::ArgumentLimits {
            max_bytes: usize::MAX,
            ..allm_core::ArgumentLimits::default()
        },
    );
    edited.arguments = Some(arguments);
    edited.metadata = model.metadata.clone();
    edited
}

/// The stricter of two effects.
fn stricter<'a>(a: &'a Effect, b: &'a Effect) -> &'a Effect {
    let rank = |effect: &Effect| match effect {
        Effect::Pure => 0,
        Effect::Idempotent => 1,
        Effect::Reconcile(_) => 2,
        _ => 3,
    };
    if rank(a) > rank(b) { a } else { b }
}

/// A time after another; `None` for "never" and for what no calendar has.
fn later(now: Timestamp, after: Duration) -> Option<Timestamp> {
    let millis = i64::try_from(after.as_millis()).ok()?;
    Timestamp::from_millis(now.as_millis().checked_add(millis)?).ok()
}

#[cfg(test)]
mod tests;
