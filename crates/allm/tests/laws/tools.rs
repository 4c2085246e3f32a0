//! Tools that do what the arguments of a call say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use allm::{Map, Progress, ReportedError, Tool, ToolContext, ToolReply};
use serde_json::{Value, json};

use super::ON_PURPOSE;

/// What a call can be told to do.
pub(super) const ACTS: [&str; 9] = [
    "reply", "reply", "reply", "error", "panic", "hang", "ask", "halt", "reserved",
];

/// The tools, and one name that is none of theirs.
pub(super) fn names() -> Vec<&'static str> {
    vec!["act", "act", "act", "short", "block", "manual", "nope"]
}

/// How many handlers run.
#[derive(Clone, Default)]
pub(super) struct Alive(Arc<AtomicUsize>);

struct Guard(Alive);

impl Alive {
    fn enter(&self) -> Guard {
        self.0.fetch_add(1, Ordering::SeqCst);
        Guard(self.clone())
    }

    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(super) fn tools(alive: &Alive) -> Vec<Tool> {
    let acting = |name: &str| {
        let alive = alive.clone();
        Tool::new(name, "Does what it is told.", schema()).handler(
            move |arguments: Map, context: ToolContext| {
                let alive = alive.clone();
                async move {
                    let _guard = alive.enter();
                    act(&arguments, &context).await
                }
            },
        )
    };
    // Not counted: a thread cannot be stopped, only abandoned.
    let block = Tool::new("block", "", schema()).blocking(|arguments: Map| {
        match arguments["do"].as_str() {
            Some("panic") => panic!("{ON_PURPOSE}"),
            Some("error") => ToolReply::Error(ReportedError::new("broken")),
            _ => ToolReply::ok(&arguments),
        }
    });
    let manual = Tool::new("manual", "", schema()).manual();
    vec![acting("act"), acting("short").compact(), block, manual]
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"do": {"type": "string"}, "after": {"type": "integer"}},
        "required": ["do"],
    })
}

async fn act(arguments: &Map, context: &ToolContext) -> ToolReply {
    for step in 0..arguments["progress"].as_u64().unwrap_or(0) {
        context.progress(Progress {
            progress: Some(step as f64),
            total: None,
            message: Some("going on".to_owned()),
        });
        tokio::task::yield_now().await;
    }
    if let Some(after @ 1..) = arguments["after"].as_u64() {
        tokio::time::sleep(Duration::from_millis(after)).await;
    }
    match arguments["do"].as_str().unwrap() {
        "error" => ToolReply::Error(ReportedError::new("broken")),
        "panic" => panic!("{ON_PURPOSE}"),
        "hang" => std::future::pending().await,
        "ask" => ToolReply::ask_with("why?", serde_json::from_value(json!({"n": 1})).unwrap()),
        "halt" => ToolReply::halt("stop_here", &json!({"v": 1})),
        "reserved" => ToolReply::halt("completed", &json!(1)),
        _ => ToolReply::ok(arguments),
    }
}
