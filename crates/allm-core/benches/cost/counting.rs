//! Allocations and time of a piece of work.
//!
//! The binary that uses this has to set `stats_alloc`'s allocator as its own.

use std::hint::black_box;
use std::time::{Duration, Instant};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region};

/// What a piece of work cost. A reallocation counts as an allocation, its growth as bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) time: Duration,
    pub(crate) allocations: usize,
    pub(crate) bytes: usize,
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), |sum, cost| Self {
            time: sum.time + cost.time,
            allocations: sum.allocations + cost.allocations,
            bytes: sum.bytes + cost.bytes,
        })
    }
}

/// Does the work and counts. What the work gives is not dropped inside the measurement.
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let region = Region::new(&INSTRUMENTED_SYSTEM);
    let start = Instant::now();
    let value = black_box(work());
    let time = start.elapsed();
    let change = region.change();
    let cost = Cost {
        time,
        allocations: change.allocations + change.reallocations,
        bytes: change.bytes_allocated,
    };
    (value, cost)
}
