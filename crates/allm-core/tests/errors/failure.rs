//! Errors as data (C145, L206).

use std::time::Duration;

use allm_core::{
    AdapterError, AdapterReason, CallFailure, Cause, Error, ErrorKind, Event, Failure,
    FailureReason, FinishReason, Interrupted, StreamError, json,
};
use serde_json::json;

use super::{each, partial};

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
