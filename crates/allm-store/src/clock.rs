//! What time it is for a store that has no server to ask.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use allm_core::Timestamp;

/// What time it is for a store that has no server to ask: the machine's time, or one that a test sets.
///
/// Clones of a clock that is set by hand are one clock.
///
/// ```
/// use std::time::Duration;
///
/// use allm_core::Timestamp;
/// use allm_store::{Clock, MemoryStore};
///
/// let clock = Clock::manual(Timestamp::from_millis(0)?);
/// let store = MemoryStore::with_clock(clock.clone());
/// clock.advance(Duration::from_secs(30));
/// assert_eq!(clock.now().as_millis(), 30_000);
/// # drop(store);
/// # Ok::<(), allm_core::InvalidTimestamp>(())
/// ```
#[derive(Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub const fn system() -> Self {
        Self(None)
    }

    /// A clock that stands at this time until it is set.
    #[must_use]
    pub fn manual(time: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicI64::new(time.as_millis()))))
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let millis = match &self.0 {
            Some(set) => set.load(Ordering::SeqCst),
            None => match SystemTime::now().duration_since(UNIX_EPOCH) {
                Ok(since) => whole_millis(since),
                Err(before) => whole_millis(before.duration()).saturating_neg(),
            },
        };
        clamped(millis)
    }

    /// Sets a manual clock, forward or back. The machine's clock is not touched.
    pub fn set(&self, time: Timestamp) {
        if let Some(set) = &self.0 {
            set.store(time.as_millis(), Ordering::SeqCst);
        }
    }

    /// Lets time pass on a manual clock. The machine's clock is not touched.
    pub fn advance(&self, time: Duration) {
        if let Some(set) = &self.0 {
            let millis = whole_millis(time);
            // It always has a new value, so there is nothing to be told.
            let _ = set.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| {
                Some(now.saturating_add(millis))
            });
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Clock::manual",
            None => "Clock::system",
        })
    }
}

pub(crate) fn whole_millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// This many milliseconds later; the end of time when there is no such.
pub(crate) fn later(time: Timestamp, millis: i64) -> Timestamp {
    clamped(time.as_millis().saturating_add(millis))
}

/// The nearest time that there is.
pub(crate) fn clamped(millis: i64) -> Timestamp {
    const FIRST: i64 = -62_167_219_200_000;
    const LAST: i64 = 253_402_300_799_999;
    match Timestamp::from_millis(millis.clamp(FIRST, LAST)) {
        Ok(time) => time,
        // Both ends are in range, so this is never reached.
        Err(_) => clamped(0),
    }
}
