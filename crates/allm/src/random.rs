//! The one place that asks for randomness.

use allm_core::RequestId;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A new request id: 22 URL-safe characters from 16 random bytes.
pub(crate) fn request_id() -> RequestId {
    RequestId::from(URL_SAFE_NO_PAD.encode(bytes()))
}

/// A number in `[0, 1)`.
pub(crate) fn fraction() -> f64 {
    let [a, b, c, d, ..] = bytes();
    f64::from(u32::from_le_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0)
}

/// Where the system has no randomness to give, the time and a counter have to do: ids stay different.
pub(crate) fn bytes() -> [u8; 16] {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        let half = || RandomState::new().build_hasher().finish();
        let (low, high) = bytes.split_at_mut(8);
        low.copy_from_slice(&half().to_le_bytes());
        high.copy_from_slice(&half().to_le_bytes());
    }
    bytes
}
