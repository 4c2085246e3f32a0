//! A session as schema 1 keeps it; the files in `tests/golden` have it as SQL.

use allm_core::{
    EntryClass, HeldLease, Link, LoadFrom, SessionFilter, SessionStatus, Version, WriterId,
};

use super::{Store, id, listed, time};

pub async fn is_readable(store: &Store) {
    let whole = LoadFrom::After(Version(0));
    let loaded = store.load(&id("order-42"), whole).await.expect("there");
    let link = loaded.verify(&Link::START).expect("unchanged hashes");
    assert_eq!(link.version, Version(3));
    let chain = "sha256:a752196537ce94d957ccb6a942400c9f8e97d0b9b51a6d6a71aa284b7588ac84";
    assert_eq!(link.chain.to_string(), chain);
    let head = &loaded.head;
    assert_eq!(head.uid.to_string(), "9f2c7be01d6a4c5e8b3f0a7d12e4c6b8");
    assert_eq!(head.status, SessionStatus::AwaitingUser);
    assert!(head.runnable);
    assert_eq!(
        head.tags,
        [("team".to_owned(), "support".to_owned())].into()
    );
    assert_eq!(head.next_expiry, Some(time(1_900_000_000_000)));
    assert_eq!((head.created_at, head.updated_at), (time(1000), time(3000)));
    let lease = HeldLease {
        holder: WriterId::new("writer-1"),
        expires_at: time(4_000_000_000_000),
    };
    assert_eq!(head.lease, Some(lease));
    let entries: Vec<_> = loaded
        .entries
        .iter()
        .map(|entry| (entry.class, entry.at))
        .collect();
    let input = EntryClass::Input;
    assert_eq!(
        entries,
        [
            (input, time(1000)),
            (EntryClass::Progress, time(2000)),
            (input, time(3000))
        ]
    );
    assert_eq!(loaded.entries[0].bytes, "{\"n\":1}");
    assert_eq!(
        loaded.entries[1].bytes,
        "a piece of content that is kept by its hash"
    );
    let loaded = store
        .load(&id("order-42"), LoadFrom::Snapshot)
        .await
        .expect("there");
    let snapshot = loaded.snapshot.expect("kept");
    assert_eq!(
        (snapshot.version, &snapshot.bytes[..]),
        (Version(2), &b"{\"snapshot\":2}"[..])
    );
    assert_eq!(loaded.entries.len(), 1);
    let tagged = SessionFilter::new().tag("team", "support");
    assert_eq!(listed(store, &tagged, 5).await, [loaded.head]);
}
