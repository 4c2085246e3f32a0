//! What the tests of validation share.

use allm_core::ValidationError;

/// The reason and every fault, as they are shown; nothing when all is well.
pub(crate) fn told(result: Result<(), ValidationError>) -> Vec<String> {
    match result {
        Ok(()) => Vec::new(),
        Err(error) => {
            let faults = error.faults.iter().map(ToString::to_string);
            std::iter::once(error.reason.to_string())
                .chain(faults)
                .collect()
        }
    }
}
