//! Deaths at random.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::time::Duration;

use allm_durability::soak::{Soak, soak};

/// S81, S82, S90: nothing is lost, no history forks, every session ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_sessions_and_eight_programs_that_die_at_random() {
    let seconds = std::env::var("ALLM_SOAK_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(20);
    let plan = Soak {
        program: env!("CARGO_BIN_EXE_soak").into(),
        sessions: 500,
        workers: 8,
        time: Duration::from_secs(seconds),
        seed: 1,
    };
    let Some(verdict) = soak(&plan).await else {
        return;
    };
    println!("{verdict:#?}");
    assert!(verdict.is_clean(), "{verdict:#?}");
    assert_eq!(verdict.sessions, 500);
}
