//! Hashes as text.

use sha2::{Digest as _, Sha256};

/// The first `digits` hex digits of the SHA-256 of these bytes.
#[must_use]
pub fn sha256(bytes: &[u8], digits: usize) -> String {
    let mut text: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    text.truncate(digits);
    text
}
