//! The spans of a run and of its turns.

use allm_core::run::RunEnd;
use allm_core::{Error, HaltReason, RequestId, SessionId};
use tracing::field::Empty;
use tracing::{Level, Span, span};

use super::{failed, names};

/// The spans of a run: the run's own, and that of the turn it is in.
pub(crate) struct RunSpans {
    run: Span,
    step: Span,
    ended: bool,
}

impl RunSpans {
    /// Opens the span of a run.
    pub(crate) fn open(request_id: &RequestId, session_id: Option<&SessionId>) -> Self {
        let run = span!(
            Level::INFO,
            names::RUN,
            { names::OTEL_NAME } = "invoke_agent",
            { names::OTEL_STATUS_CODE } = Empty,
            { names::OPERATION_NAME } = "invoke_agent",
            { names::CONVERSATION_ID } = session_id.map(SessionId::as_str),
            { names::REQUEST_ID } = request_id.as_str(),
            { names::TURNS } = Empty,
            { names::HALTED_REASON } = Empty,
            { names::ERROR_TYPE } = Empty,
        );
        Self {
            run,
            step: Span::none(),
            ended: false,
        }
    }

    /// Tells of a run that was refused before it began.
    pub(crate) fn refused(error: &Error) {
        let run = span!(
            Level::INFO,
            names::RUN,
            { names::OTEL_NAME } = "invoke_agent",
            { names::OTEL_STATUS_CODE } = "ERROR",
            { names::OPERATION_NAME } = "invoke_agent",
            { names::ERROR_TYPE } = error.reason(),
        );
        drop(run);
    }

    /// Opens the span of a turn, and closes that of the turn before.
    pub(crate) fn begin_step(&mut self, turn: u32) {
        self.step = span!(
            parent: &self.run,
            Level::INFO,
            names::STEP,
            { names::TURN } = turn,
        );
    }

    /// What the work of the turn is done in.
    pub(crate) fn step(&self) -> &Span {
        &self.step
    }

    /// What the closures of the run are asked in.
    pub(crate) fn run(&self) -> &Span {
        &self.run
    }

    /// Tells how the run ended, and closes its spans.
    pub(crate) fn end(&mut self, end: Option<&RunEnd>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let steps = match end {
            Some(RunEnd::Result(result)) => {
                self.halted(&result.halted_reason);
                if let Some(error) = result.failure() {
                    failed(&self.run, &error.reason);
                }
                result.steps.len()
            }
            Some(RunEnd::Step(step)) => {
                if let Some(error) = step.failure() {
                    failed(&self.run, &error.reason);
                }
                1
            }
            Some(RunEnd::Refused(failure)) => {
                failed(&self.run, &failure.reason);
                0
            }
            _ => 0,
        };
        self.run.record(names::TURNS, steps);
        self.step = Span::none();
        self.run = Span::none();
    }

    fn halted(&self, reason: &HaltReason) {
        self.run.record(names::HALTED_REASON, reason.as_str());
    }
}

impl Drop for RunSpans {
    /// A run that nobody waits for any more was cancelled.
    fn drop(&mut self) {
        if !self.ended {
            failed(&self.run, "cancelled");
        }
    }
}
