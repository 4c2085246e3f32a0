//! Providers: who answers.

#[cfg(feature = "http")]
pub(crate) mod connection;
pub(crate) mod fake;
#[cfg(feature = "http")]
pub(crate) mod translate;
