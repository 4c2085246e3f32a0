//! Stores that are closed and opened again.

use std::time::Duration;

use allm_core::{Fence, Lease, StoreError, StoreReason, Takeover, WriterId};

use super::{Journal, Store, reason};

/// How the last lease stands when the store is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Held,
    Released,
    Forced,
    ForcedAndReleased,
    RunOut,
}

const ALL: [Before; 5] = [
    Before::Held,
    Before::Released,
    Before::Forced,
    Before::ForcedAndReleased,
    Before::RunOut,
];

impl Before {
    /// Whether nobody else is given a lease.
    const fn is_live(self) -> bool {
        matches!(self, Self::Held | Self::Forced)
    }

    /// Whether the fence is the current one.
    const fn is_current(self) -> bool {
        self.is_live() || matches!(self, Self::RunOut)
    }

    /// The last lease, after one or two acquisitions.
    async fn make(self, journal: &Journal) -> Lease {
        let free = || journal.acquire("one", Takeover::IfExpired);
        let forced = || journal.acquire("two", Takeover::Force);
        match self {
            Self::Held => free().await.expect("free"),
            Self::Released => {
                let lease = free().await.expect("free");
                journal.store.release(lease.clone()).await.expect("given");
                lease
            }
            Self::Forced => {
                free().await.expect("free");
                forced().await.expect("forced")
            }
            Self::ForcedAndReleased => {
                free().await.expect("free");
                let lease = forced().await.expect("forced");
                journal.store.release(lease.clone()).await.expect("given");
                lease
            }
            Self::RunOut => {
                let (id, holder) = (&journal.at.id, WriterId::new("short"));
                let ttl = Duration::from_millis(1);
                let lease = journal.store.acquire(id, &holder, ttl, Takeover::IfExpired);
                let lease = lease.await.expect("free");
                passed(&journal.store, &lease).await;
                lease
            }
        }
    }

    const fn acquisitions(self) -> u64 {
        match self {
            Self::Forced | Self::ForcedAndReleased => 2,
            _ => 1,
        }
    }
}

/// Waits until a lease has run out; one that was given back has nothing to wait for.
async fn passed(store: &Store, lease: &Lease) {
    if lease.ttl > Duration::from_secs(1) {
        return;
    }
    while store.now().await.expect("a clock") <= lease.expires_at {
        tokio::task::yield_now().await;
    }
}

/// However the last lease stood, the next fence is one higher, and a restart ends neither a lease nor a fence.
pub async fn fences_grow_over_restarts(store: Store, restart: impl AsyncFn(Store) -> Store) {
    let mut journal = Journal::create(&store, "a").await;
    drop(store);
    let mut last = 0;
    for before in ALL {
        let mut lease = before.make(&journal).await;
        last += before.acquisitions();
        assert_eq!(lease.fence, Fence(last), "{before:?}");
        let Journal { store, at, link } = journal;
        let store = restart(store).await;
        journal = Journal { store, at, link };
        if before.is_current() {
            // Who had it can go on, with the fence that he had.
            let renewed = journal.store.renew(&lease).await.expect("current");
            assert_eq!(renewed.fence, Fence(last), "{before:?}");
            lease = renewed;
        } else {
            let late = journal.progress(lease.fence, 1).await;
            assert_eq!(reason(late), StoreReason::Fenced, "{before:?}");
        }
        let takeover = if before.is_live() {
            let held = journal.acquire("three", Takeover::IfExpired).await;
            assert_eq!(held, Err(StoreError::lease_held(lease.held())));
            Takeover::Force
        } else {
            passed(&journal.store, &lease).await;
            Takeover::IfExpired
        };
        let next = journal.acquire("three", takeover).await.expect("given");
        last += 1;
        assert_eq!(next.fence, Fence(last), "{before:?}");
        let late = journal.progress(lease.fence, 1).await;
        assert_eq!(reason(late), StoreReason::Fenced, "{before:?}");
        let late = journal.store.renew(&lease).await;
        assert_eq!(reason(late), StoreReason::Fenced, "{before:?}");
        journal.store.release(next).await.expect("given back");
    }
}
