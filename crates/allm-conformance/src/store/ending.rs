//! What ends a run, and who is told of what was written.

use allm_core::{EntryClass, Lease, LoadFrom, Snapshot, StoreReason, Version};

use super::Look;
use super::bench::{Wanted, append_id, refused};
use super::place::Place;
use super::session::{Known, LONG, same};
use crate::finding::{Checked, Finding, Rule, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "ends_a_run",
            contract: "S208",
            behaviour: "what ends a run is appended; with it the snapshot is kept and the lease is free, or nothing but \
                        the entries is there and the store says so",
        },
        |place| Box::pin(ends_a_run(place)),
    ),
    (
        Rule {
            name: "ends_a_run_once",
            contract: "S110, S208",
            behaviour: "the same append id again is Ok, appends nothing and leaves the lease of another alone",
        },
        |place| Box::pin(ends_a_run_once(place)),
    ),
    (
        Rule {
            name: "end_refused",
            contract: "S208",
            behaviour: "what ends a run at another version, or under a fence that is not current, writes nothing, keeps \
                        nothing and gives nothing back",
        },
        |place| Box::pin(end_refused(place)),
    ),
    (
        Rule {
            name: "lease_tells_the_version",
            contract: "S209",
            behaviour: "a lease tells at which version the session was when it was given, or nothing",
        },
        |place| Box::pin(lease_tells_the_version(place)),
    ),
];

/// The session after one more entry of progress, and its snapshot.
fn ended(known: &Known) -> Result<(Known, Snapshot), Finding> {
    let entries = known.next(EntryClass::Progress, &["the end"])?;
    let mut after = known.clone();
    after.note(&entries, &known.head_update());
    let snapshot = after.snapshot(after.version().0)?;
    Ok((after, snapshot))
}

/// Ends the run of this lease with what `after` has more than `known`.
async fn end(
    place: &Place<'_>,
    known: &Known,
    lease: &Lease,
    after: &Known,
    snapshot: &Snapshot,
) -> Result<bool, allm_core::StoreError> {
    let entries = after.after(known.version(), None).entries;
    let (at, head) = (known.at(), known.head_update());
    let append = append_id(&format!("the end of {}", known.version()));
    let store = &**place.store();
    let done = store.append_and_release(&at, lease, append, &entries, &head, Some(snapshot));
    done.await
}

/// The session is as it is known, with this lease and this snapshot.
async fn is_there(
    place: &Place<'_>,
    known: &Known,
    lease: Option<&Lease>,
    snapshot: Option<&Snapshot>,
) -> Checked {
    let mut expected = known.clone();
    expected.head.lease = lease.map(Lease::held);
    let loaded = known.load(&**place.store(), LoadFrom::Snapshot).await?;
    let from = snapshot.map_or(Version(0), |snapshot| snapshot.version);
    same(&loaded, &expected.after(from, snapshot.cloned()))
}

async fn ends_a_run(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let lease = known.acquired(store, "one", LONG).await?;
    let (after, snapshot) = ended(&known)?;
    let released = end(&place, &known, &lease, &after, &snapshot).await;
    if !released.wanted("it is appended")? {
        return is_there(&place, &after, Some(&lease), None).await;
    }
    is_there(&place, &after, None, Some(&snapshot)).await?;
    let entries = after.next(EntryClass::Progress, &["late"])?;
    let late = after.try_append(store, Some(lease.fence), append_id("late"), &entries);
    refused(late.await, StoreReason::Fenced).map(drop)
}

async fn ends_a_run_once(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let lease = known.acquired(store, "one", LONG).await?;
    let (after, snapshot) = ended(&known)?;
    let released = end(&place, &known, &lease, &after, &snapshot).await;
    let released = released.wanted("it is appended")?;
    let next = after.taken_over(store, "two").await?;
    let again = end(&place, &known, &lease, &after, &snapshot).await;
    again.wanted("the same again is Ok")?;
    let kept = released.then_some(&snapshot);
    match kept {
        Some(_) => is_there(&place, &after, Some(&next), kept).await,
        // Whether the snapshot is kept at the second time is left open.
        None => {
            let loaded = after.load(store, LoadFrom::After(Version(0))).await?;
            expect_eq(&loaded.head.lease, &Some(next.held()))?;
            expect_eq(&loaded.entries, &after.entries)
        }
    }
}

async fn end_refused(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    let first = known.acquired(store, "one", LONG).await?;
    let old = known.clone();
    known.progress(store, first.fence).await?;
    let (after, snapshot) = ended(&old)?;
    let conflict = end(&place, &old, &first, &after, &snapshot).await;
    refused(conflict, StoreReason::Conflict)?;
    is_there(&place, &known, Some(&first), None).await?;
    let second = known.taken_over(store, "two").await?;
    let (after, snapshot) = ended(&known)?;
    let fenced = end(&place, &known, &first, &after, &snapshot).await;
    refused(fenced, StoreReason::Fenced)?;
    is_there(&place, &known, Some(&second), None).await
}

async fn lease_tells_the_version(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::with_entries(store, "a", 2).await?;
    for _ in 0..2 {
        let lease = known.taken_over(store, "one").await?;
        if lease.version.is_some() {
            expect_eq(&lease.version, &Some(known.version()))?;
        }
        known.progress(store, lease.fence).await?;
    }
    Ok(())
}
