//! Every order in which the gates can be opened.

use std::collections::HashSet;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::gates::Gates;

/// One way through the choices: which was taken, out of how many.
#[derive(Default)]
pub(crate) struct Way {
    choices: Vec<(usize, usize)>,
    /// How many of the choices are given.
    given: usize,
    seen: HashSet<String>,
    /// How many places were met, and how many ways were gone to their end.
    pub(crate) ended: usize,
}

/// How a way came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    ToItsEnd,
    /// The rest is known from another way.
    Known,
}

/// How long it may take, in seconds of the paused clock, until somebody comes to a gate.
const PATIENCE: u32 = 600;

impl Way {
    /// Goes one way, until the tasks have ended.
    pub(crate) async fn go(&mut self, gates: &Gates, tasks: &[JoinHandle<()>]) -> Gone {
        let mut at = 0;
        loop {
            // The paused clock moves only when nobody has anything else to do.
            sleep(Duration::from_millis(1)).await;
            let mut waiting = gates.waiting();
            let mut waited = 0;
            while waiting.is_empty() {
                if tasks.iter().all(JoinHandle::is_finished) {
                    self.ended += 1;
                    return Gone::ToItsEnd;
                }
                assert!(waited < PATIENCE, "nobody does anything: {}", gates.heard());
                waited += 1;
                gates.flow(true);
                sleep(Duration::from_secs(1)).await;
                gates.flow(false);
                waiting = gates.waiting();
            }
            if at >= self.given {
                // Who knows the same will do the same.
                if !self.seen.insert(gates.heard()) {
                    return Gone::Known;
                }
                self.choices.push((0, waiting.len()));
            }
            let (taken, of) = self.choices[at];
            assert_eq!(of, waiting.len(), "not the same as before: {waiting:?}");
            gates.open(&waiting[taken]);
            at += 1;
        }
    }

    /// Turns to the next way; false when all were gone.
    pub(crate) fn turn(&mut self) -> bool {
        while let Some((taken, of)) = self.choices.pop() {
            if taken + 1 < of {
                self.choices.push((taken + 1, of));
                self.given = self.choices.len();
                return true;
            }
        }
        false
    }

    pub(crate) fn places(&self) -> usize {
        self.seen.len()
    }
}

/// A runtime of one thread whose clock is paused.
pub(crate) fn paused() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true);
    runtime.build().expect("a runtime")
}
