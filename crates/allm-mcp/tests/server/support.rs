//! A client that says exactly what a test wants, line by line.

#[cfg(feature = "server-http")]
pub(crate) mod web;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allm_core::{CancelToken, Effect, Tool, ToolContext};
use allm_mcp::server::{McpService, ServeError};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The other end of a service.
pub(crate) struct Client {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: Option<WriteHalf<DuplexStream>>,
    pub(crate) served: JoinHandle<Result<(), ServeError>>,
    next: i64,
}

impl Client {
    /// Connects, without a word.
    pub(crate) fn silent(service: McpService) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(theirs);
        let served = tokio::spawn(service.serve(read, write));
        let (read, write) = tokio::io::split(ours);
        Self {
            read: BufReader::new(read),
            write: Some(write),
            served,
            next: 1,
        }
    }

    /// Connects as a client that can do nothing but call.
    pub(crate) async fn plain(service: McpService) -> Self {
        Self::with(service, json!({})).await
    }

    /// Connects as a client that can ask a person.
    pub(crate) async fn asking(service: McpService) -> Self {
        Self::with(service, json!({"elicitation": {}})).await
    }

    async fn with(service: McpService, capabilities: Value) -> Self {
        let mut client = Self::silent(service);
        client.initialize(capabilities).await;
        client
    }

    pub(crate) async fn initialize(&mut self, capabilities: Value) -> Value {
        let about = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "0"}
        });
        let answer = self.ask("initialize", about).await;
        self.notify("notifications/initialized", json!({})).await;
        answer
    }

    pub(crate) async fn line(&mut self, line: &str) {
        let write = self.write.as_mut().unwrap();
        write.write_all(line.as_bytes()).await.unwrap();
        write.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn say(&mut self, message: Value) {
        self.line(&message.to_string()).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Sends a request, and gives its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// The next message; `None` at the end.
    pub(crate) async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.read.read_line(&mut line).await.unwrap() {
            0 => None,
            _ => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    /// Sends a request and gives the whole answer; nothing else may come before it.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let answer = self.hear().await.unwrap();
        assert_eq!(answer["id"], json!(id), "{answer}");
        answer
    }

    /// Calls a tool, and gives the result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self
            .ask("tools/call", json!({"name": tool, "arguments": arguments}))
            .await;
        answer["result"].clone()
    }

    /// Begins a call, and gives the id of the request.
    pub(crate) async fn begin(&mut self, tool: &str) -> i64 {
        self.request("tools/call", json!({"name": tool, "arguments": {}}))
            .await
    }

    /// Answers a request of the server.
    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
    }

    /// Closes this side.
    pub(crate) async fn close(&mut self) {
        if let Some(mut write) = self.write.take() {
            write.shutdown().await.unwrap();
        }
    }
}

/// The text of a result that consists of one.
pub(crate) fn text(result: &Value) -> &str {
    let blocks = result["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 1, "{result}");
    blocks[0]["text"].as_str().unwrap()
}

/// What a result says that is an error in its stable form.
pub(crate) fn failure(result: &Value) -> Value {
    assert_eq!(result["isError"], json!(true), "{result}");
    let error: Value = serde_json::from_str(text(result)).unwrap();
    error["error"].clone()
}

pub(crate) fn object() -> Value {
    json!({"type": "object", "properties": {}})
}

/// Gives its arguments back.
pub(crate) fn echo() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"]
    });
    Tool::new("echo", "Gives its arguments back.", schema)
        .effect(Effect::Pure)
        .handler(|value: Value| async move { Ok::<_, std::fmt::Error>(value) })
}

pub(crate) fn service(tools: impl IntoIterator<Item = Tool>) -> McpService {
    McpService::new("test").version("1.2.3").tools(tools)
}

/// A tool whose calls wait until the test lets them go, and whose end can be watched.
#[derive(Clone)]
pub(crate) struct Hold {
    /// One for each call that began.
    pub(crate) begun: Arc<Semaphore>,
    /// One for each call that may end.
    pub(crate) go: Arc<Semaphore>,
    /// One for each call whose token fired.
    pub(crate) fired: Arc<Semaphore>,
    pub(crate) count: Arc<AtomicUsize>,
    pub(crate) most: Arc<AtomicUsize>,
}

impl Hold {
    pub(crate) fn new() -> Self {
        Self {
            begun: Arc::new(Semaphore::new(0)),
            go: Arc::new(Semaphore::new(0)),
            fired: Arc::new(Semaphore::new(0)),
            count: Arc::default(),
            most: Arc::default(),
        }
    }

    pub(crate) fn tool(&self) -> Tool {
        let hold = self.clone();
        let handler = move |_: Value, context: ToolContext| {
            let hold = hold.clone();
            async move {
                watch(&context.cancel, &hold.fired);
                let now = hold.count.fetch_add(1, Ordering::SeqCst) + 1;
                hold.most.fetch_max(now, Ordering::SeqCst);
                hold.begun.add_permits(1);
                hold.go.acquire().await.unwrap().forget();
                hold.count.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, std::fmt::Error>("held")
            }
        };
        Tool::new("hold", "Waits.", object())
            .timeout(std::time::Duration::MAX)
            .handler(handler)
    }

    pub(crate) async fn began(&self) {
        self.begun.acquire().await.unwrap().forget();
    }

    pub(crate) async fn was_fired(&self) {
        self.fired.acquire().await.unwrap().forget();
    }
}

/// Notes that a token fired, also when its handler is gone by then.
fn watch(token: &CancelToken, fired: &Arc<Semaphore>) {
    let (token, fired) = (token.clone(), Arc::clone(fired));
    tokio::spawn(async move {
        token.cancelled().await;
        fired.add_permits(1);
    });
}
