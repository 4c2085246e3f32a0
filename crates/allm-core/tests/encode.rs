//! What the model sees of a value or a failure (loop.md, L68 to L82).

use std::collections::BTreeMap;

use allm_core::encode::{bound, closed, report, unknown_tool};
use allm_core::{
    AWAITING_USER, ArgumentFault, ArgumentFaults, CallFailure, Effect, FailureReason, JsonEncoder,
    ReplyValue, ReportedError, ToolError, ToolFailure, ToolReason, ToolResultEncoder, limits,
};
use proptest::prelude::*;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

const STOPPED: &str = "; it may have taken effect";

fn crash(reason: ToolReason) -> ToolFailure {
    ToolFailure::Crashed(ToolError::new(reason, "/src/tool.rs said secret-123").cause("secret-123"))
}

fn refused(message: &str, faults: usize) -> ToolFailure {
    let fault = |number: usize| ArgumentFault {
        path: format!("/items/{number}"),
        message: "is not a string".to_owned(),
    };
    ToolFailure::InvalidArguments(ArgumentFaults {
        message: message.to_owned(),
        faults: (0..faults).map(fault).collect(),
        help: Some("## pay".to_owned()),
    })
}

/// Every failure that there is, made with the tool `pay`.
fn all() -> Vec<CallFailure> {
    let mut failures: Vec<ToolFailure> = ToolReason::ALL.iter().copied().map(crash).collect();
    failures.push(ToolFailure::Reported(ReportedError::new(" \n")));
    failures.push(refused("two\nlines", 1));
    failures.push(refused("", 1));
    let reported = failures
        .iter()
        .map(|failure| report(failure, "pay", &Effect::AtMostOnce));
    let closed = FailureReason::ALL
        .iter()
        .map(|reason| closed(*reason, "pay"));
    reported
        .chain(closed)
        .chain([unknown_tool("pay", ["a", "b"])])
        .collect()
}

#[test]
fn l68_values_become_compact_json_and_come_back() {
    let values = [
        (
            json!({"b": [1, {"c": null}], "a": "x y"}),
            r#"{"a":"x y","b":[1,{"c":null}]}"#,
        ),
        (json!([1, 2]), "[1,2]"),
        (json!(-7), "-7"),
        (json!(true), "true"),
        (Value::Null, "null"),
        (json!(0.1), "0.1"),
        (json!(1.0), "1.0"),
        (json!(1.5e300), "1.5e+300"),
        (json!(u64::MAX), "18446744073709551615"),
    ];
    for (value, text) in values {
        assert_eq!(JsonEncoder.encode(&value).unwrap(), text);
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
    }
}

#[test]
fn l69_equal_values_have_equal_bytes() {
    let texts = [
        r#"{"z":1,"a":{"y":[0.5],"b":"é"}}"#,
        r#"{"a": {"b": "\u00e9", "y": [5e-1]}, "z": 1}"#,
    ];
    let [one, other] = texts.map(|text| {
        let value: Value = serde_json::from_str(text).unwrap();
        JsonEncoder.encode(&value).unwrap()
    });
    assert_eq!(one, r#"{"a":{"b":"é","y":[0.5]},"z":1}"#);
    assert_eq!(one, other);
}

#[test]
fn l70_a_value_that_does_not_serialise_is_kept_as_an_error() {
    let listed_keys = BTreeMap::from([(vec![1], 2)]);
    assert!(ReplyValue::of(&listed_keys).get().is_err());
}

#[test]
fn l70_a_serialize_that_panics_is_kept_as_an_error() {
    struct Panics;
    impl Serialize for Panics {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("secret-123")
        }
    }
    let value = ReplyValue::of(&Panics);
    assert!(!value.get().unwrap_err().to_string().contains("secret-123"));
}

#[test]
fn l75_failure_content_has_one_key_and_a_line_that_names_the_tool() {
    for failure in all() {
        let content: Value = serde_json::from_str(&failure.to_content()).unwrap();
        let error = &content["error"];
        assert_eq!(content.as_object().unwrap().len(), 1);
        assert_eq!(error["reason"], failure.reason.as_str());
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("`pay`"), "{message}");
        assert!(!message.contains(['\n', '\r']), "{message}");
    }
}

#[test]
fn l75_a_reported_message_is_the_handlers_text() {
    let failure = ToolFailure::Reported(ReportedError::new("line 1\nline 2"));
    let report = report(&failure, "pay", &Effect::Pure);
    assert_eq!(
        report,
        CallFailure::new(FailureReason::Reported, "line 1\nline 2")
    );
}

#[test]
fn l75_a_made_up_name_stays_in_its_line() {
    let name = format!("a\nb{}", "é".repeat(100));
    let expected = format!("there is no tool `a b{}…`", "é".repeat(61));
    assert_eq!(closed(FailureReason::UnknownTool, &name).message, expected);
}

#[test]
fn l75_the_messages_of_closed_calls() {
    let expected = [
        (FailureReason::UnknownTool, "there is no tool `pay`"),
        (
            FailureReason::Truncated,
            "the tool `pay` was not run: the answer was cut off",
        ),
        (
            FailureReason::Cancelled,
            "the tool `pay` was not run: the run was cancelled",
        ),
        (
            FailureReason::DeadlineExceeded,
            "the tool `pay` was not run: the time for it was over",
        ),
        (
            FailureReason::BudgetExhausted,
            "the tool `pay` was not run: the budget has no room for these calls",
        ),
        (
            FailureReason::NotExecuted,
            "the tool `pay` was not run: the turn could not go on",
        ),
    ];
    for (reason, message) in expected {
        assert_eq!(closed(reason, "pay"), CallFailure::new(reason, message));
    }
}

#[test]
fn l121_an_unknown_tool_is_told_which_tools_there_are() {
    let message = |names: &[&str]| unknown_tool("pay", names).message;
    assert_eq!(
        message(&["a", "b"]),
        "there is no tool `pay`; there are: a, b"
    );
    assert_eq!(message(&[]), "there is no tool `pay`; there are none");
    let twenty = vec!["t"; 20].join(", ");
    assert!(message(&["t"; 20]).ends_with(&format!("there are: {twenty}")));
    assert!(message(&["t"; 25]).ends_with(&format!("there are: {twenty} and 5 more")));
}

#[test]
fn l56_the_first_twenty_faults_are_reported() {
    let short = report(&refused("3 faults", 3), "pay", &Effect::Pure);
    assert_eq!(short.message, "the tool `pay` was not run: 3 faults");
    assert_eq!(short.faults.len(), 3);
    assert_eq!(short.help.as_deref(), Some("## pay"));
    let long = report(&refused("50 faults", 50), "pay", &Effect::Pure);
    assert_eq!(long.faults.len(), limits::MAX_ARGUMENT_FAULTS);
    assert_eq!(long.faults[..3], short.faults);
}

#[test]
fn l76_no_text_of_a_crash_is_told() {
    for failure in all() {
        let content = failure.to_content();
        assert!(!content.contains("secret-123"), "{content}");
        assert!(!content.contains("/src"), "{content}");
    }
}

#[test]
fn l77_content_is_cut_at_the_limit() {
    let limit = limits::MAX_TOOL_OUTPUT;
    let full = "x".repeat(limit);
    assert_eq!(bound(full.clone(), limit), full);
    assert_eq!(
        bound(full.clone() + "x", limit),
        full + "\n[cut: 262144 of 262145 bytes]"
    );
}

#[test]
fn l78_a_cut_keeps_whole_characters() {
    assert_eq!(bound("aé".to_owned(), 2), "a\n[cut: 1 of 3 bytes]");
    assert_eq!(bound("🦀".to_owned(), 3), "\n[cut: 0 of 4 bytes]");
}

#[test]
fn l79_the_content_of_a_huge_report_is_cut() {
    let failure = ToolFailure::Reported(ReportedError::new("m".repeat(10 * 1024 * 1024)));
    let report = report(&failure, "pay", &Effect::Pure);
    assert_eq!(report.message.len(), 10 * 1024 * 1024);
    let content = bound(report.to_content(), limits::MAX_TOOL_OUTPUT);
    assert!(content.starts_with(r#"{"error":{"reason":"reported","message":"mmm"#));
    assert!(content.ends_with(" bytes]"));
    assert!(content.len() < limits::MAX_TOOL_OUTPUT + 64);
}

#[test]
fn l82_a_stopped_tool_may_have_taken_effect_unless_it_is_pure() {
    for reason in [ToolReason::Timeout, ToolReason::HandlerExit] {
        let message = |effect| report(&crash(reason), "pay", &effect).message;
        let pure = message(Effect::Pure);
        assert!(!pure.contains("effect"), "{pure}");
        for effect in [
            Effect::AtMostOnce,
            Effect::Idempotent,
            Effect::Reconcile(None),
        ] {
            assert_eq!(message(effect), format!("{pure}{STOPPED}"));
        }
    }
}

#[test]
fn l82_other_crashes_do_not_speak_of_effects() {
    use ToolReason::{EncodingFailed, HandlerRaised, InvalidReturn, NotFound};
    let expected = [
        (HandlerRaised, "the tool `pay` crashed"),
        (InvalidReturn, "the tool `pay` gave no usable reply"),
        (NotFound, "the tool `pay` has no handler"),
        (
            EncodingFailed,
            "the result of the tool `pay` could not be made into text",
        ),
    ];
    for (reason, message) in expected {
        let report = report(&crash(reason), "pay", &Effect::AtMostOnce);
        assert_eq!(report, CallFailure::new(reason.into(), message));
    }
}

#[test]
fn the_content_of_a_question_is_fixed() {
    assert_eq!(AWAITING_USER, "<awaiting user response>");
}

proptest! {
    #[test]
    fn l77_l78_a_bound_keeps_a_whole_beginning(text in "\\PC{0,40}", limit in 0_usize..80) {
        let bounded = bound(text.clone(), limit);
        if text.len() <= limit {
            prop_assert_eq!(&bounded, &text);
            prop_assert_eq!(bound(bounded.clone(), limit), bounded);
        } else {
            let (kept, mark) = bounded.rsplit_once('\n').unwrap();
            prop_assert!(text.starts_with(kept));
            // Only a character that does not fit can be missing.
            prop_assert!(kept.len() <= limit && kept.len() + 4 > limit);
            prop_assert_eq!(mark, format!("[cut: {} of {} bytes]", kept.len(), text.len()));
        }
    }
}
