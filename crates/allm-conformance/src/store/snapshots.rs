//! Snapshots.

use allm_core::{Hash, LoadFrom, Snapshot, StoreReason, Version};

use super::Look;
use super::bench::{Located, Wanted, id, refused};
use super::place::Place;
use super::session::{Known, same};
use crate::finding::{Checked, Rule};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "snapshot",
            contract: "S69, sessions 8",
            behaviour: "a load from the snapshot gives it and exactly the later entries",
        },
        |place| Box::pin(snapshot(place)),
    ),
    (
        Rule {
            name: "newest_snapshot",
            contract: "sessions 10",
            behaviour: "the newest snapshot is kept, in whichever order they come and however often",
        },
        |place| Box::pin(newest_snapshot(place)),
    ),
    (
        Rule {
            name: "snapshot_not_asked_for",
            contract: "S112",
            behaviour: "a load after a version gives its entries and no snapshot",
        },
        |place| Box::pin(snapshot_not_asked_for(place)),
    ),
    (
        Rule {
            name: "snapshot_fits",
            contract: "sessions 10",
            behaviour: "a snapshot that does not fit the journal is refused and not kept",
        },
        |place| Box::pin(snapshot_fits(place)),
    ),
    (
        Rule {
            name: "snapshot_unknown",
            contract: "sessions 10",
            behaviour: "a snapshot of an id that never was is `not_found`",
        },
        |place| Box::pin(snapshot_unknown(place)),
    ),
];

async fn gives(place: &Place<'_>, known: &Known, snapshot: Option<&Snapshot>) -> Checked {
    let loaded = known.load(&**place.store(), LoadFrom::Snapshot).await?;
    let from = snapshot.map_or(Version(0), |snapshot| snapshot.version);
    same(&loaded, &known.after(from, snapshot.cloned()))
}

async fn snapshot(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::with_entries(store, "a", 5).await?;
    let at_three = known.put_snapshot(store, 3).await?;
    gives(&place, &known, Some(&at_three)).await?;
    known.input(store).await?;
    gives(&place, &known, Some(&at_three))
        .await
        .located("it went on")?;
    let at_six = known.put_snapshot(store, 6).await?;
    gives(&place, &known, Some(&at_six))
        .await
        .located("at the end")
}

async fn newest_snapshot(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 12).await?;
    let newest = known.put_snapshot(store, 11).await?;
    for version in [11, 2, 9, 10, 11] {
        known.put_snapshot(store, version).await?;
        let gives = gives(&place, &known, Some(&newest)).await;
        gives.located(&format!("after one at {version}"))?;
    }
    Ok(())
}

async fn snapshot_not_asked_for(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 5).await?;
    known.put_snapshot(store, 3).await?;
    for after in (0..7).map(Version) {
        let loaded = known.load(store, LoadFrom::After(after)).await?;
        same(&loaded, &known.after(after, None)).located(&format!("after {after}"))?;
    }
    Ok(())
}

async fn snapshot_fits(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 5).await?;
    let fitting = known.snapshot(3)?;
    let with = |version: u64, chain: Hash| Snapshot {
        version: Version(version),
        chain,
        ..fitting.clone()
    };
    let unfit = [
        ("another chain", 3, with(3, Hash::ZERO)),
        ("the chain of another entry", 3, with(3, known.link().chain)),
        ("another version than the position", 4, fitting.clone()),
        ("a position before it", 2, fitting.clone()),
        (
            "a version that is not there",
            6,
            with(6, known.link().chain),
        ),
        ("version 0", 0, with(0, Hash::ZERO)),
    ];
    for (which, at, snapshot) in unfit {
        let at = known.position(Version(at));
        let answer = store.put_snapshot(&at, snapshot).await;
        refused(answer, StoreReason::Refused).located(which)?;
        gives(&place, &known, None).await.located(which)?;
    }
    let put = known.try_snapshot(store, &fitting).await;
    put.wanted("one that fits is kept")
}

async fn snapshot_unknown(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    known.head.id = id("b")?;
    let answer = known.try_snapshot(store, &known.snapshot(1)?).await;
    refused(answer, StoreReason::NotFound).map(|_| ())
}
