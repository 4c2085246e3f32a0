//! What a handler can reply (loop.md, L19 to L28).

use allm_core::{
    Effect, JsonEncoder, Map, ReplyValue, ReportedError, ToolError, ToolFailure, ToolReason,
    ToolReply, ToolResultEncoder, encode,
};
use serde_json::{Value, json};

fn content(reply: &ToolReply) -> Option<String> {
    match reply {
        ToolReply::Ok(value) => JsonEncoder.encode(value.get().ok()?).ok(),
        _ => None,
    }
}

fn opts(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[test]
fn l19_a_number_is_its_own_content() {
    let reply = ToolReply::ok(&42);
    assert_eq!(reply, ToolReply::Ok(ReplyValue::from(json!(42))));
    assert_eq!(content(&reply).as_deref(), Some("42"));
}

#[test]
fn l20_a_string_is_content_without_quotes() {
    assert_eq!(content(&ToolReply::ok("hi")).as_deref(), Some("hi"));
    assert_eq!(content(&ToolReply::ok("")).as_deref(), Some(""));
}

#[test]
fn l21_a_reported_error_keeps_text_and_source() {
    let source = "x".parse::<u8>().unwrap_err();
    let error = ReportedError::of(source.clone());
    assert_eq!(error.message, source.to_string());
    assert_eq!(error.source_ref::<std::num::ParseIntError>(), Some(&source));
    assert_eq!(error.source_ref::<ToolError>(), None);
}

#[test]
fn l22_a_reported_tool_error_stays_reported() {
    let source = ToolError::new(ToolReason::Timeout, "the upstream was slow").cause("secret");
    let failure = ToolFailure::Reported(ReportedError::of(source.clone()));
    let ToolFailure::Reported(error) = &failure else {
        panic!("{failure:?}");
    };
    assert_eq!(error.source_ref::<ToolError>(), Some(&source));
    let report = encode::report(&failure, "fetch", &Effect::AtMostOnce);
    assert_eq!(report.reason.as_str(), "reported");
    assert_eq!(report.message, "timeout: the upstream was slow");
}

#[test]
fn l23_details_appear_only_when_given() {
    let shown = |error: ReportedError| {
        let failure = ToolFailure::Reported(error);
        encode::report(&failure, "pay", &Effect::Pure).to_content()
    };
    assert_eq!(
        shown(ReportedError::new("declined").details(json!({"code": 51}))),
        r#"{"error":{"reason":"reported","message":"declined","details":{"code":51}}}"#
    );
    assert_eq!(
        shown(ReportedError::new("declined")),
        r#"{"error":{"reason":"reported","message":"declined"}}"#
    );
}

#[test]
fn l24_a_question_keeps_its_options() {
    assert_eq!(
        ToolReply::ask("which?"),
        ToolReply::ask_with("which?", Map::new())
    );
    let given = opts(json!({"choices": ["a", "b"], "deep": {"x": null}}));
    let reply = ToolReply::ask_with("which?", given.clone()).checked();
    assert_eq!(
        reply,
        Ok(ToolReply::AskUser {
            question: "which?".to_owned(),
            opts: given
        })
    );
}

#[test]
fn l25_an_empty_question_is_invalid() {
    for question in ["", "  ", "\n\t"] {
        let error = ToolReply::ask(question).checked().unwrap_err();
        assert_eq!(error.reason, ToolReason::InvalidReturn, "{question:?}");
        assert_eq!(error.metadata, Map::new());
    }
}

#[test]
fn l26_a_halt_needs_a_reason() {
    let legal = ToolReply::halt("plan_submitted", &json!({"plan": 1}));
    assert_eq!(legal.clone().checked(), Ok(legal));
    let error = ToolReply::halt("", &1).checked().unwrap_err();
    assert_eq!(error.reason, ToolReason::InvalidReturn);
    assert_eq!(error.metadata, Map::new());
}

#[test]
fn l27_the_reasons_of_the_loop_are_reserved() {
    let reserved = [
        "completed",
        "max_turns",
        "halt_when",
        "ask_user",
        "tool_error",
        "cancelled",
        "manual_tool_calls",
        "error",
        "truncated",
        "deadline_exceeded",
        "budget_exhausted",
    ];
    for reason in reserved {
        let error = ToolReply::halt(reason, &()).checked().unwrap_err();
        assert_eq!(error.reason, ToolReason::InvalidReturn, "{reason}");
        assert_eq!(
            error.metadata,
            opts(json!({"reserved_halt_atom": reason})),
            "{reason}"
        );
    }
    assert!(ToolReply::halt("Completed", &()).checked().is_ok());
}

#[test]
fn l28_an_untyped_reply_has_one_of_the_forms() {
    let forms = [
        (json!({"ok": {"a": 1}}), ToolReply::ok(&json!({"a": 1}))),
        (
            json!({"error": "no"}),
            ToolReply::Error(ReportedError::new("no")),
        ),
        (
            json!({"error": {"message": "no", "details": [1]}}),
            ToolReply::Error(ReportedError::new("no").details(json!([1]))),
        ),
        (
            json!({"error": {"message": "no"}}),
            ToolReply::Error(ReportedError::new("no")),
        ),
        (json!({"ask_user": {"question": "q"}}), ToolReply::ask("q")),
        (
            json!({"ask_user": {"question": "q", "opts": {"x": 1}}}),
            ToolReply::ask_with("q", opts(json!({"x": 1}))),
        ),
        (
            json!({"halt": {"reason": "done", "value": null}}),
            ToolReply::halt("done", &()),
        ),
    ];
    for (untyped, reply) in forms {
        assert_eq!(ToolReply::from_json(untyped), Ok(reply));
    }
}

#[test]
fn l28_anything_else_is_invalid_with_the_value_as_cause() {
    let others = [
        json!(42),
        json!({}),
        json!({"ok": 1, "error": "x"}),
        json!({"weather": 1}),
        json!({"ask_user": "q"}),
        json!({"ask_user": {"question": "q", "opts": [], }}),
        json!({"error": {"message": "no", "more": 1}}),
        json!({"halt": {"reason": "done"}}),
    ];
    for untyped in others {
        let text = untyped.to_string();
        let error = ToolReply::from_json(untyped).unwrap_err();
        assert_eq!(error.reason, ToolReason::InvalidReturn, "{text}");
        assert_eq!(
            error.cause.map(|cause| cause.message),
            Some(text.clone()),
            "{text}"
        );
    }
}
