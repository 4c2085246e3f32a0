//! Errors of every family.

use std::time::Duration;

use allm_core::{
    AdapterError, AdapterReason, Cause, EngineError, EngineReason, Error, Fault, FaultCode,
    FinishReason, HaltReason, Interrupted, JsonError, JsonReason, Message, Path, Response,
    StreamError, StreamReason, ToolError, ToolReason, Unfinished, ValidationError,
    ValidationReason,
};
use serde_json::json;

use super::Named;
use super::responses::{failure, responses};
use crate::support::map;

fn cause() -> Option<Cause> {
    let source = Some(Box::new(Cause::new(
        "Connection reset by peer (os error 104)",
    )));
    Some(Cause {
        message: "connection error".to_owned(),
        source,
    })
}

fn failed() -> Response {
    Response {
        finish_reason: Some(FinishReason::Error),
        error: Some(failure()),
        ..Response::new(Message::assistant("I thi"))
    }
}

pub(super) fn errors() -> Vec<Named<Error>> {
    vec![
        ("engine", engine().into()),
        (
            "engine_unknown_tool",
            EngineError::unknown_tool("nope").into(),
        ),
        ("validation", validation().into()),
        (
            "validation_without_faults",
            ValidationError::new(ValidationReason::InvalidSession, Vec::new()).into(),
        ),
        ("adapter", adapter().into()),
        (
            "adapter_bare",
            AdapterError::new("openai", AdapterReason::Unknown, "").into(),
        ),
        ("stream", stream().into()),
        ("json", json_error().into()),
        (
            "json_at_the_root",
            JsonError::new(JsonReason::TooLarge, Path::root(), "too much").into(),
        ),
        ("tool", tool().into()),
        ("interrupted", Interrupted::new(failed()).into()),
        (
            "interrupted_twice",
            Interrupted {
                partial: Response::new(Message::assistant("I")),
                source: Interrupted::new(Response::new(Message::assistant("thi"))).into(),
            }
            .into(),
        ),
        (
            "unfinished",
            Unfinished::new(responses().swap_remove(2).1).into(),
        ),
        (
            "unfinished_run",
            Unfinished::halted(HaltReason::MaxTurns, None).into(),
        ),
        (
            "unfinished_run_with_an_answer",
            Unfinished::halted(
                HaltReason::from_text("plan_submitted").expect("a reason"),
                Some(Response::new(Message::assistant("I"))),
            )
            .into(),
        ),
    ]
}

fn engine() -> EngineError {
    EngineError {
        provider: Some("openai".into()),
        checked: vec!["call".to_owned(), "env:OPENAI_API_KEY".to_owned()],
        metadata: map(json!({"tenant": "t1"})),
        cause: cause(),
        ..EngineError::new(
            EngineReason::MissingKey,
            "no key for openai; set OPENAI_API_KEY",
        )
    }
}

fn validation() -> ValidationError {
    let part = Path::from("messages").index(2).field("content").index(0);
    ValidationError::new(
        ValidationReason::InvalidRequest,
        vec![
            Fault::new("messages", FaultCode::Empty),
            Fault::new(part, FaultCode::MissingMimeType).detail("an image of bytes"),
            Fault::new(Path::from("extra").field("API Key"), FaultCode::ReservedKey),
            Fault::new(Path::root(), FaultCode::Unsupported),
        ],
    )
}

fn adapter() -> AdapterError {
    AdapterError {
        status: Some(429),
        provider_code: Some("rate_limit_exceeded".to_owned()),
        provider_type: Some("tokens".to_owned()),
        param: Some("messages".to_owned()),
        provider_request_id: Some("req_1".to_owned()),
        request_id: Some("AAECAwQFBgcICQoLDA0ODw".into()),
        retry_after: Some(Duration::from_millis(20_500)),
        attempts: Some(4),
        details: Box::new(map(json!({"failed_generation": "<cut>"}))),
        cause: cause(),
        ..AdapterError::new(
            "openai",
            AdapterReason::RateLimited,
            "Rate limit reached.\nTry again.",
        )
    }
}

fn stream() -> StreamError {
    StreamError {
        provider: Some("openai".into()),
        event_index: Some(12),
        request_id: Some("r1".into()),
        cause: cause(),
        ..StreamError::new(StreamReason::Stalled, "no event for 60 s")
    }
}

fn json_error() -> JsonError {
    JsonError {
        line: Some(3),
        column: Some(14),
        ..JsonError::new(
            JsonReason::UnknownField,
            Path::from("data").field("messages").index(0).field("rôle"),
            "no such field",
        )
    }
}

fn tool() -> ToolError {
    ToolError {
        tool_name: Some("get_weather".into()),
        tool_call_id: Some("c1".into()),
        metadata: map(json!({"reserved_halt_atom": "completed"})),
        ..ToolError::new(
            ToolReason::InvalidReturn,
            "the tool halted with a reason of the loop",
        )
        .cause("completed")
    }
}
