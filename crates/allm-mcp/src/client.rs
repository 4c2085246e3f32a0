//! The tools of MCP servers, as tools of an engine.

mod answer;
mod callbacks;
mod calls;
mod catalog;
mod child;
mod connection;
mod end;
#[cfg(feature = "client-http")]
mod http;
mod link;
mod listing;
mod many;
mod names;
mod question;
mod reply;
mod resume;
mod rounds;
mod settings;
mod stdio;
mod suspended;
mod tool;

pub use catalog::{ToolChange, ToolChangeKind, fingerprint};
pub use connection::McpConnection;
#[cfg(feature = "oauth")]
pub(crate) use http::HttpClient;
pub use many::{McpServers, connect_all, connect_each};
pub use settings::{ChangedTools, McpServer};
