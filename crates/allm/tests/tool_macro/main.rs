//! `#[tool]`: L16, L17 and L29 as far as the macro has a part in them, and L8 for its names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod options;
mod schemas;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allm::{Map, Tool, ToolCall, ToolContext, ToolReply};
use serde_json::Value;

fn object(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

/// What the handler replies; those here never wait.
fn reply_in(tool: &Tool, arguments: Value, context: ToolContext) -> ToolReply {
    let handler = tool.handler.as_ref().expect("a handler");
    let arguments = object(arguments);
    assert_eq!(handler.check(&arguments), Ok(()));
    let mut future = pin!(handler.call(arguments.into(), context));
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(reply) => reply.expect("a reply"),
        Poll::Pending => panic!("it waits"),
    }
}

fn context() -> ToolContext {
    ToolContext::new(ToolCall::new("call-1", "t", "{}"))
}

fn reply(tool: &Tool, arguments: Value) -> ToolReply {
    reply_in(tool, arguments, context())
}

fn fault_paths(tool: &Tool, arguments: &Value) -> Vec<String> {
    let handler = tool.handler.as_ref().expect("a handler");
    let faults = handler.check(&object(arguments.clone()));
    let faults = faults.expect_err("faults").into_iter();
    faults.map(|fault| fault.path).collect()
}

fn assert_valid(tool: &Tool) {
    assert_eq!(allm::validate::tool(tool), Ok(()), "{}", tool.name);
}
