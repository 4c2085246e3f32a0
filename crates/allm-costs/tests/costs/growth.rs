//! What a unit of work costs does not grow with how much work there is: instructions, counted with three sizes.

use allm_costs::wire::Wire;

use crate::{server, valgrind};

/// A unit among many may cost this many times as much as one among a quarter as many. Hash tables and texts grow by
/// doubling, so that the costs of two sizes are never quite the same; what grows with the size comes to 2.
const LIMIT: f64 = 1.3;

/// What a unit costs between two sizes, in instructions: the start of the program is in neither.
#[derive(Clone, Copy, Debug)]
struct Growth {
    /// From the size to twice as much.
    early: f64,
    /// From twice to four times as much.
    late: f64,
}

impl Growth {
    /// `None` where instructions cannot be counted.
    fn of(work: &str, size: usize) -> Option<Self> {
        if !valgrind::is_there() {
            return None;
        }
        let url = server::start();
        let [one, two, four] =
            [1, 2, 4].map(|times| valgrind::instructions(work, &url, times * size) as f64);
        let units = size as f64;
        let growth = Self {
            early: (two - one) / units,
            late: (four - two) / (2.0 * units),
        };
        println!("{work}: {growth:.0?}");
        Some(growth)
    }

    fn is_level(self) -> bool {
        self.late <= LIMIT * self.early
    }
}

fn assert_level(work: &str, size: usize) {
    let growth = Growth::of(work, size);
    assert!(growth.is_none_or(Growth::is_level), "{work}: {growth:?}");
}

#[test]
fn a_text_delta() {
    for wire in Wire::ALL {
        assert_level(&format!("text:{wire}"), 250);
    }
}

#[test]
fn a_fragment_of_arguments() {
    for wire in Wire::ALL {
        assert_level(&format!("arguments:{wire}"), 250);
    }
}

#[test]
fn a_message_of_a_request() {
    assert_level("thread", 100);
}

#[test]
fn a_request() {
    assert_level("requests", 5);
}

#[test]
fn a_turn_of_a_stored_run() {
    assert_level("journal", 20);
}

#[test]
fn a_turn_with_the_scripted_provider() {
    assert_level("scripted-turns", 20);
}

/// How many times what copying a body costs a turn may cost because of it. Copying is a call and a few instructions for
/// each message. A client has to find the bytes of each message, sum up their lengths, and pass them through the buffers of
/// the connection; one that writes or checks old messages anew takes a hundred times as much.
const COPIES: f64 = 10.0;

/// The body of a turn has all messages before it, so that no turn can cost what an earlier one cost. What is left without
/// the copying of those messages must not grow.
#[test]
fn a_turn_that_sends_what_was_said_before() {
    assert_level_without("turns", COPIES, "copied", 20);
}

/// How many times what writing the thread once costs a stored reply may cost because of its length: its snapshot is written,
/// hashed and kept.
const SNAPSHOTS: f64 = 2.0;

/// A reply leaves a snapshot with all messages before it (S195). What is left without it must not grow.
#[test]
fn a_reply_of_a_stored_session() {
    assert_level_without("replies", SNAPSHOTS, "written", 40);
}

/// What a unit costs beyond what has to grow, which is measured by itself.
fn assert_level_without(work: &str, times: f64, growing: &str, size: usize) {
    let (Some(whole), Some(part)) = (Growth::of(work, size), Growth::of(growing, size)) else {
        return;
    };
    let left = Growth {
        early: whole.early - times * part.early,
        late: whole.late - times * part.late,
    };
    assert!(left.early > 0.0, "{growing} is no part of {work}");
    assert!(
        left.is_level(),
        "{work}: {whole:?}, without {growing} {left:?}"
    );
}
