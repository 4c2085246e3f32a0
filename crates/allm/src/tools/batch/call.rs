//! One call, from the gate to its end.

use std::sync::Arc;
use std::time::Duration;

use allm_core::run::{CallToRun, ToolOutcome};
use allm_core::{
    CancelToken, CustomHalt, IdempotencyKey, Map, ReplyValue, ToolCall, ToolContext, ToolError,
    ToolExecutionStarted, ToolFailure, ToolReason, ToolReply, encode, idempotency_key,
};
use serde_json::Value;
use tokio::time::Instant;

use super::super::aside::aside;
use super::super::check;
use super::super::executor::{exited, raised};
use super::super::settings::RunnerSettings;
use super::super::toolset::Entry;
use super::encoding::encoded;
use super::{Reports, Shared, timed_out};
use crate::panics::caught_future;

/// A call that has passed the gate.
///
/// One task works on it ([`Ending::run`]), which runs the handler and may hang, panic or be aborted. The clock is watched by
/// another, one for the whole batch, which holds nothing of the caller's.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) shared: Arc<Shared>,
    pub(super) entry: Arc<Entry>,
    pub(super) call: Arc<ToolCall>,
    pub(super) place: usize,
    pub(super) index: u32,
    pub(super) limit: Duration,
    until: Option<Instant>,
    cancel: CancelToken,
}

impl Call {
    pub(super) fn new(
        shared: &Arc<Shared>,
        place: usize,
        to_run: &CallToRun,
        entry: &Arc<Entry>,
        cancel: CancelToken,
    ) -> Self {
        let limit = entry.tool.timeout.unwrap_or(shared.settings.tool_timeout);
        let known = shared.attempts.get(&to_run.index);
        Self {
            cancel,
            until: known.and_then(|known| known.until),
            shared: Arc::clone(shared),
            entry: Arc::clone(entry),
            call: Arc::clone(&to_run.call),
            place,
            index: to_run.index,
            limit,
        }
    }

    /// When it must have ended if it begins now.
    pub(super) fn due(&self) -> Option<Instant> {
        let over = match self.limit {
            Duration::MAX => None,
            limit => Instant::now().checked_add(limit),
        };
        over.into_iter().chain(self.until).min()
    }

    /// Runs the handler and encodes its value.
    async fn work(&self) -> Result<ToolOutcome, ToolFailure> {
        let settings = &self.shared.settings;
        let executor = &*settings.executor;
        let tool = &self.entry.tool;
        let max_bytes = settings.max_tool_arguments;
        let arguments = check::arguments(&self.entry, &self.call, max_bytes, executor)?;
        let context = self.context(Arc::clone(&arguments));
        if self.cancel.is_cancelled() || self.until.is_some_and(|until| until <= Instant::now()) {
            // The stop is on its way, and the handler must not begin; if it is not, the limit ends this.
            std::future::pending::<()>().await;
        }
        let event = start_event(self.index, &self.call, Arc::clone(&arguments));
        if !self.shared.board.started(self.place, event) {
            return Err(self.crashed(exited("it was stopped before it began")));
        }
        // The call itself is made inside, because an executor may panic before it gives its future.
        let execution = async { executor.execute(tool, arguments, &context).await };
        let execution = aside(self.shared.runtime.as_ref(), caught_future(execution));
        let replied = match execution.await {
            Ok(replied) => replied,
            Err(payload) => Err(raised(payload)),
        };
        self.shared.board.ended(self.place);
        let outcome = outcome_of(settings, replied).await;
        outcome.map_err(|failure| match failure {
            ToolFailure::Crashed(error) => self.crashed(error),
            reported => reported,
        })
    }

    fn context(&self, arguments: Arc<Map>) -> ToolContext {
        let settings = &self.shared.settings;
        let known = self.shared.attempts.get(&self.index);
        ToolContext {
            context: settings.context.clone(),
            session_id: settings.session_id.clone(),
            request_id: settings.request_id.clone(),
            tool_call: Arc::clone(&self.call),
            engine: settings.engine.clone(),
            idempotency_key: self.idempotency_key(arguments),
            answer: known.and_then(|known| known.answer.clone()),
            cancel: self.cancel.clone(),
            progress: Some(Arc::new(Reports::of(self))),
        }
    }

    fn idempotency_key(&self, arguments: Arc<Map>) -> IdempotencyKey {
        let settings = Arc::clone(&self.shared.settings);
        let entry = Arc::clone(&self.entry);
        let (turn, index) = (self.shared.turn, self.index);
        IdempotencyKey::when_read(move || {
            let name = entry.tool.name.as_str();
            idempotency_key(&settings.key_owner, turn, index, name, &arguments)
        })
    }

    /// The failure, with the names that whoever made the error may not have known.
    pub(super) fn crashed(&self, mut error: ToolError) -> ToolFailure {
        error
            .tool_name
            .get_or_insert_with(|| self.entry.tool.name.clone());
        error
            .tool_call_id
            .get_or_insert_with(|| self.call.id.clone());
        ToolFailure::Crashed(error)
    }
}

/// What a reply, or none, makes of a call.
pub(super) async fn outcome_of(
    settings: &RunnerSettings,
    replied: Result<ToolReply, ToolError>,
) -> Result<ToolOutcome, ToolFailure> {
    match replied.and_then(ToolReply::checked) {
        Err(error) => Err(ToolFailure::Crashed(error)),
        Ok(ToolReply::Error(error)) => Err(ToolFailure::Reported(error)),
        Ok(ToolReply::Ok(value)) => {
            let (value, content) = content_of(settings, value).await?;
            Ok(ToolOutcome::replied(value, content))
        }
        Ok(ToolReply::OkWith { value, media }) => {
            let (value, content) = content_of(settings, value).await?;
            Ok(ToolOutcome::Replied {
                value,
                content,
                media,
            })
        }
        Ok(ToolReply::AskUser { question, opts }) => Ok(ToolOutcome::Asked { question, opts }),
        Ok(ToolReply::AskAndGoOn {
            question,
            opts,
            state,
        }) => Ok(ToolOutcome::AskedToGoOn {
            question,
            opts,
            state,
        }),
        Ok(ToolReply::Halt { reason, value }) => {
            let Some(reason) = CustomHalt::new(&reason) else {
                // It was checked above.
                return Err(ToolFailure::Crashed(unknown_reply()));
            };
            let (value, content) = content_of(settings, value).await?;
            Ok(ToolOutcome::Halted {
                reason,
                value,
                content,
            })
        }
        Ok(_) => Err(ToolFailure::Crashed(unknown_reply())),
    }
}

/// The value and what the model is told of it.
async fn content_of(
    settings: &RunnerSettings,
    value: ReplyValue,
) -> Result<(Value, String), ToolFailure> {
    match encoded(settings.encoder.as_ref(), value).await {
        Ok((value, content)) => Ok((value, encode::bound(content, settings.max_tool_output))),
        Err(error) => Err(ToolFailure::Crashed(error)),
    }
}

fn unknown_reply() -> ToolError {
    ToolError::new(ToolReason::InvalidReturn, "the reply has no known form")
}

pub(super) fn start_event(
    index: u32,
    call: &ToolCall,
    arguments: Arc<Map>,
) -> ToolExecutionStarted {
    ToolExecutionStarted {
        index,
        id: call.id.clone(),
        name: call.name.clone(),
        arguments,
    }
}

/// A call that gets its end also when the task that has it is gone, and then lets the next ones in.
pub(super) struct Ending {
    call: Call,
    /// Whether this is who says what it came to.
    claimed: bool,
}

impl Ending {
    /// A call that is about to run.
    pub(super) fn by_its_end(call: Call) -> Self {
        let claimed = false;
        Self { call, claimed }
    }

    /// A call whose time is over.
    pub(super) fn by_the_clock(call: Call) -> Self {
        let claimed = true;
        Self { call, claimed }
    }

    /// Runs the call to its end, whatever happens.
    pub(super) async fn run(mut self) {
        let ended = caught_future(self.call.work()).await;
        self.claimed = self.call.shared.board.claim(self.call.place);
        if self.claimed {
            let ended = ended.unwrap_or_else(|payload| Err(self.call.crashed(raised(payload))));
            self.finish(ended).await;
        }
    }

    /// Ends a call that ran for too long.
    pub(super) async fn time_out(self) {
        let error = timed_out("the time limit of the call passed");
        let failure = self.call.crashed(error);
        self.finish(Err(failure)).await;
    }

    async fn finish(&self, ended: Result<ToolOutcome, ToolFailure>) {
        let outcome = match ended {
            Ok(outcome) => outcome,
            // In a box, so that a call that succeeds has no room for it.
            Err(failure) => Box::pin(self.call.settle(failure)).await,
        };
        self.call.shared.board.finish(self.call.place, outcome);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let Call { shared, place, .. } = &self.call;
        let claimed = self.claimed || shared.board.claim(*place);
        if claimed && !shared.board.is_done(*place) {
            let error = exited("the task of the call ended, or the runtime is shutting down");
            let outcome = shared.stopped_as(&self.call.entry, error);
            shared.board.finish(*place, outcome);
        }
        shared.admit();
    }
}
