//! What a client prints.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use stats_alloc::Stats;

/// What was read, so that nobody can leave the work out: it must be the same for all libraries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Bytes of visible text.
    pub text_bytes: u64,
    /// Bytes of the texts in the arguments of calls, or the sum of the numbers in them.
    pub arguments: u64,
    /// Calls that were made.
    pub calls: u64,
}

impl Checked {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            text_bytes: self.text_bytes + other.text_bytes,
            arguments: self.arguments + other.arguments,
            calls: self.calls + other.calls,
        }
    }
}

/// When the first piece of text came, since 1970.
static FIRST: OnceLock<Duration> = OnceLock::new();

/// Notes when the first piece of text came. Called at every piece by whoever wants to; the first counts.
pub fn first_token() {
    FIRST.get_or_init(now);
}

fn now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// Prints one line of JSON.
pub(crate) fn print(checked: &Checked, stats: &Stats) {
    println!(
        "{{\"text_bytes\":{},\"arguments\":{},\"calls\":{},\"allocations\":{},\"allocated_bytes\":{},\"peak_memory\":{},\"first_token\":{:.6}}}",
        checked.text_bytes,
        checked.arguments,
        checked.calls,
        stats.allocations + stats.reallocations,
        stats.bytes_allocated,
        peak_memory(),
        FIRST.get().copied().unwrap_or_default().as_secs_f64(),
    );
}

/// The most that was resident, in bytes. What the system tells whoever waits for the process includes the parent.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|text| text.parse().ok()).unwrap_or(0) * 1024
}
