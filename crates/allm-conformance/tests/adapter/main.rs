//! The adapter kit: the scripted provider passes it, and each broken adapter fails where it is broken.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod broken;
#[macro_use]
mod changed;
mod events;
mod life;
mod scripts;

use allm_conformance::adapter::{self, AdapterSubject, Prepared, Scenario};
use allm_conformance::{CannotExpress, Report};

use scripts::{Faithful, Real};

fn failed(report: &Report) -> Vec<&str> {
    report.failed().map(|check| check.name).collect()
}

/// C70 to C83 as far as a kit can see.
#[tokio::test(start_paused = true)]
async fn the_scripted_provider_passes() {
    adapter::check(&Faithful).await.assert_skipping_only(&[]);
}

#[tokio::test]
async fn the_scripted_provider_passes_in_real_time() {
    adapter::check(&Real).await.assert_skipping_only(&[]);
}

/// What a scenario that cannot be had is needed for is skipped, with the reason.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_expressed_is_skipped() {
    struct TextOnly;
    impl AdapterSubject for TextOnly {
        fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
            match scenario {
                Scenario::Text => Faithful.prepare(scenario),
                _ => Err(CannotExpress::because("only text")),
            }
        }
    }
    let report = adapter::check(&TextOnly).await;
    report.assert();
    let skipped: Vec<_> = report.skipped().map(|check| check.name).collect();
    assert!(skipped.contains(&"call_order") && skipped.contains(&"silence"));
    assert!(!skipped.contains(&"content"));
    let refusal = &report.check("refusal").unwrap().outcome;
    assert!(format!("{refusal:?}").contains("refusal: only text"));
}

#[tokio::test(start_paused = true)]
async fn nothing_to_look_at_is_no_pass() {
    struct Nothing;
    impl AdapterSubject for Nothing {
        fn prepare(&self, _: Scenario) -> Result<Prepared, CannotExpress> {
            Err(CannotExpress::because("there is nothing here"))
        }
    }
    let report = adapter::check(&Nothing).await;
    assert_eq!(failed(&report), [""; 0]);
    assert!(!report.is_passed());
}

/// Each rule is broken by some test.
#[tokio::test(start_paused = true)]
async fn no_rule_is_without_a_broken_adapter() {
    let tests = concat!(include_str!("events.rs"), include_str!("life.rs"));
    for check in adapter::check(&Faithful).await.checks() {
        assert!(tests.contains(&format!("\"{}\"", check.name)), "{check}");
    }
}

#[tokio::test(start_paused = true)]
async fn names_are_unique() {
    let report = adapter::check(&Faithful).await;
    let mut names: Vec<_> = report.checks().iter().map(|check| check.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
