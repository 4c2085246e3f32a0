//! What calls are run with by those who run them without an engine.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use allm_core::run::UnknownTools;
use allm_core::validate::SettingFaults;
use allm_core::{
    CancelToken, EngineError, EngineReason, Error, RequestId, SessionId, ToolExecutor,
    ToolResultEncoder,
};

use super::super::policy::OnToolError;
use super::super::settings::RunnerSettings;
use crate::engine::Engine;
use crate::engine::level::Level;
use crate::engine::settings::{Setting, Settings};

/// What calls are run with. What is not said here is said by the engine, if there is one, else by the defaults.
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
    settings: Settings,
    engine: Option<Engine>,
    cancel: CancelToken,
    pub(super) deadline: Option<Duration>,
}

/// What calls are run with, every level resolved.
pub(super) struct Resolved {
    pub(super) settings: RunnerSettings,
    pub(super) unknown_tools: UnknownTools,
}

impl ToolRunOptions {
    /// Nothing but defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// A value for handlers, which read it by its type with [`ToolContext::get`](allm_core::ToolContext::get).
    pub fn context<T: Any + Send + Sync>(mut self, context: T) -> Self {
        self.settings.context = Level::Set(Arc::new(context));
        self
    }

    /// The engine that handlers see. What the options do not say, its settings do.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Switches a setting off, whatever the engine says.
    pub fn off(mut self, setting: Setting) -> Self {
        self.settings.off(setting);
        self
    }

    /// The session that handlers see.
    pub fn session_id(mut self, session_id: SessionId) -> Self {
        self.settings.session_id = Level::Set(session_id);
        self
    }

    /// The id of the run that handlers see.
    pub fn request_id(mut self, request_id: impl Into<RequestId>) -> Self {
        self.settings.request_id = Level::Set(request_id.into());
        self
    }

    /// What runs handlers; otherwise a [`DefaultExecutor`](crate::DefaultExecutor).
    pub fn executor(mut self, executor: impl ToolExecutor + 'static) -> Self {
        self.settings.executor = Level::Set(Arc::new(executor));
        self
    }

    /// What makes values into the text that the model sees; otherwise a [`JsonEncoder`](allm_core::JsonEncoder).
    pub fn encoder(mut self, encoder: impl ToolResultEncoder + 'static) -> Self {
        self.settings.encoder = Level::Set(Arc::new(encoder));
        self
    }

    /// What becomes of failed calls.
    pub fn on_tool_error(mut self, policy: OnToolError) -> Self {
        self.settings.on_tool_error = Level::Set(policy);
        self
    }

    /// How long a call may take, unless its tool has a limit of its own; 30 seconds if not set. [`Duration::MAX`] is no
    /// limit.
    pub fn tool_timeout(mut self, limit: Duration) -> Self {
        self.settings.tool_timeout = Level::Set(limit);
        self
    }

    /// How many calls may run at once; twice the number of cores if not set.
    pub fn max_concurrency(mut self, calls: usize) -> Self {
        self.settings.max_concurrency = Level::Set(calls);
        self
    }

    /// How much content a call may have, in bytes; what is longer is cut.
    pub fn max_tool_output(mut self, bytes: usize) -> Self {
        self.settings.max_tool_output = Level::Set(bytes);
        self
    }

    /// How much argument text of a call is read, in bytes; a call with more is refused.
    pub fn max_tool_arguments(mut self, bytes: usize) -> Self {
        self.settings.max_tool_arguments = Level::Set(bytes);
        self
    }

    /// What becomes of calls that name no tool.
    pub fn unknown_tools(mut self, unknown: UnknownTools) -> Self {
        self.settings.unknown_tools = Level::Set(unknown);
        self
    }

    /// A token that stops all calls.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// How long all calls together may take, from the first poll.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = Some(limit);
        self
    }

    /// The settings of all levels, if no limit is zero.
    pub(super) fn resolve(&self) -> Result<Resolved, Error> {
        let settings = match &self.engine {
            Some(engine) => self.settings.over(&engine.0.settings),
            None => self.settings.clone(),
        };
        let mut faults = SettingFaults::default();
        settings.find_runner_faults(&mut faults);
        faults.positive("deadline", self.deadline);
        faults.finish()?;
        let key_owner = match (settings.session_id.get(), settings.request_id.get()) {
            // A session may have several runs, and their turns begin anew.
            (_, Some(request)) => request.as_str().into(),
            (Some(session), None) => session.as_str().into(),
            (None, None) => nobody()?,
        };
        Ok(Resolved {
            unknown_tools: settings.unknown_tools.get().unwrap_or_default(),
            settings: RunnerSettings {
                engine: self.engine.clone().map(|engine| Arc::new(engine) as _),
                cancel: self.cancel.clone(),
                key_owner,
                ..settings.runner()
            },
        })
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
