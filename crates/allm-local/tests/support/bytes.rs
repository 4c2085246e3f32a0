//! What is obtained.

use sha2::{Digest as _, Sha256};

/// Something that begins like a model.
pub fn model() -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(
        (0..200_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()),
    );
    bytes
}

/// The checksum of these bytes.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
