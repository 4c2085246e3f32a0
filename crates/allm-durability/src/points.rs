//! Where a program dies.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Signal, getpid, kill_process};

/// The positions that a program passes, each with a name of its own. At one of them it dies.
///
/// Names, not numbers: what runs side by side passes in another order each time.
#[derive(Debug, Default)]
pub struct Points {
    kill_at: Option<String>,
    passed: Mutex<Passed>,
}

#[derive(Debug, Default)]
struct Passed {
    counts: BTreeMap<String, u32>,
    names: Vec<String>,
}

impl Points {
    /// Points of which this one kills.
    #[must_use]
    pub fn new(kill_at: Option<String>) -> Self {
        Self {
            kill_at,
            passed: Mutex::default(),
        }
    }

    /// Passes a position, or dies there: by signal 9, so that nothing is tidied up.
    pub fn pass(&self, name: &str) {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let count = passed.counts.entry(name.to_owned()).or_default();
        *count += 1;
        let name = match *count {
            1 => name.to_owned(),
            count => format!("{name} #{count}"),
        };
        if self.kill_at.as_ref() == Some(&name) {
            die();
        }
        passed.names.push(name);
    }

    /// Passes a position that is another one's, by its number; it is not told.
    pub fn count(&self, name: &str) {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let count = passed.counts.entry(name.to_owned()).or_default();
        *count += 1;
        if self.kill_at == Some(format!("{name} {count}")) {
            die();
        }
    }

    /// What was passed so far, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        passed.names.clone()
    }
}

/// Dies by signal 9.
pub fn die() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    loop {
        std::thread::park();
    }
}
