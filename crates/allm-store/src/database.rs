//! What the stores in databases share.

pub(crate) mod content;
pub(crate) mod fault;
pub(crate) mod schema;
pub(crate) mod tags;

/// A count as databases keep it. None comes near the limit, so what is beyond it equals nothing that is stored.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count as it was kept.
pub(crate) fn count(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or_default()
}
