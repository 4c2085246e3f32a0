//! What every client of the benchmark shares: the plan that it is given, the runtime, the allocator that counts, the
//! texts that it sends, and the line that it prints.
//!
//! A client is one process with one library that does one piece of work:
//!
//! ```sh
//! bench-allm text chat http://127.0.0.1:4000 100000
//! ```

#[cfg(feature = "by-hand")]
pub mod by_hand;
#[cfg(feature = "peer")]
pub mod peer;
mod plan;
mod repeat;
mod report;
mod texts;
#[cfg(feature = "tools")]
pub mod tools;

use std::alloc::System;
use std::future::Future;

pub use plan::{Plan, Scenario, Wire};
pub use repeat::{at_once, in_turn};
pub use report::{Checked, first_token};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
pub use texts::{DELTAS_OF_A_STREAM, MAX_TURNS, PROMPT, looked_up, message};

/// Counts in every client alike.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Reads the plan, does the work on a runtime of one thread, and prints what was counted.
///
/// # Errors
///
/// When the plan cannot be read, or the work fails.
pub fn run<F, W>(work: W) -> anyhow::Result<()>
where
    W: FnOnce(Plan) -> F,
    F: Future<Output = anyhow::Result<Checked>>,
{
    let plan = Plan::from_arguments()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let checked = runtime.block_on(work(plan))?;
    report::print(&checked, &ALLOCATOR.stats());
    Ok(())
}

/// How many bytes are allocated now.
#[must_use]
pub fn held_bytes() -> i64 {
    let stats = ALLOCATOR.stats();
    let bytes = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    bytes(stats.bytes_allocated) - bytes(stats.bytes_deallocated)
}
