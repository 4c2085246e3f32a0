//! The behaviours of the contract's section on JSON.

mod canonical;
mod documents;
mod plain;
mod properties;
mod raw;
mod samples;
mod sorted;
mod tagged;
mod text;
mod values;
mod write;

use crate::error::{JsonError, JsonReason};

/// Reason and path of an error, which are what a caller acts on.
fn place<T>(result: Result<T, JsonError>) -> (JsonReason, String) {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(error) => (error.reason, error.path.to_string()),
    }
}

fn at(reason: JsonReason, path: &str) -> (JsonReason, String) {
    (reason, path.to_owned())
}
