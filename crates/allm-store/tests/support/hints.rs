//! Who is told that something was appended.

use std::time::Duration;

use allm_core::{Lease, Takeover, WriterId};

use super::{Journal, Store, id};

pub async fn a_hint_comes_after_an_append(store: &Store) {
    let mut journal = Journal::create(store, "a").await;
    Journal::create(store, "b").await;
    let (a, b) = (id("a"), id("b"));
    let mut hint = store.changed(&a);
    let mut other = store.changed(&b);
    // A hint may need a moment until somebody listens, so it is asked for until it comes.
    for _ in 0..600 {
        let told = tokio::time::timeout(Duration::from_millis(50), &mut hint);
        assert!(
            tokio::time::timeout(Duration::ZERO, &mut other)
                .await
                .is_err()
        );
        let (told, _) = tokio::join!(told, journal.write("x"));
        if told.is_ok() {
            return;
        }
    }
    panic!("no hint came");
}

/// S209
pub async fn a_driver_is_told_of_inputs_only(store: &Store) {
    let mut journal = Journal::create(store, "a").await;
    let a = id("a");
    let mut hint = store.addressed(&a);
    // A hint may need a moment until somebody listens, so it is asked for until it comes.
    let mut came = false;
    for _ in 0..600 {
        let told = tokio::time::timeout(Duration::from_millis(50), &mut hint);
        let (told, _) = tokio::join!(told, journal.write("x"));
        if told.is_ok() {
            came = true;
            break;
        }
    }
    assert!(came, "no hint came");
    // What was told late of what came before.
    while tokio::time::timeout(Duration::from_millis(300), store.addressed(&a))
        .await
        .is_ok()
    {}
    let one = WriterId::new("one");
    let lease = store.acquire(&a, &one, Lease::DEFAULT_TTL, Takeover::IfExpired);
    let lease = lease.await.expect("acquired");
    let mut hint = store.addressed(&a);
    let mut anything = store.changed(&a);
    let told = tokio::time::timeout(Duration::from_millis(300), &mut hint);
    let any = tokio::time::timeout(Duration::from_secs(30), &mut anything);
    let (told, any, _) = tokio::join!(told, any, journal.progress(lease.fence, 1));
    assert!(any.is_ok(), "whoever reads along is told");
    assert!(told.is_err(), "the driver was told of its own");
}
