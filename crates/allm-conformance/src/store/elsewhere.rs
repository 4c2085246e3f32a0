//! The same data from another place, and at another time.

use std::sync::Arc;

use allm_core::{
    BoxFuture, DeleteIf, EntryClass, LoadFrom, SessionFilter, StoreReason, Takeover, Version,
};

use super::Look;
use super::bench::{Located, Wanted, append_id, conflict, idle, refused};
use super::listing::listed;
use super::place::Place;
use super::session::{Known, LONG, follow, same};
use crate::finding::{Checked, Finding, Rule, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "seen_elsewhere",
            contract: "S45, SessionStore",
            behaviour: "what was written is seen by every later read through a second store over the same data",
        },
        |place| Box::pin(seen_elsewhere(place)),
    ),
    (
        Rule {
            name: "raced_elsewhere",
            contract: "S123, S131",
            behaviour: "of two appends at one version through two stores one succeeds and the other is a `conflict`",
        },
        |place| Box::pin(raced_elsewhere(place)),
    ),
    (
        Rule {
            name: "survives_a_restart",
            contract: "sessions 1, SessionStore",
            behaviour: "all that was written is there when the store was closed and opened again",
        },
        |place| Box::pin(survives_a_restart(place)),
    ),
];

async fn seen_elsewhere(place: Place<'_>) -> Checked {
    let here = &**place.store();
    let there = place.reopened().await?;
    let there = &*there;
    let mut known = Known::created(here, "a").await?;
    known.is_there(there).await.located("a creation")?;
    let before = known.clone();
    known.input(there).await?;
    known.is_there(here).await.located("an append")?;
    let entries = before.next(EntryClass::Input, &["old"])?;
    let answer = before
        .try_append(here, None, append_id("old"), &entries)
        .await;
    conflict(answer, Version(1), Version(2)).located("an append")?;
    let lease = known.acquired(here, "one", LONG).await?;
    let answer = known
        .try_acquire(there, "two", LONG, Takeover::IfExpired)
        .await;
    refused(answer, StoreReason::LeaseHeld).located("a lease")?;
    let second = known.taken_over(there, "two").await?;
    refused(here.renew(&lease).await, StoreReason::Fenced).located("a takeover")?;
    there.release(second).await.wanted("released")?;
    let found = listed(here, &SessionFilter::new(), 500).await?;
    expect_eq(&found, &vec![known.head.clone()]).located("by a list")?;
    let snapshot = known.put_snapshot(here, 2).await?;
    let loaded = known.load(there, LoadFrom::Snapshot).await?;
    same(&loaded, &known.after(Version(2), Some(snapshot))).located("a snapshot")?;
    let deleted = there.delete(&known.head.id, DeleteIf::Any).await;
    deleted.wanted("deleted")?;
    let absent = here.load(&known.head.id, LoadFrom::Snapshot).await;
    refused(absent, StoreReason::NotFound)
        .located("a deletion")
        .map(|_| ())
}

async fn raced_elsewhere(place: Place<'_>) -> Checked {
    let stores = [Arc::clone(place.store()), place.reopened().await?];
    let mut known = Known::created(&**place.store(), "a").await?;
    for round in 0..20 {
        let mut work: Vec<BoxFuture<'static, _>> = Vec::new();
        for (number, store) in stores.iter().enumerate() {
            let (store, known) = (Arc::clone(store), known.clone());
            let text = format!("round {round}, store {number}");
            let entries = known.next(EntryClass::Input, &[&text])?;
            work.push(Box::pin(async move {
                let answer = known.try_append(&*store, None, append_id(&text), &entries);
                answer.await.map(|_| entries)
            }));
        }
        let mut winners = Vec::new();
        for answer in place.together(work).await? {
            match answer {
                Ok(entries) => winners.push(entries),
                Err(error) => {
                    refused::<()>(Err(error), StoreReason::Conflict)?;
                }
            }
        }
        let [entries] = winners.as_slice() else {
            let found = format!("{} in round {round}", winners.len());
            return Err(Finding::failed("exactly one Ok", found));
        };
        known.note(entries, &idle());
    }
    known.is_there(&**place.store()).await
}

async fn survives_a_restart(place: Place<'_>) -> Checked {
    let (known, before, first, gone, snapshot, lease) = {
        let store = &**place.store();
        let mut known = Known::created(store, "a").await?;
        let bytes = "large ".repeat(20_000).into_bytes();
        let entry = follow(&known.link(), EntryClass::Input, bytes)?;
        known.append(store, None, &[entry]).await?;
        let before = known.clone();
        let entries = before.next(EntryClass::Input, &["x"])?;
        let appended = before
            .try_append(store, None, append_id("1"), &entries)
            .await;
        let first = appended.wanted("the entries are appended")?;
        known.note(&entries, &before.head_update());
        let snapshot = known.put_snapshot(store, 2).await?;
        let lease = known.acquired(store, "one", LONG).await?;
        let gone = Known::created(store, "b").await?;
        let deleted = store.delete(&gone.head.id, DeleteIf::Any).await;
        deleted.wanted("deleted")?;
        (known, before, first, gone, snapshot, lease)
    };
    let place = place.restarted().await?;
    let store = &**place.store();
    known.is_there(store).await.located("the journal")?;
    let loaded = known.load(store, LoadFrom::Snapshot).await?;
    expect_eq(&loaded.snapshot, &Some(snapshot))?;
    expect_eq(&loaded.head.lease, &Some(lease.held())).located("the lease")?;
    let entries = before.next(EntryClass::Input, &["x"])?;
    let again = before
        .try_append(store, None, append_id("1"), &entries)
        .await;
    let again = again.wanted("the append id is known")?;
    expect_eq(&again, &first)?;
    let entries = gone.next(EntryClass::Input, &["late"])?;
    let late = gone
        .try_append(store, None, append_id("late"), &entries)
        .await;
    refused(late, StoreReason::Gone)
        .located("the tombstone")
        .map(|_| ())
}
