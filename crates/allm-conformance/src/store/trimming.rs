//! Journals that are cut short.

use allm_core::{EntryClass, Link, LoadFrom, StoreError, StoreReason, Version};

use super::Look;
use super::bench::{Located, Wanted, append_id, conflict, id, refused};
use super::place::Place;
use super::session::{Known, same};
use crate::finding::{Checked, Rule, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "trim",
            contract: "S172",
            behaviour: "a trim drops the entries before a version and no others; what is left verifies and goes on",
        },
        |place| Box::pin(trim(place)),
    ),
    (
        Rule {
            name: "load_trimmed",
            contract: "sessions 10",
            behaviour: "a load that needs trimmed entries gives what a load from the snapshot gives",
        },
        |place| Box::pin(load_trimmed(place)),
    ),
    (
        Rule {
            name: "trim_needs_a_snapshot",
            contract: "S172",
            behaviour: "a trim that no snapshot covers is refused and drops nothing",
        },
        |place| Box::pin(trim_needs_a_snapshot(place)),
    ),
    (
        Rule {
            name: "trim_elsewhere",
            contract: "sessions 10",
            behaviour: "a trim at another version is a `conflict`, before it is `refused`; of an unknown id `not_found`",
        },
        |place| Box::pin(trim_elsewhere(place)),
    ),
    (
        Rule {
            name: "trimmed_append_ids",
            contract: "S110",
            behaviour: "the append ids of trimmed entries stay known",
        },
        |place| Box::pin(trimmed_append_ids(place)),
    ),
];

async fn trimmed(place: &Place<'_>, known: &Known, before: u64) -> Result<(), StoreError> {
    place.store().trim(&known.at(), Version(before)).await
}

async fn trim(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::with_entries(store, "a", 6).await?;
    let other = Known::with_entries(store, "b", 6).await?;
    let snapshot = known.put_snapshot(store, 4).await?;
    for _ in 0..2 {
        let dropped = trimmed(&place, &known, 4).await;
        dropped.wanted("a trim that the snapshot covers, also again")?;
        let loaded = known.load(store, LoadFrom::After(Version(3))).await?;
        same(&loaded, &known.after(Version(3), None)).located("what is left")?;
    }
    known.input(store).await.located("it goes on")?;
    let dropped = trimmed(&place, &known, 5).await;
    dropped.wanted("a trim up to the snapshot itself")?;
    let loaded = known.load(store, LoadFrom::Snapshot).await?;
    same(&loaded, &known.after(Version(4), Some(snapshot)))?;
    loaded.verify(&Link::START).wanted("the chain verifies")?;
    other.is_there(store).await.located("another session")
}

async fn load_trimmed(place: Place<'_>) -> Checked {
    let store = &**place.store();
    // Once some entries are left, once none.
    for (name, at, before) in [("a", 5, 4), ("b", 6, 7)] {
        let known = Known::with_entries(store, name, 6).await?;
        let snapshot = known.put_snapshot(store, at).await?;
        trimmed(&place, &known, before).await.wanted("trimmed")?;
        for after in 0..8 {
            let expected = if after + 1 < before {
                known.after(snapshot.version, Some(snapshot.clone()))
            } else {
                known.after(Version(after), None)
            };
            let loaded = known.load(store, LoadFrom::After(Version(after))).await?;
            let which = format!("after {after}, trimmed before {before}");
            same(&loaded, &expected).located(&which)?;
        }
    }
    Ok(())
}

async fn trim_needs_a_snapshot(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 6).await?;
    let answer = trimmed(&place, &known, 3).await;
    refused(answer, StoreReason::Refused).located("without a snapshot")?;
    known.is_there(store).await?;
    known.put_snapshot(store, 4).await?;
    for before in [6, 7, 100] {
        let answer = trimmed(&place, &known, before).await;
        let which = format!("before {before}, with a snapshot at 4");
        refused(answer, StoreReason::Refused).located(&which)?;
        known.is_there(store).await.located(&which)?;
    }
    Ok(())
}

async fn trim_elsewhere(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 6).await?;
    let answer = store.trim(&known.position(Version(5)), Version(3)).await;
    conflict(answer, Version(5), Version(6)).located("without a snapshot")?;
    known.put_snapshot(store, 4).await?;
    for at in [5, 7].map(Version) {
        let answer = store.trim(&known.position(at), Version(3)).await;
        conflict(answer, at, Version(6))?;
    }
    known.is_there(store).await?;
    let mut unknown = known.at();
    unknown.id = id("b")?;
    let answer = store.trim(&unknown, Version(3)).await;
    refused(answer, StoreReason::NotFound).map(|_| ())
}

async fn trimmed_append_ids(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let before = Known::created(store, "a").await?;
    let entries = before.next(EntryClass::Input, &["x", "y"])?;
    let append = || before.try_append(store, None, append_id("1"), &entries);
    let first = append().await.wanted("the entries are appended")?;
    let mut known = before.clone();
    known.note(&entries, &before.head_update());
    known.put_snapshot(store, 3).await?;
    trimmed(&place, &known, 4).await.wanted("trimmed")?;
    let again = append().await.wanted("the same append again is Ok")?;
    expect_eq(&again, &first)
}
