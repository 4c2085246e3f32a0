//! What a service is set to.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use allm::{DefaultExecutor, ToolRunOptions};
#[cfg(feature = "server-http")]
use allm_core::limits::TOOL_TIMEOUT;
use allm_core::{AnyValue, CancelToken, Tool, ToolExecutor, ToolResultEncoder};

use super::approvals::Approvals;
use super::error::{ServeError, ServeReason};

/// What a service is set to.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) title: Option<String>,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Tool>,
    pub(super) approvals: Approvals,
    pub(super) context: Option<AnyValue>,
    pub(super) executor: Arc<dyn ToolExecutor>,
    pub(super) encoder: Option<Arc<dyn ToolResultEncoder>>,
    pub(super) tool_timeout: Option<Duration>,
    pub(super) max_tool_output: Option<usize>,
    pub(super) max_concurrency: usize,
    pub(super) max_open_calls: usize,
    pub(super) max_message: usize,
    pub(super) answer_timeout: Duration,
    pub(super) cancel: CancelToken,
}

impl Settings {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            title: None,
            instructions: None,
            tools: Vec::new(),
            approvals: Approvals::default(),
            context: None,
            executor: Arc::new(DefaultExecutor::new()),
            encoder: None,
            tool_timeout: None,
            max_tool_output: None,
            max_concurrency: available_parallelism().map_or(2, usize::from) * 2,
            max_open_calls: 1024,
            max_message: 4 * 1024 * 1024,
            answer_timeout: Duration::from_secs(600),
            cancel: CancelToken::new(),
        }
    }

    /// What every call is run with.
    pub(super) fn options(&self) -> ToolRunOptions {
        let mut options = ToolRunOptions::new();
        if let Some(limit) = self.tool_timeout {
            options = options.tool_timeout(limit);
        }
        if let Some(bytes) = self.max_tool_output {
            options = options.max_tool_output(bytes);
        }
        options
    }

    /// For how long nothing may be said between a client and its call, with time to tell the end of it: while a handler
    /// runs, and while a person is asked.
    #[cfg(feature = "server-http")]
    pub(super) fn longest_wait(&self) -> Duration {
        let usual = self.tool_timeout.unwrap_or(TOOL_TIMEOUT);
        let limits = self.tools.iter().map(|tool| tool.timeout.unwrap_or(usual));
        let longest = limits.fold(self.answer_timeout, Duration::max);
        longest.saturating_add(Duration::from_secs(60))
    }

    /// Whether these settings and tools can be.
    pub(super) async fn check(&self) -> Result<(), ServeError> {
        let invalid = |message: String| ServeError::new(ServeReason::InvalidConfig, message);
        if self.name.trim().is_empty() {
            return Err(invalid("the service has no name".to_owned()));
        }
        for (name, value) in [
            ("max_concurrency", self.max_concurrency),
            ("max_open_calls", self.max_open_calls),
            ("max_message", self.max_message),
        ] {
            if value == 0 {
                return Err(invalid(format!("{name} is 0; it must be at least 1")));
            }
        }
        if self.answer_timeout.is_zero() {
            return Err(invalid("answer_timeout is 0".to_owned()));
        }
        let is_empty = |tool: &&Tool| !tool.manual && tool.handler.is_none();
        if let Some(tool) = self.tools.iter().find(is_empty) {
            let message = format!(
                "the tool `{}` has no handler, so nobody can serve it",
                tool.name
            );
            return Err(ServeError::new(ServeReason::InvalidTool, message));
        }
        // The runner says what is wrong with tools and settings before it runs anything.
        let checked = allm::run_tool_calls(Vec::new(), &self.tools, self.options());
        checked.await?;
        Ok(())
    }
}
