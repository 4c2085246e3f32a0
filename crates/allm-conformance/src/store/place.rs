//! Where a check is made: a fresh store, and the means that its subject gives.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm_core::{BoxFuture, SessionStore, Timestamp};

use super::bench::Wanted;
use super::{Fresh, StoreSubject};
use crate::finding::{Checked, Finding};
use crate::wait;

pub(super) struct Place<'a> {
    subject: &'a dyn StoreSubject,
    fresh: Fresh,
}

impl<'a> Place<'a> {
    pub(super) fn new(subject: &'a dyn StoreSubject, fresh: Fresh) -> Self {
        Self { subject, fresh }
    }

    pub(super) fn store(&self) -> &Arc<dyn SessionStore> {
        &self.fresh.store
    }

    /// A second store over the same data.
    pub(super) async fn reopened(&self) -> Result<Arc<dyn SessionStore>, Finding> {
        let reopen = self.fresh.reopen.as_ref();
        let reopen = reopen.ok_or_else(|| Finding::skipped("its data cannot be opened again"))?;
        Ok(reopen().await)
    }

    /// The same data after the store was closed.
    pub(super) async fn restarted(self) -> Result<Self, Finding> {
        let Self { subject, fresh } = self;
        let Some(reopen) = fresh.reopen else {
            return Err(Finding::skipped("its data cannot be opened again"));
        };
        // The first is gone before the second is there.
        drop(fresh.store);
        let store = reopen().await;
        let fresh = Fresh {
            store,
            reopen: Some(reopen),
            ..fresh
        };
        Ok(Self { subject, fresh })
    }

    /// Sets the store's clock forward.
    pub(super) fn advance(&self, time: Duration) -> Checked {
        let advance = self.fresh.advance.as_ref();
        let advance = advance.ok_or_else(|| Finding::skipped("its clock cannot be set"))?;
        advance(time);
        Ok(())
    }

    /// How long a lease is that is meant to run out.
    pub(super) fn short_ttl(&self) -> Duration {
        if self.fresh.advance.is_some() {
            Duration::from_secs(30)
        } else {
            Duration::from_millis(30)
        }
    }

    pub(super) async fn now(&self) -> Result<Timestamp, Finding> {
        self.store().now().await.wanted("a time")
    }

    /// Waits until the store's clock has passed this time.
    pub(super) async fn pass(&self, time: Timestamp) -> Checked {
        let missing = |now: Timestamp| {
            let millis = time.as_millis().saturating_sub(now.as_millis());
            u64::try_from(millis).ok().map(|millis| millis + 1)
        };
        if let (Some(advance), Some(millis)) = (&self.fresh.advance, missing(self.now().await?)) {
            advance(Duration::from_millis(millis));
        }
        let passed = async {
            while let Some(millis) = missing(self.now().await?) {
                let moment = Duration::from_millis(millis.min(20));
                self.subject.sleep(moment).await;
            }
            Ok(())
        };
        let limit = self.subject.sleep(self.subject.patience());
        wait::before(limit, passed).await.unwrap_or_else(|| {
            let expected = format!("the store's clock passes {time}");
            Err(Finding::failed(expected, "it does not get there"))
        })
    }

    /// What all of this comes to, done at once; in the order given.
    pub(super) async fn together<T: Send + 'static>(
        &self,
        work: Vec<BoxFuture<'static, T>>,
    ) -> Result<Vec<T>, Finding> {
        let outputs: Arc<Mutex<Vec<(usize, T)>>> = Arc::default();
        let count = work.len();
        let work = work.into_iter().enumerate().map(|(number, future)| {
            let outputs = Arc::clone(&outputs);
            let done: BoxFuture<'static, ()> = Box::pin(async move {
                let output = future.await;
                wait::lock(&outputs).push((number, output));
            });
            done
        });
        self.subject.together(work.collect()).await;
        let mut outputs = std::mem::take(&mut *wait::lock(&outputs));
        if outputs.len() != count {
            let found = format!("{} of {count} came to an end", outputs.len());
            return Err(Finding::failed("all of what is done at once ends", found));
        }
        outputs.sort_by_key(|(number, _)| *number);
        Ok(outputs.into_iter().map(|(_, output)| output).collect())
    }
}
