//! How sessions end.

use std::time::Duration;

use allm_core::{
    DeleteIf, EntryClass, LoadFrom, NewSession, SessionFilter, SessionStore, StoreReason, Takeover,
    Version,
};

use super::Look;
use super::bench::{Located, Wanted, append_id, conflict, id, idle, refused, uid};
use super::listing::listed;
use super::place::Place;
use super::session::{Known, LONG, new_session_as, same};
use crate::finding::{Checked, Finding, Rule, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "delete",
            contract: "S169",
            behaviour: "a deleted session is found by no read and can be acquired by nobody; others stay",
        },
        |place| Box::pin(delete(place)),
    ),
    (
        Rule {
            name: "delete_unknown",
            contract: "sessions 10",
            behaviour: "deleting what is not there, or not any more, is `not_found`",
        },
        |place| Box::pin(delete_unknown(place)),
    ),
    (
        Rule {
            name: "delete_version",
            contract: "S170",
            behaviour: "a deletion that names another version is a `conflict` with both, before the lease is looked at",
        },
        |place| Box::pin(delete_version(place)),
    ),
    (
        Rule {
            name: "delete_leased",
            contract: "S170",
            behaviour: "a live lease refuses a deletion, with its holder, unless it is forced",
        },
        |place| Box::pin(delete_leased(place)),
    ),
    (
        Rule {
            name: "gone",
            contract: "S169, S170",
            behaviour: "late writers of a deleted session are told `gone`",
        },
        |place| Box::pin(gone(place)),
    ),
    (
        Rule {
            name: "gone_for_thirty_days",
            contract: "S169",
            behaviour: "late writers are told `gone` for 30 days",
        },
        |place| Box::pin(gone_for_thirty_days(place)),
    ),
    (
        Rule {
            name: "created_again",
            contract: "S105, S169",
            behaviour: "a session created again under its old id has nothing of the old one",
        },
        |place| Box::pin(created_again(place)),
    ),
    (
        Rule {
            name: "gone_though_created_again",
            contract: "S132",
            behaviour: "late writers of the old session are told `gone`, at an equal version too, and the new one stays as it is",
        },
        |place| Box::pin(gone_though_created_again(place)),
    ),
    (
        Rule {
            name: "kept",
            contract: "sessions 15",
            behaviour: "nothing is deleted unless somebody asks for it",
        },
        |place| Box::pin(kept(place)),
    ),
];

async fn deleted(store: &dyn SessionStore, known: &Known) -> Checked {
    let answer = store.delete(&known.head.id, DeleteIf::Force).await;
    answer.wanted("a forced deletion succeeds")
}

async fn delete(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let other = Known::created(store, "other").await?;
    let conditions = [
        ("a", DeleteIf::Version(Version(3))),
        ("b", DeleteIf::Any),
        ("c", DeleteIf::Force),
    ];
    for (name, condition) in conditions {
        let known = Known::with_entries(store, name, 3).await?;
        known.put_snapshot(store, 2).await?;
        let answer = store.delete(&known.head.id, condition).await;
        answer
            .wanted("deleted")
            .located(&format!("{condition:?}"))?;
        for from in [LoadFrom::Snapshot, LoadFrom::After(Version(0))] {
            refused(
                store.load(&known.head.id, from).await,
                StoreReason::NotFound,
            )?;
        }
        let acquired = known.try_acquire(store, "one", LONG, Takeover::Force).await;
        refused(acquired, StoreReason::NotFound).located("acquiring it")?;
    }
    let found = listed(store, &SessionFilter::new(), 500).await?;
    expect_eq(&found, &vec![other.head.clone()]).located("by a list")?;
    other.is_there(store).await.located("another session")
}

async fn delete_unknown(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    deleted(store, &known).await?;
    for id in [id("a")?, id("b")?] {
        for condition in [
            DeleteIf::Version(Version(9)),
            DeleteIf::Any,
            DeleteIf::Force,
        ] {
            refused(store.delete(&id, condition).await, StoreReason::NotFound)?;
        }
    }
    Ok(())
}

async fn delete_version(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 3).await?;
    for which in ["free", "leased"] {
        for version in [2, 4].map(Version) {
            let answer = store
                .delete(&known.head.id, DeleteIf::Version(version))
                .await;
            conflict(answer, version, known.version()).located(which)?;
        }
        known.taken_over(store, "one").await?;
    }
    known.is_there(store).await
}

async fn delete_leased(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let lease = known.acquired(store, "one", LONG).await?;
    for condition in [DeleteIf::Version(Version(1)), DeleteIf::Any] {
        let answer = store.delete(&known.head.id, condition).await;
        let error = refused(answer, StoreReason::LeaseHeld)?;
        expect_eq(&error.held, &Some(lease.held()))?;
    }
    known.is_there(store).await?;
    deleted(store, &known).await
}

/// What every late writer is told.
async fn is_gone(store: &dyn SessionStore, known: &Known, at: Version) -> Checked {
    let position = known.position(at);
    let mut late = known.clone();
    late.entries.retain(|entry| entry.version <= at);
    let entries = late.next(EntryClass::Input, &["late"])?;
    let (append, head) = (append_id("late"), idle());
    let answer = store.append(&position, None, append, &entries, &head).await;
    refused(answer, StoreReason::Gone).located("an append")?;
    let snapshot = known.snapshot(at.0)?;
    let answer = store.put_snapshot(&position, snapshot).await;
    refused(answer, StoreReason::Gone).located("a snapshot")?;
    let answer = store.trim(&position, at).await;
    refused(answer, StoreReason::Gone)
        .located("a trim")
        .map(|_| ())
}

async fn gone(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 3).await?;
    let lease = known.acquired(store, "one", LONG).await?;
    deleted(store, &known).await?;
    for version in [1, 3].map(Version) {
        is_gone(store, &known, version).await?;
    }
    refused(store.renew(&lease).await, StoreReason::Gone).located("a renewal")?;
    let entries = known.next(EntryClass::Progress, &["late"])?;
    let answer = known.try_append(store, Some(lease.fence), append_id("late"), &entries);
    refused(answer.await, StoreReason::Gone)
        .located("progress")
        .map(|_| ())
}

async fn gone_for_thirty_days(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    deleted(store, &known).await?;
    for day in 0..29 {
        place.advance(Duration::from_secs(86_400))?;
        // Others come and go meanwhile; that is when a store cleans up.
        let other = Known::created(store, &format!("day {day}")).await?;
        deleted(store, &other).await?;
    }
    is_gone(store, &known, Version(1)).await
}

/// The same session again, with another uid.
async fn again(store: &dyn SessionStore, known: &Known, text: &str) -> Result<Known, Finding> {
    let name = known.head.id.as_str();
    let new = NewSession {
        uid: uid(text),
        ..new_session_as(name, known.head.uid)?
    };
    Known::created_as(store, &new).await
}

async fn created_again(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let old = Known::created(store, "a").await?;
    let entries = old.next(EntryClass::Input, &["x"])?;
    let append = append_id("1");
    let first = old.try_append(store, None, append, &entries).await;
    first.wanted("the entries are appended")?;
    let mut long = old.clone();
    long.note(&entries, &old.head_update());
    long.input(store).await?;
    long.put_snapshot(store, 3).await?;
    long.acquired(store, "one", LONG).await?;
    deleted(store, &long).await?;
    let mut new = again(store, &old, "again").await?;
    let loaded = new.load(store, LoadFrom::Snapshot).await?;
    same(&loaded, &new.after(Version(0), None)).located("at its beginning")?;
    // An append id of the old one is not known here.
    let written = new.try_append(store, None, append, &entries).await;
    written.wanted("an append id of the old session is free")?;
    new.note(&entries, &old.head_update());
    new.is_there(store).await.located("after an append")?;
    let lease = new.acquired(store, "two", LONG).await;
    lease.located("the old lease").map(|_| ())
}

async fn gone_though_created_again(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let first = Known::created(store, "a").await?;
    let first_lease = first.acquired(store, "one", LONG).await?;
    deleted(store, &first).await?;
    let second = again(store, &first, "second").await?;
    deleted(store, &second).await?;
    let third = again(store, &first, "third").await?;
    let lease = third.acquired(store, "one", LONG).await?;
    for old in [&first, &second] {
        is_gone(store, old, Version(1)).await?;
    }
    refused(store.renew(&first_lease).await, StoreReason::Gone).located("a renewal")?;
    let released = store.release(first_lease).await;
    released.wanted("releasing what is gone is Ok")?;
    let loaded = third.load(store, LoadFrom::Snapshot).await?;
    expect_eq(&loaded.head.lease, &Some(lease.held())).located("its lease")?;
    third.is_there(store).await
}

async fn kept(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 3).await?;
    let snapshot = known.put_snapshot(store, 2).await?;
    for month in 0..20 {
        place.advance(Duration::from_secs(86_400 * 30))?;
        let other = Known::created(store, &format!("month {month}")).await?;
        deleted(store, &other).await?;
    }
    known.is_there(store).await?;
    let loaded = known.load(store, LoadFrom::Snapshot).await?;
    same(&loaded, &known.after(Version(2), Some(snapshot)))?;
    let found = listed(store, &SessionFilter::new(), 500).await?;
    expect_eq(&found, &vec![known.head])
}
