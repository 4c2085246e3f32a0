//! The journal of a stored session, as its driver writes it.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use allm_core::session::{Append, Applied, EntryBody, JournalEntry, Session as Data, read};
use allm_core::{
    AppendId, Entry, EntryClass, Fence, InputId, Lease, Link, LoadFrom, Loaded, Position, Response,
    SessionError, SessionStore, Snapshot, StoreError, StoreReason, Timestamp, Version, WriterId,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::asking::{ANSWER_LIMIT, Asking};
use super::covered::Covered;
use super::journal::{Appended, Journal, extend};
use super::late::Attempts;
use super::lease::Tenure;
use super::running::is_altered;
use crate::random;

/// A session as it stands in a store, and where its chain stands.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) data: Data,
    pub(crate) link: Link,
    pub(crate) last_writer: Option<WriterId>,
    pub(crate) covered: Covered,
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
        asking: Asking<'_>,
        id: &allm_core::SessionId,
    ) -> Result<Self, SessionError> {
        let loaded = asking.load(id, LoadFrom::Snapshot).await?;
        let has_snapshot = loaded.snapshot.is_some();
        match Self::of(&loaded) {
            Err(error) if has_snapshot && error.store_reason() == Some(StoreReason::Corrupt) => {
                let whole = asking.load(id, LoadFrom::After(Version(0))).await?;
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
            covered: Covered::of(loaded),
        })
    }

    pub(crate) fn position(&self) -> Result<Position, SessionError> {
        self.data
            .position()
            .ok_or_else(SessionError::lost_ownership)
    }

    /// Takes in what others have appended since.
    pub(crate) async fn refresh(&mut self, asking: Asking<'_>) -> Result<Refreshed, SessionError> {
        let version = self.data.version();
        let loaded = asking
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
        self.covered.add(&loaded.entries);
        Ok(all)
    }

    /// Makes entries of these bodies, for one append. The view is as it was.
    pub(crate) fn seal(
        &self,
        bodies: &[EntryBody],
        append: Append,
    ) -> Result<SealedAppend, SessionError> {
        let mut sealed = SealedAppend {
            append,
            entries: Vec::with_capacity(bodies.len()),
            applied: Applied::default(),
            next: self.clone(),
        };
        sealed.extend(bodies)?;
        Ok(sealed)
    }
}

/// Entries of one append that are ready to be written.
pub(crate) struct SealedAppend {
    pub(crate) append: Append,
    pub(crate) entries: Vec<Entry>,
    /// What can be told when they were written.
    pub(crate) applied: Applied,
    /// How the session stands then.
    pub(crate) next: View,
}

impl SealedAppend {
    /// More of them. When one does not fit, those before it are in.
    fn extend(&mut self, bodies: &[EntryBody]) -> Result<(), SessionError> {
        let next = &mut self.next;
        for body in bodies {
            let sealed = next.data.seal(body, &self.append, &next.link)?;
            next.link = sealed.entry.link();
            next.covered.add(std::slice::from_ref(&sealed.entry));
            self.entries.push(sealed.entry);
            extend(&mut self.applied, sealed.applied);
        }
        next.last_writer = Some(self.append.writer.clone());
        Ok(())
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

/// What goes with the next append.
pub(crate) struct Staged {
    bodies: Vec<EntryBody>,
    sealed: SealedAppend,
}

/// When the lease is given back and the last snapshot is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By themselves, by whoever took the session.
    Apart,
    /// With the entry that ends the run.
    WithTheRun,
    /// They were.
    Done,
}

/// How a driver writes.
pub(crate) struct StoreJournal {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) view: View,
    pub(crate) lease: Lease,
    pub(crate) ending: Ending,
    pub(crate) writer: WriterId,
    pub(crate) tenure: Tenure,
    /// How long a store that does not answer is asked again.
    pub(crate) retry_for: Duration,
    /// After how many entries a snapshot is written.
    pub(crate) snapshot_every: u64,
    pub(crate) pokes: mpsc::Receiver<()>,
    pub(crate) attempts: Attempts,
    pub(crate) staged: Option<Box<Staged>>,
}

impl StoreJournal {
    pub(crate) fn asking(&self) -> Asking<'_> {
        Asking::again(&*self.store, self.retry_for)
    }

    fn append_of(&self, input_id: Option<InputId>) -> Append {
        Append {
            id: AppendId::from_bytes(random::bytes()),
            writer: self.writer.clone(),
            at: self.tenure.now(),
            input_id,
        }
    }

    /// As many of these as fit, from the first on.
    fn seal_fitting(&self, bodies: &[EntryBody]) -> Option<SealedAppend> {
        (1..=bodies.len()).rev().find_map(|count| {
            let sealed = self.view.seal(bodies.get(..count)?, self.append_of(None));
            sealed.ok()
        })
    }

    /// Writes entries, and with the last ones of a run what belongs to its end. Tells whether the lease was given back, and
    /// with it the snapshot kept, if one was due.
    async fn persist(&self, at: &Position, sealed: &mut SealedAppend) -> Result<bool, StoreError> {
        let next = &mut sealed.next;
        let ends = self.ending == Ending::WithTheRun
            && sealed.applied.ended.is_some()
            && next.data.run().is_none();
        if ends {
            // Nobody would believe a snapshot of what somebody has altered.
            let snapshot = match next.covered.is_due() && !is_altered(&next.data) {
                true => next.data.snapshot(&next.link).ok(),
                false => None,
            };
            let last = sealed.persist_last(self.asking(), at, &self.lease, snapshot.as_ref());
            let released = last.await?;
            if let Some(snapshot) = snapshot.filter(|_| released) {
                sealed.next.covered = Covered::by(&snapshot);
            }
            Ok(released)
        } else {
            let fence = Some(self.lease.fence);
            let done = sealed.persist(self.asking(), at, fence).await;
            done.map(|_| false)
        }
    }

    /// Writes a snapshot, if one is due; it is a cache, so a failure is no failure.
    pub(crate) async fn snapshot(&mut self) {
        let Ok(at) = self.view.position() else { return };
        if !self.view.covered.is_due() {
            return;
        }
        let link = self.view.link;
        if let Ok(snapshot) = self.view.data.snapshot(&link) {
            let covered = Covered::by(&snapshot);
            let put = self.store.put_snapshot(&at, snapshot);
            if let Ok(Ok(())) = timeout(ANSWER_LIMIT, put).await {
                self.view.covered = covered;
            }
        }
    }

    /// Takes in what others have appended. Only one may drive the session, so who finds that another has is not the one.
    async fn catch_up(&mut self, retry_for: Duration) -> Result<Applied, SessionError> {
        let asking = Asking::again(&*self.store, retry_for);
        let Refreshed { applied, is_driven } = self.view.refresh(asking).await?;
        if is_driven {
            return Err(SessionError::lost_ownership());
        }
        Ok(applied)
    }
}

impl SealedAppend {
    /// Writes them. What is asked has an id, so asking twice is not doing twice.
    pub(crate) async fn persist(
        &self,
        asking: Asking<'_>,
        at: &Position,
        fence: Option<Fence>,
    ) -> Result<Version, StoreError> {
        let head = self.next.data.head();
        let append = || {
            let store = asking.store;
            store.append(at, fence, self.append.id, &self.entries, &head)
        };
        asking.ask(append).await
    }

    /// The same for what ends a run. Tells whether the snapshot was kept and the lease given back.
    async fn persist_last(
        &self,
        asking: Asking<'_>,
        at: &Position,
        lease: &Lease,
        snapshot: Option<&Snapshot>,
    ) -> Result<bool, StoreError> {
        let head = self.next.data.head();
        let (id, entries) = (self.append.id, &self.entries);
        let append = || {
            let store = asking.store;
            store.append_and_release(at, lease, id, entries, &head, snapshot)
        };
        asking.ask(append).await
    }
}

impl Journal for StoreJournal {
    fn session(&self) -> &Data {
        let staged = self.staged.as_ref();
        staged.map_or(&self.view.data, |staged| &staged.sealed.next.data)
    }

    fn stage(&mut self, body: &EntryBody) -> Result<bool, SessionError> {
        let body = std::slice::from_ref(body);
        match self.staged.take() {
            None => {
                let sealed = self.view.seal(body, self.append_of(None))?;
                let bodies = body.to_vec();
                self.staged = Some(Box::new(Staged { bodies, sealed }));
            }
            Some(mut staged) => {
                let fits = staged.sealed.extend(body);
                if fits.is_ok() {
                    staged.bodies.extend_from_slice(body);
                }
                self.staged = Some(staged);
                fits?;
            }
        }
        Ok(true)
    }

    async fn append(
        &mut self,
        bodies: Vec<EntryBody>,
        input_id: Option<InputId>,
    ) -> Result<Appended, SessionError> {
        let (mut sealed, bodies, early) = match self.staged.take() {
            None => (None, bodies, 0),
            Some(staged) => {
                let mut all = staged.bodies;
                let early = all.len();
                all.extend(bodies);
                (Some(staged.sealed), all, early)
            }
        };
        let (early, more) = bodies.split_at(early);
        let mut all = Applied::default();
        let mut met_others = false;
        loop {
            let fitting = match sealed.take() {
                Some(mut sealed) => sealed.extend(more).map(|()| sealed),
                None => self.view.seal(&bodies, self.append_of(input_id.clone())),
            };
            let (mut sealed, superseded) = match fitting {
                Ok(sealed) => (sealed, false),
                Err(error) if !met_others => return Err(error),
                Err(_) => match self.seal_fitting(early) {
                    Some(sealed) => (sealed, true),
                    None => {
                        return Ok(Appended {
                            applied: all,
                            superseded: true,
                        });
                    }
                },
            };
            let at = self.view.position()?;
            match self.persist(&at, &mut sealed).await {
                Ok(released) => {
                    self.tenure.prove();
                    self.view = sealed.next;
                    if released {
                        self.ending = Ending::Done;
                    }
                    self.attempts.note(&self.view.data);
                    extend(&mut all, sealed.applied);
                    let version = self.view.data.version();
                    if self.view.covered.behind(version) >= self.snapshot_every {
                        self.snapshot().await;
                    }
                    return Ok(Appended {
                        applied: all,
                        superseded,
                    });
                }
                Err(error) if error.reason == StoreReason::Conflict => {
                    met_others = true;
                    let seen = self.catch_up(self.retry_for).await;
                    extend(
                        &mut all,
                        seen.map_err(|error| error.unsaved(bodies.clone()))?,
                    );
                }
                Err(error) => return Err(lost_if_gone(error).unsaved(bodies)),
            }
        }
    }

    fn is_staged(&self) -> bool {
        self.staged.is_some()
    }

    fn ends_with_the_run(&mut self) {
        self.ending = Ending::WithTheRun;
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
        match self.catch_up(Duration::ZERO).await {
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
