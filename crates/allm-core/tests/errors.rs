//! Errors (core.md, C139 to C145, C171; loop.md, L206).

use std::collections::BTreeSet;
use std::error::Error as _;
use std::time::Duration;

use allm_core::{
    AdapterError, AdapterReason, CallFailure, Cause, EncodeError, EngineError, EngineReason, Error,
    ErrorKind, Event, Failure, FailureReason, Fault, FaultCode, FinishReason, Interrupted,
    JsonError, JsonReason, MAX_PROVIDER_TEXT, Message, Path, Response, StoreError, StoreReason,
    StreamError, StreamReason, ToolError, ToolReason, Unfinished, ValidationError,
    ValidationReason, json,
};
use serde_json::json;

/// The codes of a set, in order, with those after which the same call may succeed later.
macro_rules! codes {
    ($($test:ident: $set:ident, retryable $retryable:expr, all $all:expr;)+) => {$(
        #[test]
        fn $test() {
            let all: &[&str] = &$all;
            let retryable: &[&str] = &$retryable;
            let codes: Vec<&str> = $set::ALL.iter().map(|reason| reason.as_str()).collect();
            assert_eq!(codes, all);
            assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len(), "a code twice");
            for reason in $set::ALL {
                let code = reason.as_str();
                assert_eq!($set::from_code(code), Some(*reason));
                assert_eq!(reason.to_string(), code);
                assert_eq!(json::value_to_string(reason), Ok(format!("\"{code}\"")));
                let read: Result<$set, _> =
                    json::value_from_slice(format!("\"{code}\"").as_bytes(), json::Limits::default());
                assert_eq!(read, Ok(*reason));
                assert_eq!(reason.is_retryable(), retryable.contains(&code), "{code}");
            }
            assert_eq!($set::from_code("no_such_code"), None);
        }
    )+};
}

codes! {
    c139_codes_of_the_engine: EngineReason, retryable [], all [
        "no_model", "invalid_model", "unknown_provider", "ambiguous_provider", "provider_disabled", "missing_key",
        "invalid_key", "key_source_failed", "invalid_config", "insecure_base_url", "secret_in_body", "unknown_tool",
    ];
    c139_codes_of_an_adapter: AdapterReason,
        retryable ["rate_limited", "provider_unavailable", "timeout", "network_error"], all [
        "authentication_failed", "permission_denied", "quota_exceeded", "rate_limited", "invalid_request",
        "model_not_found", "context_length_exceeded", "request_too_large", "content_filter", "generation_failed",
        "unsupported_feature", "provider_unavailable", "timeout", "network_error", "malformed_response",
        "no_scripted_response", "unknown",
    ];
    c139_codes_of_a_stream: StreamReason, retryable ["interrupted", "stalled", "timeout"], all [
        "interrupted", "malformed_event", "event_too_large", "stalled", "timeout", "cancelled",
    ];
    c139_codes_of_validation: ValidationReason, retryable [], all [
        "invalid_request", "invalid_message", "invalid_tool", "invalid_thread", "invalid_session",
        "invalid_session_input", "unsupported_capability", "unsupported_option",
    ];
    c139_codes_of_json: JsonReason, retryable [], all [
        "malformed", "missing_version", "unsupported_version", "wrong_type", "unknown_field", "missing_field",
        "invalid_value", "too_deep", "too_large",
    ];
    c139_codes_of_a_tool: ToolReason, retryable [], all [
        "handler_raised", "handler_exit", "invalid_return", "not_found", "timeout", "encoding_failed",
    ];
    c139_codes_of_a_store: StoreReason, retryable ["full", "unavailable"], all [
        "not_found", "already_exists", "gone", "conflict", "fenced", "lease_held", "corrupt", "unsupported_version",
        "schema_too_new", "schema_too_old", "too_large", "full", "unavailable",
    ];
    c139_codes_of_a_failed_call: FailureReason, retryable [], all [
        "reported", "handler_raised", "handler_exit", "timeout", "invalid_return", "encoding_failed", "not_found",
        "invalid_arguments", "unknown_tool", "truncated", "cancelled", "deadline_exceeded", "budget_exhausted",
        "not_executed",
    ];
    c139_codes_of_faults: FaultCode, retryable [], all [
        "empty", "required", "not_allowed", "not_allowed_for_role", "image_in_system_message", "unresolvable_source",
        "missing_mime_type", "unsupported_media_type", "too_large", "wrong_provider", "duplicate", "duplicate_name",
        "out_of_range", "must_be_positive", "unanswered_tool_call", "orphan_tool_result", "duplicate_tool_result",
        "misplaced_tool_result", "invalid_format", "reserved_tool_name", "not_an_object", "invalid_schema",
        "remote_reference", "not_a_string", "not_strict", "unknown_tool", "no_tools", "reserved_key",
        "requires_json_schema", "tools_unsupported", "json_schema_unsupported", "json_object_unsupported",
        "vision_unsupported", "files_unsupported", "reasoning_unsupported", "exceeds_model_limit",
        "needs_finalize_pass", "unsupported",
    ];
}

fn partial(reason: FinishReason) -> Response {
    Response {
        finish_reason: Some(reason),
        ..Response::new(Message::assistant("the secret prompt"))
    }
}

/// One error of each family, every text of which has two lines and a cause of two levels.
fn each() -> Vec<Error> {
    let text = "one\r\ntwo\n";
    let source = Some(Box::new(Cause::new("the root")));
    let cause = || {
        Some(Cause {
            message: "the cause".to_owned(),
            source: source.clone(),
        })
    };
    let fault = Fault::new(Path::root().field("a\nb"), FaultCode::Empty).detail(text);
    vec![
        EngineError {
            cause: cause(),
            ..EngineError::new(EngineReason::NoModel, text)
        }
        .into(),
        ValidationError::new(ValidationReason::InvalidThread, vec![fault; 7]).into(),
        AdapterError {
            status: Some(503),
            cause: cause(),
            ..AdapterError::new("x\ny", AdapterReason::Timeout, text)
        }
        .into(),
        StreamError {
            cause: cause(),
            ..StreamError::new(StreamReason::Stalled, text)
        }
        .into(),
        JsonError::new(JsonReason::Malformed, Path::root().field("a\nb"), text).into(),
        ToolError {
            cause: cause(),
            tool_name: Some("a\nb".into()),
            ..ToolError::new(ToolReason::Timeout, text)
        }
        .into(),
        Unfinished::new(partial(FinishReason::Length)).into(),
        Interrupted {
            partial: partial(FinishReason::Error),
            source: StreamError::interrupted().into(),
        }
        .into(),
    ]
}

/// What the error came from, level by level.
fn sources(error: &Error) -> Vec<String> {
    let mut texts = Vec::new();
    let mut next = error.source();
    while let Some(error) = next {
        texts.push(error.to_string());
        next = error.source();
    }
    texts
}

#[test]
fn c139_kind_reason_and_retryable_of_each_family() {
    let facts: Vec<_> = each()
        .iter()
        .map(|error| (error.kind(), error.reason(), error.is_retryable()))
        .collect();
    assert_eq!(
        facts,
        [
            (ErrorKind::Engine, "no_model", false),
            (ErrorKind::Validation, "invalid_thread", false),
            (ErrorKind::Adapter, "timeout", true),
            (ErrorKind::Stream, "stalled", true),
            (ErrorKind::Json, "malformed", false),
            (ErrorKind::Tool, "timeout", false),
            (ErrorKind::Unfinished, "length", false),
            (ErrorKind::Stream, "interrupted", true),
        ]
    );
}

#[test]
fn c139_the_kinds_have_stable_texts() {
    let kinds = [
        (ErrorKind::Engine, "engine"),
        (ErrorKind::Validation, "validation"),
        (ErrorKind::Adapter, "adapter"),
        (ErrorKind::Stream, "stream"),
        (ErrorKind::Json, "json"),
        (ErrorKind::Tool, "tool"),
        (ErrorKind::Session, "session"),
        (ErrorKind::Unfinished, "unfinished"),
    ];
    for (kind, text) in kinds {
        assert_eq!(json::value_to_string(&kind), Ok(format!("\"{text}\"")));
    }
}

#[test]
fn c140_display_is_one_line_without_the_cause() {
    let shown: Vec<String> = each().iter().map(ToString::to_string).collect();
    let fault = "[\"a\\nb\"]: empty (one two)";
    assert_eq!(
        shown,
        [
            "no_model: one two".to_owned(),
            format!("invalid_thread: {fault}; {fault}; {fault}; {fault}; {fault}; and 2 more"),
            "x y: timeout (status 503): one two".to_owned(),
            "stalled: one two".to_owned(),
            "malformed at [\"a\\nb\"]: one two".to_owned(),
            "a b: timeout: one two".to_owned(),
            "the answer ended with `length`, not `stop`".to_owned(),
            "the answer was interrupted".to_owned(),
        ]
    );
}

#[test]
fn c140_what_is_no_error_of_a_call_is_shown_in_one_line_too() {
    let store = StoreError::new(StoreReason::Corrupt, "one\ntwo");
    assert_eq!(store.to_string(), "corrupt: one two");
    assert_eq!(
        EncodeError::new("one\ntwo").to_string(),
        "the value could not be encoded: one two"
    );
    assert_eq!(Cause::new("one\ntwo").to_string(), "one two");
}

#[test]
fn c140_source_leads_to_the_cause() {
    for error in each() {
        let texts = sources(&error);
        match &error {
            Error::Validation(_) | Error::Json(_) | Error::Unfinished(_) => {
                assert!(texts.is_empty())
            }
            Error::Interrupted(_) => {
                assert_eq!(
                    texts,
                    ["interrupted: the stream ended without its closing event"]
                );
            }
            _ => assert_eq!(texts, ["the cause", "the root"], "{error}"),
        }
    }
}

#[test]
fn c140_a_chain_of_causes_is_kept_as_text_up_to_sixteen_levels() {
    let long = (0..40).fold(None, |source, level: u32| {
        Some(Box::new(Cause {
            message: level.to_string(),
            source,
        }))
    });
    let kept = Cause::of(long.unwrap().as_ref());
    let texts: Vec<String> = std::iter::successors(Some(&kept), |cause| cause.source.as_deref())
        .map(|cause| cause.message.clone())
        .collect();
    let expected: Vec<String> = (24..40).rev().map(|level: u32| level.to_string()).collect();
    assert_eq!(texts, expected);
}

#[test]
fn c141_c171_errors_clone_and_are_equal_after_json() {
    fn is_an_error<E: std::error::Error + Clone + Send + Sync + 'static>(_: &E) {}
    for error in each() {
        is_an_error(&error);
        let read: Error = json::from_slice(&json::to_vec(&error).unwrap()).unwrap();
        assert_eq!(read, error.clone());
    }
}

#[test]
fn c142_retry_after_is_what_the_server_said() {
    let wait = Duration::from_millis(1_500);
    let error = |retry_after| {
        let reason = AdapterReason::RateLimited;
        Error::from(AdapterError {
            retry_after,
            ..AdapterError::new("openai", reason, "slow")
        })
    };
    assert_eq!(error(Some(wait)).retry_after(), Some(wait));
    assert_eq!(error(None).retry_after(), None);
    let interrupted = Interrupted {
        partial: partial(FinishReason::Error),
        source: error(Some(wait)),
    };
    assert_eq!(Error::from(interrupted).retry_after(), Some(wait));
    let others = each()
        .into_iter()
        .filter(|error| !matches!(error, Error::Adapter(_)));
    assert!(
        others
            .into_iter()
            .all(|error| error.retry_after().is_none())
    );
}

#[test]
fn c142_retry_after_survives_the_data_form() {
    let wait = Some(Duration::from_millis(20_500));
    let error = AdapterError {
        retry_after: wait,
        ..AdapterError::new("openai", AdapterReason::RateLimited, "slow")
    };
    let failure = Failure::from(Error::from(error));
    assert_eq!(failure.metadata["retry_after"], json!(20_500));
    assert_eq!(Error::from(failure).retry_after(), wait);
}

#[test]
fn c143_text_of_a_provider_is_cut_between_characters_with_a_mark() {
    let message = |text: &str| AdapterError::new("openai", AdapterReason::Unknown, text).message;
    let longest = "x".repeat(MAX_PROVIDER_TEXT);
    assert_eq!(MAX_PROVIDER_TEXT, 2_048);
    assert_eq!(message(&longest), longest);
    assert_eq!(
        message(&format!("{longest}y")),
        format!("{longest}\n[cut: 2048 of 2049 bytes]")
    );
    let wide = format!("x{}", "日".repeat(1_000));
    let kept = format!("x{}", "日".repeat(682));
    assert_eq!(message(&wide), format!("{kept}\n[cut: 2047 of 3001 bytes]"));
}

#[test]
fn c144_an_error_about_an_answer_does_not_show_it() {
    for error in [
        Error::from(Unfinished::new(partial(FinishReason::Length))),
        Error::from(Interrupted::new(partial(FinishReason::Error))),
    ] {
        let shown = format!("{error} {:?}", sources(&error));
        assert!(!shown.contains("secret"), "{shown}");
        assert!(
            !json::value_to_string(&Failure::from(&error))
                .unwrap()
                .contains("secret")
        );
    }
}

#[test]
fn c144_an_error_about_a_document_does_not_show_its_content() {
    let faults = [
        r#"{"v":1,"type":"message","data":{"role":"sk-secret"}}"#,
        r#"{"v":1,"type":"message","data":{"role":"user","content":"sk-secret"}}"#,
        r#"{"v":1,"type":"message","data":{"role":"user","content":[{"type":"text","text":"sk-secret}]}}"#,
        r#"{"v":1,"type":"message","data":{"role":"user","content":[{"type":"sk-secret"}]}}"#,
        r#"{"v":1,"type":"message","data":{"role":"user","is_error":"sk-secret"}}"#,
        r#"{"v":"sk-secret","type":"message","data":{}}"#,
    ];
    for text in faults {
        let error = json::from_str::<Message>(text).unwrap_err();
        assert!(
            !format!("{error:?} {error}").contains("secret"),
            "{error:?}"
        );
    }
    let model =
        json::value_from_slice::<allm_core::ModelRef>(b"\"sk secret\"", json::Limits::default());
    assert!(!model.unwrap_err().to_string().contains("secret"));
}

#[test]
fn c145_an_adapter_error_carries_what_is_known() {
    let error = AdapterError {
        status: Some(429),
        provider_code: Some("rate_limit_exceeded".to_owned()),
        provider_type: Some("tokens".to_owned()),
        param: Some("messages".to_owned()),
        provider_request_id: Some("req_1".to_owned()),
        request_id: Some("r1".into()),
        retry_after: Some(Duration::from_secs(2)),
        attempts: Some(3),
        cause: Some(Cause::new("secret")),
        ..AdapterError::new("openai", AdapterReason::RateLimited, "Slow down.")
    };
    let failure = Failure::from(Error::from(error.clone()));
    let expected = Failure {
        kind: ErrorKind::Adapter,
        reason: "rate_limited".to_owned(),
        message: "Slow down.".to_owned(),
        metadata: serde_json::from_value(json!({
            "provider": "openai",
            "status": 429,
            "provider_code": "rate_limit_exceeded",
            "provider_type": "tokens",
            "param": "messages",
            "provider_request_id": "req_1",
            "request_id": "r1",
            "retry_after": 2_000,
            "attempts": 3,
        }))
        .unwrap(),
    };
    assert_eq!(failure, expected);
    assert_eq!(
        Error::from(failure),
        AdapterError {
            cause: None,
            ..error
        }
        .into()
    );
}

#[test]
fn l206_an_error_event_holds_no_cause() {
    for error in each() {
        let text = json::to_string(&Event::error(error)).unwrap();
        assert!(
            !text.contains("the cause") && !text.contains("the root") && !text.contains("secret"),
            "{text}"
        );
    }
}

#[test]
fn l206_an_interrupted_answer_is_told_by_its_source() {
    let error = Error::from(Interrupted {
        partial: partial(FinishReason::Error),
        source: StreamError::interrupted().into(),
    });
    assert_eq!(Failure::from(error), Failure::interrupted());
}

fn failure(kind: ErrorKind, reason: &str, metadata: serde_json::Value) -> Failure {
    let metadata = serde_json::from_value(metadata).unwrap();
    Failure {
        kind,
        reason: reason.to_owned(),
        message: "x".to_owned(),
        metadata,
    }
}

#[test]
fn l206_a_failure_from_elsewhere_keeps_its_reason_and_what_fits() {
    let more = json!({"provider": "openai", "status": 429, "retry_after": 5, "http_version": 2});
    let expected = AdapterError {
        status: Some(429),
        retry_after: Some(Duration::from_millis(5)),
        ..AdapterError::new("openai", AdapterReason::RateLimited, "x")
    };
    assert_eq!(
        Error::from(failure(ErrorKind::Adapter, "rate_limited", more)),
        expected.into()
    );
    let odd = json!({"provider": 7, "tool_name": 7, "path": 7, "checked": 7});
    for (kind, reason) in [
        (ErrorKind::Engine, "missing_key"),
        (ErrorKind::Adapter, "rate_limited"),
        (ErrorKind::Stream, "stalled"),
        (ErrorKind::Json, "too_deep"),
        (ErrorKind::Tool, "timeout"),
        (ErrorKind::Validation, "invalid_tool"),
    ] {
        let error = Error::from(failure(kind, reason, odd.clone()));
        assert_eq!((error.kind(), error.reason()), (kind, reason));
    }
}

#[test]
fn l206_a_reason_outside_the_family_becomes_the_general_one() {
    for (kind, general) in [
        (ErrorKind::Engine, "invalid_config"),
        (ErrorKind::Adapter, "unknown"),
        (ErrorKind::Stream, "interrupted"),
        (ErrorKind::Json, "malformed"),
        (ErrorKind::Tool, "handler_raised"),
        (ErrorKind::Validation, "invalid_request"),
    ] {
        let error = Error::from(failure(kind, "a_new_code", json!({})));
        assert_eq!((error.kind(), error.reason()), (kind, general));
    }
}

#[test]
fn l206_a_failed_call_is_told_in_stable_json() {
    let failure = CallFailure::new(
        FailureReason::Timeout,
        "the tool `f` did not finish in time",
    );
    let content =
        r#"{"error":{"reason":"timeout","message":"the tool `f` did not finish in time"}}"#;
    assert_eq!(failure.to_content(), content);
    let failure = CallFailure {
        details: Some(json!(null)),
        ..failure
    };
    let read: CallFailure = json::value_from_slice(
        &json::value_to_vec(&failure).unwrap(),
        json::Limits::default(),
    )
    .unwrap();
    assert_eq!(read, failure);
}
