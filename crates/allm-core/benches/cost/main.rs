//! What the data, the fold and the run machine cost: time, allocations and allocated bytes.
//!
//! `cargo bench -p allm-core` runs everything and takes well under a minute; `cargo bench -p allm-core -- fold` runs
//! the groups with that word in their name. Without `--bench`, as test runners start it, each piece of work is done
//! once on a small input and nothing is measured with care.
//!
//! Time is the median of several repetitions and still moves with the machine; allocations do not.

#![expect(clippy::print_stdout, reason = "a table is what this program is for")]
#![expect(clippy::expect_used, reason = "a bench that cannot go on has to stop")]

mod counting;
mod fold;
mod json;
mod run;
mod script;
mod table;
mod thread;

use std::env;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use table::{Size, Table};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// One group of measurements.
type Group = (&'static str, fn(&mut Table));

const GROUPS: [Group; 4] = [
    ("fold", fold::measure),
    ("run", run::measure),
    ("thread", thread::measure),
    ("json", json::measure),
];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--list") {
        // The protocol of test runners: one name, and nothing that is ignored.
        if !has("--ignored") {
            println!("cost: test");
        }
        return;
    }
    let full = has("--bench");
    let size = if full { Size::Full } else { Size::Smoke };
    let words: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| full && !argument.starts_with('-'))
        .collect();
    let mut table = Table::new(size);
    for (name, group) in GROUPS {
        if words.is_empty() || words.iter().any(|word| name.contains(word)) {
            group(&mut table);
        }
    }
    table.print();
}
