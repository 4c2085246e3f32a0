//! What large runs cost, in allocations and in bytes that stay: never in time, so that a busy machine changes nothing.
//!
//! One test, in a binary of its own: the allocator counts for all threads.

#![allow(clippy::expect_used, reason = "these are tests")]

#[path = "../benches/scale/work.rs"]
mod work;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use work::Cost;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// Twice the work is twice the cost: calls in one answer, turns in one run, chats at once.
#[test]
fn large_runs_cost_in_proportion() {
    proportional("calls in one answer", 1_000, work::calls);
    proportional("chats at once", 2_000, work::chats);
    proportional("turns in one run", 10_000, work::turns);
}

fn proportional(name: &str, whole: usize, work: fn(usize) -> Cost) {
    // What is made once for a process is made here.
    work(2);
    let (half, whole) = (work(whole / 2), work(whole));
    assert!(
        whole.allocations * 10 <= half.allocations * 23,
        "{name}: {half:?}, twice as much {whole:?}"
    );
    assert!(
        whole.live_bytes * 10 <= half.live_bytes * 23,
        "{name}: {half:?}, twice as much {whole:?}"
    );
}
