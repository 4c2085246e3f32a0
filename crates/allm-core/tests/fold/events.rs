//! Events as JSON: L203–L206, C83.

use std::sync::Arc;

use allm_core::{
    AnswerTo, AskUserRequested, AttemptReset, CallFailure, ChatCompleted, ErrorEvent, Event,
    ExecutionResult, FailureReason, FinishReason, HaltReason, Map, Message, MessageCompleted,
    MessageStarted, Part, ReasoningDelta, TextCompleted, Thread, ToolCall, ToolExecutionCompleted,
    ToolExecutionStarted, ToolProgress, Usage, Warning, json,
};
use serde_json::{Value, json};

use super::make::*;

/// One event of each tag, in the order of the contract.
fn one_of_each() -> Vec<Event> {
    let call = ToolCall {
        metadata: object(json!({"original_id": "x"})),
        ..ToolCall::new("a", "x", r#"{"k": 1.50}"#)
    };
    let message = Message::assistant("hi").with_tool_calls(vec![call.clone()]);
    let answer = ended(message.clone(), Some(FinishReason::ToolCalls));
    let one = step(0, answer.clone(), Thread::from("hi").with(message.clone()));
    vec![
        Event::MessageStarted(Box::new(MessageStarted {
            message: Message::assistant(vec![]),
            request_id: "request".into(),
            response_id: Some("response".into()),
            model: Some("model".into()),
        })),
        text_of("p0", "h\u{e9}"),
        Event::TextCompleted(TextCompleted {
            id: Some("p0".into()),
            text: "hi".into(),
        }),
        call_started(u32::MAX, "a", "x"),
        call_delta(0, "a", "{"),
        call_completed(0, &call),
        Event::MessageCompleted(Arc::new(MessageCompleted {
            finish_reason: Some(FinishReason::Stop),
            raw_finish_reason: Some("end".into()),
            usage: Some(Usage::io(1, u64::MAX)),
            warnings: vec![Warning {
                code: "odd".into(),
                path: None,
                detail: Some("why".into()),
            }],
            extra: object(json!({"tier": "fast"})),
            metadata: object(json!({"k": [1]})),
            ..MessageCompleted::new(message)
        })),
        used(Usage::io(1, 2)),
        failed("down"),
        Event::ToolExecutionStarted(Box::new(ToolExecutionStarted {
            index: 0,
            id: "a".into(),
            name: "x".into(),
            arguments: object(json!({"k": 1.5})).into(),
        })),
        executed(ExecutionResult::Error(CallFailure::new(
            FailureReason::Timeout,
            "too late",
        ))),
        encoded(0, "a", "done"),
        Event::AskUserRequested(Box::new(AskUserRequested {
            index: 0,
            tool_call_id: "a".into(),
            tool_name: "x".into(),
            question: "really?".into(),
            opts: object(json!({"choices": {"yes": [1, null]}})),
            answer_to: AnswerTo::Tool,
        })),
        halted(1, "a", "plan_submitted", json!({"ok": 1})),
        Event::StepCompleted(Arc::clone(&one)),
        Event::ChatCompleted(ChatCompleted {
            result: Arc::new(result(vec![one], HaltReason::MaxTurns, answer)),
        }),
        Event::ToolProgress(Box::new(ToolProgress {
            index: 0,
            id: "a".into(),
            progress: Some(1.0),
            total: Some(4.5),
            message: Some("asking".into()),
        })),
        Event::ReasoningDelta(ReasoningDelta {
            id: Some("p1".into()),
            delta: "hm".into(),
        }),
        Event::AttemptReset(AttemptReset {
            turn: 3,
            attempt: 2,
        }),
    ]
}

fn executed(result: ExecutionResult) -> Event {
    Event::ToolExecutionCompleted(Box::new(ToolExecutionCompleted {
        index: 0,
        id: "a".into(),
        name: "x".into(),
        result,
    }))
}

fn written(event: &Event) -> Value {
    serde_json::to_value(event).expect("JSON")
}

#[test]
fn l203_c83_each_of_the_nineteen_tags_is_written_and_read_back() {
    let events = one_of_each();
    let tags: Vec<&str> = events.iter().map(Event::tag).collect();
    assert_eq!(tags, Event::TAGS);
    for event in &events {
        assert_eq!(written(event)["type"], event.tag());
        let document = json::to_string(event).expect("it can be written");
        let read: Event = json::from_str(&document).expect("it can be read");
        assert_eq!(&read, event);
        assert_eq!(json::to_string(&read).as_ref(), Ok(&document));
    }
}

#[test]
fn c83_every_result_of_a_handler_is_read_back() {
    for (result, expected) in [
        (ExecutionResult::Ok(json!([1])), json!({"ok": [1]})),
        (
            ExecutionResult::Error(CallFailure::new(FailureReason::Reported, "no")),
            json!({"error": {"reason": "reported", "message": "no"}}),
        ),
        (
            ExecutionResult::AskUser {
                question: "q".into(),
                opts: Map::new(),
                answer_to: AnswerTo::Model,
            },
            json!({"ask_user": {"question": "q", "opts": {}}}),
        ),
        (
            ExecutionResult::AskUser {
                question: "q".into(),
                opts: Map::new(),
                answer_to: AnswerTo::Tool,
            },
            json!({"ask_user": {"question": "q", "opts": {}, "answer_to": "tool"}}),
        ),
        (
            ExecutionResult::Halt {
                reason: "r".into(),
                value: json!(null),
            },
            json!({"halt": {"reason": "r", "value": null}}),
        ),
    ] {
        let event = executed(result);
        let value = written(&event);
        assert_eq!(value["result"], expected);
        assert_eq!(serde_json::from_value::<Event>(value).ok(), Some(event));
    }
}

#[test]
fn l204_fields_without_a_value_are_absent() {
    let cases = [
        (text("x"), json!({"type": "text_delta", "delta": "x"})),
        (
            whole_text("x"),
            json!({"type": "text_completed", "text": "x"}),
        ),
        (
            thought(None, "x"),
            json!({"type": "reasoning_delta", "delta": "x"}),
        ),
        (
            encoded(0, "a", ""),
            json!({"type": "tool_result_encoded", "index": 0, "id": "a", "content": ""}),
        ),
        (
            completed(Message::assistant(Vec::<Part>::new()), None),
            json!({"type": "message_completed", "message": {"role": "assistant"}}),
        ),
        (
            Event::ToolProgress(Box::new(ToolProgress {
                index: 0,
                id: "a".into(),
                progress: None,
                total: None,
                message: None,
            })),
            json!({"type": "tool_progress", "index": 0, "id": "a"}),
        ),
    ];
    for (event, expected) in cases {
        assert_eq!(written(&event), expected);
    }
}

#[test]
fn l204_the_arguments_of_a_malformed_call_are_null() {
    let event = call_completed(0, &ToolCall::new("a", "x", "["));
    let expected = json!({
        "type": "tool_call_completed", "index": 0, "id": "a", "name": "x",
        "arguments": null, "raw_arguments": "["
    });
    assert_eq!(written(&event), expected);
    assert_eq!(serde_json::from_value::<Event>(expected).ok(), Some(event));
}

#[test]
fn l205_an_unknown_type_and_an_unknown_field_are_refused() {
    for event in one_of_each() {
        let mut value = written(&event);
        value["nope"] = json!(1);
        assert!(
            serde_json::from_value::<Event>(value).is_err(),
            "{}",
            event.tag()
        );
    }
    let error = json!({"type": "error", "error": failure("x"), "nope": 1});
    assert!(serde_json::from_value::<Event>(error).is_err());
    let unknown = json!({"type": "text_started", "delta": "x"});
    assert!(serde_json::from_value::<Event>(unknown).is_err());
    assert!(serde_json::from_value::<Event>(json!({"delta": "x"})).is_err());
}

#[test]
fn l206_an_error_event_holds_kind_reason_message_and_metadata_and_no_cause() {
    let mut error = allm_core::StreamError::interrupted();
    error.cause = Some(allm_core::Cause::new("secret-123"));
    let event = Event::Error(Box::new(ErrorEvent {
        error: allm_core::Error::from(error).into(),
    }));
    let expected = json!({
        "type": "error",
        "error": {
            "kind": "stream", "reason": "interrupted",
            "message": "the stream ended without its closing event"
        }
    });
    assert_eq!(written(&event), expected);
}

#[test]
fn c51_a_streamed_answer_has_its_ids_its_model_and_the_providers_own_word() {
    let started = Event::MessageStarted(Box::new(MessageStarted {
        message: Message::assistant(vec![]),
        request_id: "ours".into(),
        response_id: Some("early".into()),
        model: Some("asked-for".to_owned()),
    }));
    let end = Event::MessageCompleted(Arc::new(MessageCompleted {
        finish_reason: Some(FinishReason::Stop),
        raw_finish_reason: Some("end_turn".to_owned()),
        response_id: Some("late".into()),
        model: Some("answered".to_owned()),
        provider_request_id: Some("req_1".to_owned()),
        ..MessageCompleted::new(Message::assistant("hi"))
    }));
    let response = folded(&[started, text("hi"), end]).response();
    assert_eq!(response.id, Some("late".into()));
    assert_eq!(response.request_id, Some("ours".into()));
    assert_eq!(response.model.as_deref(), Some("answered"));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("end_turn"));
    assert_eq!(response.provider_request_id.as_deref(), Some("req_1"));
}
