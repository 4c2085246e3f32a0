//! Holding a session while it is driven.

use std::sync::Arc;
use std::time::Duration;

use allm_core::{CancelToken, Lease, SessionId, SessionStore, StoreReason};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

/// How often a driver looks for what others appended, whatever a store hints.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A lease that is kept alive until it is given back.
pub(crate) struct HeldLease {
    lease: Lease,
    store: Arc<dyn SessionStore>,
    tasks: [AbortHandle; 2],
}

impl HeldLease {
    /// Keeps a lease alive, and pokes the driver when others may have appended something. `lost` fires when it cannot be
    /// kept.
    pub(crate) fn keep(
        lease: Lease,
        ttl: Duration,
        store: &Arc<dyn SessionStore>,
        lost: CancelToken,
        pokes: mpsc::Sender<()>,
    ) -> Self {
        let renewing = renew(lease.clone(), ttl, Arc::clone(store), lost);
        let looking = look(lease.id.clone(), Arc::clone(store), pokes);
        Self {
            tasks: [
                tokio::spawn(renewing).abort_handle(),
                tokio::spawn(looking).abort_handle(),
            ],
            lease,
            store: Arc::clone(store),
        }
    }

    /// Gives it back. A store that does not answer lets it run out instead.
    pub(crate) async fn release(self) {
        let (store, lease) = (Arc::clone(&self.store), self.lease.clone());
        drop(self);
        let _ = store.release(lease).await;
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn renew(lease: Lease, ttl: Duration, store: Arc<dyn SessionStore>, lost: CancelToken) {
    let every = ttl / 3;
    let mut renewed = Instant::now();
    loop {
        sleep(every).await;
        // By the steady clock of this machine: a store that hangs must not keep a driver going.
        let left = ttl.saturating_sub(renewed.elapsed());
        let asked = Instant::now();
        match tokio::time::timeout(left, store.renew(&lease)).await {
            Ok(Ok(_)) => renewed = asked,
            Ok(Err(error)) if matches!(error.reason, StoreReason::Fenced | StoreReason::Gone) => {
                return lost.cancel();
            }
            Ok(Err(_)) | Err(_) => {}
        }
        if renewed.elapsed() >= ttl {
            return lost.cancel();
        }
    }
}

async fn look(id: SessionId, store: Arc<dyn SessionStore>, pokes: mpsc::Sender<()>) {
    loop {
        let _ = tokio::time::timeout(LOOK_EVERY, store.changed(&id)).await;
        if pokes.send(()).await.is_err() {
            return;
        }
    }
}
