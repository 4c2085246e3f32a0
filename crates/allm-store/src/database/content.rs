//! Content: in its row, or once by its hash when it is long.

use allm_core::Hash;
use bytes::Bytes;

use crate::rules::is_short;

/// Where content goes: the bytes themselves, or the hash under which they are kept.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    Row,
    Blob(Hash),
}

impl Place {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        if is_short(bytes) {
            Self::Row
        } else {
            Self::Blob(Hash::of_bytes(bytes))
        }
    }

    pub(crate) fn hash(&self) -> Option<&[u8]> {
        match self {
            Self::Row => None,
            Self::Blob(hash) => Some(hash.as_bytes()),
        }
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn row<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Row => Some(bytes),
            Self::Blob(_) => None,
        }
    }
}

/// The content of a row: its own bytes, or those under its hash. `None` when they are missing or altered.
pub(crate) fn put_back(
    bytes: Option<Vec<u8>>,
    hash: Option<Vec<u8>>,
    blob: Option<Vec<u8>>,
) -> Option<Bytes> {
    match (bytes, hash) {
        (Some(bytes), None) => Some(bytes.into()),
        (None, Some(hash)) => {
            let blob = blob?;
            (Hash::of_bytes(&blob).as_bytes().as_slice() == hash).then(|| blob.into())
        }
        _ => None,
    }
}

/// A hash as it was kept.
pub(crate) fn hash(bytes: &[u8]) -> Option<Hash> {
    bytes.try_into().ok().map(Hash::from_bytes)
}
