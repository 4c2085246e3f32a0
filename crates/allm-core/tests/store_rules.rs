//! The rules of a store that need no store: limits, filters, and what is never shown.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use allm_core::{
    Entry, EntryClass, FaultCode, Fence, Hash, Head, HeldLease, LeaseFilter, Link, PageRequest,
    Position, SessionFilter, SessionId, SessionStatus, SessionUid, Snapshot, StoreError,
    StoreReason, Timestamp, Version, WriterId, check_append,
};
use serde_json::json;

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).expect("in range")
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).expect("valid")
}

/// Entries `previous + 1 …`, one a text.
fn journal(previous: Link, texts: &[&'static str]) -> Vec<Entry> {
    let mut link = previous;
    let mut entries = Vec::new();
    for text in texts {
        let at = time(i64::try_from(link.version.0).expect("small") * 10);
        let entry = Entry::following(&link, EntryClass::Input, at, text.as_bytes().into());
        link = entry.link();
        entries.push(entry);
    }
    entries
}

fn head() -> Head {
    Head {
        id: id("order-42"),
        uid: SessionUid::from_bytes([1; 16]),
        version: Version(2),
        status: SessionStatus::AwaitingUser,
        runnable: false,
        tags: [("team".to_owned(), "support".to_owned())].into(),
        lease: Some(HeldLease {
            holder: WriterId::new("w1"),
            expires_at: time(30_000),
        }),
        next_expiry: Some(time(5_000)),
        created_at: time(0),
        updated_at: time(10),
    }
}

#[test]
fn s2_an_id_outside_the_rules_is_refused_with_its_path() {
    for text in [String::new(), "x".repeat(201), "a\nb".to_owned()] {
        let error = SessionId::new(text).expect_err("refused");
        assert_eq!(error.faults[0].path.to_string(), "id");
    }
    assert!(SessionId::new("é".repeat(100)).is_ok());
    assert!(
        serde_json::from_value::<Position>(json!({
            "id": "", "uid": "01".repeat(16), "version": 1
        }))
        .is_err()
    );
}

#[test]
fn a_page_has_1_to_500_items() {
    for size in [1, 50, 500] {
        assert_eq!(PageRequest::new(size).map(|page| page.size()), Ok(size));
    }
    for size in [0, 501, u32::MAX] {
        let error = PageRequest::new(size).expect_err("out of range");
        assert_eq!(error.faults[0].code, FaultCode::OutOfRange);
        assert!(serde_json::from_value::<PageRequest>(json!({"size": size})).is_err());
    }
    let default: PageRequest = serde_json::from_str("{}").expect("all have defaults");
    assert_eq!(default, PageRequest::default());
}

#[test]
fn s113_each_filter_alone_tells_two_heads_apart() {
    let shown = head();
    let hidden = Head {
        id: id("Order-42"),
        status: SessionStatus::Error,
        runnable: true,
        tags: [("team".to_owned(), "sales".to_owned())].into(),
        lease: None,
        next_expiry: None,
        created_at: time(100),
        updated_at: time(5),
        ..head()
    };
    let filters = [
        SessionFilter::new()
            .status(SessionStatus::AwaitingUser)
            .status(SessionStatus::Idle),
        SessionFilter::new().not_runnable(),
        SessionFilter::new().tag("team", "support"),
        SessionFilter::new().id_prefix("ord"),
        SessionFilter::new().created_before(time(100)),
        SessionFilter::new().updated_from(time(10)),
        SessionFilter::new().expires_before(time(5_001)),
        SessionFilter::new().lease(LeaseFilter::Held),
    ];
    for filter in &filters {
        assert!(filter.matches(&shown), "{filter:?}");
        assert!(!filter.matches(&hidden), "{filter:?}");
    }
    let others = [
        SessionFilter::new().runnable(),
        SessionFilter::new().created_from(time(100)),
        SessionFilter::new().updated_before(time(10)),
        SessionFilter::new().lease(LeaseFilter::Free),
    ];
    for filter in &others {
        assert!(!filter.matches(&shown), "{filter:?}");
        assert!(filter.matches(&hidden), "{filter:?}");
    }
    assert!(
        !SessionFilter::new()
            .expires_before(time(5_000))
            .matches(&shown)
    );
    assert!(
        !SessionFilter::new()
            .tag("team", "support")
            .tag("a", "b")
            .matches(&shown)
    );
}

#[test]
fn s111_progress_needs_a_fence_and_s115_an_entry_has_its_limit() {
    let at = Position {
        version: Version(0),
        ..head().position()
    };
    let mut entries = journal(Link::START, &["one", "two"]);
    let reason = |found: Result<Version, StoreError>| found.map_err(|error| error.reason);
    assert_eq!(check_append(&at, None, &entries), Ok(Version(2)));
    assert_eq!(
        reason(check_append(&at, None, &[])),
        Err(StoreReason::Refused)
    );
    assert_eq!(
        reason(check_append(&at, None, &entries[1..])),
        Err(StoreReason::Refused)
    );
    entries[1].class = EntryClass::Progress;
    assert_eq!(
        reason(check_append(&at, None, &entries)),
        Err(StoreReason::Refused)
    );
    assert_eq!(check_append(&at, Some(Fence(1)), &entries), Ok(Version(2)));
    entries[0].bytes = vec![b'x'; Entry::MAX_BYTES].into();
    assert_eq!(check_append(&at, Some(Fence(1)), &entries), Ok(Version(2)));
    entries[1].bytes = vec![b'x'; Entry::MAX_BYTES + 1].into();
    let found = check_append(&at, Some(Fence(1)), &entries).expect_err("too large");
    assert_eq!(
        (found.reason, found.version),
        (StoreReason::TooLarge, Some(Version(2)))
    );
}

#[test]
fn s122_debug_shows_no_content() {
    let entries = journal(Link::START, &["the secret text"]);
    let snapshot = Snapshot {
        version: Version(1),
        bytes: "the secret text".into(),
        state_hash: Hash::ZERO,
        chain: entries[0].chain,
    };
    let shown = format!("{:?} {snapshot:?}", entries[0]);
    assert!(!shown.contains("secret"), "{shown}");
    assert!(shown.contains("bytes: 15"), "{shown}");
}
