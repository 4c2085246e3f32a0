//! The tools that a server lists.

use std::collections::HashSet;

use rmcp::model::{
    ClientRequest, ListToolsRequest, ListToolsResult, PaginatedRequestParams, ServerResult, Tool,
};
use rmcp::service::ServiceError;
use serde_json::Value;

use super::link::Link;
use super::settings::McpServer;
use crate::error::{McpError, McpErrorKind};

/// How much all tools together may be, in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// All tools of a server, page by page.
pub(super) async fn fetch(server: &McpServer, link: &Link) -> Result<Vec<Tool>, McpError> {
    let failed = |message: String| server.error(McpErrorKind::Listing, message);
    let has_tools = link
        .info()
        .is_none_or(|info| info.capabilities.tools.is_some());
    if !has_tools {
        return Ok(Vec::new());
    }
    let mut tools = Vec::new();
    let mut size = 0_usize;
    let mut cursors = HashSet::new();
    let mut cursor = None;
    loop {
        let page = page(server, link, cursor).await?;
        for tool in page.tools {
            size = size.saturating_add(size_of(&tool));
            tools.push(tool);
            if tools.len() > server.max_tools {
                let most = server.max_tools;
                return Err(failed(format!(
                    "it lists more than {most} tools; `max_tools` allows more"
                )));
            }
            if size > MAX_BYTES {
                return Err(failed(format!("its tools are more than {MAX_BYTES} bytes")));
            }
        }
        cursor = match page.next_cursor.filter(|cursor| !cursor.is_empty()) {
            None => return Ok(tools),
            Some(next) if !cursors.insert(next.clone()) => {
                return Err(failed(
                    "its list of tools has no end: a page leads back".to_owned(),
                ));
            }
            // Pages may be empty, but not for ever.
            Some(_) if cursors.len() > server.max_tools.saturating_add(1) => {
                return Err(failed("its list of tools has no end".to_owned()));
            }
            next => next,
        };
    }
}

async fn page(
    server: &McpServer,
    link: &Link,
    cursor: Option<String>,
) -> Result<ListToolsResult, McpError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ListToolsRequest::with_param(params);
    // Not by way of the peer's own method: that may answer from a cache.
    let request = ClientRequest::ListToolsRequest(request);
    let answer = tokio::select! {
        answer = link.peer().send_request(request) => answer,
        () = link.end.wait() => Err(ServiceError::TransportClosed),
    };
    match answer {
        Ok(ServerResult::ListToolsResult(page)) => Ok(page),
        Ok(ServerResult::CustomResult(other)) => Ok(one_by_one(server, &other.0)?),
        Ok(_) => Err(server.error(McpErrorKind::Listing, "its list of tools cannot be read")),
        Err(ServiceError::McpError(error)) => {
            let message = format!("it does not list its tools: {}", error.message);
            Err(server.error(McpErrorKind::Listing, message))
        }
        Err(ServiceError::TransportClosed) => {
            let message = format!("it ended while it listed its tools: {}", link.end.reason());
            let said = link.end.last_words().await;
            Err(server.error(McpErrorKind::Closed, message).detail(said))
        }
        Err(error) => {
            let message = format!(
                "its tools could not be listed: {}",
                super::link::chain(&error)
            );
            Err(server.error(McpErrorKind::Closed, message))
        }
    }
}

/// A page of which not every tool can be read: those that can.
fn one_by_one(server: &McpServer, page: &Value) -> Result<ListToolsResult, McpError> {
    let Some(list) = page.get("tools").and_then(Value::as_array) else {
        return Err(server.error(McpErrorKind::Listing, "its list of tools cannot be read"));
    };
    let mut tools = Vec::new();
    for value in list {
        match serde_json::from_value(value.clone()) {
            Ok(tool) => tools.push(tool),
            Err(_) => {
                let name = value.get("name").and_then(Value::as_str).unwrap_or("?");
                let server = server.shown();
                tracing::warn!(server, tool = name, "a tool cannot be read and is left out");
            }
        }
    }
    let mut result = ListToolsResult::with_all_items(tools);
    let next = page.get("nextCursor").and_then(Value::as_str);
    result.next_cursor = next.map(str::to_owned);
    Ok(result)
}

/// How many bytes it takes, with everything that is said of it.
fn size_of(tool: &Tool) -> usize {
    let mut bytes = Counted(0);
    match serde_json::to_writer(&mut bytes, tool) {
        Ok(()) => bytes.0,
        Err(_) => MAX_BYTES.saturating_add(1),
    }
}

/// Counts what is written.
struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
