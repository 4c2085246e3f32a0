//! The chain of hashes through a journal.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use allm_core::{
    Entry, EntryClass, Hash, Head, HeadUpdate, Link, Loaded, NewSession, SessionId, SessionStatus,
    SessionUid, Snapshot, StoreError, Timestamp, Version, verify_chain,
};

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).expect("in range")
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

fn head(version: u64) -> Head {
    let new = NewSession {
        id: SessionId::new("order-42").expect("valid"),
        uid: SessionUid::from_bytes([1; 16]),
        first: journal(Link::START, &["one"]).remove(0),
        head: HeadUpdate::new(SessionStatus::Idle),
    };
    Head {
        version: Version(version),
        ..Head::created(&new)
    }
}

#[test]
fn the_chain_is_the_hash_of_the_previous_chain_and_the_bytes() {
    let entries = journal(Link::START, &["abc"]);
    let mut both = vec![0; 32];
    both.extend_from_slice(b"abc");
    assert_eq!(entries[0].chain, Hash::of_bytes(&both));
    assert_eq!(entries[0].version, Version(1));
}

#[test]
fn s70_a_flipped_byte_is_corrupt_at_its_version() {
    let entries = journal(Link::START, &["one", "two", "three"]);
    let last = entries[2].link();
    assert_eq!(verify_chain(&Link::START, &entries), Ok(last));
    assert_eq!(verify_chain(&entries[0].link(), &entries[1..]), Ok(last));
    for (place, entry) in entries.iter().enumerate() {
        for byte in 0..entry.bytes.len() {
            let mut bytes = entry.bytes.to_vec();
            bytes[byte] ^= 1;
            let mut bad = entries.clone();
            bad[place].bytes = bytes.into();
            let found = verify_chain(&Link::START, &bad);
            assert_eq!(found, Err(StoreError::corrupt(entry.version)));
        }
        let mut bad = entries.clone();
        bad[place].chain = Hash::ZERO;
        let found = verify_chain(&Link::START, &bad);
        assert_eq!(found, Err(StoreError::corrupt(entry.version)));
    }
}

#[test]
fn s71_a_removed_doubled_or_swapped_row_is_corrupt_at_the_first_bad_version() {
    let entries = journal(Link::START, &["one", "two", "three"]);
    let loaded = |entries: Vec<Entry>| Loaded {
        head: head(3),
        snapshot: None,
        entries,
    };
    let corrupt = |version| Err(StoreError::corrupt(Version(version)));
    assert_eq!(
        loaded(entries.clone()).verify(&Link::START),
        Ok(entries[2].link())
    );
    for place in 0..3 {
        let version = place as u64 + 1;
        let mut removed = entries.clone();
        removed.remove(place);
        assert_eq!(loaded(removed).verify(&Link::START), corrupt(version));

        let mut doubled = entries.clone();
        doubled.insert(place, entries[place].clone());
        assert_eq!(loaded(doubled).verify(&Link::START), corrupt(version + 1));
    }
    for (one, two) in [(0, 1), (1, 2), (0, 2)] {
        let version = one as u64 + 1;
        let mut swapped = entries.clone();
        swapped.swap(one, two);
        assert_eq!(
            loaded(swapped.clone()).verify(&Link::START),
            corrupt(version)
        );
        // The same with the versions where they were, as a swap of all other columns.
        swapped[one].version = entries[one].version;
        swapped[two].version = entries[two].version;
        assert_eq!(loaded(swapped).verify(&Link::START), corrupt(version));
    }
}

#[test]
fn a_load_goes_on_from_its_snapshot() {
    let entries = journal(Link::START, &["one", "two", "three"]);
    let loaded = Loaded {
        head: head(3),
        snapshot: Some(Snapshot {
            version: Version(2),
            bytes: "{}".into(),
            state_hash: Hash::ZERO,
            chain: entries[1].chain,
        }),
        entries: entries[2..].to_vec(),
    };
    assert_eq!(loaded.verify(&Link::START), Ok(entries[2].link()));
}
