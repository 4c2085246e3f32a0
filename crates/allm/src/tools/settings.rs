//! What a batch of calls is run with.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use allm_core::limits::{MAX_TOOL_ARGUMENTS, MAX_TOOL_OUTPUT, TOOL_TIMEOUT};
use allm_core::{
    AnyValue, CancelToken, Redactor, RequestId, SessionId, ToolExecutor, ToolResultEncoder,
};

use super::batch::LateReply;
use super::executor::DefaultExecutor;
use super::policy::OnToolError;

/// What the batches of a run are run with, resolved from all levels.
#[derive(Clone)]
pub(crate) struct RunnerSettings {
    /// What runs handlers.
    pub(crate) executor: Arc<dyn ToolExecutor>,
    /// What makes values into text; `None` is the [`JsonEncoder`](allm_core::JsonEncoder), which, being known not to
    /// hang or panic, is spared the way over another thread.
    pub(crate) encoder: Option<Arc<dyn ToolResultEncoder>>,
    /// What becomes of failed calls.
    pub(crate) on_tool_error: OnToolError,
    /// How long a call may take, unless its tool says otherwise; [`Duration::MAX`] is no limit.
    pub(crate) tool_timeout: Duration,
    /// How many calls may be past the gate at once; `None` goes by the cores.
    pub(crate) max_concurrency: Option<usize>,
    /// How much content a call may have.
    pub(crate) max_tool_output: usize,
    /// How much argument text of a call is read.
    pub(crate) max_tool_arguments: usize,
    /// The caller's value for handlers.
    pub(crate) context: Option<AnyValue>,
    /// The session, for handlers.
    pub(crate) session_id: Option<SessionId>,
    /// The run, for handlers.
    pub(crate) request_id: Option<RequestId>,
    /// The engine, for handlers.
    pub(crate) engine: Option<AnyValue>,
    /// The run's token. Handlers see it fire at once; the calls are stopped by whoever drives the batch.
    pub(crate) cancel: CancelToken,
    /// What takes secrets out of what telemetry records of content; `None` records none.
    pub(crate) captures: Option<Redactor>,
    /// Whose calls these are, for idempotency keys: the session's uid, else the request id.
    pub(crate) key_owner: Vec<u8>,
    /// Who hears of handlers that go on after their call has ended.
    pub(crate) on_late: Option<OnLate>,
}

/// Who keeps what handlers come to too late.
pub(crate) trait Late: Send + Sync {
    /// Which attempt of a call it is that begins now.
    fn attempt(&self, turn: u32, index: u32) -> u32;

    /// Keeps what one came to.
    fn keep(&self, late: LateReply);
}

pub(crate) type OnLate = Arc<dyn Late>;

impl Default for RunnerSettings {
    fn default() -> Self {
        Self {
            executor: default_executor(),
            encoder: None,
            on_tool_error: OnToolError::Continue,
            tool_timeout: TOOL_TIMEOUT,
            max_concurrency: None,
            max_tool_output: MAX_TOOL_OUTPUT,
            max_tool_arguments: MAX_TOOL_ARGUMENTS,
            context: None,
            session_id: None,
            request_id: None,
            engine: None,
            cancel: CancelToken::new(),
            captures: None,
            key_owner: Vec::new(),
            on_late: None,
        }
    }
}

/// The one of all runs that have no other.
fn default_executor() -> Arc<dyn ToolExecutor> {
    static EXECUTOR: OnceLock<Arc<dyn ToolExecutor>> = OnceLock::new();
    Arc::clone(EXECUTOR.get_or_init(|| Arc::new(DefaultExecutor::new())))
}

impl RunnerSettings {
    /// How many of so many calls may be past the gate at once.
    pub(crate) fn concurrency(&self, calls: usize) -> usize {
        let limit = self
            .max_concurrency
            .unwrap_or_else(|| calls.min(cores().saturating_mul(2)));
        limit.max(1)
    }
}

/// How many cores there are. It is asked once: the answer is read from files.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

impl fmt::Debug for RunnerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunnerSettings")
            .field("encoder", &self.encoder.as_ref().map(|_| "…"))
            .field("on_tool_error", &self.on_tool_error)
            .field("tool_timeout", &self.tool_timeout)
            .field("max_concurrency", &self.max_concurrency)
            .field("max_tool_output", &self.max_tool_output)
            .field("max_tool_arguments", &self.max_tool_arguments)
            .field("session_id", &self.session_id)
            .field("request_id", &self.request_id)
            .field("cancel", &self.cancel)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L89.
    #[test]
    fn concurrency_goes_by_calls_and_cores() {
        let settings = RunnerSettings::default();
        let most = 2 * std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(settings.concurrency(0), 1);
        assert_eq!(settings.concurrency(1), 1);
        assert_eq!(settings.concurrency(10_000), most);
        let two = RunnerSettings {
            max_concurrency: Some(2),
            ..RunnerSettings::default()
        };
        assert_eq!(two.concurrency(20), 2);
    }
}
