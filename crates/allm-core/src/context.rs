//! What a handler is told about the call that it runs for.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::cancel::CancelToken;
use crate::data::{Answer, RequestId, SessionId, ToolCall, ToolReply};
use crate::error::ToolError;
use crate::idempotency::IdempotencyKey;

/// A value of the caller's, read by type.
pub type AnyValue = Arc<dyn Any + Send + Sync>;

/// Takes reports of progress. Never blocks, never fails.
pub trait ProgressSink: Send + Sync {
    /// A newer report replaces one that was not yet delivered.
    fn report(&self, progress: Progress);

    /// What a handler came to when its call may have ended without it: a blocking handler cannot be stopped. A stored
    /// session keeps it as evidence; nobody else hears it.
    fn late(&self, reply: Result<ToolReply, ToolError>) {
        let _ = reply;
    }
}

/// How far a handler is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// How far.
    pub progress: Option<f64>,
    /// Of how much.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}

impl Progress {
    /// This far.
    #[must_use]
    pub fn new(progress: f64) -> Self {
        Self {
            progress: Some(progress),
            ..Self::default()
        }
    }

    /// Of so much.
    #[must_use]
    pub fn total(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// In words.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}

/// In words alone.
impl From<&str> for Progress {
    fn from(message: &str) -> Self {
        Self::default().message(message)
    }
}

/// In words alone.
impl From<String> for Progress {
    fn from(message: String) -> Self {
        Self::default().message(message)
    }
}

/// What a handler is told about the call that it runs for. Every part is always present; what is unknown is `None`.
#[derive(Clone)]
pub struct ToolContext {
    /// The caller's value; read it with [`get`](Self::get).
    pub context: Option<AnyValue>,
    /// The session, for session calls.
    pub session_id: Option<SessionId>,
    /// One id for the whole run.
    pub request_id: Option<RequestId>,
    /// The call as it stands on the response.
    pub tool_call: Arc<ToolCall>,
    /// The engine that drives the run, as the driver's own type; the driver's crate gives it back typed.
    pub engine: Option<AnyValue>,
    /// Equal on every repetition of the same call.
    pub idempotency_key: IdempotencyKey,
    /// A person's answer, when the handler asked for one to go on with: see
    /// [`ToolReply::ask_and_go_on`](crate::ToolReply::ask_and_go_on).
    pub answer: Option<Answer>,
    /// Fires on time-out, cancellation, deadline, and when the run or stream is dropped.
    pub cancel: CancelToken,
    /// Where progress goes.
    pub progress: Option<Arc<dyn ProgressSink>>,
}

impl ToolContext {
    /// A context of which nothing is known but the call.
    pub fn new(tool_call: impl Into<Arc<ToolCall>>) -> Self {
        Self {
            context: None,
            session_id: None,
            request_id: None,
            tool_call: tool_call.into(),
            engine: None,
            idempotency_key: IdempotencyKey::default(),
            answer: None,
            cancel: CancelToken::new(),
            progress: None,
        }
    }

    /// The caller's value, if it is of this type.
    #[must_use]
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.context.as_ref()?.downcast_ref()
    }

    /// Reports progress, as numbers or in words; dropped when nobody listens.
    ///
    /// ```
    /// # fn example(ctx: allm_core::ToolContext) {
    /// use allm_core::Progress;
    ///
    /// ctx.progress("opening the archive");
    /// ctx.progress(Progress::new(3.0).total(10.0).message("reading"));
    /// # }
    /// ```
    pub fn progress(&self, progress: impl Into<Progress>) {
        if let Some(sink) = &self.progress {
            sink.report(progress.into());
        }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("context", &self.context.as_ref().map(|_| "…"))
            .field("session_id", &self.session_id)
            .field("request_id", &self.request_id)
            .field("tool_call", &self.tool_call)
            .field("engine", &self.engine.as_ref().map(|_| "…"))
            .field("idempotency_key", &self.idempotency_key)
            .field("answer", &self.answer.as_ref().map(|_| "…"))
            .field("cancel", &self.cancel)
            .finish_non_exhaustive()
    }
}
