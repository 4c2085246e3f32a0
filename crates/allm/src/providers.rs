//! Providers: who answers.

pub(crate) mod fake;
