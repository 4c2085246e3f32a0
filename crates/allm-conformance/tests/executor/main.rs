//! The executor kit: our executors pass it, and each broken one fails where it is broken.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod broken;
#[cfg(unix)]
mod process;

use std::sync::Arc;
use std::time::Duration;

use allm::DefaultExecutor;
use allm_conformance::executor::{self, Behaviour, ExecutorSubject, OfHandlers, Witness};
use allm_conformance::{CannotExpress, Report};
use allm_core::{BoxFuture, Tool, ToolExecutor};

/// What only a child process can do.
const OF_PROCESSES: [&str; 3] = ["exit", "killed_by_signal", "endless_reply"];

/// The handlers of the kit on an executor, on tokio's clock.
struct Paused(Arc<dyn ToolExecutor>);

impl Paused {
    async fn check(executor: impl ToolExecutor + 'static) -> Report {
        executor::check(&Self(Arc::new(executor))).await
    }
}

impl ExecutorSubject for Paused {
    fn tool(&self, behaviour: Behaviour, witness: Witness) -> Result<Tool, CannotExpress> {
        behaviour.in_process(witness)
    }

    fn executor(&self) -> Arc<dyn ToolExecutor> {
        Arc::clone(&self.0)
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

fn failed(report: &Report) -> Vec<&str> {
    report.failed().map(|check| check.name).collect()
}

/// L39 to L46 on a clock of the kit's own.
#[tokio::test]
async fn the_default_executor_passes() {
    let report = executor::check(&OfHandlers::new(DefaultExecutor::new())).await;
    report.assert_skipping_only(&OF_PROCESSES);
}

#[tokio::test(start_paused = true)]
async fn the_default_executor_passes_on_a_paused_clock() {
    let report = Paused::check(DefaultExecutor::new()).await;
    report.assert_skipping_only(&OF_PROCESSES);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_default_executor_passes_on_several_threads() {
    let report = executor::check(&OfHandlers::new(DefaultExecutor::new())).await;
    report.assert_skipping_only(&OF_PROCESSES);
}

/// A subject that cannot show anything does not pass.
#[tokio::test]
async fn nothing_to_look_at_is_no_pass() {
    struct Nothing;
    impl ExecutorSubject for Nothing {
        fn tool(&self, _: Behaviour, _: Witness) -> Result<Tool, CannotExpress> {
            Err(CannotExpress::because("there is nothing here"))
        }
        fn executor(&self) -> Arc<dyn ToolExecutor> {
            Arc::new(DefaultExecutor::new())
        }
    }
    let report = executor::check(&Nothing).await;
    assert_eq!(failed(&report), [""; 0]);
    assert_eq!(report.skipped().count(), report.checks().len());
    assert!(!report.is_passed());
}

/// Each rule is broken by some test.
#[tokio::test]
async fn no_rule_is_without_a_broken_executor() {
    let tests = concat!(include_str!("broken.rs"), include_str!("process.rs"));
    let report = executor::check(&OfHandlers::new(DefaultExecutor::new())).await;
    for check in report.checks() {
        assert!(tests.contains(&format!("\"{}\"", check.name)), "{check}");
    }
}

#[tokio::test]
async fn names_are_unique_and_every_behaviour_is_listed() {
    let report = executor::check(&OfHandlers::new(DefaultExecutor::new())).await;
    let mut names: Vec<_> = report.checks().iter().map(|check| check.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    let mut behaviours: Vec<_> = Behaviour::ALL.map(Behaviour::name).into();
    behaviours.dedup();
    assert_eq!(behaviours.len(), 22);
}
