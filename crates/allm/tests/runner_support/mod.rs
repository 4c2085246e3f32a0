//! What the tests of the runner share.

#![allow(dead_code, reason = "each test uses some of it")]

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allm::{
    Event, ExecutionResult, Tool, ToolBatch, ToolCall, ToolEvents, ToolRunOptions, run_tool_calls,
    stream_tool_calls,
};
use futures_core::Stream;
use serde_json::{Value, json};

/// What handlers of these tests return when nothing can go wrong.
pub(crate) type Fine<T> = Result<T, std::fmt::Error>;

/// A tool that takes any object.
pub(crate) fn tool(name: &str) -> Tool {
    Tool::new(name, "", json!({"type": "object"}))
}

/// A tool that gives this value.
pub(crate) fn giving(name: &str, value: Value) -> Tool {
    tool(name).handler(move |_: Value| {
        let value = value.clone();
        async move { Fine::Ok(value) }
    })
}

/// A tool that never replies.
pub(crate) fn hanging(name: &str) -> Tool {
    tool(name).handler(|_: Value| async move {
        std::future::pending::<()>().await;
        Fine::Ok(())
    })
}

/// A call of this tool, with its place as its id.
pub(crate) fn call(place: usize, name: &str) -> ToolCall {
    call_with(place, name, "{}")
}

pub(crate) fn call_with(place: usize, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(format!("c{place}"), name, arguments)
}

/// One call of each of these tools, in their order.
pub(crate) fn calls(tools: &[Tool]) -> Vec<ToolCall> {
    let names = tools.iter().map(|tool| tool.name.as_str());
    names.enumerate().map(|(i, name)| call(i, name)).collect()
}

/// Calls each of these tools once and awaits the results.
pub(crate) async fn run(tools: &[Tool], options: ToolRunOptions) -> ToolBatch {
    run_tool_calls(calls(tools), tools, options).await.unwrap()
}

/// Calls each of these tools once and takes all events.
pub(crate) async fn stream(tools: &[Tool], options: ToolRunOptions) -> Vec<Event> {
    all(stream_tool_calls(calls(tools), tools, options)).await
}

pub(crate) async fn next(events: &mut ToolEvents) -> Option<Event> {
    poll_fn(|cx| Pin::new(&mut *events).poll_next(cx)).await
}

pub(crate) async fn all(mut events: ToolEvents) -> Vec<Event> {
    let mut got = Vec::new();
    while let Some(event) = next(&mut events).await {
        got.push(event);
    }
    assert!(next(&mut events).await.is_none(), "the end is told again");
    check_order(&got);
    got
}

/// The rules of §15 for one call, in any interleaving.
pub(crate) fn check_order(events: &[Event]) {
    let mut open = std::collections::HashMap::<u32, &'static str>::new();
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::ToolExecutionStarted(e) => assert!(open.insert(e.index, "started").is_none()),
            Event::ToolProgress(e) => assert_eq!(open.get(&e.index), Some(&"started")),
            Event::ToolExecutionCompleted(e) => {
                assert_ne!(open.insert(e.index, "ended"), Some("ended"));
                let closing = match &events[at + 1] {
                    Event::ToolResultEncoded(e) => e.index,
                    Event::AskUserRequested(e) => e.index,
                    Event::ToolHalt(e) => e.index,
                    other => panic!("no closing event: {other:?}"),
                };
                assert_eq!(closing, e.index);
            }
            _ => {}
        }
    }
}

/// The tag of each event, with the call's index.
pub(crate) fn tags(events: &[Event]) -> Vec<(u32, &'static str)> {
    let tag = |event: &Event| match event {
        Event::ToolExecutionStarted(e) => (e.index, "started"),
        Event::ToolProgress(e) => (e.index, "progress"),
        Event::ToolExecutionCompleted(e) => (e.index, "completed"),
        Event::ToolResultEncoded(e) => (e.index, "encoded"),
        Event::AskUserRequested(e) => (e.index, "asked"),
        Event::ToolHalt(e) => (e.index, "halt"),
        Event::Error(_) => (0, "error"),
        _ => (0, "other"),
    };
    events.iter().map(tag).collect()
}

/// The indexes of the closing events, in the order sent.
pub(crate) fn closed(events: &[Event]) -> Vec<u32> {
    let tags = tags(events).into_iter();
    tags.filter(|(_, tag)| matches!(*tag, "encoded" | "asked" | "halt"))
        .map(|(index, _)| index)
        .collect()
}

/// What happened in a call, before any policy.
pub(crate) fn result(events: &[Event], index: u32) -> ExecutionResult {
    let completed = events.iter().find_map(|event| match event {
        Event::ToolExecutionCompleted(e) if e.index == index => Some(e.result.clone()),
        _ => None,
    });
    completed.expect("the call has its end")
}

/// The reason for which a call failed, from its events.
pub(crate) fn failed(events: &[Event], index: u32) -> String {
    match result(events, index) {
        ExecutionResult::Error(failure) => failure.reason.to_string(),
        other => panic!("it did not fail: {other:?}"),
    }
}

/// The text of each message.
pub(crate) fn texts(batch: &ToolBatch) -> Vec<String> {
    batch
        .messages
        .iter()
        .map(|message| message.text())
        .collect()
}

/// `error` in the content of a failed call.
pub(crate) fn error(content: &str) -> Value {
    let content: Value = serde_json::from_str(content).expect("stable JSON");
    assert_eq!(content.as_object().expect("an object").len(), 1);
    let error = content["error"].clone();
    assert!(!error["message"].as_str().expect("a message").is_empty());
    error
}

/// The reason in the content of each message.
pub(crate) fn reasons(batch: &ToolBatch) -> Vec<String> {
    let reason = |text: &String| error(text)["reason"].as_str().unwrap().to_owned();
    texts(batch).iter().map(reason).collect()
}

/// Counts.
#[derive(Clone, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
    pub(crate) fn add(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn less(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Tells when it is dropped.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
