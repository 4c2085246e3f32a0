//! The journal of a stored session, as its driver writes it.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use allm_core::session::{Append, Applied, EntryBody, JournalEntry, Session as Data, read};
use allm_core::{
    AppendId, Entry, EntryClass, Fence, InputId, Link, LoadFrom, Loaded, Position, Response,
    SessionError, SessionStore, StoreError, StoreReason, Timestamp, Version, WriterId,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::journal::{Appended, Journal, extend};
use super::lease::Tenure;
use crate::random;

/// A session as it stands in a store, and where its chain stands.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) data: Data,
    pub(crate) link: Link,
    pub(crate) last_writer: Option<WriterId>,
}

/// What a look at the store brought.
#[derive(Debug, Default)]
pub(crate) struct Refreshed {
    pub(crate) applied: Applied,
    /// Whether somebody has driven the session since.
    pub(crate) is_driven: bool,
}

impl View {
    /// Reads a session. A snapshot that fails its hash is done without.
    pub(crate) async fn load(
        store: &dyn SessionStore,
        id: &allm_core::SessionId,
    ) -> Result<Self, SessionError> {
        let loaded = store.load(id, LoadFrom::Snapshot).await?;
        let has_snapshot = loaded.snapshot.is_some();
        match Self::of(&loaded) {
            Err(error) if has_snapshot && error.store_reason() == Some(StoreReason::Corrupt) => {
                let whole = store.load(id, LoadFrom::After(Version(0))).await?;
                match whole.snapshot {
                    // The entries before it are gone, so there is nothing to begin with.
                    Some(_) => Err(error),
                    None => Self::of(&whole),
                }
            }
            read => read,
        }
    }

    fn of(loaded: &Loaded) -> Result<Self, SessionError> {
        let (data, link) = Data::from_journal(loaded)?;
        let last_writer = match loaded.entries.last() {
            Some(entry) => Some(read(entry)?.writer),
            None => None,
        };
        Ok(Self {
            data,
            link,
            last_writer,
        })
    }

    pub(crate) fn position(&self) -> Result<Position, SessionError> {
        self.data
            .position()
            .ok_or_else(SessionError::lost_ownership)
    }

    /// Takes in what others have appended since.
    pub(crate) async fn refresh(
        &mut self,
        store: &dyn SessionStore,
    ) -> Result<Refreshed, SessionError> {
        let version = self.data.version();
        let loaded = store
            .load(self.data.id(), LoadFrom::After(version))
            .await
            .map_err(lost_if_gone)?;
        if Some(loaded.head.uid) != self.data.uid() {
            return Err(SessionError::lost_ownership());
        }
        let mut all = Refreshed::default();
        if let Some(snapshot) = &loaded.snapshot {
            if snapshot.version <= version {
                return Ok(all);
            }
            // Entries that this view lacks were trimmed: it begins anew.
            *self = Self::of(&loaded)?;
            all.is_driven = true;
            return Ok(all);
        }
        let link = loaded.verify(&self.link)?;
        let mut next = self.data.clone();
        let mut last_writer = self.last_writer.clone();
        for entry in &loaded.entries {
            all.is_driven |= entry.class == EntryClass::Progress;
            let entry: JournalEntry = read(entry)?;
            extend(&mut all.applied, next.replay(&entry)?);
            last_writer = Some(entry.writer);
        }
        self.data = next;
        self.last_writer = last_writer;
        self.link = link;
        Ok(all)
    }

    /// Makes entries of these bodies. The view is as it was; what it would be comes back beside them.
    pub(crate) fn seal(
        &self,
        bodies: &[EntryBody],
        append: &Append,
    ) -> Result<(Self, Vec<Entry>, Applied), SessionError> {
        let mut next = self.clone();
        let mut entries = Vec::with_capacity(bodies.len());
        let mut all = Applied::default();
        for body in bodies {
            let sealed = next.data.seal(body, append, &next.link)?;
            next.link = sealed.entry.link();
            entries.push(sealed.entry);
            extend(&mut all, sealed.applied);
        }
        next.last_writer = Some(append.writer.clone());
        Ok((next, entries, all))
    }
}

/// A session that is not there any more was taken away from whoever drives it.
pub(crate) fn lost_if_gone(error: StoreError) -> SessionError {
    match error.reason {
        StoreReason::NotFound => SessionError {
            store: Some(Box::new(error)),
            ..SessionError::lost_ownership()
        },
        _ => error.into(),
    }
}

/// How a driver writes.
pub(crate) struct StoreJournal {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) view: View,
    pub(crate) fence: Fence,
    pub(crate) writer: WriterId,
    pub(crate) tenure: Tenure,
    /// How long a store that does not answer is asked again.
    pub(crate) retry_for: Duration,
    /// After how many entries a snapshot is written.
    pub(crate) snapshot_every: u64,
    pub(crate) snapshot_at: Version,
    pub(crate) pokes: mpsc::Receiver<()>,
}

/// How long a store may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// The first and the longest wait before a store is asked again.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

impl StoreJournal {
    fn append_of(&self, input_id: Option<InputId>) -> Append {
        Append {
            id: AppendId::from_bytes(random::bytes()),
            writer: self.writer.clone(),
            at: self.tenure.now(),
            input_id,
        }
    }

    /// Writes a snapshot; it is a cache, so a failure is no failure.
    pub(crate) async fn snapshot(&mut self) {
        let Ok(at) = self.view.position() else { return };
        if at.version == self.snapshot_at {
            return;
        }
        let link = self.view.link;
        if let Ok(snapshot) = self.view.data.snapshot(&link)
            && let Ok(Ok(())) = timeout(ANSWER_LIMIT, self.store.put_snapshot(&at, snapshot)).await
        {
            self.snapshot_at = at.version;
        }
    }

    /// Takes in what others have appended. Only one may drive the session, so who finds that another has is not the one.
    async fn catch_up(&mut self) -> Result<Applied, SessionError> {
        let Refreshed { applied, is_driven } = self.view.refresh(&*self.store).await?;
        if is_driven {
            return Err(SessionError::lost_ownership());
        }
        Ok(applied)
    }
}

/// An append on its way to a store.
pub(crate) struct Written<'a> {
    pub(crate) at: &'a Position,
    pub(crate) fence: Option<Fence>,
    pub(crate) id: AppendId,
    pub(crate) entries: &'a [Entry],
    pub(crate) next: &'a View,
}

impl Written<'_> {
    /// Asks a store again that does not answer. What is asked has an id, so asking twice is not doing twice.
    pub(crate) async fn persist(
        &self,
        store: &dyn SessionStore,
        retry_for: Duration,
    ) -> Result<Version, StoreError> {
        let head = self.next.data.head();
        let started = Instant::now();
        let mut wait = BACKOFF.0;
        loop {
            let asked = store.append(self.at, self.fence, self.id, self.entries, &head);
            let asked = match timeout(ANSWER_LIMIT, asked).await {
                Ok(answered) => answered,
                Err(_) => Err(StoreError::new(
                    StoreReason::Unavailable,
                    "the store does not answer",
                )),
            };
            match asked {
                Err(error) if error.is_retryable() && started.elapsed() < retry_for => {
                    let left = retry_for.saturating_sub(started.elapsed());
                    sleep(wait.min(left)).await;
                    wait = wait.saturating_mul(2).min(BACKOFF.1);
                }
                asked => return asked,
            }
        }
    }
}

impl Journal for StoreJournal {
    fn session(&self) -> &Data {
        &self.view.data
    }

    async fn append(
        &mut self,
        bodies: Vec<EntryBody>,
        input_id: Option<InputId>,
    ) -> Result<Appended, SessionError> {
        let mut all = Applied::default();
        let mut met_others = false;
        loop {
            let append = self.append_of(input_id.clone());
            let (next, entries, applied) = match self.view.seal(&bodies, &append) {
                Ok(sealed) => sealed,
                Err(_) if met_others => {
                    return Ok(Appended {
                        applied: all,
                        superseded: true,
                    });
                }
                Err(error) => return Err(error),
            };
            let at = self.view.position()?;
            let written = Written {
                at: &at,
                fence: Some(self.fence),
                id: append.id,
                entries: &entries,
                next: &next,
            };
            match written.persist(&*self.store, self.retry_for).await {
                Ok(_) => {
                    self.tenure.prove();
                    self.view = next;
                    extend(&mut all, applied);
                    let version = self.view.data.version();
                    if version.0.saturating_sub(self.snapshot_at.0) >= self.snapshot_every {
                        self.snapshot().await;
                    }
                    return Ok(Appended {
                        applied: all,
                        superseded: false,
                    });
                }
                Err(error) if error.reason == StoreReason::Conflict => {
                    met_others = true;
                    let seen = self.catch_up().await;
                    extend(
                        &mut all,
                        seen.map_err(|error| error.unsaved(bodies.clone()))?,
                    );
                }
                Err(error) => return Err(lost_if_gone(error).unsaved(bodies)),
            }
        }
    }

    async fn now(&mut self) -> Result<Timestamp, SessionError> {
        Ok(self.tenure.now())
    }

    fn poll_poked(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.pokes.poll_recv(cx) {
            Poll::Ready(Some(())) => Poll::Ready(()),
            // Whoever poked is gone: the driver is about to hear why.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    async fn refresh(&mut self) -> Result<Applied, SessionError> {
        let looked = timeout(ANSWER_LIMIT, self.catch_up()).await;
        match looked.unwrap_or_else(|_| Ok(Applied::default())) {
            // A store that does not answer is met at the next append.
            Err(error) if error.store_reason().is_some_and(StoreReason::is_retryable) => {
                Ok(Applied::default())
            }
            refreshed => refreshed,
        }
    }

    fn last_writer(&self) -> Option<WriterId> {
        self.view.last_writer.clone()
    }

    /// A stored session is not left behind by a dropped stream.
    fn leave_partial(&mut self, _: Response) {}
}
