//! Calls whose outcome has to be asked for at the far side.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use allm_core::run::ToolOutcome;
use allm_core::session::{CallKey, EntryBody, OutcomeSource, ToolOutcomeEntry, TurnCall};
use allm_core::{
    BoxFuture, Effect, EffectProbe, FailureReason, Map, ProbeAnswer, SessionError, Timestamp,
};
use tokio::time::{sleep, timeout};

use super::Driver;
use super::calls::is_void;
use crate::panics::caught_future;
use crate::sessions::emit::Sink;
use crate::sessions::journal::Journal;
use crate::tools::encoded_value;

/// How often a probe is asked after a crash.
const TRIES: u32 = 3;
/// How long one try may take.
const TRY_LIMIT: Duration = Duration::from_secs(30);
/// How long it is waited between two tries.
const BETWEEN: Duration = Duration::from_secs(1);

/// A question to the far side that is going on.
pub(super) struct Probing {
    pub(super) key: CallKey,
    /// What the call came to in this process, which only a `Done` changes.
    pub(super) known: Option<ToolOutcome>,
    answer: BoxFuture<'static, ProbeAnswer>,
}

/// What the far side said.
pub(super) struct Probed {
    key: CallKey,
    known: Option<ToolOutcome>,
    answer: ProbeAnswer,
}

/// The first answer that has come.
pub(super) fn poll(probes: &mut Vec<Probing>, cx: &mut Context<'_>) -> Option<Probed> {
    for place in 0..probes.len() {
        let Some(probe) = probes.get_mut(place) else {
            continue;
        };
        if let Poll::Ready(answer) = probe.answer.as_mut().poll(cx) {
            let Probing { key, known, .. } = probes.swap_remove(place);
            return Some(Probed { key, known, answer });
        }
    }
    None
}

async fn ask(
    probe: Arc<dyn EffectProbe>,
    key: String,
    arguments: Arc<Map>,
    tries: u32,
) -> ProbeAnswer {
    for attempt in 0..tries {
        if attempt > 0 {
            sleep(BETWEEN).await;
        }
        let asked = async { probe.probe(&key, (*arguments).clone()).await };
        if let Ok(Ok(Ok(answer))) = timeout(TRY_LIMIT, caught_future(asked)).await {
            return answer;
        }
    }
    ProbeAnswer::Unknown
}

impl<J: Journal, S: Sink> Driver<'_, J, S> {
    fn probe_of(&self, call: &TurnCall) -> Option<Arc<dyn EffectProbe>> {
        let entry = self.planner.tools.get(call.call.original_name())?;
        match &entry.tool.effect {
            Effect::Reconcile(probe) => probe.clone(),
            _ => None,
        }
    }

    /// Asks whether a call of before a crash has happened, once its time is over for sure.
    pub(super) fn begin_probe(&mut self, key: CallKey, call: &TurnCall, now: Timestamp) {
        let probe = self.probe_of(call);
        let arguments = self.handler_arguments(call);
        let (name, deadline) = match call.intent() {
            Some(intent) => (intent.key.clone(), intent.deadline),
            None => return,
        };
        let wait = deadline.as_millis().saturating_sub(now.as_millis());
        let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(0));
        self.probes.push(Probing {
            key,
            known: None,
            answer: Box::pin(async move {
                sleep(wait).await;
                match probe {
                    Some(probe) => ask(probe, name, arguments, TRIES).await,
                    None => ProbeAnswer::Unknown,
                }
            }),
        });
    }

    /// Asks once more about a call that ended in this process without a reply. False when there is nobody to ask.
    pub(super) fn begin_second_look(
        &mut self,
        key: CallKey,
        call: &TurnCall,
        outcome: &ToolOutcome,
    ) -> bool {
        let ToolOutcome::Failed { failure, .. } = outcome else {
            return false;
        };
        let without_reply = matches!(
            failure.reason,
            FailureReason::Timeout | FailureReason::HandlerExit | FailureReason::HandlerRaised
        );
        let (true, Some(intent), Some(probe)) = (without_reply, call.intent(), self.probe_of(call))
        else {
            return false;
        };
        let (name, arguments) = (intent.key.clone(), self.handler_arguments(call));
        self.probes.push(Probing {
            key,
            known: Some(outcome.clone()),
            answer: Box::pin(ask(probe, name, arguments, 1)),
        });
        true
    }

    pub(super) async fn take_probe(&mut self, probed: Probed) -> Result<(), SessionError> {
        let Probed { key, known, answer } = probed;
        let Some(call) = self.session().open_turn().and_then(|turn| turn.get(key)) else {
            return Ok(());
        };
        let call = call.clone();
        let attempt = call.attempts;
        let entry = match (answer, known) {
            (ProbeAnswer::Done(value), _) => {
                let runner = &self.planner.runner;
                let outcome = encoded_value(runner, value).await;
                ToolOutcomeEntry::new(key, attempt, outcome, OutcomeSource::Probe)
            }
            (_, Some(known)) => ToolOutcomeEntry::new(key, attempt, known, OutcomeSource::Handler),
            (ProbeAnswer::NotDone, None) => return self.run_again(key, &call).await,
            (_, None) => self.unknown_outcome(key, &call),
        };
        self.append(vec![EntryBody::ToolOutcome(Box::new(entry))])
            .await?;
        self.attempt_over(key);
        Ok(())
    }

    /// A call that waits now is begun anew, should it be run again while this driver is here.
    pub(super) fn attempt_over(&mut self, key: CallKey) {
        let call = self.session().open_turn().and_then(|turn| turn.get(key));
        if call.is_some_and(|call| call.wait().is_some()) {
            self.begun.remove(&key.index);
        }
    }

    /// Runs a call that did not happen, as the next attempt with the same key.
    async fn run_again(&mut self, key: CallKey, call: &TurnCall) -> Result<(), SessionError> {
        let Some(entry) = self.planner.tools.get(call.call.original_name()).cloned() else {
            return Ok(());
        };
        if is_void(call, &entry.tool) {
            // Nobody agreed to what the tool is now.
            let entry = self.unknown_outcome(key, call);
            let entry = EntryBody::ToolOutcome(Box::new(entry));
            if !self.append(vec![entry]).await? {
                self.begun.remove(&key.index);
            }
            return Ok(());
        }
        let now = self.journal.now().await?;
        let intent = self.intent(key, call, &entry.tool, now);
        if self
            .append(vec![EntryBody::ToolIntent(Box::new(intent))])
            .await?
        {
            return self.run_one(key, call).await;
        }
        // Others came first, and a stop may be among what they said: the machine tells what becomes of it.
        self.begun.remove(&key.index);
        Ok(())
    }
}
