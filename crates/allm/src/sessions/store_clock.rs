//! What time it is by a store's clock.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use allm_core::{Lease, Timestamp};
use tokio::time::Instant;

/// The store's clock, carried on by this machine's steady one between two looks at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreClock {
    at: Timestamp,
    seen: Instant,
}

impl StoreClock {
    /// It was just told.
    pub(crate) fn showing(at: Timestamp) -> Self {
        let seen = Instant::now();
        Self { at, seen }
    }

    /// A lease that was just given or renewed tells what time it is.
    pub(crate) fn of(lease: &Lease) -> Self {
        let ttl = i64::try_from(lease.ttl.as_millis()).unwrap_or(i64::MAX);
        let at = Timestamp::from_millis(lease.expires_at.as_millis().saturating_sub(ttl));
        Self::showing(at.unwrap_or(lease.expires_at))
    }

    pub(crate) fn now(&self) -> Timestamp {
        let since = i64::try_from(self.seen.elapsed().as_millis()).unwrap_or(i64::MAX);
        let millis = self.at.as_millis().saturating_add(since);
        Timestamp::from_millis(millis).unwrap_or(self.at)
    }
}

/// The clock of a store, as it was last seen by anyone in this process.
#[derive(Debug)]
pub(crate) struct LastSeen {
    /// How long it is believed after that.
    lasts: Duration,
    seen: Mutex<Option<StoreClock>>,
}

impl LastSeen {
    pub(crate) fn lasting(lasts: Duration) -> Self {
        let seen = Mutex::default();
        Self { lasts, seen }
    }

    /// The later one counts while it is believed: an answer that was long on its way told an earlier time.
    pub(crate) fn note(&self, clock: StoreClock) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.filter(|known| self.believes(known));
        *seen = Some(match known {
            Some(known) if known.now() > clock.now() => known,
            _ => clock,
        });
    }

    /// The time, if it is known.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.filter(|known| self.believes(known));
        known.map(|known| known.now())
    }

    fn believes(&self, clock: &StoreClock) -> bool {
        clock.seen.elapsed() <= self.lasts
    }
}
