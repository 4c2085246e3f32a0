//! What a store is asked and answers, as data.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use std::fmt::Debug;
use std::time::Duration;

use allm_core::{
    AppendId, Cursor, DeleteIf, Entry, EntryClass, Fence, Hash, Head, HeadUpdate, HeldLease,
    KeyError, Lease, LeaseFilter, Link, LoadFrom, Loaded, NewSession, Page, PageRequest,
    SessionFilter, SessionId, SessionStatus, SessionUid, Snapshot, StoreError, Takeover, Timestamp,
    Version, WriterId,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
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

fn round<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).expect("serialises");
    assert!(!text.contains("null"), "absent is left out: {text}");
    let back: T = serde_json::from_str(&text).expect(&text);
    assert_eq!(&back, value, "{text}");
    if let Ok(serde_json::Value::Object(mut fields)) = serde_json::from_str(&text) {
        fields.insert("surprise".to_owned(), json!(1));
        let refused = serde_json::from_value::<T>(fields.into());
        assert!(refused.is_err(), "an unknown field is refused: {text}");
    }
}

#[test]
fn every_type_reads_back_equal() {
    let entries = journal(Link::START, &["a", "b"]);
    let snapshot = Snapshot {
        version: Version(1),
        bytes: "{}".into(),
        state_hash: Hash::of_bytes(b"state"),
        chain: entries[0].chain,
    };
    round(&Version(u64::MAX));
    round(&Fence(u64::MAX));
    round(&SessionUid::from_bytes([7; 16]));
    round(&AppendId::from_bytes([0xab; 16]));
    round(&Hash::of_bytes(b""));
    round(&Link::START);
    round(&entries[0]);
    round(&head());
    round(&head().position());
    round(&snapshot);
    round(&Loaded {
        head: head(),
        snapshot: Some(snapshot),
        entries: entries[1..].to_vec(),
    });
    round(&NewSession {
        id: id("a"),
        uid: SessionUid::from_bytes([1; 16]),
        first: entries[0].clone(),
        head: HeadUpdate::new(SessionStatus::Idle),
    });
    round(&Lease {
        id: id("a"),
        uid: SessionUid::from_bytes([1; 16]),
        holder: WriterId::new("w"),
        fence: Fence(3),
        ttl: Lease::DEFAULT_TTL,
        expires_at: time(1),
        version: Some(Version(2)),
    });
    round(&SessionFilter::new());
    round(
        &SessionFilter::new()
            .status(SessionStatus::Idle)
            .runnable()
            .tag("a", "b")
            .id_prefix("x")
            .created_from(time(1))
            .created_before(time(2))
            .updated_from(time(3))
            .updated_before(time(4))
            .expires_before(time(5))
            .lease(LeaseFilter::Held),
    );
    round(&PageRequest::default());
    round(&PageRequest::default().after(Cursor::new("c")));
    round(&Page {
        items: vec![head()],
        next: Some(Cursor::new("c")),
    });
    for condition in [
        DeleteIf::Version(Version(3)),
        DeleteIf::Any,
        DeleteIf::Force,
    ] {
        round_plain(&condition);
    }
    for takeover in [Takeover::IfExpired, Takeover::Force] {
        round_plain(&takeover);
    }
    for from in [LoadFrom::Snapshot, LoadFrom::After(Version(9))] {
        round_plain(&from);
    }
    round(&KeyError::new("the vault is sealed"));
    round(&StoreError::lease_held(HeldLease {
        holder: WriterId::new("w"),
        expires_at: time(1),
    }));
}

fn round_plain<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).expect("serialises");
    assert_eq!(&serde_json::from_str::<T>(&text).expect(&text), value);
}

#[test]
fn the_json_is_as_the_contract_has_it() {
    assert_eq!(
        serde_json::to_value(head()).expect("serialises"),
        json!({
            "id": "order-42",
            "uid": "01010101010101010101010101010101",
            "version": 2,
            "status": "awaiting_user",
            "tags": {"team": "support"},
            "lease": {"holder": "w1", "expires_at": "1970-01-01T00:00:30.000Z"},
            "next_expiry": "1970-01-01T00:00:05.000Z",
            "created_at": "1970-01-01T00:00:00.000Z",
            "updated_at": "1970-01-01T00:00:00.010Z",
        })
    );
    for status in SessionStatus::ALL {
        let written = serde_json::to_value(status).expect("serialises");
        assert_eq!(written, json!(status.as_str()));
    }
}

#[test]
fn hex_has_one_text_for_a_value() {
    let upper = "AB".repeat(16);
    for text in ["", "ab", &upper, &"ab".repeat(17), &"é".repeat(16)] {
        assert!(text.parse::<SessionUid>().is_err(), "{text}");
    }
    let hash = Hash::of_bytes(b"x").to_string();
    let bare = hash.strip_prefix("sha256:").expect("prefixed");
    assert!(bare.parse::<Hash>().is_err());
    assert!(
        format!("sha256:{}", bare.to_uppercase())
            .parse::<Hash>()
            .is_err()
    );
    assert_eq!(
        format!("{:?}", Hash::of_bytes(b"x")),
        format!("Hash({hash})")
    );
}

#[test]
fn a_lease_keeps_its_ttl_in_milliseconds() {
    let lease = Lease {
        id: id("a"),
        uid: SessionUid::from_bytes([1; 16]),
        holder: WriterId::new("w"),
        fence: Fence(1),
        ttl: Duration::from_millis(1_500),
        expires_at: time(1_500),
        version: None,
    };
    let written = serde_json::to_value(&lease).expect("serialises");
    assert_eq!(written["ttl"], json!(1_500));
}
