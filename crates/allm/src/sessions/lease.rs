//! Holding a session while it is driven.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use allm_core::{Lease, SessionId, SessionStore, StoreReason, Timestamp};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use super::store_clock::StoreClock;

/// How often a driver looks for what others appended, whatever a store hints.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How a lease stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is ours.
    Held,
    /// It was not renewed in time, by the steady clock of this machine. Somebody may take over.
    RunOut,
    /// Somebody has taken over, or the session is gone.
    Lost,
}

/// What is known of a lease, for all who work under it.
#[derive(Clone)]
pub(crate) struct Tenure {
    standing: watch::Sender<Standing>,
    told: Arc<Mutex<Told>>,
    /// Since when nobody else can have taken over for sure, by the steady clock of this machine.
    proved: Arc<Mutex<Instant>>,
    ttl: Duration,
}

impl Tenure {
    fn new(lease: &Lease, asked: Instant) -> Self {
        Self {
            standing: watch::Sender::new(Standing::Held),
            told: Arc::new(Mutex::new(Told::by(lease))),
            proved: Arc::new(Mutex::new(asked)),
            ttl: lease.ttl,
        }
    }

    /// Whether something may be begun. A process that was paused looks at the clock, and not only at what the task says
    /// that renews the lease: that may not have had its turn yet.
    pub(crate) fn is_held(&self) -> bool {
        let proved = *self.proved.lock().unwrap_or_else(PoisonError::into_inner);
        *self.standing.borrow() == Standing::Held && proved.elapsed() < self.ttl
    }

    /// Ready when the session must be left.
    pub(crate) async fn over(self) {
        let mut standing = self.standing.subscribe();
        let _ = standing.wait_for(|now| *now != Standing::Held).await;
    }

    /// The store has let us write, so nobody has taken over.
    pub(crate) fn prove(&self) {
        self.prove_at(Instant::now());
    }

    fn prove_at(&self, at: Instant) {
        {
            let mut proved = self.proved.lock().unwrap_or_else(PoisonError::into_inner);
            *proved = at.max(*proved);
        }
        self.turn(Standing::Held);
    }

    fn turn(&self, to: Standing) {
        self.standing.send_if_modified(|standing| {
            let turns = *standing != to && *standing != Standing::Lost;
            if turns {
                *standing = to;
            }
            turns
        });
    }

    /// The time by the store's clock.
    pub(crate) fn now(&self) -> Timestamp {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.clock.now()
    }

    /// When it runs out by the store's clock, if nobody renews it.
    pub(crate) fn expires_at(&self) -> Timestamp {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.expires_at
    }

    fn tell(&self, told: Told) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }
}

/// What a lease tells.
#[derive(Clone, Copy, Debug)]
struct Told {
    clock: StoreClock,
    expires_at: Timestamp,
}

impl Told {
    fn by(lease: &Lease) -> Self {
        Self {
            clock: StoreClock::of(lease),
            expires_at: lease.expires_at,
        }
    }
}

/// A lease that is kept alive until it is given back.
pub(crate) struct HeldLease {
    /// `None` once it was given back.
    lease: Option<Lease>,
    store: Arc<dyn SessionStore>,
    task: AbortHandle,
}

impl HeldLease {
    /// Keeps a lease alive that was asked for at `asked`, and pokes the driver when others may have appended something.
    pub(crate) fn keep(
        lease: Lease,
        asked: Instant,
        store: &Arc<dyn SessionStore>,
        pokes: mpsc::Sender<()>,
    ) -> (Self, Tenure) {
        let tenure = Tenure::new(&lease, asked);
        let renewing = renew(lease.clone(), asked, Arc::clone(store), tenure.clone());
        let looking = look(lease.id.clone(), Arc::clone(store), pokes);
        let held = Self {
            task: tokio::spawn(both(renewing, looking)).abort_handle(),
            lease: Some(lease),
            store: Arc::clone(store),
        };
        (held, tenure)
    }

    fn stop(&self) {
        self.task.abort();
    }

    /// Gives it back. A store that does not answer lets it run out instead.
    pub(crate) async fn release(mut self) {
        self.stop();
        if let Some(lease) = self.lease.take() {
            let giving = self.store.release(lease);
            let _ = tokio::time::timeout(LOOK_EVERY * 10, giving).await;
        }
    }

    /// Lets it go: it was given back with the last append.
    pub(crate) fn forget(mut self) {
        self.lease = None;
    }
}

impl Drop for HeldLease {
    /// Whoever was to give it back is gone: others need not wait until it runs out.
    fn drop(&mut self) {
        self.stop();
        if let Some(lease) = self.lease.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let store = Arc::clone(&self.store);
            runtime.spawn(async move {
                let _ = store.release(lease).await;
            });
        }
    }
}

/// Ready when both are.
async fn both(first: impl Future<Output = ()>, second: impl Future<Output = ()>) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut first_is_over, mut second_is_over) = (false, false);
    poll_fn(|cx| {
        first_is_over = first_is_over || first.as_mut().poll(cx).is_ready();
        second_is_over = second_is_over || second.as_mut().poll(cx).is_ready();
        match first_is_over && second_is_over {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

async fn renew(lease: Lease, asked: Instant, store: Arc<dyn SessionStore>, tenure: Tenure) {
    let ttl = lease.ttl;
    let mut renewed = asked;
    loop {
        let next = renewed + ttl / 3;
        tokio::time::sleep_until(next.max(Instant::now() + ttl / 30)).await;
        // By the steady clock of this machine: a store that hangs must not keep a driver going.
        let asked = Instant::now();
        let left = ttl.saturating_sub(renewed.elapsed()).max(ttl / 10);
        match tokio::time::timeout(left, store.renew(&lease)).await {
            Ok(Ok(lease)) => {
                renewed = asked;
                tenure.tell(Told::by(&lease));
                tenure.prove_at(asked);
            }
            Ok(Err(error)) if matches!(error.reason, StoreReason::Fenced | StoreReason::Gone) => {
                return tenure.turn(Standing::Lost);
            }
            Ok(Err(_)) | Err(_) if renewed.elapsed() >= ttl => tenure.turn(Standing::RunOut),
            Ok(Err(_)) | Err(_) => {}
        }
    }
}

async fn look(id: SessionId, store: Arc<dyn SessionStore>, pokes: mpsc::Sender<()>) {
    loop {
        let _ = tokio::time::timeout(LOOK_EVERY, store.addressed(&id)).await;
        if pokes.send(()).await.is_err() {
            return;
        }
        // A store that hints without end must not be asked without end.
        sleep(LOOK_EVERY / 50).await;
    }
}
