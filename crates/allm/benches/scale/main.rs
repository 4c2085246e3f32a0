//! What large runs cost: `cargo bench -p allm` prints a table. Without `--bench`, as test runners start it, the runs are
//! small and nothing is measured with care.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a table is what this program is for"
)]

mod work;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use work::Cost;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// A piece of work, how much of it there is, and how it is done.
type Row = (&'static str, usize, fn(usize) -> Cost);

const ROWS: [Row; 3] = [
    ("calls in one answer", 1_000, work::calls),
    ("turns in one run", 10_000, work::turns),
    ("chats at once", 2_000, work::chats),
];

fn main() {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    if has("--list") {
        // The protocol of test runners: one name, and nothing that is ignored.
        if !has("--ignored") {
            println!("scale: test");
        }
        return;
    }
    for (name, full, work) in ROWS {
        let whole = if has("--bench") { full } else { 20 };
        for count in [whole / 2, whole] {
            let cost = work(count);
            println!(
                "{count:>6} {name:<22} {:>10.1?} {:>10} allocations {:>12} bytes kept",
                cost.time, cost.allocations, cost.live_bytes
            );
        }
    }
}
