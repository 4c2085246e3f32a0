//! Tools that are child processes.

mod child;
mod reply;
mod tool;

use std::collections::HashMap;
use std::sync::Arc;

use allm_core::{
    BoxFuture, Map, Tool, ToolContext, ToolError, ToolExecutor, ToolHandler, ToolName, ToolReply,
};

use super::executor::{named, not_found};

pub use tool::ProcessTool;

/// Runs tools as child processes, each by the program that its name stands for.
///
/// See [`ProcessTool`] for what a program is told and how it replies. A tool whose name is not listed goes to the
/// executor for the [`others`](Self::others); without one it is `not_found`, also if it has a handler of its own.
///
/// ```
/// use allm::{DefaultExecutor, ProcessExecutor, ProcessTool};
///
/// let executor = ProcessExecutor::new()
///     .tool("search", ProcessTool::new("/usr/local/bin/search-tool").env("LANG", "C.UTF-8"))
///     .others(DefaultExecutor::new());
/// # let _ = executor;
/// ```
#[derive(Clone, Default)]
pub struct ProcessExecutor {
    tools: HashMap<ToolName, ProcessTool>,
    others: Option<Arc<dyn ToolExecutor>>,
}

impl ProcessExecutor {
    /// An executor that knows no program yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With a program for the tool of this name.
    #[must_use]
    pub fn tool(mut self, name: impl Into<ToolName>, program: ProcessTool) -> Self {
        self.tools.insert(name.into(), program);
        self
    }

    /// With an executor for the tools that have no program.
    #[must_use]
    pub fn others(mut self, executor: impl ToolExecutor + 'static) -> Self {
        self.others = Some(Arc::new(executor));
        self
    }
}

impl ToolExecutor for ProcessExecutor {
    fn check(&self, tool: &Tool, arguments: &Map) -> Result<(), Vec<allm_core::ArgumentFault>> {
        match (self.tools.get(&tool.name), &self.others) {
            (None, Some(others)) => others.check(tool, arguments),
            _ => Ok(()),
        }
    }

    fn execute<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Arc<Map>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
        match (self.tools.get(&tool.name), &self.others) {
            (Some(program), _) => Box::pin(async move {
                let reply = program.call(arguments, context.clone()).await;
                reply.map_err(|error| named(error, tool))
            }),
            (None, Some(others)) => others.execute(tool, arguments, context),
            (None, None) => Box::pin(async move { Err(named(not_found(), tool)) }),
        }
    }
}

impl std::fmt::Debug for ProcessExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessExecutor")
            .field("tools", &self.tools)
            .field("others", &self.others.as_ref().map(|_| "…"))
            .finish()
    }
}
