//! What is wrong with a cassette.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a cassette cannot be used or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CassetteReason {
    /// There is no such file.
    NotFound,
    /// The file cannot be read.
    Unreadable,
    /// The file is no JSON, or not that of a cassette.
    Malformed,
    /// The file is of a version that this library does not know.
    UnsupportedVersion,
    /// Something in the file contradicts itself.
    Invalid,
    /// The recording holds the key that it was made with. Nothing was written.
    HoldsKey,
    /// Nothing was recorded, so nothing was written.
    Empty,
    /// Nobody said what the file is called.
    NoName,
    /// The file cannot be written.
    Unwritable,
}

/// A cassette that cannot be used or written: which file, where in it, and why.
#[derive(Debug)]
pub struct CassetteError {
    reason: CassetteReason,
    file: PathBuf,
    message: String,
    source: Option<io::Error>,
}

impl CassetteError {
    pub(super) fn new(reason: CassetteReason, file: &Path, message: impl Into<String>) -> Self {
        Self {
            reason,
            file: file.to_owned(),
            message: message.into(),
            source: None,
        }
    }

    pub(super) fn from_io(
        reason: CassetteReason,
        file: &Path,
        message: &str,
        source: io::Error,
    ) -> Self {
        Self {
            source: Some(source),
            ..Self::new(reason, file, message)
        }
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> CassetteReason {
        self.reason
    }

    /// The file; the folder where it would be, when it has no name.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl fmt::Display for CassetteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.message)
    }
}

impl StdError for CassetteError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}
