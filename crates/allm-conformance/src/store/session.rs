//! A session as its writer knows it: what the store has to give back.

use std::time::Duration;

use allm_core::{
    AppendId, Entry, EntryClass, Fence, Head, HeadUpdate, Lease, Link, LoadFrom, Loaded,
    NewSession, Position, SessionStore, SessionUid, Snapshot, StoreError, Takeover, Version,
};

use super::bench::{Wanted, append_id, holder, id, idle, time, uid};
use crate::finding::{Checked, Finding, expect_eq};

/// How long a lease is that is not meant to run out: longer than any check takes.
pub(super) const LONG: Duration = Duration::from_secs(3600);

/// What a writer knows of a session.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) head: Head,
    pub(super) entries: Vec<Entry>,
}

/// A session that is not there yet.
pub(super) fn new_session(name: &str) -> Result<NewSession, Finding> {
    new_session_as(name, uid(name))
}

pub(super) fn new_session_as(name: &str, uid: SessionUid) -> Result<NewSession, Finding> {
    let bytes = format!("created {name}").into_bytes();
    Ok(NewSession {
        id: id(name)?,
        uid,
        first: Entry::following(&Link::START, EntryClass::Input, time(0)?, bytes.into()),
        head: idle(),
    })
}

impl Known {
    pub(super) fn of(new: &NewSession) -> Self {
        Self {
            head: Head::created(new),
            entries: vec![new.first.clone()],
        }
    }

    /// A session with its first entry.
    pub(super) async fn created(store: &dyn SessionStore, name: &str) -> Result<Self, Finding> {
        Self::created_as(store, &new_session(name)?).await
    }

    pub(super) async fn created_as(
        store: &dyn SessionStore,
        new: &NewSession,
    ) -> Result<Self, Finding> {
        store.create(new).await.wanted("the session is created")?;
        Ok(Self::of(new))
    }

    /// A session with this many entries.
    pub(super) async fn with_entries(
        store: &dyn SessionStore,
        name: &str,
        count: u64,
    ) -> Result<Self, Finding> {
        let mut known = Self::created(store, name).await?;
        while known.version() < Version(count) {
            known.input(store).await?;
        }
        Ok(known)
    }

    pub(super) fn at(&self) -> Position {
        self.head.position()
    }

    pub(super) fn version(&self) -> Version {
        self.head.version
    }

    pub(super) fn link(&self) -> Link {
        self.entries.last().map_or(Link::START, Entry::link)
    }

    /// Entries that follow what is known, one for each text.
    pub(super) fn next(&self, class: EntryClass, texts: &[&str]) -> Result<Vec<Entry>, Finding> {
        let mut link = self.link();
        let mut entries = Vec::new();
        for text in texts {
            let entry = follow(&link, class, text.as_bytes().to_vec())?;
            link = entry.link();
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Notes what was appended.
    pub(super) fn note(&mut self, entries: &[Entry], update: &HeadUpdate) {
        if let Some(last) = entries.last() {
            self.head = self.head.clone().appended(last, update);
            self.entries.extend_from_slice(entries);
        }
    }

    /// Appends at the version that is known. Nothing is noted.
    pub(super) async fn try_append(
        &self,
        store: &dyn SessionStore,
        fence: Option<Fence>,
        append: AppendId,
        entries: &[Entry],
    ) -> Result<Version, StoreError> {
        let (at, head) = (self.at(), self.head_update());
        store.append(&at, fence, append, entries, &head).await
    }

    /// The part of the head that a writer leaves as it is.
    pub(super) fn head_update(&self) -> HeadUpdate {
        HeadUpdate {
            status: self.head.status,
            runnable: self.head.runnable,
            tags: self.head.tags.clone(),
            next_expiry: self.head.next_expiry,
        }
    }

    pub(super) async fn append(
        &mut self,
        store: &dyn SessionStore,
        fence: Option<Fence>,
        entries: &[Entry],
    ) -> Checked {
        let append = append_id(&format!("{} after {}", self.head.uid, self.version()));
        // The version that it gives is looked at by one rule, not by all.
        let appended = self.try_append(store, fence, append, entries).await;
        appended.wanted("the entries are appended")?;
        self.note(entries, &self.head_update());
        Ok(())
    }

    /// One more entry that needs no fence.
    pub(super) async fn input(&mut self, store: &dyn SessionStore) -> Checked {
        let entries = self.next(EntryClass::Input, &["input"])?;
        self.append(store, None, &entries).await
    }

    /// One more entry that needs a fence.
    pub(super) async fn progress(&mut self, store: &dyn SessionStore, fence: Fence) -> Checked {
        let entries = self.next(EntryClass::Progress, &["progress"])?;
        self.append(store, Some(fence), &entries).await
    }

    pub(super) async fn try_acquire(
        &self,
        store: &dyn SessionStore,
        name: &str,
        ttl: Duration,
        takeover: Takeover,
    ) -> Result<Lease, StoreError> {
        let holder = holder(name);
        store.acquire(&self.head.id, &holder, ttl, takeover).await
    }

    pub(super) async fn acquired(
        &self,
        store: &dyn SessionStore,
        name: &str,
        ttl: Duration,
    ) -> Result<Lease, Finding> {
        let lease = self.try_acquire(store, name, ttl, Takeover::IfExpired);
        lease.await.wanted("a free session is acquired")
    }

    pub(super) async fn taken_over(
        &self,
        store: &dyn SessionStore,
        name: &str,
    ) -> Result<Lease, Finding> {
        let lease = self.try_acquire(store, name, LONG, Takeover::Force);
        lease.await.wanted("a takeover by force succeeds")
    }

    /// A snapshot that fits the journal at this version.
    pub(super) fn snapshot(&self, version: u64) -> Result<Snapshot, Finding> {
        let version = Version(version);
        let entry = self.entries.iter().find(|entry| entry.version == version);
        let entry = entry.ok_or_else(|| Finding::failed("an entry", "none"))?;
        Ok(Snapshot {
            version,
            bytes: format!("snapshot {version}").into_bytes().into(),
            state_hash: entry.chain,
            chain: entry.chain,
        })
    }

    pub(super) fn position(&self, version: Version) -> Position {
        Position {
            version,
            ..self.at()
        }
    }

    pub(super) async fn try_snapshot(
        &self,
        store: &dyn SessionStore,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        let at = self.position(snapshot.version);
        store.put_snapshot(&at, snapshot.clone()).await
    }

    pub(super) async fn put_snapshot(
        &self,
        store: &dyn SessionStore,
        version: u64,
    ) -> Result<Snapshot, Finding> {
        let snapshot = self.snapshot(version)?;
        let put = self.try_snapshot(store, &snapshot).await;
        put.wanted("a snapshot that fits is kept")?;
        Ok(snapshot)
    }

    /// What a load has to give after this version.
    pub(super) fn after(&self, version: Version, snapshot: Option<Snapshot>) -> Loaded {
        let later = self.entries.iter().filter(|entry| entry.version > version);
        Loaded {
            head: self.head.clone(),
            snapshot,
            entries: later.cloned().collect(),
        }
    }

    pub(super) async fn load(
        &self,
        store: &dyn SessionStore,
        from: LoadFrom,
    ) -> Result<Loaded, Finding> {
        let loaded = store.load(&self.head.id, from).await;
        loaded.wanted("the session can be loaded")
    }

    /// The store has exactly what is known, its lease aside.
    pub(super) async fn is_there(&self, store: &dyn SessionStore) -> Checked {
        let mut loaded = self.load(store, LoadFrom::After(Version(0))).await?;
        loaded.head.lease.clone_from(&self.head.lease);
        same(&loaded, &self.after(Version(0), None))
    }
}

/// The entry with these bytes that follows.
pub(super) fn follow(link: &Link, class: EntryClass, bytes: Vec<u8>) -> Result<Entry, Finding> {
    let millis = i64::try_from(link.version.0).unwrap_or(0);
    Ok(Entry::following(
        link,
        class,
        time(millis * 10)?,
        bytes.into(),
    ))
}

/// Fails with the part that differs.
pub(super) fn same(found: &Loaded, expected: &Loaded) -> Checked {
    expect_eq(&found.head, &expected.head)?;
    expect_eq(&found.snapshot, &expected.snapshot)?;
    expect_eq(&found.entries.len(), &expected.entries.len())
        .map_err(|finding| finding.at(&"number of entries"))?;
    for (found, expected) in found.entries.iter().zip(&expected.entries) {
        if found.bytes != expected.bytes {
            let place = format!("the bytes of version {}", expected.version);
            return Err(Finding::failed("the bytes that went in", "others").at(&place));
        }
        expect_eq(found, expected)?;
    }
    Ok(())
}
