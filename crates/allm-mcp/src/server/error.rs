//! Why tools are not served.

use std::error::Error as StdError;
use std::fmt;

use allm_core::{Error, ValidationReason};

/// Why tools are not served, or no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServeReason {
    /// A tool that cannot be: its name, its schema, no handler, two of one name.
    InvalidTool,
    /// A setting that cannot be.
    InvalidConfig,
    /// The address cannot be used.
    Address,
    /// What came first was not the beginning of MCP.
    Handshake,
    /// The connection broke.
    Connection,
}

/// Why tools are not served, or no longer.
#[derive(Debug)]
pub struct ServeError {
    reason: ServeReason,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ServeError {
    pub(super) fn new(reason: ServeReason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            source: None,
        }
    }

    pub(super) fn from(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Why.
    #[must_use]
    pub const fn reason(&self) -> ServeReason {
        self.reason
    }
}

/// What the runner finds wrong with tools and settings.
impl From<Error> for ServeError {
    fn from(error: Error) -> Self {
        let reason = match &error {
            Error::Validation(wrong) if wrong.reason == ValidationReason::InvalidTool => {
                ServeReason::InvalidTool
            }
            _ => ServeReason::InvalidConfig,
        };
        Self::new(reason, error.to_string()).from(error)
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for ServeError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}
