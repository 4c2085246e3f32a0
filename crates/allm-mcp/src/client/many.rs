//! Several servers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use allm_core::Tool;

use super::connection::McpConnection;
use super::settings::McpServer;
use crate::error::{McpError, McpErrorKind};

/// Several servers that are connected.
#[derive(Clone, Debug)]
pub struct McpServers {
    connections: Vec<McpConnection>,
    /// Which of them has had a tool of this name first: another that comes to have one later does not take its place.
    owners: Arc<Mutex<BTreeMap<String, usize>>>,
}

/// Connects to all of these servers at the same time: together they take as long as the slowest.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use allm_mcp::{McpServer, connect_all};
///
/// let servers = connect_all([
///     McpServer::command("mcp-server-filesystem").arg("/srv/notes").prefix("fs"),
///     McpServer::command("mcp-server-memory").prefix("memory"),
/// ])
/// .await?;
/// println!("{} tools", servers.tools().len());
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// What went wrong with the first of them, in the order given, that cannot be connected; and if two of them have a tool of
/// one name. The others are closed then.
pub async fn connect_all(
    servers: impl IntoIterator<Item = McpServer>,
) -> Result<McpServers, McpError> {
    let connections = connect_each(servers).await.into_iter();
    McpServers::of(connections.collect::<Result<Vec<_>, _>>()?)
}

/// Connects to each of these servers at the same time. Those that work can be used when another does not.
pub async fn connect_each(
    servers: impl IntoIterator<Item = McpServer>,
) -> Vec<Result<McpConnection, McpError>> {
    let connecting: Vec<_> = servers
        .into_iter()
        .map(|server| {
            let name = server.shown().to_owned();
            (name, Aborted(tokio::spawn(server.connect())))
        })
        .collect();
    let mut connections = Vec::with_capacity(connecting.len());
    for (name, mut task) in connecting {
        connections.push((&mut task.0).await.unwrap_or_else(|error| {
            let message = format!("connecting to it was broken off: {error}");
            Err(McpError::new(McpErrorKind::Start, name, message))
        }));
    }
    connections
}

/// A task that ends when nobody waits for it any more.
struct Aborted<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for Aborted<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl McpServers {
    /// Of connections that were made one by one.
    ///
    /// # Errors
    ///
    /// If two of them have a tool of one name.
    pub fn of(connections: impl IntoIterator<Item = McpConnection>) -> Result<Self, McpError> {
        let connections: Vec<McpConnection> = connections.into_iter().collect();
        let mut owners: BTreeMap<String, usize> = BTreeMap::new();
        for (at, connection) in connections.iter().enumerate() {
            for tool in connection.tools() {
                let other = owners.insert(tool.name.to_string(), at);
                if let Some(other) = other.and_then(|other| connections.get(other)) {
                    let (name, other) = (&tool.name, other.name());
                    let message = format!(
                        "its tool {name} has the name of one of `{other}`; give one of them a `prefix`, or `rename` the tool"
                    );
                    let kind = McpErrorKind::DuplicateTool;
                    return Err(McpError::new(kind, connection.name(), message));
                }
            }
        }
        Ok(Self {
            connections,
            owners: Arc::new(Mutex::new(owners)),
        })
    }

    /// The tools of all of them.
    ///
    /// A tool that a server comes to have later, and that has the name of another server's, is left out.
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        for (at, connection) in self.connections.iter().enumerate() {
            for tool in connection.tools() {
                if *owners.entry(tool.name.to_string()).or_insert(at) == at {
                    all.push(tool);
                    continue;
                }
                let (server, tool) = (connection.name(), tool.name.as_str());
                tracing::warn!(
                    server,
                    tool,
                    "left out: it has the name of another server's"
                );
            }
        }
        all
    }

    /// Each of them, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = &McpConnection> {
        self.connections.iter()
    }

    /// The one of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&McpConnection> {
        self.connections
            .iter()
            .find(|connection| connection.name() == name)
    }

    /// Closes all of them, at the same time.
    pub async fn close(&self) {
        let closing: Vec<_> = self
            .connections
            .iter()
            .cloned()
            .map(|connection| tokio::spawn(async move { connection.close().await }))
            .collect();
        for task in closing {
            let _ = task.await;
        }
    }
}
