//! One call, from the gate to its end.

use std::sync::Arc;
use std::time::Duration;

use allm_core::run::ToolOutcome;
use allm_core::{
    CancelToken, CustomHalt, IdempotencyKey, Map, ReplyValue, ToolCall, ToolContext, ToolError,
    ToolExecutionStarted, ToolFailure, ToolReason, ToolReply, encode, idempotency_key,
};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tracing::Instrument;

use super::super::aside::aside;
use super::super::check;
use super::super::executor::{exited, joined, raised};
use super::super::settings::RunnerSettings;
use super::super::toolset::Entry;
use super::super::wait::{Owned, within};
use super::encoding::encoded;
use super::{Reports, Shared, timed_out};
use crate::panics::caught_future;

/// A call that has passed the gate.
///
/// Two tasks work on it. The one of [`Watched::run`] holds nothing of the caller's, so nothing can stop it from
/// watching the clock. The other, of [`work`](Self::work), runs the handler and may hang, panic or be aborted.
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
        shared: Arc<Shared>,
        place: usize,
        call: Arc<ToolCall>,
        index: u32,
        entry: &Arc<Entry>,
    ) -> Self {
        let limit = entry.tool.timeout.unwrap_or(shared.settings.tool_timeout);
        let until = shared.attempts.get(&index).and_then(|known| known.until);
        Self {
            cancel: shared.cancel.child(),
            until,
            shared,
            entry: Arc::clone(entry),
            call,
            place,
            index,
            limit,
        }
    }

    /// Runs the handler and encodes its value, within the limit of the call.
    async fn attempt(&self, runtime: &Handle) -> Result<ToolOutcome, ToolFailure> {
        let work = runtime.spawn(self.clone().work().in_current_span());
        self.shared.board.keep(self.place, work.abort_handle());
        let mut work = Owned::new(work);
        let left = self
            .until
            .map(|until| until.saturating_duration_since(Instant::now()));
        let limit = left.map_or(self.limit, |left| left.min(self.limit));
        let ended = within(limit, &mut work).await;
        self.shared.board.ended(self.place);
        match ended {
            Some(Ok(outcome)) => outcome,
            Some(Err(error)) => Err(self.crashed(joined(error))),
            None => {
                self.cancel.cancel();
                drop(work);
                Err(self.crashed(timed_out("the time limit of the call passed")))
            }
        }
    }

    async fn work(self) -> Result<ToolOutcome, ToolFailure> {
        let settings = &self.shared.settings;
        let executor = &*settings.executor;
        let tool = &self.entry.tool;
        let max_bytes = settings.max_tool_arguments;
        let arguments = check::arguments(&self.entry, &self.call, max_bytes, executor)?;
        let context = self.context(&arguments);
        if self.cancel.is_cancelled() || self.until.is_some_and(|until| until <= Instant::now()) {
            // The stop is on its way, and the handler must not begin; if it is not, the limit ends this.
            std::future::pending::<()>().await;
        }
        let event = start_event(self.index, &self.call, arguments.clone());
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

    fn context(&self, arguments: &Map) -> ToolContext {
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

    fn idempotency_key(&self, arguments: &Map) -> IdempotencyKey {
        let settings = Arc::clone(&self.shared.settings);
        let entry = Arc::clone(&self.entry);
        let (turn, index) = (self.shared.turn, self.index);
        let of = move |arguments: &Map| {
            let name = entry.tool.name.as_str();
            idempotency_key(&settings.key_owner, turn, index, name, arguments)
        };
        let call = Arc::clone(&self.call);
        match &self.call.arguments {
            Some(known) if known == arguments => IdempotencyKey::when_read(move || {
                of(call.arguments.as_ref().unwrap_or(&Map::new()))
            }),
            // They were read only now.
            _ => of(arguments).into(),
        }
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

pub(super) fn start_event(index: u32, call: &ToolCall, arguments: Map) -> ToolExecutionStarted {
    ToolExecutionStarted {
        index,
        id: call.id.clone(),
        name: call.name.clone(),
        arguments,
    }
}

/// A call that gets its end also when the task that watches it is gone, and then lets the next ones in.
pub(super) struct Watched(pub(super) Call);

impl Watched {
    /// Runs the call to its end, whatever happens.
    pub(super) async fn run(self, runtime: Handle) {
        let call = &self.0;
        let outcome = match call.attempt(&runtime).await {
            Ok(outcome) => outcome,
            Err(failure) => call.settle(failure).await,
        };
        call.shared.board.finish(call.place, outcome);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let shared = &self.0.shared;
        if !shared.board.is_done(self.0.place) {
            let error = exited("the task of the call ended, or the runtime is shutting down");
            let outcome = shared.stopped_as(&self.0.entry, error);
            shared.board.finish(self.0.place, outcome);
        }
        shared.admit();
    }
}
