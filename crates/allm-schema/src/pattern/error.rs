//! What is wrong with a pattern.

use std::fmt;

/// Why a text is not a pattern, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError {
    message: &'static str,
    /// Where in the pattern the trouble begins, in bytes.
    offset: usize,
}

impl PatternError {
    pub(super) fn new(message: &'static str, offset: usize) -> Self {
        Self { message, offset }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at {}", self.message, self.offset)
    }
}

impl std::error::Error for PatternError {}
