//! The encoder kit: our encoders pass it, and each broken one fails where it is broken.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::sync::atomic::{AtomicU64, Ordering};

use allm_conformance::{Report, encoder};
use allm_core::{
    CallFailure, EncodeError, FailureReason, JsonEncoder, ToolFailure, ToolResultEncoder,
};
use serde_json::Value;

type Encoded = Result<String, EncodeError>;

/// An encoder of two closures.
struct Of<V, F>(V, F);

impl<V, F> ToolResultEncoder for Of<V, F>
where
    V: Fn(&Value) -> Encoded + Send + Sync,
    F: Fn(&ToolFailure, &CallFailure) -> Encoded + Send + Sync,
{
    fn encode(&self, value: &Value) -> Encoded {
        (self.0)(value)
    }

    fn encode_failure(&self, failure: &ToolFailure, report: &CallFailure) -> Encoded {
        (self.1)(failure, report)
    }
}

fn json(value: &Value) -> Encoded {
    JsonEncoder.encode(value)
}

fn stable(_: &ToolFailure, report: &CallFailure) -> Encoded {
    Ok(report.to_content())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn failed(report: &Report) -> Vec<&str> {
    report.failed().map(|check| check.name).collect()
}

/// What the kit says of an encoder that is broken for values.
fn of_values(broken: impl Fn(&Value) -> Encoded + Send + Sync) -> Report {
    encoder::check(&Of(broken, stable))
}

/// What the kit says of an encoder that is broken for failures.
fn of_failures(broken: impl Fn(&ToolFailure, &CallFailure) -> Encoded + Send + Sync) -> Report {
    encoder::check(&Of(json, broken))
}

/// L68, L69, L75.
#[test]
fn l68_l69_l75_the_default_encoder_passes() {
    encoder::check(&JsonEncoder).assert_skipping_only(&[]);
    encoder::check_json(&JsonEncoder).assert_skipping_only(&[]);
}

/// L71: a custom encoder may show values and failures in its own way, and may refuse some.
#[test]
fn l71_custom_encoders_pass() {
    let plain = Of(
        |value: &Value| match value {
            Value::Object(map) if map.is_empty() => Err(EncodeError::new("nothing to show")),
            value => Ok(format!("<result>{value:#}</result>")),
        },
        |_: &ToolFailure, report: &CallFailure| Ok(format!("it failed: {}", report.message)),
    );
    encoder::check(&plain).assert_skipping_only(&[]);
    assert_eq!(
        failed(&encoder::check_json(&plain)),
        ["text_unchanged", "compact_json", "stable_failures"]
    );
}

#[test]
fn l72_a_panic_on_a_value() {
    let report = of_values(|value| match value {
        Value::Array(list) => Ok(list[0].to_string()),
        value => json(value),
    });
    // The first list that it meets is an empty one.
    assert_eq!(failed(&report), ["total"]);
}

#[test]
fn l72_an_error_without_a_word() {
    let report = of_values(|value| match value {
        Value::Null => Err(EncodeError::new(" ")),
        value => json(value),
    });
    assert_eq!(failed(&report), ["total"]);
}

#[test]
fn l69_a_text_that_changes() {
    let count = AtomicU64::new(0);
    let report = of_values(|value| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        Ok(format!("{number}: {value}"))
    });
    assert_eq!(failed(&report), ["deterministic", "same_on_every_thread"]);
}

#[test]
fn l69_a_text_that_depends_on_its_thread() {
    let report = of_values(|value| Ok(format!("{:?}: {value}", std::thread::current().id())));
    assert_eq!(failed(&report), ["same_on_every_thread"]);
}

#[test]
fn l78_a_cut_through_a_character() {
    let report = of_values(|value| {
        let text = json(value)?;
        Ok(if text.len() > 100_002 {
            text[..100_002].to_owned()
        } else {
            text
        })
    });
    assert_eq!(failed(&report), ["large_values"]);
}

#[test]
fn l72_a_panic_on_a_deep_value() {
    let report = of_values(|value| {
        assert!(depth(value) < 100, "too deep");
        json(value)
    });
    assert_eq!(failed(&report), ["deep_values"]);
}

#[test]
fn l73_a_panic_on_a_failure() {
    let report = of_failures(|failure, report| match failure {
        ToolFailure::InvalidArguments(_) => panic!("{}", report.message),
        _ => stable(failure, report),
    });
    assert_eq!(failed(&report), ["failures_total"]);
}

#[test]
fn l75_a_failure_that_changes() {
    let count = AtomicU64::new(0);
    let report = of_failures(|_, report| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        Ok(format!("{number}: {}", report.message))
    });
    assert_eq!(failed(&report), ["failures_deterministic"]);
}

#[test]
fn l75_a_failure_without_a_word() {
    let report = of_failures(|failure, report| match report.reason {
        FailureReason::Timeout => Ok(String::new()),
        _ => stable(failure, report),
    });
    assert_eq!(failed(&report), ["failures_say_something"]);
}

#[test]
fn l76_a_failure_that_tells_its_cause() {
    let report = of_failures(|failure, report| match failure {
        ToolFailure::Crashed(error) => Ok(format!("{:?}", error.cause)),
        _ => stable(failure, report),
    });
    assert_eq!(failed(&report), ["failures_hold_no_cause"]);
}

#[test]
fn l20_l68_l75_what_is_not_as_the_default_shows_it() {
    let quoted = Of(|value: &Value| Ok(value.to_string()), stable);
    assert_eq!(failed(&encoder::check_json(&quoted)), ["text_unchanged"]);
    let indented = Of(
        |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            value => Ok(format!("{value:#}")),
        },
        stable,
    );
    assert_eq!(failed(&encoder::check_json(&indented)), ["compact_json"]);
    let own = Of(json, |_: &ToolFailure, report: &CallFailure| {
        Ok(report.message.clone())
    });
    assert_eq!(failed(&encoder::check_json(&own)), ["stable_failures"]);
}
