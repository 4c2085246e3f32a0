//! A session being written to, and what the tests of all stores share.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod behaviours;
pub mod filters;
pub mod golden;
pub mod hints;
pub mod logs;
pub mod programs;
pub mod restarts;

use std::sync::Arc;

use allm_core::{
    AppendId, Entry, EntryClass, Fence, Head, HeadUpdate, Lease, Link, LoadFrom, Loaded,
    NewSession, PageRequest, Position, SessionFilter, SessionId, SessionStatus, SessionStore,
    SessionUid, Snapshot, StoreError, StoreReason, Takeover, Timestamp, Version, WriterId,
};

pub type Store = Arc<dyn SessionStore>;

pub fn id(text: &str) -> SessionId {
    SessionId::new(text).expect("a valid id")
}

pub fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).expect("in range")
}

/// An id of 128 bits, unlike any other of this program and its relatives.
pub fn random() -> [u8; 16] {
    use std::hash::{BuildHasher, Hasher};
    let part = || {
        let state = std::collections::hash_map::RandomState::new();
        let mut hasher = state.build_hasher();
        hasher.write_u32(std::process::id());
        hasher.finish().to_be_bytes()
    };
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&part());
    bytes[8..].copy_from_slice(&part());
    bytes
}

pub fn new_session(name: &str) -> NewSession {
    NewSession {
        id: id(name),
        uid: SessionUid::from_bytes(random()),
        first: entry(&Link::START, EntryClass::Input, "created"),
        head: HeadUpdate::new(SessionStatus::Idle),
    }
}

pub fn entry(link: &Link, class: EntryClass, text: impl Into<Vec<u8>>) -> Entry {
    let at = time(i64::try_from(link.version.0).expect("small") * 1000);
    Entry::following(link, class, at, text.into().into())
}

pub fn reason<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> StoreReason {
    answer.expect_err("refused").reason
}

pub fn in_progress() -> HeadUpdate {
    HeadUpdate::new(SessionStatus::InProgress)
}

/// A session as one of its writers sees it.
#[derive(Clone)]
pub struct Journal {
    pub store: Store,
    pub at: Position,
    pub link: Link,
}

impl Journal {
    pub async fn create(store: &Store, name: &str) -> Self {
        let new = new_session(name);
        let head = store.create(&new).await.expect("created");
        assert_eq!(head, Head::created(&new));
        Self {
            store: Arc::clone(store),
            at: head.position(),
            link: new.first.link(),
        }
    }

    /// The entries with these texts that would come next.
    pub fn next(&self, class: EntryClass, texts: &[&str]) -> Vec<Entry> {
        let mut link = self.link;
        let next = texts.iter().map(|text| {
            let next = entry(&link, class, *text);
            link = next.link();
            next
        });
        next.collect()
    }

    /// Appends without going on.
    pub async fn try_append(
        &self,
        fence: Option<Fence>,
        append: [u8; 16],
        entries: &[Entry],
    ) -> Result<Version, StoreError> {
        let append = AppendId::from_bytes(append);
        let head = in_progress();
        self.store
            .append(&self.at, fence, append, entries, &head)
            .await
    }

    pub async fn input(&self, append: u8, text: &str) -> Result<Version, StoreError> {
        let entries = self.next(EntryClass::Input, &[text]);
        self.try_append(None, [append; 16], &entries).await
    }

    pub async fn progress(&self, fence: Fence, append: u8) -> Result<Version, StoreError> {
        let entries = self.next(EntryClass::Progress, &["progress"]);
        self.try_append(Some(fence), [append; 16], &entries).await
    }

    /// Appends one entry and goes on.
    pub async fn write(&mut self, text: impl Into<Vec<u8>>) -> Result<Version, StoreError> {
        let entries = [entry(&self.link, EntryClass::Input, text)];
        let version = self.try_append(None, random(), &entries).await?;
        self.link = entries[0].link();
        self.at.version = version;
        Ok(version)
    }

    pub async fn load(&self, from: LoadFrom) -> Result<Loaded, StoreError> {
        self.store.load(&self.at.id, from).await
    }

    /// All of the journal, verified.
    pub async fn whole(&self) -> Loaded {
        let loaded = self.load(LoadFrom::After(Version(0))).await.expect("there");
        loaded.verify(&Link::START).expect("a whole journal");
        loaded
    }

    pub async fn reload(&mut self) {
        let loaded = self.load(LoadFrom::Snapshot).await.expect("there");
        self.link = loaded.verify(&Link::START).expect("a whole journal");
        self.at = loaded.head.position();
    }

    pub fn snapshot(&self, bytes: impl Into<Vec<u8>>) -> Snapshot {
        Snapshot {
            version: self.at.version,
            bytes: bytes.into().into(),
            state_hash: self.link.chain,
            chain: self.link.chain,
        }
    }

    pub async fn acquire(&self, holder: &str, takeover: Takeover) -> Result<Lease, StoreError> {
        let holder = WriterId::new(holder);
        let ttl = Lease::DEFAULT_TTL;
        self.store
            .acquire(&self.at.id, &holder, ttl, takeover)
            .await
    }
}

/// All heads that match, page by page of this size.
pub async fn listed(store: &Store, filter: &SessionFilter, size: u32) -> Vec<Head> {
    let mut page = PageRequest::new(size).expect("valid");
    let mut heads = Vec::new();
    loop {
        let found = store.list(filter, page).await.expect("listed");
        heads.extend(found.items);
        match found.next {
            Some(cursor) => page = PageRequest::new(size).expect("valid").after(cursor),
            None => return heads,
        }
    }
}
