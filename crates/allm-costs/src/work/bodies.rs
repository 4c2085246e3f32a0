//! What sending a history costs at the least: each body copied once, from pieces that are known.

use std::hint::black_box;

/// What a tool tells the model in every turn.
pub(super) const TOLD: &str = "It was seen first in the spring, near the river, by three people who did not know each \
    other, and again in the autumn of the same year by one of them, who told it to nobody for a long time.";

/// The bodies of a run of so many turns, one after the other: all messages, copied. A turn adds a call, as long as the
/// wire writes it, and a result.
#[must_use]
pub fn copied(count: usize) -> usize {
    let call = "c".repeat(270);
    let result = format!(
        r#"{{"role":"tool","tool_call_id":"call_0123456789abcdef000000","content":"{TOLD}"}},"#
    );
    let mut pieces: Vec<&[u8]> = vec![b"Go on."];
    let mut bytes = 0;
    for _ in 0..count {
        let mut body = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
        for piece in &pieces {
            body.extend_from_slice(piece);
        }
        bytes += black_box(body).len();
        pieces.push(call.as_bytes());
        pieces.push(result.as_bytes());
    }
    bytes
}
