//! The store kit: a store in memory passes it, and each broken one fails where it is broken.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod driving;
mod ending;
mod faulty;
mod memory;
mod reading;
mod world;
mod writing;

use std::sync::Arc;
use std::time::Duration;

use allm_conformance::Report;
use allm_conformance::store::{self, Fresh, StoreSubject};
use allm_core::BoxFuture;

use memory::MemoryStore;

fn failed(report: &Report) -> Vec<&str> {
    report.failed().map(|check| check.name).collect()
}

fn fresh() -> Fresh {
    let memory = MemoryStore::default();
    let (store, again) = (Arc::clone(&memory.store), Arc::clone(&memory.store));
    Fresh::new(store)
        .advance(move |time| memory.pass(time))
        .reopen(move || std::future::ready(Arc::clone(&again)))
}

/// S56, S107, S108, S110 to S116, S122, S124 to S126, S132, S169, S170, S172: what a store does for them.
#[tokio::test]
async fn the_store_in_memory_passes() {
    let report = store::check(&|| std::future::ready(fresh())).await;
    report.assert_skipping_only(&[]);
}

/// Each rule is broken by some test.
#[tokio::test]
async fn no_rule_is_without_a_broken_store() {
    let tests = concat!(
        include_str!("driving.rs"),
        include_str!("ending.rs"),
        include_str!("reading.rs"),
        include_str!("world.rs"),
        include_str!("writing.rs"),
    );
    let report = store::check(&|| std::future::ready(fresh())).await;
    for check in report.checks() {
        assert!(tests.contains(&format!("\"{}\"", check.name)), "{check}");
    }
}

#[tokio::test]
async fn names_are_unique() {
    let report = store::check(&|| std::future::ready(fresh())).await;
    let mut names: Vec<_> = report.checks().iter().map(|check| check.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// A store with a clock of its own that runs, and without a second connection: what cannot be looked at is skipped, and
/// leases are waited for.
#[tokio::test]
async fn a_store_that_gives_no_more_than_itself_passes() {
    let fresh = || {
        let memory = Arc::new(MemoryStore::default());
        let clock = Arc::clone(&memory);
        let ticking = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                clock.pass(Duration::from_millis(1));
            }
        });
        std::future::ready(Fresh::new(Arc::clone(&memory.store)).keep(Stopped(ticking)))
    };
    let report = store::check(&fresh).await;
    report.assert_skipping_only(&[
        "lease_lasts",
        "fences_grow_after_a_restart",
        "gone_for_thirty_days",
        "kept",
        "seen_elsewhere",
        "raced_elsewhere",
        "survives_a_restart",
    ]);
}

/// Stops its task when it is dropped.
struct Stopped(tokio::task::JoinHandle<()>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Work at once on several threads.
struct Threads;

impl StoreSubject for Threads {
    fn fresh(&self) -> BoxFuture<'_, Fresh> {
        Box::pin(std::future::ready(fresh()))
    }

    fn together(&self, work: Vec<BoxFuture<'static, ()>>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let tasks: Vec<_> = work.into_iter().map(tokio::spawn).collect();
            for task in tasks {
                task.await.unwrap();
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_store_in_memory_passes_on_several_threads() {
    store::check(&Threads).await.assert_skipping_only(&[]);
}

/// A factory that fails, and a store that never answers: findings, and not a test that hangs.
#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_had_fails_every_rule() {
    struct None;
    impl StoreSubject for None {
        fn fresh(&self) -> BoxFuture<'_, Fresh> {
            panic!("no database")
        }
    }
    struct Silent;
    impl StoreSubject for Silent {
        fn fresh(&self) -> BoxFuture<'_, Fresh> {
            Box::pin(std::future::pending())
        }
        fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
            Box::pin(tokio::time::sleep(duration))
        }
    }
    for (report, text) in [
        (store::check(&None).await, "no database"),
        (store::check(&Silent).await, "nothing came in time"),
    ] {
        assert_eq!(report.failed().count(), report.checks().len());
        assert!(report.to_string().contains(text), "{report}");
    }
}
