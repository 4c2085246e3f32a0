//! What calls are run with by those who run them without an engine.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use allm_core::run::UnknownTools;
use allm_core::validate::SettingFaults;
use allm_core::{
    AnyValue, CancelToken, EngineError, EngineReason, Error, RequestId, SessionId, ToolExecutor,
    ToolResultEncoder,
};

use super::super::policy::OnToolError;
use super::super::settings::RunnerSettings;

/// What calls are run with; every setting has a default.
///
/// ```
/// use std::time::Duration;
/// use allm::{OnToolError, ToolRunOptions};
///
/// let options = ToolRunOptions::new()
///     .tool_timeout(Duration::from_secs(5))
///     .on_tool_error(OnToolError::Halt);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ToolRunOptions {
    settings: RunnerSettings,
    pub(super) unknown_tools: UnknownTools,
    pub(super) deadline: Option<Duration>,
}

impl ToolRunOptions {
    /// Nothing but defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// A value for handlers, which read it by its type with [`ToolContext::get`](allm_core::ToolContext::get).
    pub fn context<T: Any + Send + Sync>(mut self, context: T) -> Self {
        self.settings.context = Some(Arc::new(context));
        self
    }

    /// The engine that handlers see, as the type that its driver knows.
    pub fn engine(mut self, engine: AnyValue) -> Self {
        self.settings.engine = Some(engine);
        self
    }

    /// The session that handlers see.
    pub fn session_id(mut self, session_id: SessionId) -> Self {
        self.settings.session_id = Some(session_id);
        self
    }

    /// The id of the run that handlers see.
    pub fn request_id(mut self, request_id: impl Into<RequestId>) -> Self {
        self.settings.request_id = Some(request_id.into());
        self
    }

    /// What runs handlers; otherwise a [`DefaultExecutor`](crate::DefaultExecutor).
    pub fn executor(mut self, executor: impl ToolExecutor + 'static) -> Self {
        self.settings.executor = Arc::new(executor);
        self
    }

    /// What makes values into the text that the model sees; otherwise a [`JsonEncoder`](allm_core::JsonEncoder).
    pub fn encoder(mut self, encoder: impl ToolResultEncoder + 'static) -> Self {
        self.settings.encoder = Some(Arc::new(encoder));
        self
    }

    /// What becomes of failed calls.
    pub fn on_tool_error(mut self, policy: OnToolError) -> Self {
        self.settings.on_tool_error = policy;
        self
    }

    /// How long a call may take, unless its tool has a limit of its own; 30 seconds if not set. [`Duration::MAX`] is no
    /// limit.
    pub fn tool_timeout(mut self, limit: Duration) -> Self {
        self.settings.tool_timeout = limit;
        self
    }

    /// How many calls may run at once; twice the number of cores if not set.
    pub fn max_concurrency(mut self, calls: usize) -> Self {
        self.settings.max_concurrency = Some(calls);
        self
    }

    /// How much content a call may have, in bytes; what is longer is cut.
    pub fn max_tool_output(mut self, bytes: usize) -> Self {
        self.settings.max_tool_output = bytes;
        self
    }

    /// How much argument text of a call is read, in bytes; a call with more is refused.
    pub fn max_tool_arguments(mut self, bytes: usize) -> Self {
        self.settings.max_tool_arguments = bytes;
        self
    }

    /// What becomes of calls that name no tool.
    pub fn unknown_tools(mut self, unknown: UnknownTools) -> Self {
        self.unknown_tools = unknown;
        self
    }

    /// A token that stops all calls.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.settings.cancel = cancel;
        self
    }

    /// How long all calls together may take, from the first poll.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = Some(limit);
        self
    }

    /// The settings, if no limit is zero.
    pub(super) fn resolve(&self) -> Result<RunnerSettings, Error> {
        let mut faults = SettingFaults::default();
        self.settings.check(&mut faults);
        faults.positive("deadline", self.deadline);
        faults.finish()?;
        let mut settings = self.settings.clone();
        settings.key_owner = match (&settings.session_id, &settings.request_id) {
            (Some(session), _) => session.as_str().into(),
            (None, Some(request)) => request.as_str().into(),
            (None, None) => nobody()?,
        };
        Ok(settings)
    }
}

/// An owner unlike any other: without an id, two runs must not have equal keys for calls that look alike.
fn nobody() -> Result<Vec<u8>, Error> {
    let mut owner = vec![0; 16];
    getrandom::fill(&mut owner).map_err(|error| {
        let message = "the system gives no random bytes; set a request id";
        let mut refused = EngineError::new(EngineReason::InvalidConfig, message);
        refused.cause = Some(allm_core::Cause::new(error.to_string()));
        refused
    })?;
    Ok(owner)
}
