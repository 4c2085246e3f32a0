//! Names in the `_meta` of requests that are ours.

/// The idempotency key of a call: the same on every repetition of it.
pub(crate) const IDEMPOTENCY_KEY: &str = "allm/idempotency-key";
