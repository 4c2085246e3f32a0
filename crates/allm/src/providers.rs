//! Providers: who answers.

#[cfg(feature = "anthropic")]
pub(crate) mod anthropic;
#[cfg(feature = "openai")]
pub(crate) mod compat;
#[cfg(feature = "http")]
pub(crate) mod connection;
pub(crate) mod fake;
#[cfg(feature = "gemini")]
pub(crate) mod gemini;
#[cfg(feature = "openai")]
pub(crate) mod openai;
#[cfg(feature = "http")]
pub(crate) mod translate;
