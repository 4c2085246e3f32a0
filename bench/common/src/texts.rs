//! What clients send: the same from all of them.

/// What is asked in every run.
pub const PROMPT: &str = "Please do what you were made for.";

/// How many deltas each stream of S5 has.
pub const DELTAS_OF_A_STREAM: usize = 40;

/// More turns than any run has.
pub const MAX_TURNS: usize = 1_000_000;

/// A message of the long thread of S3: about 200 bytes, with what has to be escaped in JSON. Even ones are the user's.
#[must_use]
pub fn message(index: usize) -> String {
    format!(
        "Message {index} of the thread.\nIt says \"yes\" to what was asked before, and goes on for a while, \
         because people and models do: a sentence, another sentence, and then one more to bring it to its end."
    )
}

/// What `lookup` answers: about 200 bytes of plain text.
#[must_use]
pub fn looked_up(key: &str) -> String {
    format!(
        "What is known of {}: it was seen first in the spring, near the river, by three people who did not know each \
         other, and again in the autumn of the same year by one of them.",
        &key[..key.len().min(16)]
    )
}
