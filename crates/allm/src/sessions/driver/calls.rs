//! Tool calls of a session: planned, intended, run, closed.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use allm_core::json::Sorted;
use allm_core::run::{CallToRun, PolicyDecision, ToolOutcome};
use allm_core::session::{
    ApprovePlan, Approved, CallKey, CallPlan, CallsPlanned, EntryBody, Outcome, OutcomeSource,
    PlanOfCall, RunFailed, ToolIntent, ToolOutcomeEntry, TurnCall, arguments_hash,
    tool_fingerprint,
};
use allm_core::{
    Effect, FailureReason, SessionError, Timestamp, Tool, ToolCall, encode, idempotency_key,
};
use futures_core::Stream;
use tokio::time::{Instant, timeout};

use super::Driver;
use crate::sessions::emit::Sink;
use crate::sessions::journal::Journal;
use crate::tools::{Attempt, Attempts, BatchItem, BatchRun};

/// The kind of the failure when what was to be run is not what was approved.
pub(crate) const APPROVAL_MISMATCH: &str = "approval_mismatch";

/// How long calls are heard out when the session was lost.
const HEARD_OUT: Duration = Duration::from_secs(5);

impl<J: Journal, S: Sink> Driver<'_, J, S> {
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
            // The time of a call counts from its intent: nothing is intended that would then wait at the gate.
            .take(self.room())
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
        let appended = self.write(bodies).await?;
        // What others did meanwhile may have changed what is to be run: then the machine is asked again.
        if !appended.superseded && !runs.is_empty() {
            let now = self.journal.now().await?;
            self.run_calls(runs, now);
        }
        // Whoever listens may take time, and what was intended is to be begun.
        self.tell(appended.applied).await;
        Ok(())
    }

    /// How many calls may be begun now.
    fn room(&self) -> usize {
        let turn = self.session().open_turn();
        let runs = |index: &u32| {
            let key = CallKey {
                turn: self.begun_turn,
                index: *index,
            };
            let call = turn.and_then(|turn| turn.get(key));
            call.is_some_and(|call| call.outcome().is_none())
                && !self.probes.iter().any(|probe| probe.key == key)
        };
        let running = self.begun.keys().filter(|index| runs(index)).count();
        let most = self.planner.runner.concurrency(usize::MAX);
        most.saturating_sub(running)
    }

    fn run_calls(&mut self, calls: Vec<CallToRun>, now: Timestamp) {
        if self.session().run().is_none() {
            return;
        }
        let turn = self.session().turn();
        let mut attempts = Attempts::default();
        for CallToRun { index, .. } in &calls {
            let key = CallKey {
                turn,
                index: *index,
            };
            let call = self.session().open_turn().and_then(|turn| turn.get(key));
            let attempt = call.map_or(1, |call| call.attempts.max(1));
            let known = Attempt {
                answer: call.and_then(TurnCall::answer).cloned(),
                until: call.and_then(|call| self.until(call, now)),
            };
            attempts.insert(*index, known);
            self.begun.insert(*index, attempt);
        }
        let (tools, settings) = (self.planner.tools.clone(), Arc::clone(&self.planner.runner));
        let batch = self
            .spans
            .step()
            .in_scope(|| BatchRun::start(calls, tools, settings, turn, attempts));
        self.batches.push(batch);
    }

    /// When a call must have ended, so that it has for sure at the deadline of its intent; however long it took until the
    /// intent was written.
    fn until(&self, call: &TurnCall, now: Timestamp) -> Option<Instant> {
        // Nobody takes over from whoever holds the only copy.
        self.signals.tenure.as_ref()?;
        let intent = call.intent()?;
        let entry = self.planner.tools.get(call.call.original_name())?;
        later(now, self.limit_of(&entry.tool))?;
        let left = intent.deadline.as_millis().saturating_sub(now.as_millis());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        Instant::now().checked_add(left.saturating_sub(self.call_slack))
    }

    /// How long a call may take.
    fn limit_of(&self, tool: &Tool) -> Duration {
        tool.timeout.unwrap_or(self.planner.runner.tool_timeout)
    }

    /// Runs one call whose intent is written.
    pub(super) async fn run_one(
        &mut self,
        key: CallKey,
        call: &TurnCall,
    ) -> Result<(), SessionError> {
        let now = self.journal.now().await?;
        let call = CallToRun {
            index: key.index,
            call: Arc::new(effective(call)),
        };
        self.run_calls(vec![call], now);
        Ok(())
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
        let approval = call.state.approved();
        if approval.is_some_and(|approval| !is_as_approved(call, approval)) {
            return FirstStep::Mismatch;
        }
        let is_void = is_void(call, tool);
        if is_void && intent.is_none() {
            let reason = "the tool has changed since it was approved".to_owned();
            return FirstStep::AskAgain(self.approval(tool, Some(reason), now));
        }
        let effect = self.effect(call, tool);
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

    /// The strictest of what the tool declares now, what it declared when the run began, and what an earlier attempt was
    /// begun with.
    fn effect<'a>(&'a self, call: &'a TurnCall, tool: &'a Tool) -> &'a Effect {
        let run = self.session().run();
        let mut recorded = run.iter().flat_map(|run| &run.tools);
        let recorded = recorded.find(|recorded| recorded.name == tool.name);
        let recorded = recorded.map(|recorded| &recorded.effect);
        let intended = call.intent().map(|intent| &intent.effect);
        let earlier = [recorded, intended].into_iter().flatten();
        earlier.fold(&tool.effect, stricter)
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
        let deadline = later(now, self.limit_of(tool).saturating_add(self.call_slack));
        ToolIntent {
            call: key,
            attempt: call.attempts.saturating_add(1),
            tool: tool.name.clone(),
            effect: self.effect(call, tool).clone(),
            key: self.idempotency_key(key, tool, &arguments),
            arguments_hash: arguments_hash(&arguments),
            deadline: deadline.unwrap_or(now),
            approval_id: call.state.approved().map(|approval| approval.id),
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
    pub(super) fn handler_arguments(&self, call: &TurnCall) -> Arc<allm_core::Map> {
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
        // Nobody is asked about a run that is being stopped: what is waited for then is closed as cancelled, which it is not.
        let asks =
            self.plan.settings.on_unknown_outcome.get() == Some(crate::OnUnknownOutcome::AskPerson);
        if asks && self.stop().is_none() {
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
        let probed: BTreeMap<u32, Option<ToolOutcome>> = self
            .probes
            .drain(..)
            .map(|probe| (probe.key.index, probe.known))
            .collect();
        let turn = self.session().turn();
        let open = self.session().open_turn();
        let idle = calls.iter().filter(|call| {
            !self.begun.contains_key(&call.index) || probed.contains_key(&call.index)
        });
        let bodies: Vec<EntryBody> = idle
            .filter_map(|call| {
                let key = CallKey {
                    turn,
                    index: call.index,
                };
                let open = open?.get(key)?;
                let known = probed.get(&call.index).cloned().flatten();
                let entry = match (known, open.intent()) {
                    // It ended before the stop, and the far side was only asked whether it ended otherwise.
                    (Some(known), _) => {
                        let source = OutcomeSource::Handler;
                        ToolOutcomeEntry::new(key, open.attempts, known, source)
                    }
                    (None, Some(_)) => self.unknown_outcome(key, open),
                    (None, None) => not_started(key, open),
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
        self.attempt_over(key);
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

/// Whether the tool is another one than a person agreed to.
pub(super) fn is_void(call: &TurnCall, tool: &Tool) -> bool {
    let approval = call.state.approved();
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
    let raw = Sorted(&arguments).to_string();
    let mut edited = ToolCall::parsed(
        model.id.clone(),
        model.name.clone(),
        raw,
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
pub(super) fn later(now: Timestamp, after: Duration) -> Option<Timestamp> {
    let millis = i64::try_from(after.as_millis()).ok()?;
    Timestamp::from_millis(now.as_millis().checked_add(millis)?).ok()
}

#[cfg(test)]
mod tests;
