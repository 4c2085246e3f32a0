//! What the tests share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm_core::{
    Answer, Map, Progress, ProgressSink, Tool, ToolCall, ToolContext, ToolError, ToolReply,
};
use allm_mcp::{McpConnection, McpServer};
use serde_json::{Value, json};

/// How long anything may take, on a machine that does much else.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// The server of `server.py` that does this.
pub(crate) fn scripted(mode: &str) -> McpServer {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client/server.py");
    McpServer::command("python3")
        .arg("-I")
        .arg(script)
        .arg(mode)
        .name(mode)
        .start_timeout(LONG)
}

pub(crate) async fn connected(mode: &str) -> McpConnection {
    scripted(mode).connect().await.expect("a connection")
}

pub(crate) fn named(tools: &[Tool], name: &str) -> Tool {
    let tool = tools.iter().find(|tool| tool.name == name);
    tool.cloned().unwrap_or_else(|| panic!("no tool {name}"))
}

pub(crate) fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

pub(crate) type Said = Result<ToolReply, ToolError>;

/// Calls a tool of a connection, as the runner would.
pub(crate) async fn call(connection: &McpConnection, tool: &str, arguments: Value) -> Said {
    let tool = named(&connection.tools(), tool);
    run(&tool, arguments, context("key-1")).await
}

/// Calls a tool, as the runner would.
pub(crate) async fn run(tool: &Tool, arguments: Value, context: ToolContext) -> Said {
    let handler = tool.handler.clone().expect("a handler");
    let Value::Object(arguments) = arguments else {
        panic!("no object")
    };
    let said = tokio::time::timeout(LONG, handler.call(arguments.into(), context)).await;
    said.expect("the call ends")
}

pub(crate) fn context(key: &str) -> ToolContext {
    let mut context = ToolContext::new(ToolCall::new("call-1", "tool", "{}"));
    context.idempotency_key = key.into();
    context.request_id = Some("run-1".into());
    context
}

/// The context of the call that goes on with this answer to that question.
pub(crate) fn answered(key: &str, asked: &ToolReply, answer: &str) -> ToolContext {
    let ToolReply::AskAndGoOn { state, .. } = asked else {
        panic!("no question: {asked:?}")
    };
    let mut context = context(key);
    context.answer = Some(Answer::new(answer).state(state.clone().expect("a state")));
    context
}

pub(crate) fn question(said: &Said) -> (&str, &Map) {
    match said {
        Ok(ToolReply::AskAndGoOn { question, opts, .. }) => (question, opts),
        other => panic!("no question: {other:?}"),
    }
}

pub(crate) fn ok(value: Value) -> Said {
    Ok(ToolReply::ok(&value))
}

/// The value of a reply that is JSON in a text.
pub(crate) fn parsed(said: Said) -> Value {
    match said.expect("a reply") {
        ToolReply::Ok(value) => match value.get().expect("a value") {
            Value::String(text) => serde_json::from_str(text).expect("JSON"),
            other => other.clone(),
        },
        other => panic!("not ok: {other:?}"),
    }
}

/// A file where the scripted server notes what was cancelled.
pub(crate) struct Notes(PathBuf);

impl Notes {
    pub(crate) fn new(name: &str) -> Self {
        let file = format!("allm-mcp-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(file))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Waits for the first note.
    pub(crate) async fn first(&self) -> Value {
        let read = async {
            loop {
                if let Ok(text) = std::fs::read_to_string(&self.0)
                    && text.ends_with('\n')
                {
                    let line = text.lines().next().expect("a line");
                    return serde_json::from_str(line).expect("JSON");
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(LONG, read).await.expect("a note")
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Keeps reports of progress.
#[derive(Default)]
pub(crate) struct Reports(pub(crate) Mutex<Vec<Progress>>);

impl ProgressSink for Reports {
    fn report(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress);
    }
}

pub(crate) fn reports() -> Arc<Reports> {
    Arc::default()
}

/// The most memory that this process has had, in bytes.
pub(crate) fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let line = line.expect("a line");
    let kib = line.split_whitespace().nth(1).expect("a number");
    kib.parse::<usize>().expect("a number") * 1024
}

/// An installed server of others, or why there is none.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp/node/node_modules/.bin");
    let path = at.join(name);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var("ALLM_MCP").is_ok_and(|value| value == "required");
    assert!(!required, "{name} is not there: run scripts/setup-mcp");
    eprintln!("SKIPPED: {name} is not there; scripts/setup-mcp installs it");
    None
}

pub(crate) fn nothing() -> Value {
    json!({})
}
