//! The key by which the far side of a tool recognises a call that is made again.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::data::{Map, hex};
use crate::json::canonical_value;

/// What every key begins with.
const PREFIX: &str = "allm1-";

/// The idempotency key of a call: equal on every repetition of it, on every platform.
///
/// `owner` is the 16 bytes of the session's uid; in a call without a session, the bytes of the request id. `turn` and
/// `index` are the call's place in the run, and `arguments` are those that the handler gets. Provider ids, attempts
/// and the time have no part in it.
///
/// ```
/// use allm_core::{Map, idempotency_key};
///
/// let key = idempotency_key(&[0; 16], 0, 0, "charge", &Map::new());
/// assert!(key.starts_with("allm1-"));
/// ```
#[must_use]
pub fn idempotency_key(
    owner: &[u8],
    turn: u32,
    index: u32,
    tool_name: &str,
    arguments: &Map,
) -> String {
    let arguments = canonical_value(&Value::Object(arguments.clone()));
    let fields: [&[u8]; 6] = [
        b"allm-effect-1",
        owner,
        &turn.to_be_bytes(),
        &index.to_be_bytes(),
        tool_name.as_bytes(),
        &arguments,
    ];
    let mut hash = Sha256::new();
    for field in fields {
        // With the length before it no field can be mistaken for the end of the one before.
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    let mut key = String::with_capacity(PREFIX.len() + 64);
    key.push_str(PREFIX);
    hex::push(&mut key, &hash.finalize());
    key
}
