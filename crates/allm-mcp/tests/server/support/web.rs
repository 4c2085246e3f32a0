//! A client that speaks HTTP by hand.

use std::net::SocketAddr;

use allm_core::CancelToken;
use allm_mcp::server::{HttpService, McpService, ServeError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// A service that runs.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) cancel: CancelToken,
    pub(crate) served: JoinHandle<Result<(), ServeError>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The messages of the body: of a stream of events, or the one that it is.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if !self.head.contains("text/event-stream") {
            return serde_json::from_str(&self.body).into_iter().collect();
        }
        let lines = self.body.lines();
        let data = lines.filter_map(|line| line.trim_end().strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok())
            .collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Site {
    pub(crate) async fn open(
        service: McpService,
        set: impl FnOnce(HttpService) -> HttpService,
    ) -> Self {
        let cancel = CancelToken::new();
        let http = service.cancel(cancel.clone()).http("127.0.0.1:0");
        let listening = set(http).bind().await.unwrap();
        let address = listening.address();
        let served = tokio::spawn(listening.run());
        Self {
            address,
            cancel,
            served,
        }
    }

    /// Sends a request, with these lines in its head besides the usual ones.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        lines: &[&str],
        body: &str,
    ) -> Answer {
        let mut stream = self.begin(method, path, lines, body).await;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        read(&bytes)
    }

    /// Sends a request, and leaves the answer to be read.
    pub(crate) async fn begin(
        &self,
        method: &str,
        path: &str,
        lines: &[&str],
        body: &str,
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !lines
            .iter()
            .any(|line| line.to_lowercase().starts_with("host:"))
        {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        head.push_str("Content-Type: application/json\r\n");
        head.push_str("Accept: application/json, text/event-stream\r\n");
        for line in lines {
            head.push_str(line);
            head.push_str("\r\n");
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that has refused the head may not read the rest.
        let _ = stream.write_all(body.as_bytes()).await;
        stream
    }

    /// Posts a message.
    pub(crate) async fn post(&self, lines: &[&str], message: &Value) -> Answer {
        self.send("POST", "/mcp", lines, &message.to_string()).await
    }

    /// Begins a session, and gives the line that belongs to it.
    pub(crate) async fn session(&self, capabilities: Value) -> String {
        let answer = self.post(&[], &hello(capabilities)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let line = format!(
            "Mcp-Session-Id: {}",
            answer.header("mcp-session-id").unwrap()
        );
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&[&line], &told).await.status, 202);
        line
    }
}

/// The first message.
pub(crate) fn hello(capabilities: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": {"name": "test", "version": "0"}
    }})
}

/// A call.
pub(crate) fn call(id: i64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments
    }})
}

/// An answer of its bytes.
pub(crate) fn read(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let body = match head.to_lowercase().contains("transfer-encoding: chunked") {
        true => unchunked(body),
        false => body.to_owned(),
    };
    Answer {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body,
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size, 16) else {
            break;
        };
        if size == 0 || rest.len() < size {
            break;
        }
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}
