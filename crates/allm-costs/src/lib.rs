//! What allm costs, in numbers that a busy machine does not change: allocations and instructions, never time.
//!
//! The work that is measured is here, as a user of the library would write it; `tests` counts. `bench` measures the same
//! library beside others, and takes an hour for it.

pub mod wire;
pub mod work;

/// Why work was not done.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
