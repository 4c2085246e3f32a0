//! The Model Context Protocol for allm: servers as tools, and tools as a server.
//!
//! | feature | what |
//! |---|---|
//! | `client` (default) | the tools of an MCP server that is a child process, as tools of an engine |
//! | `client-http` (default) | the same of a server that is reached by streamable HTTP |
//! | `oauth` | servers that want a person to log in |
//! | `server` | tools as an MCP server on the standard input and output |
//! | `server-http` | the same by streamable HTTP |
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use allm::{Engine, Fake};
//! use allm_mcp::McpServer;
//!
//! let files = McpServer::command("mcp-server-filesystem").arg("/srv/notes").connect().await?;
//! let engine = Engine::builder().provider(Fake::new()).model("fake:any").tools(files.tools()).build()?;
//! println!("{}", engine.chat("What is in my notes?").text().await?);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod error;
#[cfg(feature = "client")]
#[doc = include_str!("docs/servers_as_tools.md")]
pub mod guide {}
#[cfg(any(feature = "client", feature = "server"))]
mod meta;
#[cfg(feature = "oauth")]
pub mod oauth;
#[cfg(feature = "server")]
pub mod server;

#[cfg(feature = "client")]
pub use client::{
    ChangedTools, McpConnection, McpServer, McpServers, ToolChange, ToolChangeKind, connect_all,
    connect_each, fingerprint,
};
#[cfg(feature = "client")]
pub use error::{McpError, McpErrorKind};
