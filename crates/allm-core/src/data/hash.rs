//! SHA-256 hashes.

use sha2::{Digest, Sha256};

use super::hex::hex_text;

/// A SHA-256 hash, written `sha256:` and 64 lower-case hex digits.
///
/// ```
/// use allm_core::Hash;
///
/// let hash = Hash::of_bytes(b"abc");
/// assert_eq!(
///     hash.to_string(),
///     "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
/// );
/// assert_eq!(hash.to_string().parse(), Ok(hash));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash([u8; 32]);

hex_text!(Hash, "sha256:");

impl Hash {
    /// All zeros: what the first link of a chain follows.
    pub const ZERO: Self = Self([0; 32]);

    /// The hash with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The next link of a chain: the hash of the 32 bytes of `previous` followed by `bytes`.
    #[must_use]
    pub fn of(previous: &Self, bytes: &[u8]) -> Self {
        let hasher = Sha256::new().chain_update(previous.0).chain_update(bytes);
        Self(hasher.finalize().into())
    }

    /// The hash of bytes that stand alone.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}
