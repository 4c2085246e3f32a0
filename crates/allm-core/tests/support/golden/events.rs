//! Events: all nineteen tags.

use std::sync::Arc;

use allm_core::{
    AnswerTo, ArgumentFault, AskUserRequested, AttemptReset, CallFailure, ChatCompleted,
    ErrorEvent, Event, ExecutionResult, FailureReason, FinishReason, Image, Message,
    MessageCompleted, MessageStarted, Part, RawChunk, ReasoningDelta, TextCompleted, TextDelta,
    ToolCallCompleted, ToolCallDelta, ToolCallStarted, ToolExecutionCompleted,
    ToolExecutionStarted, ToolHalt, ToolProgress, ToolResultEncoded,
};
use serde_json::{Value, json};

use super::Named;
use super::messages::assistant;
use super::responses::{failure, rate_limit, usage, warnings};
use super::results::{asked, tool_step};
use crate::support::{map, raw};

pub(super) fn events() -> Vec<Named<Event>> {
    let mut events = of_the_answer();
    events.extend(of_calls());
    events.extend(of_the_run());
    events
}

fn of_the_answer() -> Vec<Named<Event>> {
    let begun = Message {
        origin: assistant().origin,
        ..Message::assistant(Vec::<Part>::new())
    };
    vec![
        (
            "message_started",
            Event::MessageStarted(Box::new(MessageStarted {
                message: begun,
                request_id: "r1".into(),
                response_id: Some("msg_1".into()),
                model: Some("claude".to_owned()),
            })),
        ),
        (
            "text_delta",
            Event::TextDelta(TextDelta {
                id: Some("p0".into()),
                delta: "Hel".into(),
            }),
        ),
        ("text_delta_without_id", Event::text_delta("lo\n")),
        (
            "text_completed",
            Event::TextCompleted(TextCompleted {
                id: Some("p0".into()),
                text: "Hello".to_owned(),
            }),
        ),
        (
            "reasoning_delta",
            Event::ReasoningDelta(ReasoningDelta {
                id: None,
                delta: "hm".into(),
            }),
        ),
        (
            "tool_call_started",
            Event::ToolCallStarted(ToolCallStarted {
                index: 0,
                id: "c1".into(),
                name: "get_weather".into(),
            }),
        ),
        (
            "tool_call_delta",
            Event::ToolCallDelta(ToolCallDelta {
                index: 0,
                id: "c1".into(),
                arguments_delta: "{\"ci".into(),
            }),
        ),
        (
            "tool_call_completed",
            call_completed(Some(json!({"city": "Boston"})), "{\"city\": \"Boston\"}"),
        ),
        (
            "tool_call_completed_malformed",
            call_completed(None, "{\"city\": \"Bos"),
        ),
        (
            "message_completed",
            Event::MessageCompleted(Arc::new(MessageCompleted {
                finish_reason: Some(FinishReason::ToolCalls),
                raw_finish_reason: Some("tool_use".to_owned()),
                usage: Some(usage()),
                response_id: Some("msg_1".into()),
                model: Some("claude".to_owned()),
                provider_request_id: Some("req_1".to_owned()),
                warnings: warnings(),
                rate_limit: Some(rate_limit()),
                extra: map(json!({"fingerprint": "fp_1"})),
                metadata: map(json!({"seen": true})),
                raw: Some(raw("{ }")),
                ..MessageCompleted::new(assistant())
            })),
        ),
        (
            "message_completed_bare",
            Event::MessageCompleted(Arc::new(MessageCompleted::new(Message::assistant("hi")))),
        ),
        (
            "raw_chunk",
            Event::RawChunk(Box::new(RawChunk {
                chunk: raw("{\"id\": 1.0}"),
                usage: Some(usage()),
            })),
        ),
        (
            "error",
            Event::Error(Box::new(ErrorEvent { error: failure() })),
        ),
        (
            "attempt_reset",
            Event::AttemptReset(AttemptReset {
                turn: 2,
                attempt: 1,
            }),
        ),
    ]
}

fn call_completed(arguments: Option<Value>, text: &str) -> Event {
    let metadata = if arguments.is_some() {
        map(json!({"original_id": "x"}))
    } else {
        map(json!({}))
    };
    Event::ToolCallCompleted(Arc::new(ToolCallCompleted {
        index: 0,
        id: "c1".into(),
        name: "get_weather".into(),
        arguments: arguments.map(map).map(Arc::new),
        raw_arguments: text.into(),
        metadata,
    }))
}

fn of_calls() -> Vec<Named<Event>> {
    let completed = |result: ExecutionResult| {
        Event::ToolExecutionCompleted(Box::new(ToolExecutionCompleted {
            index: 1,
            id: "c2".into(),
            name: "plan".into(),
            result,
        }))
    };
    let refused = CallFailure {
        faults: vec![ArgumentFault {
            path: "/city".to_owned(),
            message: "expected a string".to_owned(),
        }],
        help: Some("get_weather(city)".to_owned()),
        ..CallFailure::new(
            FailureReason::InvalidArguments,
            "the tool `plan` was not run",
        )
    };
    let reported = CallFailure {
        details: Some(json!({"code": 7})),
        ..CallFailure::new(FailureReason::Reported, "no such city")
    };
    vec![
        (
            "tool_execution_started",
            Event::ToolExecutionStarted(Box::new(ToolExecutionStarted {
                index: 0,
                id: "c1".into(),
                name: "get_weather".into(),
                arguments: map(json!({"city": "Boston"})).into(),
            })),
        ),
        (
            "tool_execution_completed_ok",
            completed(ExecutionResult::Ok(json!({"temp": 72.0}))),
        ),
        (
            "tool_execution_completed_ok_null",
            completed(ExecutionResult::Ok(Value::Null)),
        ),
        (
            "tool_execution_completed_refused",
            completed(ExecutionResult::Error(refused)),
        ),
        (
            "tool_execution_completed_reported",
            completed(ExecutionResult::Error(reported)),
        ),
        (
            "tool_execution_completed_ask_user",
            completed(ExecutionResult::AskUser {
                question: "Which Boston?".to_owned(),
                opts: map(json!({})),
                answer_to: AnswerTo::Model,
            }),
        ),
        (
            "tool_execution_completed_ask_to_go_on",
            completed(ExecutionResult::AskUser {
                question: "Which Boston?".to_owned(),
                opts: map(json!({})),
                answer_to: AnswerTo::Tool,
            }),
        ),
        (
            "tool_execution_completed_halt",
            completed(ExecutionResult::Halt {
                reason: "plan_submitted".to_owned(),
                value: json!({"ok": 1}),
            }),
        ),
        ("tool_result_encoded", encoded("72 °F", false)),
        (
            "tool_result_encoded_error",
            encoded(r#"{"error":{"reason":"timeout","message":"…"}}"#, true),
        ),
        (
            "tool_result_encoded_with_a_picture",
            Event::ToolResultEncoded(ToolResultEncoded {
                index: 0,
                id: "c1".into(),
                content: "a house".to_owned(),
                media: vec![Part::image(Image::from_bytes(vec![1, 2, 3], "image/png"))],
                is_error: false,
            }),
        ),
        ("ask_user_requested", asking(AnswerTo::Model)),
        ("ask_user_requested_to_go_on", asking(AnswerTo::Tool)),
        ("tool_halt", halt("plan_submitted", json!({"ok": 1}), false)),
        (
            "tool_halt_error",
            halt(
                "tool_error",
                json!({"reason": "timeout", "message": "…"}),
                true,
            ),
        ),
        (
            "tool_progress",
            Event::ToolProgress(Box::new(ToolProgress {
                index: 0,
                id: "c1".into(),
                progress: Some(1.0),
                total: Some(4.0),
                message: Some("asking the station".to_owned()),
            })),
        ),
        (
            "tool_progress_bare",
            Event::ToolProgress(Box::new(ToolProgress {
                index: u32::MAX,
                id: "".into(),
                progress: None,
                total: None,
                message: None,
            })),
        ),
    ]
}

fn encoded(content: &str, is_error: bool) -> Event {
    Event::ToolResultEncoded(ToolResultEncoded {
        index: 0,
        id: "c1".into(),
        content: content.to_owned(),
        media: Vec::new(),
        is_error,
    })
}

fn halt(reason: &str, result: Value, is_error: bool) -> Event {
    Event::ToolHalt(Box::new(ToolHalt {
        index: 1,
        tool_call_id: "c2".into(),
        reason: reason.to_owned(),
        content: allm_core::json::Sorted(&result).to_string(),
        result,
        is_error,
    }))
}

fn of_the_run() -> Vec<Named<Event>> {
    vec![
        (
            "step_completed",
            Event::StepCompleted(Arc::new(tool_step())),
        ),
        (
            "chat_completed",
            Event::ChatCompleted(ChatCompleted {
                result: Arc::new(asked()),
            }),
        ),
    ]
}

fn asking(answer_to: AnswerTo) -> Event {
    Event::AskUserRequested(Box::new(AskUserRequested {
        index: 1,
        tool_call_id: "c2".into(),
        tool_name: "ask".into(),
        question: "Which Boston?".to_owned(),
        opts: map(json!({"choices": ["MA", "UK"]})),
        answer_to,
    }))
}
