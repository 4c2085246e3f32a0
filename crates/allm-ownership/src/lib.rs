//! Tests only: see `tests/ownership`.
