//! Tools, served over MCP.

mod amended;
mod annotations;
mod approvals;
mod asking;
mod call;
mod error;
mod gate;
#[doc = include_str!("docs/tools_as_a_server.md")]
pub mod guide {}
mod handler;
#[cfg(feature = "server-http")]
mod http;
mod progress;
mod question;
mod result;
mod rounds;
mod settings;
mod stop;
mod stream;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use allm::IntoTool;
use allm_core::{CancelToken, Tool, ToolExecutor, ToolResultEncoder};
use tokio::io::{AsyncRead, AsyncWrite};

pub use approvals::Approvals;
pub use error::{ServeError, ServeReason};
#[cfg(feature = "server-http")]
pub use http::{HttpService, Listening};

use handler::Handler;
use settings::Settings;

/// Tools that are served over MCP, on the standard input and output or by streamable HTTP.
///
/// Calls are run by the library's own runner: arguments are checked against the schema, a call has its time limit, a
/// panic is caught, and what is too long is cut, as in a conversation.
///
/// ```no_run
/// use allm_core::{Effect, Tool};
/// use allm_mcp::server::McpService;
/// use serde_json::{Value, json};
///
/// # async fn example() -> Result<(), allm_mcp::server::ServeError> {
/// let add = Tool::new("add", "Adds two numbers.", json!({
///     "type": "object",
///     "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
///     "required": ["a", "b"]
/// }))
/// .effect(Effect::Pure)
/// .handler(|numbers: Value| async move {
///     let sum = numbers["a"].as_f64().unwrap_or(0.0) + numbers["b"].as_f64().unwrap_or(0.0);
///     Ok::<_, std::fmt::Error>(json!({"sum": sum}))
/// });
///
/// McpService::new("sums").version("1.0.0").tool(add).stdio().await
/// # }
/// ```
#[derive(Clone)]
#[must_use = "nothing is served before `stdio`, `serve` or `http`"]
pub struct McpService {
    settings: Settings,
}

impl McpService {
    /// A service of this name, without tools.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            settings: Settings::new(name.into()),
        }
    }

    /// The version that clients are told; otherwise that of this crate.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.settings.version = version.into();
        self
    }

    /// What people are shown in the place of the name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.settings.title = Some(title.into());
        self
    }

    /// What the model of the client is told about the tools as a whole.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.settings.instructions = Some(instructions.into());
        self
    }

    /// One more tool.
    pub fn tool<M>(mut self, tool: impl IntoTool<M>) -> Self {
        self.settings.tools.push(tool.into_tool());
        self
    }

    /// More tools.
    ///
    /// A [`manual`](Tool::manual) tool is not served: its results come from a person on this side, and a call over MCP
    /// cannot wait for days. [`left_out`](Self::left_out) names them.
    pub fn tools<M, T: IntoTool<M>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        let tools = tools.into_iter().map(IntoTool::into_tool);
        self.settings.tools.extend(tools);
        self
    }

    /// The tools that were given and are not served, because they are manual.
    #[must_use]
    pub fn left_out(&self) -> Vec<&Tool> {
        let tools = self.settings.tools.iter();
        tools.filter(|tool| tool.manual).collect()
    }

    /// What becomes of calls that a person must agree to; otherwise [`Approvals::Ask`].
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.settings.approvals = approvals;
        self
    }

    /// A value for handlers, which read it by its type with [`ToolContext::get`](allm_core::ToolContext::get).
    pub fn context<T: Any + Send + Sync>(mut self, context: T) -> Self {
        self.settings.context = Some(Arc::new(context));
        self
    }

    /// What runs handlers; otherwise the default executor of the library.
    pub fn executor(mut self, executor: impl ToolExecutor + 'static) -> Self {
        self.settings.executor = Arc::new(executor);
        self
    }

    /// What makes values into text; otherwise they are JSON.
    ///
    /// With an encoder clients get its text alone: what it leaves out does not go out as structured content.
    pub fn encoder(mut self, encoder: impl ToolResultEncoder + 'static) -> Self {
        self.settings.encoder = Some(Arc::new(encoder));
        self
    }

    /// How long a call may take, unless its tool has a limit of its own; 30 seconds if not set. Waiting for a person
    /// does not count.
    pub fn tool_timeout(mut self, limit: Duration) -> Self {
        self.settings.tool_timeout = Some(limit);
        self
    }

    /// How long the content of a result may be, in bytes; what is longer is cut.
    pub fn max_tool_output(mut self, bytes: usize) -> Self {
        self.settings.max_tool_output = Some(bytes);
        self
    }

    /// How many calls run at once, of all clients together; twice the number of cores if not set. Others wait.
    pub fn max_concurrency(mut self, calls: usize) -> Self {
        self.settings.max_concurrency = calls;
        self
    }

    /// How many calls may be open at once, running or waiting, of all clients together; 1024 if not set. What is more
    /// is refused.
    pub fn max_open_calls(mut self, calls: usize) -> Self {
        self.settings.max_open_calls = calls;
        self
    }

    /// How long a message of a client may be, in bytes; 4 MiB if not set. What is longer is not read: over HTTP it is
    /// refused with the status 413, on a stream it is skipped.
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.settings.max_message = bytes;
        self
    }

    /// How long a person may take to answer a question or to agree; ten minutes if not set.
    pub fn answer_timeout(mut self, limit: Duration) -> Self {
        self.settings.answer_timeout = limit;
        self
    }

    /// A token that stops the service: no more calls are taken, those that run have two seconds to end, and then theirs
    /// fire.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.settings.cancel = cancel;
        self
    }

    /// Serves one client on the standard input and output, until it closes the input or the token fires.
    ///
    /// Nothing else may write to the standard output meanwhile. A handler that is a child process must not inherit it.
    ///
    /// # Errors
    ///
    /// A wrong setting or tool, and a client that begins with something else than MCP.
    pub async fn stdio(self) -> Result<(), ServeError> {
        let (read, write) = stream::standard();
        self.serve(read, write).await
    }

    /// Serves one client on a pair of streams, a message a line, until the client closes its side or the token fires.
    ///
    /// When the client closes its side, calls that run have five seconds to end; then their tokens fire.
    ///
    /// # Errors
    ///
    /// As for [`stdio`](Self::stdio).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the connection and stops the calls.
    pub async fn serve<R, W>(self, read: R, write: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let handler = Handler::new(self.settings).await?;
        stream::serve(handler, read, write).await
    }

    /// The service by streamable HTTP, on an address such as `127.0.0.1:8080`; port 0 takes a free one.
    #[cfg(feature = "server-http")]
    pub fn http(self, address: impl Into<String>) -> HttpService {
        HttpService::new(self.settings, address.into())
    }
}

impl fmt::Debug for McpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = self.settings.tools.iter().map(|tool| &tool.name);
        f.debug_struct("McpService")
            .field("name", &self.settings.name)
            .field("version", &self.settings.version)
            .field("tools", &tools.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
