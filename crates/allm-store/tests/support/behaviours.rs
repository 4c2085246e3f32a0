//! What every store in a database must do. Each function takes an empty store.

use std::sync::Arc;
use std::time::Duration;

use allm_core::{
    Cursor, DeleteIf, EntryClass, Fence, Hash, HeadUpdate, LeaseFilter, Link, LoadFrom,
    PageRequest, SessionFilter, SessionStatus, StoreError, StoreReason, Takeover, Version,
    WriterId,
};

use super::{Journal, Store, id, listed, new_session, random, reason, time};

pub async fn one_of_many_creators_succeeds(store: &Store) {
    let creators: Vec<_> = (0..100)
        .map(|_| {
            let store = Arc::clone(store);
            tokio::spawn(async move { store.create(&new_session("a")).await })
        })
        .collect();
    let mut uids = Vec::new();
    for creator in creators {
        match creator.await.expect("no panic") {
            Ok(head) => uids.push(head.uid),
            Err(error) => assert_eq!(error.reason, StoreReason::AlreadyExists),
        }
    }
    let loaded = store
        .load(&id("a"), LoadFrom::Snapshot)
        .await
        .expect("there");
    assert_eq!(uids, [loaded.head.uid]);
    assert_eq!(loaded.entries.len(), 1);
}

pub async fn an_append_is_checked_in_order(store: &Store) {
    let mut journal = Journal::create(store, "a").await;
    assert_eq!(journal.input(1, "x").await, Ok(Version(2)));
    let stale = journal.clone();
    assert_eq!(
        stale.input(2, "y").await,
        Err(StoreError::conflict(Version(1), Version(2)))
    );
    // The same again is known; the same id for something else is not the same.
    assert_eq!(stale.input(1, "x").await, Ok(Version(2)));
    assert_eq!(
        stale.input(1, "z").await,
        Err(StoreError::conflict(Version(1), Version(2)))
    );
    journal.reload().await;
    assert_eq!(
        journal.input(1, "next").await,
        Err(StoreError::conflict(Version(2), Version(2)))
    );
    let mut future = journal.clone();
    (future.at.version, future.link.version) = (Version(9), Version(9));
    assert_eq!(
        future.input(3, "z").await,
        Err(StoreError::conflict(Version(9), Version(2)))
    );
    let bare = journal.next(EntryClass::Progress, &["p"]);
    let bare = journal.try_append(None, random(), &bare).await;
    assert_eq!(reason(bare), StoreReason::Refused);
    // A fence is looked at before the version, and what is known before the fence.
    assert_eq!(
        reason(stale.progress(Fence(1), 4).await),
        StoreReason::Fenced
    );
    let lease = journal
        .acquire("one", Takeover::IfExpired)
        .await
        .expect("free");
    assert_eq!(journal.progress(lease.fence, 5).await, Ok(Version(3)));
    journal
        .acquire("two", Takeover::Force)
        .await
        .expect("forced");
    assert_eq!(journal.progress(lease.fence, 5).await, Ok(Version(3)));
    journal.reload().await;
    assert_eq!(
        reason(journal.progress(lease.fence, 6).await),
        StoreReason::Fenced
    );
    assert_eq!(journal.whole().await.entries.len(), 3);
}

pub async fn later_entries_are_loaded_in_order(store: &Store) {
    let mut journal = Journal::create(store, "a").await;
    for _ in 1..4 {
        journal.write("x").await.expect("appended");
    }
    for after in 0..6 {
        let loaded = journal
            .load(LoadFrom::After(Version(after)))
            .await
            .expect("there");
        let versions: Vec<u64> = loaded.entries.iter().map(|entry| entry.version.0).collect();
        assert_eq!(versions, (after + 1..=4).collect::<Vec<_>>());
    }
    let unknown = store.load(&id("b"), LoadFrom::Snapshot).await;
    assert_eq!(reason(unknown), StoreReason::NotFound);
}

pub async fn paging_shows_each_lasting_session_once(store: &Store) {
    for number in 0..20 {
        Journal::create(store, &format!("lasting-{number:02}")).await;
        Journal::create(store, &format!("passing-{number:02}")).await;
    }
    let filter = SessionFilter::new();
    let mut page = PageRequest::new(1).expect("valid");
    let (mut seen, mut round) = (Vec::new(), 0);
    loop {
        let found = store.list(&filter, page).await.expect("listed");
        seen.extend(found.items.into_iter().map(|head| head.id.to_string()));
        let Some(cursor) = found.next else { break };
        // Others come, go and change between any two pages.
        Journal::create(store, &format!("new-{round:02}")).await;
        let passing = id(&format!("passing-{:02}", round % 20));
        drop(store.delete(&passing, DeleteIf::Any).await);
        let mut changed = Journal::create(store, &format!("a-new-{round:02}")).await;
        changed.write("x").await.expect("appended");
        page = PageRequest::new(1).expect("valid").after(cursor);
        round += 1;
        assert!(round < 200, "the listing ends");
    }
    let lasting: Vec<_> = seen.iter().filter(|id| id.starts_with("lasting")).collect();
    let expected: Vec<String> = (0..20)
        .map(|number| format!("lasting-{number:02}"))
        .collect();
    assert_eq!(lasting, expected.iter().collect::<Vec<_>>());

    let first = PageRequest::new(1).expect("valid");
    let cursor = store
        .list(&filter, first)
        .await
        .expect("listed")
        .next
        .expect("more");
    let other = SessionFilter::new().runnable();
    let misused = store
        .list(&other, PageRequest::default().after(cursor))
        .await;
    assert_eq!(reason(misused), StoreReason::Refused);
    let forged = PageRequest::default().after(Cursor::new("forged"));
    assert_eq!(
        reason(store.list(&filter, forged).await),
        StoreReason::Refused
    );
}

/// Gives the sessions `a` and `b`, which hold the same long content and the same long snapshot.
pub async fn long_content_comes_back(store: &Store) -> [Journal; 2] {
    let long: Vec<u8> = (0..70_000_u32).map(|n| n.to_be_bytes()[3]).collect();
    let mut journals = [
        Journal::create(store, "a").await,
        Journal::create(store, "b").await,
    ];
    for journal in &mut journals {
        let version = journal.at.version;
        let huge = journal.write(vec![0; 16 * 1024 * 1024 + 1]).await;
        assert_eq!(reason(huge), StoreReason::TooLarge);
        assert_eq!(journal.whole().await.head.version, version);
        for length in [65_535, 65_536, 65_537, 70_000] {
            journal.write(&long[..length]).await.expect("appended");
        }
        let snapshot = journal.snapshot(&long[..]);
        store
            .put_snapshot(&journal.at, snapshot.clone())
            .await
            .expect("kept");
        let loaded = journal.whole().await;
        assert_eq!(loaded.entries.len(), 5);
        assert_eq!(loaded.entries[4].bytes, long);
        let loaded = journal.load(LoadFrom::Snapshot).await.expect("there");
        assert_eq!(loaded.snapshot, Some(snapshot));
    }
    journals
}

pub async fn the_longest_entry_is_taken(store: &Store) {
    let mut journal = Journal::create(store, "a").await;
    let longest: Vec<u8> = (0..16 * 1024 * 1024_u32)
        .map(|n| n.to_le_bytes()[1])
        .collect();
    assert_eq!(journal.write(longest.clone()).await, Ok(Version(2)));
    let loaded = journal.whole().await;
    assert!(loaded.entries[1].bytes == longest, "byte for byte");
}

pub async fn odd_texts_are_matched_literally(store: &Store) {
    let odd = [
        "'",
        "\"",
        "%",
        "_",
        "a%",
        "a_",
        "ab",
        "\\",
        "\\x00",
        "$1",
        "?",
        "--",
        ";",
        "é",
        "e\u{301}",
        "'; DROP TABLE sessions; --",
        "\u{10ffff}",
        "ü/\u{10ffff}x",
    ];
    for text in odd {
        let mut new = new_session(text);
        new.head.tags.insert(text.to_owned(), text.to_owned());
        store.create(&new).await.expect("created");
    }
    for text in odd {
        let loaded = store
            .load(&id(text), LoadFrom::Snapshot)
            .await
            .expect("there");
        assert_eq!(loaded.head.id, *text);
        let tagged = SessionFilter::new().tag(text, text);
        let found = listed(store, &tagged, 50).await;
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0].id, *text);
        let prefix = SessionFilter::new().id_prefix(text);
        let found: Vec<String> = listed(store, &prefix, 1)
            .await
            .iter()
            .map(|h| h.id.to_string())
            .collect();
        let mut expected: Vec<&str> = odd.into_iter().filter(|id| id.starts_with(text)).collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
    let none = SessionFilter::new().id_prefix("a\0");
    assert_eq!(listed(store, &none, 50).await, []);
    let none = SessionFilter::new().tag("a\0", "a\0");
    assert_eq!(listed(store, &none, 50).await, []);
}

pub async fn fences_grow(store: &Store) -> Fence {
    let journal = Journal::create(store, "a").await;
    let first = journal
        .acquire("one", Takeover::IfExpired)
        .await
        .expect("free");
    for holder in ["one", "two"] {
        let refused = journal.acquire(holder, Takeover::IfExpired).await;
        assert_eq!(refused, Err(StoreError::lease_held(first.held())));
    }
    let held = SessionFilter::new().lease(LeaseFilter::Held);
    assert_eq!(listed(store, &held, 1).await[0].lease, Some(first.held()));
    let second = journal
        .acquire("two", Takeover::Force)
        .await
        .expect("forced");
    store.release(first.clone()).await.expect("no harm");
    assert_eq!(reason(store.renew(&first).await), StoreReason::Fenced);
    assert_eq!(
        store.renew(&second).await.expect("current").fence,
        second.fence
    );
    store.release(second.clone()).await.expect("released");
    assert_eq!(listed(store, &held, 1).await, []);
    assert_eq!(
        reason(journal.progress(second.fence, 1).await),
        StoreReason::Fenced
    );
    assert_eq!(reason(store.renew(&second).await), StoreReason::Fenced);
    let third = journal
        .acquire("one", Takeover::IfExpired)
        .await
        .expect("free");
    assert_eq!(
        [first.fence, second.fence, third.fence],
        [Fence(1), Fence(2), Fence(3)]
    );
    // A lease that has run out does not end its fence.
    let holder = WriterId::new("short");
    let short = Duration::from_millis(1);
    let short = store
        .acquire(&journal.at.id, &holder, short, Takeover::Force)
        .await
        .expect("forced");
    while store.now().await.expect("a time") < short.expires_at {}
    assert_eq!(listed(store, &held, 1).await, []);
    assert_eq!(journal.progress(short.fence, 2).await, Ok(Version(2)));
    let next = journal
        .acquire("one", Takeover::IfExpired)
        .await
        .expect("expired");
    assert_eq!(next.fence, Fence(5));
    let none = store
        .acquire(&journal.at.id, &holder, Duration::ZERO, Takeover::Force)
        .await;
    assert_eq!(reason(none), StoreReason::Refused);
    next.fence
}

pub async fn a_deleted_session_is_gone(store: &Store) {
    let journal = Journal::create(store, "a").await;
    let lease = journal
        .acquire("one", Takeover::IfExpired)
        .await
        .expect("free");
    let delete = |condition| store.delete(&journal.at.id, condition);
    let wrong = delete(DeleteIf::Version(Version(9))).await;
    assert_eq!(wrong, Err(StoreError::conflict(Version(9), Version(1))));
    for condition in [DeleteIf::Version(Version(1)), DeleteIf::Any] {
        let held = delete(condition).await;
        assert_eq!(held, Err(StoreError::lease_held(lease.held())));
    }
    assert_eq!(delete(DeleteIf::Force).await, Ok(()));
    assert_eq!(reason(delete(DeleteIf::Force).await), StoreReason::NotFound);
    assert_eq!(
        reason(journal.load(LoadFrom::Snapshot).await),
        StoreReason::NotFound
    );
    let late = async || {
        let snapshot = journal.snapshot("{}");
        [
            reason(journal.input(1, "x").await),
            reason(journal.progress(lease.fence, 2).await),
            reason(store.renew(&lease).await),
            reason(store.put_snapshot(&journal.at, snapshot).await),
            reason(store.trim(&journal.at, Version(1)).await),
        ]
    };
    assert_eq!(late().await, [StoreReason::Gone; 5]);
    assert_eq!(store.release(lease.clone()).await, Ok(()));
    let again = Journal::create(store, "a").await;
    assert_eq!(late().await, [StoreReason::Gone; 5]);
    assert_eq!(again.whole().await.entries.len(), 1);
    let unknown = Journal {
        at: allm_core::Position {
            id: id("b"),
            ..again.at.clone()
        },
        ..again
    };
    assert_eq!(reason(unknown.input(1, "x").await), StoreReason::NotFound);
}

pub async fn trimming_needs_a_snapshot(store: &Store) {
    let mut journal = Journal::create(store, "a").await;
    let first = journal.clone();
    assert_eq!(journal.input(1, "x").await, Ok(Version(2)));
    journal.reload().await;
    let trim = |before| store.trim(&journal.at, Version(before));
    assert_eq!(reason(trim(2).await), StoreReason::Refused);
    let snapshot = journal.snapshot("{}");
    let mut unfit = snapshot.clone();
    unfit.chain = Hash::ZERO;
    assert_eq!(
        reason(store.put_snapshot(&journal.at, unfit).await),
        StoreReason::Refused
    );
    let elsewhere = store.put_snapshot(&first.at, snapshot.clone()).await;
    assert_eq!(reason(elsewhere), StoreReason::Refused);
    assert_eq!(
        store.put_snapshot(&journal.at, snapshot.clone()).await,
        Ok(())
    );
    // An older one is taken and does not replace it.
    assert_eq!(
        store.put_snapshot(&first.at, first.snapshot("old")).await,
        Ok(())
    );
    assert_eq!(reason(trim(4).await), StoreReason::Refused);
    let stale = store.trim(&first.at, Version(2)).await;
    assert_eq!(stale, Err(StoreError::conflict(Version(1), Version(2))));
    for before in [2, 3, 3] {
        assert_eq!(trim(before).await, Ok(()));
        assert_eq!(
            store.put_snapshot(&journal.at, snapshot.clone()).await,
            Ok(())
        );
    }
    let whole = journal
        .load(LoadFrom::After(Version(1)))
        .await
        .expect("there");
    assert_eq!(whole.snapshot.as_ref(), Some(&snapshot));
    assert_eq!(first.input(1, "x").await, Ok(Version(2)), "remembered");
    journal.input(2, "y").await.expect("appended");
    for from in [LoadFrom::Snapshot, LoadFrom::After(Version(0))] {
        let loaded = journal.load(from).await.expect("there");
        assert_eq!(loaded.snapshot.as_ref(), Some(&snapshot));
        assert_eq!(
            loaded.verify(&Link::START).expect("whole").version,
            Version(3)
        );
    }
    let rest = journal
        .load(LoadFrom::After(Version(2)))
        .await
        .expect("there");
    assert_eq!((rest.snapshot, rest.entries.len()), (None, 1));
}

pub async fn fifty_writers_lose_nothing(store: &Store) {
    let journal = Journal::create(store, "a").await;
    let writers: Vec<_> = (0..50)
        .map(|writer: u32| {
            let mut journal = journal.clone();
            tokio::spawn(async move {
                loop {
                    match journal.write(writer.to_string()).await {
                        Ok(version) => return version,
                        Err(error) => assert_eq!(error.reason, StoreReason::Conflict),
                    }
                    journal.reload().await;
                }
            })
        })
        .collect();
    let mut versions = Vec::new();
    for writer in writers {
        versions.push(writer.await.expect("no panic").0);
    }
    versions.sort_unstable();
    assert_eq!(versions, (2..=51).collect::<Vec<_>>());
    assert_eq!(journal.whole().await.entries.len(), 51);
}

pub async fn a_head_is_what_was_last_written(store: &Store) {
    let mut new = new_session("a");
    new.head.tags.insert("team".into(), "one".into());
    let mut head = store.create(&new).await.expect("created");
    let updates = [
        HeadUpdate {
            status: SessionStatus::AwaitingUser,
            runnable: true,
            tags: [
                ("team".to_owned(), "two".to_owned()),
                ("x".into(), String::new()),
            ]
            .into(),
            next_expiry: Some(time(77)),
        },
        HeadUpdate::new(SessionStatus::Completed),
    ];
    let mut link = new.first.link();
    for update in updates {
        let entry = super::entry(&link, EntryClass::Input, "x");
        let append = allm_core::AppendId::from_bytes(random());
        let entries = std::slice::from_ref(&entry);
        let position = head.position();
        store
            .append(&position, None, append, entries, &update)
            .await
            .expect("appended");
        head = head.appended(&entry, &update);
        link = entry.link();
        let loaded = store
            .load(&head.id, LoadFrom::Snapshot)
            .await
            .expect("there");
        assert_eq!(loaded.head, head);
        assert_eq!(
            listed(store, &SessionFilter::new(), 5).await,
            [head.clone()]
        );
        for (team, found) in [("one", 0), ("two", usize::from(update.runnable))] {
            let filter = SessionFilter::new().tag("team", team);
            assert_eq!(listed(store, &filter, 5).await.len(), found);
        }
    }
}
