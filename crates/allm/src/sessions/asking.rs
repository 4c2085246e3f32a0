//! Asking a store that may not answer.

use std::time::Duration;

use allm_core::{
    BoxFuture, CancelToken, LoadFrom, Loaded, SessionId, SessionStore, StoreError, StoreReason,
    Timestamp,
};
use tokio::time::{Instant, sleep, timeout};

/// How long a store may take to answer.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// The first and the longest wait before a store is asked again.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// How a store is asked: each time with a limit, and again for a while if it cannot do it now.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) store: &'a dyn SessionStore,
    retry_for: Duration,
    until: Option<&'a CancelToken>,
}

impl<'a> Asking<'a> {
    /// Whoever only looks hears at once that there is nothing to be seen.
    pub(crate) fn once(store: &'a dyn SessionStore) -> Self {
        Self::again(store, Duration::ZERO)
    }

    /// For so long.
    pub(crate) fn again(store: &'a dyn SessionStore, retry_for: Duration) -> Self {
        Self {
            store,
            retry_for,
            until: None,
        }
    }

    /// Only until this fires.
    pub(crate) fn until(mut self, token: &'a CancelToken) -> Self {
        self.until = Some(token);
        self
    }

    /// The answer, or what the store said at last. What is asked may be done twice if an answer is lost: it must be
    /// something for which that is the same.
    pub(crate) async fn ask<'f, T: Send>(
        self,
        mut question: impl FnMut() -> BoxFuture<'f, Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let started = Instant::now();
        let mut wait = BACKOFF.0;
        loop {
            let asked = match timeout(ANSWER_LIMIT, question()).await {
                Ok(answered) => answered,
                Err(_) => Err(StoreError::new(
                    StoreReason::Unavailable,
                    "the store does not answer",
                )),
            };
            let left = self.retry_for.saturating_sub(started.elapsed());
            match asked {
                Err(error) if error.is_retryable() && !left.is_zero() => {
                    if self.is_over_within(wait.min(left)).await {
                        return Err(error);
                    }
                    wait = wait.saturating_mul(2).min(BACKOFF.1);
                }
                asked => return asked,
            }
        }
    }

    /// Waits for so long, or until it is over.
    async fn is_over_within(self, wait: Duration) -> bool {
        match self.until {
            Some(token) => timeout(wait, token.cancelled()).await.is_ok(),
            None => {
                sleep(wait).await;
                false
            }
        }
    }

    pub(crate) async fn load(self, id: &SessionId, from: LoadFrom) -> Result<Loaded, StoreError> {
        self.ask(|| self.store.load(id, from)).await
    }

    pub(crate) async fn now(self) -> Result<Timestamp, StoreError> {
        self.ask(|| self.store.now()).await
    }
}
