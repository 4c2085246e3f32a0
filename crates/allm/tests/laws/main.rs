//! The laws of the runtime, held against generated runs: awaited is the fold of streamed, every call has one outcome,
//! and a dropped run leaves nothing behind.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod case;
mod check;
mod dropping;
mod equal;
mod settings;
mod tools;

use std::future::Future;
use std::sync::Once;

/// What handlers and closures say when they panic because a case wants them to.
const ON_PURPOSE: &str = "on purpose";

/// Runs one case on a clock of its own that stands still while there is work.
fn on_paused_time<T>(case: impl Future<Output = T>) -> T {
    quiet();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(case)
}

/// Thousands of panics are part of these tests; only others are shown.
fn quiet() {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload_as_str() != Some(ON_PURPOSE) {
                shown(panic);
            }
        }));
    });
}
