//! The store in memory keeps the rules of the trait.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod leases;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allm_core::{
    AppendId, Cursor, DeleteIf, Entry, EntryClass, Fence, Hash, Head, HeadUpdate, Lease,
    LeaseFilter, Link, LoadFrom, NewSession, PageRequest, Position, SessionFilter, SessionId,
    SessionStatus, SessionStore, SessionUid, Snapshot, StoreError, StoreReason, Takeover,
    Timestamp, Version, WriterId,
};

use allm_store::{Clock, MemoryStore};

/// Nothing in this store waits, so every future is ready at once.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the store waits for something"),
    }
}

/// A session being written to, as a driver sees it.
struct Writer {
    store: Arc<MemoryStore>,
    clock: Clock,
    at: Position,
    link: Link,
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).expect("valid")
}

fn new_session(name: &str, uid: u8) -> NewSession {
    NewSession {
        id: id(name),
        uid: SessionUid::from_bytes([uid; 16]),
        first: entry(&Link::START, EntryClass::Input, "created"),
        head: HeadUpdate::new(SessionStatus::Idle),
    }
}

fn entry(link: &Link, class: EntryClass, text: &'static str) -> Entry {
    let at = Timestamp::from_millis(0).expect("in range");
    Entry::following(link, class, at, text.into())
}

fn reason<T>(answer: Result<T, StoreError>) -> StoreReason {
    answer.map(|_| ()).expect_err("refused").reason
}

impl Writer {
    fn create(name: &str) -> Self {
        let clock = Clock::manual(Timestamp::from_millis(0).expect("in range"));
        let store = Arc::new(MemoryStore::with_clock(clock.clone()));
        let new = new_session(name, 1);
        let head = block_on(store.create(&new)).expect("created");
        assert_eq!(head, Head::created(&new));
        Self {
            store,
            clock,
            at: head.position(),
            link: new.first.link(),
        }
    }

    fn write(
        &self,
        fence: Option<Fence>,
        append: u8,
        class: EntryClass,
        text: &'static str,
    ) -> Result<Version, StoreError> {
        let entries = [entry(&self.link, class, text)];
        let head = HeadUpdate::new(SessionStatus::InProgress);
        let append = AppendId::from_bytes([append; 16]);
        block_on(self.store.append(&self.at, fence, append, &entries, &head))
    }

    fn input(&self, append: u8, text: &'static str) -> Result<Version, StoreError> {
        self.write(None, append, EntryClass::Input, text)
    }

    fn progress(&self, fence: Fence, append: u8) -> Result<Version, StoreError> {
        self.write(Some(fence), append, EntryClass::Progress, "progress")
    }

    fn acquire(&self, holder: &str, takeover: Takeover) -> Result<Lease, StoreError> {
        let holder = WriterId::new(holder);
        block_on(
            self.store
                .acquire(&self.at.id, &holder, Lease::DEFAULT_TTL, takeover),
        )
    }

    fn reload(&mut self) {
        let loaded = block_on(self.store.load(&self.at.id, LoadFrom::Snapshot)).expect("there");
        self.link = loaded.verify(&Link::START).expect("a whole journal");
        self.at = loaded.head.position();
    }
}

#[test]
fn s107_creating_twice_is_already_exists() {
    let writer = Writer::create("a");
    for uid in [1, 2] {
        let again = block_on(writer.store.create(&new_session("a", uid)));
        assert_eq!(reason(again), StoreReason::AlreadyExists);
    }
    assert!(block_on(writer.store.create(&new_session("b", 2))).is_ok());
}

#[test]
fn s108_appending_at_another_version_is_a_conflict_with_both() {
    let mut writer = Writer::create("a");
    assert_eq!(writer.input(1, "x"), Ok(Version(2)));
    let old = writer.input(2, "y");
    assert_eq!(old, Err(StoreError::conflict(Version(1), Version(2))));
    writer.reload();
    assert_eq!(writer.at.version, Version(2));
    writer.at.version = Version(7);
    writer.link.version = Version(7);
    let future = writer.input(3, "z");
    assert_eq!(future, Err(StoreError::conflict(Version(7), Version(2))));
    writer.reload();
    assert_eq!(writer.at.version, Version(2));
    assert_eq!(writer.input(4, "z"), Ok(Version(3)));
}

#[test]
fn s110_the_same_append_again_gives_its_first_version() {
    let mut writer = Writer::create("a");
    assert_eq!(writer.input(1, "x"), Ok(Version(2)));
    assert_eq!(writer.input(1, "x"), Ok(Version(2)));
    assert_eq!(reason(writer.input(1, "other")), StoreReason::Conflict);
    writer.reload();
    assert_eq!(writer.at.version, Version(2));
}

#[test]
fn s111_progress_needs_a_fence() {
    let writer = Writer::create("a");
    let bare = writer.write(None, 1, EntryClass::Progress, "x");
    assert_eq!(reason(bare), StoreReason::Refused);
    assert_eq!(writer.input(2, "x"), Ok(Version(2)));
}

#[test]
fn s112_load_gives_the_later_entries_in_order() {
    let mut writer = Writer::create("a");
    for append in 1..4 {
        writer.input(append, "x").expect("appended");
        writer.reload();
    }
    for after in 0..6 {
        let from = LoadFrom::After(Version(after));
        let loaded = block_on(writer.store.load(&writer.at.id, from)).expect("there");
        let versions: Vec<u64> = loaded.entries.iter().map(|entry| entry.version.0).collect();
        assert_eq!(versions, (after + 1..=4).collect::<Vec<_>>());
    }
    let unknown = block_on(writer.store.load(&id("b"), LoadFrom::Snapshot));
    assert_eq!(reason(unknown), StoreReason::NotFound);
}

#[test]
fn s114_paging_shows_each_session_once_and_refuses_a_forged_cursor() {
    let store = MemoryStore::default();
    for (name, uid) in [("c", 3), ("a", 1), ("b", 2)] {
        block_on(store.create(&new_session(name, uid))).expect("created");
    }
    let filter = SessionFilter::new();
    let mut page = PageRequest::new(1).expect("valid");
    let mut seen = Vec::new();
    loop {
        let found = block_on(store.list(&filter, page)).expect("listed");
        seen.extend(found.items.into_iter().map(|head| head.id.to_string()));
        match found.next {
            Some(cursor) => page = PageRequest::new(1).expect("valid").after(cursor),
            None => break,
        }
    }
    assert_eq!(seen, ["a", "b", "c"]);
    let forged = PageRequest::default().after(Cursor::new("forged"));
    assert_eq!(
        reason(block_on(store.list(&filter, forged))),
        StoreReason::Refused
    );
}

#[test]
fn s132_a_writer_of_a_session_created_again_is_told_gone() {
    let writer = Writer::create("a");
    block_on(writer.store.delete(&writer.at.id, DeleteIf::Any)).expect("deleted");
    assert_eq!(reason(writer.input(1, "x")), StoreReason::Gone);
    block_on(writer.store.create(&new_session("a", 2))).expect("free again");
    assert_eq!(reason(writer.input(1, "x")), StoreReason::Gone);
    let loaded = block_on(writer.store.load(&writer.at.id, LoadFrom::Snapshot)).expect("there");
    assert_eq!(loaded.head.version, Version(1));
}

#[test]
fn s170_deletion_keeps_to_its_condition() {
    let writer = Writer::create("a");
    let delete = |condition| block_on(writer.store.delete(&writer.at.id, condition));
    writer.acquire("one", Takeover::IfExpired).expect("free");
    let wrong = delete(DeleteIf::Version(Version(9)));
    assert_eq!(wrong, Err(StoreError::conflict(Version(9), Version(1))));
    assert_eq!(
        reason(delete(DeleteIf::Version(Version(1)))),
        StoreReason::LeaseHeld
    );
    assert_eq!(reason(delete(DeleteIf::Any)), StoreReason::LeaseHeld);
    assert_eq!(delete(DeleteIf::Force), Ok(()));
    assert_eq!(reason(delete(DeleteIf::Force)), StoreReason::NotFound);
}

#[test]
fn s172_trimming_needs_a_snapshot_and_replay_still_verifies() {
    let mut writer = Writer::create("a");
    writer.input(1, "x").expect("appended");
    writer.reload();
    let at = writer.at.clone();
    let trim = |before| block_on(writer.store.trim(&at, Version(before)));
    assert_eq!(reason(trim(2)), StoreReason::Refused);
    let mut snapshot = Snapshot {
        version: Version(2),
        bytes: "{}".into(),
        state_hash: Hash::ZERO,
        chain: Hash::ZERO,
    };
    let put = |snapshot: &Snapshot| block_on(writer.store.put_snapshot(&at, snapshot.clone()));
    assert_eq!(reason(put(&snapshot)), StoreReason::Refused);
    snapshot.chain = writer.link.chain;
    assert_eq!(put(&snapshot), Ok(()));
    assert_eq!(reason(trim(4)), StoreReason::Refused);
    assert_eq!(trim(3), Ok(()));
    writer.input(2, "y").expect("appended");
    for from in [LoadFrom::Snapshot, LoadFrom::After(Version(0))] {
        let loaded = block_on(writer.store.load(&at.id, from)).expect("there");
        assert_eq!(loaded.snapshot.as_ref(), Some(&snapshot));
        let link = loaded.verify(&Link::START).expect("a whole journal");
        assert_eq!(link.version, Version(3));
    }
}

#[test]
fn s172_a_journal_that_was_trimmed_whole_is_read_from_its_snapshot() {
    let mut writer = Writer::create("a");
    writer.input(1, "x").expect("appended");
    writer.reload();
    let snapshot = Snapshot {
        version: Version(2),
        bytes: "{}".into(),
        state_hash: Hash::ZERO,
        chain: writer.link.chain,
    };
    let put = || block_on(writer.store.put_snapshot(&writer.at, snapshot.clone()));
    assert_eq!(put(), Ok(()));
    for _ in 0..2 {
        assert_eq!(block_on(writer.store.trim(&writer.at, Version(3))), Ok(()));
        assert_eq!(put(), Ok(()), "asking again does no harm");
    }
    let from = LoadFrom::After(Version(1));
    let loaded = block_on(writer.store.load(&writer.at.id, from)).expect("there");
    assert_eq!(loaded.snapshot, Some(snapshot));
    let from = LoadFrom::After(Version(2));
    let loaded = block_on(writer.store.load(&writer.at.id, from)).expect("there");
    assert_eq!((loaded.snapshot, loaded.entries), (None, Vec::new()));
    // The append is remembered though its entry is not there.
    let again = Writer::create("a");
    let (at, link) = (again.at, again.link);
    let first = Writer { at, link, ..writer };
    assert_eq!(first.input(1, "x"), Ok(Version(2)));
}

/// S169
#[test]
fn a_tombstone_is_forgotten_after_thirty_days() {
    let writer = Writer::create("a");
    block_on(writer.store.delete(&writer.at.id, DeleteIf::Any)).expect("deleted");
    let day = Duration::from_secs(24 * 60 * 60);
    writer.clock.advance(30 * day - Duration::from_millis(1));
    assert_eq!(reason(writer.input(1, "x")), StoreReason::Gone);
    writer.clock.advance(Duration::from_millis(1));
    assert_eq!(reason(writer.input(1, "x")), StoreReason::NotFound);
}

#[test]
fn time_is_that_of_the_clock() {
    let clock = Clock::manual(Timestamp::from_millis(0).expect("in range"));
    let store = MemoryStore::with_clock(clock.clone());
    clock.advance(Duration::from_secs(1));
    let now = block_on(store.now()).expect("a time");
    assert_eq!(now.as_millis(), 1000);
    let real = block_on(MemoryStore::new().now()).expect("a time");
    assert!(real > "2026-01-01T00:00:00Z".parse().expect("a time"));
}
