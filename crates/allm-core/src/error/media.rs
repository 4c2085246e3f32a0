//! What can be wrong with the source of an image or a file.

use std::fmt;

/// Why the bytes of a source are not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceError {
    /// They are elsewhere.
    Remote,
    /// The text is not base64 of the standard padded alphabet.
    InvalidBase64,
    /// A data URI needs a MIME type.
    MissingMimeType,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Remote => "the bytes are at a URL or with a provider, not here",
            Self::InvalidBase64 => "the text is not base64 of the standard padded alphabet",
            Self::MissingMimeType => "the MIME type is not known",
        })
    }
}

impl std::error::Error for SourceError {}

/// Why a text is not a data URI that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataUriError {
    /// It does not begin with `data:`.
    NotADataUri,
    /// It has no `;base64,`.
    NotBase64Encoded,
    /// It names no MIME type.
    MissingMimeType,
}

impl DataUriError {
    /// The stable snake_case code.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotADataUri => "not_a_data_uri",
            Self::NotBase64Encoded => "not_base64_encoded",
            Self::MissingMimeType => "missing_mime_type",
        }
    }
}

impl fmt::Display for DataUriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: expected `data:<mime>;base64,<payload>`",
            self.as_str()
        )
    }
}

impl std::error::Error for DataUriError {}
