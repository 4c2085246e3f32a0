//! The report: what a reader and a failing test see.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::panic::catch_unwind;

use allm_conformance::{Outcome, Report, encoder};
use allm_core::{EncodeError, JsonEncoder, ToolResultEncoder};
use serde_json::Value;

struct Quoting;

impl ToolResultEncoder for Quoting {
    fn encode(&self, value: &Value) -> Result<String, EncodeError> {
        Ok(value.to_string())
    }
}

fn panic_of(report: Report, assert: impl Fn(&Report) + std::panic::RefUnwindSafe) -> String {
    let report = std::panic::AssertUnwindSafe(report);
    *catch_unwind(|| assert(&report))
        .unwrap_err()
        .downcast::<String>()
        .unwrap()
}

#[test]
fn every_failure_is_shown_at_once_with_its_number() {
    let report = encoder::check_json(&Quoting);
    let check = report.check("text_unchanged").unwrap();
    assert_eq!(check.contract, "L20");
    assert!(matches!(check.outcome, Outcome::Failed { .. }));
    assert!(!report.is_passed());
    let text = panic_of(report, Report::assert);
    assert_eq!(
        text,
        "the JSON encoder kit: 1 of 12 failed\n  \
         FAILED   text_unchanged (L20): a string is its own text, the empty one too\n             \
         expected: Ok(\"\")\n             found:    Ok(\"\\\"\\\"\")\n"
    );
}

#[test]
fn what_passed_is_shown_too() {
    let report = encoder::check(&JsonEncoder);
    let text = report.to_string();
    assert!(text.starts_with("the encoder kit: 9 passed, 0 failed, 0 skipped\n"));
    assert_eq!(text.lines().count(), 1 + report.checks().len());
}

#[test]
fn a_check_that_should_have_been_skipped_is_seen() {
    let text = panic_of(encoder::check(&JsonEncoder), |report| {
        report.assert_skipping_only(&["total"]);
    });
    assert_eq!(text, r#"the encoder kit skipped [] instead of ["total"]"#);
}

#[test]
fn names_are_unique() {
    let report = encoder::check_json(&JsonEncoder);
    let mut names: Vec<_> = report.checks().iter().map(|check| check.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
