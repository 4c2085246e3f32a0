//! Answers that no provider should give (loop.md, L126, L276 to L281).

use std::sync::Arc;

use allm_core::run::{Command, Input, Repair, Run, RunSetup};
use allm_core::{
    Event, FinishReason, HaltReason, Message, MessageCompleted, Response, Role, Thread, Tool,
    ToolCall, ToolCallDelta,
};
use serde_json::json;

fn answer(calls: &[(&str, &str)]) -> Response {
    let call = |(id, name): &(&str, &str)| ToolCall::new(*id, *name, "{}");
    let calls = calls.iter().map(call).collect();
    Response {
        finish_reason: Some(FinishReason::ToolCalls),
        ..Response::new(Message::assistant("").with_tool_calls(calls))
    }
}

/// L126 with L276, L277 and L281: the named calls beside a nameless one have ids of their own and one answer each.
#[test]
fn calls_after_a_nameless_one_are_repaired() {
    let mut setup = RunSetup::new(Thread::from("hi"));
    setup.tools = vec![Tool::new("read", "Reads.", json!({}))];
    let mut run = Run::start(setup).unwrap().run;
    let calls = [("", ""), ("", "read"), ("a", "read"), ("a", "get.weather")];
    run.apply(Input::responded(answer(&calls))).unwrap();
    assert_eq!(run.command(), Command::Finish);
    assert_eq!(run.result().unwrap().halted_reason, HaltReason::Error);

    let mut messages = run.thread().messages.iter().skip(1);
    let assistant = messages.next().unwrap();
    let ids: Vec<&str> = assistant
        .tool_calls
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(ids, ["allm-0-1", "a", "allm-0-3"]);
    assert_eq!(assistant.tool_calls[2].name, "get_weather");
    let answers: Vec<&str> = messages
        .inspect(|message| assert_eq!(message.role, Role::Tool))
        .filter_map(|message| message.tool_call_id.as_ref().map(|id| id.as_str()))
        .collect();
    assert_eq!(answers, ids);
}

/// What is well-formed passes unchanged, also after an answer that was refused.
#[test]
fn repairing_twice_is_repairing_once() {
    let refused = answer(&[("a", "read"), ("b", "")]).message;
    let events = [
        Event::MessageCompleted(Arc::new(MessageCompleted::new(refused))),
        Event::ToolCallDelta(ToolCallDelta {
            index: 4,
            id: "b".into(),
            arguments_delta: "{".into(),
        }),
    ];
    let (mut once, mut twice) = (Repair::new(0), Repair::new(0));
    for event in events {
        let event = once.event(event);
        assert_eq!(twice.event(event.clone()), event);
    }
}
