//! What the end of a run makes of a session.

use std::sync::Arc;

use serde_json::json;

use super::apply::Applied;
use super::call::Outcome;
use super::state::{Session, SessionFailure};
use crate::data::{
    ChatCompleted, ChatResult, Event, FailureReason, HaltReason, Map, Response, Thread,
};
use crate::error::{Error, ErrorKind, Failure};
use crate::json::from_value;
use crate::run::{Run, RunEnd};

impl Session {
    /// Ends the run where it stands. Calls that are open stay so.
    pub(super) fn fail_run(
        &mut self,
        kind: &str,
        message: &str,
        applied: &mut Applied,
    ) -> Result<(), &'static str> {
        let state = self.run.take().ok_or("no run is unfinished")?;
        self.thread = state.run.settled_thread();
        let error = Failure {
            kind: ErrorKind::Session,
            reason: kind.to_owned(),
            message: message.to_owned(),
            metadata: Map::new(),
        };
        self.failure = Some(Arc::new(SessionFailure {
            kind: kind.to_owned(),
            message: message.to_owned(),
            retryable: false,
            turn: self.turn,
            error: Some(error.clone()),
            partial: None,
        }));
        self.last_halt = Some(HaltReason::Error);
        self.forget_messages();
        let steps = state.run.steps();
        let result = Arc::new(ChatResult {
            thread: self.thread(),
            final_response: steps.last().map(|step| step.response.clone()),
            steps: steps.to_vec(),
            halted_reason: HaltReason::Error,
            pending_question: None,
            pending_tool_call_id: None,
            metadata: Map::from_iter([("error".to_owned(), json!(error))]),
        });
        applied.events.push(Event::error(error));
        applied.events.push(Event::ChatCompleted(ChatCompleted {
            result: Arc::clone(&result),
        }));
        applied.ended = Some(RunEnd::Result(result));
        Ok(())
    }

    /// Puts a run away that has ended. `before` is what was said before the entry, without an open turn.
    pub(super) fn end_run(&mut self, end: RunEnd, before: Thread, applied: &mut Applied) {
        let Some(state) = self.run.take() else { return };
        match &end {
            RunEnd::Result(result) => {
                let reason = &result.halted_reason;
                let closes = match reason {
                    HaltReason::Cancelled => Some((Outcome::Cancelled, FailureReason::Cancelled)),
                    HaltReason::DeadlineExceeded => {
                        Some((Outcome::Cancelled, FailureReason::DeadlineExceeded))
                    }
                    HaltReason::BudgetExhausted | HaltReason::Truncated => {
                        Some((Outcome::NotRun, FailureReason::NotExecuted))
                    }
                    _ => None,
                };
                if let Some((outcome, reason)) = closes {
                    self.close_calls(outcome, reason);
                }
                let is_open = self.unfinished_turn().is_some();
                self.thread = if is_open || *reason == HaltReason::Error {
                    before
                } else {
                    result.thread.clone()
                };
                self.failure = self.failure_of(&state.run).map(Arc::new);
                self.last_halt = Some(reason.clone());
            }
            RunEnd::Refused(failure) => {
                self.thread = before;
                self.failure = Some(Arc::new(model_failure(failure, self.turn, None)));
                self.last_halt = Some(HaltReason::Error);
            }
            RunEnd::Step(_) => {}
        }
        self.forget_messages();
        applied.ended = Some(end);
    }

    /// Why a run that ended with a result has failed, if it has.
    fn failure_of(&self, run: &Run) -> Option<SessionFailure> {
        let result = run.result()?;
        let last = run.steps().last();
        match &result.halted_reason {
            HaltReason::Error => {
                let failure = result.metadata.get("error");
                let failure = failure.and_then(|failure| from_value(failure).ok());
                let failure = failure.unwrap_or_else(Failure::interrupted);
                let partial = last.map(|step| &*step.response);
                let partial = partial.filter(|response| response.error.is_some());
                Some(model_failure(&failure, self.turn, partial.cloned()))
            }
            HaltReason::ToolError => {
                let failed = result.metadata.get("halt_tool_call_id");
                let failed = failed.and_then(|id| id.as_str()).unwrap_or_default();
                Some(SessionFailure {
                    kind: HaltReason::ToolError.as_str().to_owned(),
                    message: format!("the call `{failed}` failed, and the policy halted the run"),
                    retryable: true,
                    turn: self.turn,
                    error: None,
                    partial: None,
                })
            }
            _ => None,
        }
    }
}

fn model_failure(failure: &Failure, turn: u32, partial: Option<Response>) -> SessionFailure {
    SessionFailure {
        kind: failure.reason.clone(),
        message: failure.message.clone(),
        retryable: Error::from(failure.clone()).is_retryable(),
        turn,
        error: Some(failure.clone()),
        partial,
    }
}
