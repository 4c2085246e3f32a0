//! Ctrl-C: the first cancels the run, which ends in order; the second does not wait for that.

use std::sync::Arc;

use allm::CancelToken;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::problem::Problem;

/// What was heard of signals.
pub(super) struct Signals {
    cancel: CancelToken,
    heard: Arc<watch::Sender<u32>>,
}

impl Signals {
    /// Listens from now on.
    pub(super) fn listen() -> Result<Self, Problem> {
        let failed = |error| Problem::failed(format!("signals cannot be listened to: {error}"));
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let signals = Self {
            cancel: CancelToken::new(),
            heard: Arc::new(watch::Sender::new(0)),
        };
        let (cancel, heard) = (signals.cancel.clone(), Arc::clone(&signals.heard));
        tokio::spawn(async move {
            loop {
                let came = tokio::select! {
                    came = interrupt.recv() => came,
                    came = terminate.recv() => came,
                };
                if came.is_none() {
                    return;
                }
                heard.send_modify(|heard| *heard += 1);
                cancel.cancel();
            }
        });
        Ok(signals)
    }

    /// Fires at the first signal.
    pub(super) fn cancel(&self) -> CancelToken {
        self.cancel.clone()
    }

    pub(super) fn was_heard(&self) -> bool {
        *self.heard.borrow() > 0
    }

    /// Comes at the second signal.
    pub(super) async fn twice(&self) {
        let mut heard = self.heard.subscribe();
        if heard.wait_for(|heard| *heard > 1).await.is_err() {
            // Nobody listens any more, so nothing can come.
            std::future::pending().await
        }
    }
}
