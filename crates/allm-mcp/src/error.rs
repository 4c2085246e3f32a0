//! What can go wrong between us and a server.

use std::error::Error as StdError;
use std::fmt;

/// What went wrong with a server, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum McpErrorKind {
    /// The settings make no sense; nothing was tried.
    InvalidSettings,
    /// The program could not be started, or the address not be reached.
    Start,
    /// What it said at the beginning is not the protocol.
    Handshake,
    /// It wants other credentials, or any.
    Unauthorized,
    /// It did not answer in time.
    Timeout,
    /// It ended, or the connection to it did.
    Closed,
    /// Its list of tools is too long or cannot be read.
    Listing,
    /// The settings name a tool that it does not have.
    UnknownTool,
    /// Two tools have one name.
    DuplicateTool,
}

impl McpErrorKind {
    /// The stable snake_case name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidSettings => "invalid_settings",
            Self::Start => "start",
            Self::Handshake => "handshake",
            Self::Unauthorized => "unauthorized",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Listing => "listing",
            Self::UnknownTool => "unknown_tool",
            Self::DuplicateTool => "duplicate_tool",
        }
    }
}

impl fmt::Display for McpErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What went wrong with a server. It names the server; credentials and values of the environment are never in it.
#[derive(Debug)]
pub struct McpError {
    kind: McpErrorKind,
    server: String,
    message: String,
    detail: Option<String>,
}

impl McpError {
    pub(crate) fn new(
        kind: McpErrorKind,
        server: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            server: server.into(),
            message: message.into(),
            detail: None,
        }
    }

    /// With what the server itself said: its standard error, a status.
    pub(crate) fn detail(mut self, detail: Option<String>) -> Self {
        self.detail = detail.filter(|text| !text.trim().is_empty());
        self
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> McpErrorKind {
        self.kind
    }

    /// The name of the server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The end of what the server said on its standard error, or another detail of its side. For the application and its
    /// log: the server wrote it.
    #[must_use]
    pub fn server_said(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Whether trying again may help without changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind,
            McpErrorKind::Start | McpErrorKind::Timeout | McpErrorKind::Closed
        )
    }
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MCP server `{}`: {}", self.server, self.message)
    }
}

impl StdError for McpError {}
