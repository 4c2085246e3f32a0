//! What can go wrong with a model's file.

use std::error::Error as StdError;
use std::fmt;
use std::path::Path;

/// What kind of thing went wrong with a model's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// There is no such model, file or address.
    NotFound,
    /// The name or address cannot be one.
    InvalidName,
    /// What was given as a checksum cannot be one.
    InvalidChecksum,
    /// The file is damaged, or no GGUF file.
    Damaged,
    /// The file is whole, but of a kind that is not understood here.
    Unsupported,
    /// The bytes are not those that were expected.
    WrongChecksum,
    /// The disk has no room for it.
    NoSpace,
    /// The folder cannot be written to.
    NotWritable,
    /// The network, or the server at its other end, failed.
    Network,
    /// Somebody else is obtaining the same model.
    Busy,
    /// Reading or writing failed otherwise.
    Io,
}

/// What went wrong with a model's file, where, and what to do.
#[derive(Debug)]
pub struct ModelError {
    kind: ModelErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ModelError {
    pub(crate) fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same error with the file that it is about, and what to do.
    pub(crate) fn about(self, file: &Path) -> Self {
        let shown = file.display();
        let message = match self.kind {
            ModelErrorKind::Damaged => format!(
                "{shown} cannot be used as a model: {self}; obtain it again, with `allm models pull` or models::pull"
            ),
            ModelErrorKind::Unsupported => format!("{shown} cannot be run here: {self}"),
            // These name their file themselves.
            _ => return self,
        };
        Self {
            message,
            source: None,
            ..self
        }
    }

    /// What kind of thing went wrong.
    #[must_use]
    pub const fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// Whether the same may succeed later without anybody doing anything.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self.kind, ModelErrorKind::Network | ModelErrorKind::Busy)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl StdError for ModelError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.source {
            Some(source) => Some(&**source),
            None => None,
        }
    }
}
