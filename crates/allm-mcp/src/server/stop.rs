//! Stopping a service.

use std::time::Duration;

use allm_core::CancelToken;

/// How long calls that run may take to end when the service stops.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// The two steps in which a service stops.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    /// No more calls are taken.
    pub(super) stopping: CancelToken,
    /// Calls that still run are stopped.
    pub(super) ended: CancelToken,
}

impl Stop {
    pub(super) fn new(stopping: CancelToken) -> Self {
        Self {
            stopping,
            ended: CancelToken::new(),
        }
    }
}
