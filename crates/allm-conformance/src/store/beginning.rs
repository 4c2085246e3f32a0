//! What begins a run.

use std::time::Duration;

use allm_core::{
    Claim, Entry, EntryClass, HeldLease, Lease, LoadFrom, StoreError, StoreReason, Takeover,
    Timestamp, Version,
};

use super::Look;
use super::bench::{Wanted, append_id, holder, id, refused, time, uid};
use super::place::Place;
use super::session::{Known, LONG, same};
use crate::finding::{Checked, Finding, Rule, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "begins_a_run",
            contract: "S209",
            behaviour: "what begins a run is appended under the lease that is given with it, or the lease is given alone and \
                        the store says so",
        },
        |place| Box::pin(begins_a_run(place)),
    ),
    (
        Rule {
            name: "begins_a_run_once",
            contract: "S110, S209",
            behaviour: "asked again by force, what begins a run is not appended twice, and counts as appended",
        },
        |place| Box::pin(begins_a_run_once(place)),
    ),
    (
        Rule {
            name: "begins_where_it_is_known",
            contract: "S209",
            behaviour: "at another version, or when the id is another session's by now, the lease is given and nothing is \
                        appended",
        },
        |place| Box::pin(begins_where_it_is_known(place)),
    ),
    (
        Rule {
            name: "begins_in_time",
            contract: "S167, S209",
            behaviour: "what has another time than the store's is not appended, and the lease is given",
        },
        |place| Box::pin(begins_in_time(place)),
    ),
    (
        Rule {
            name: "begin_refused",
            contract: "S124, S209",
            behaviour: "a live lease, a session that is not there, a ttl under a millisecond and entries with a gap are \
                        refused as they are apart, and nothing is done",
        },
        |place| Box::pin(begin_refused(place)),
    ),
];

fn claim(name: &str, takeover: Takeover) -> Claim {
    Claim {
        holder: holder(name),
        ttl: LONG,
        takeover,
    }
}

/// Takes the session and appends these after what is known.
async fn begin(
    place: &Place<'_>,
    known: &Known,
    claim: Claim,
    entries: &[Entry],
) -> Result<(Lease, bool), StoreError> {
    let (at, head) = (known.at(), known.head_update());
    let append = append_id("the beginning");
    let store = &**place.store();
    store
        .acquire_and_append(&claim, &at, append, entries, &head)
        .await
}

async fn first(place: &Place<'_>, known: &Known) -> Result<Vec<Entry>, Finding> {
    Ok(first_at(known, place.now().await?))
}

fn first_at(known: &Known, at: Timestamp) -> Vec<Entry> {
    let begins = Entry::following(&known.link(), EntryClass::Progress, at, "it begins".into());
    let goes_on = Entry::following(
        &begins.link(),
        EntryClass::Progress,
        at,
        "it goes on".into(),
    );
    vec![begins, goes_on]
}

/// The session is as it is known, with this lease.
async fn is_there(place: &Place<'_>, known: &Known, lease: Option<HeldLease>) -> Checked {
    let mut expected = known.clone();
    expected.head.lease = lease;
    let loaded = known
        .load(&**place.store(), LoadFrom::After(Version(0)))
        .await?;
    same(&loaded, &expected.after(Version(0), None))
}

async fn begins_a_run(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::with_entries(store, "a", 1).await?;
    let before = known.version();
    let old = known.acquired(store, "old", LONG).await?;
    store.release(old.clone()).await.wanted("it is released")?;
    let (entries, one) = (
        first(&place, &known).await?,
        claim("one", Takeover::IfExpired),
    );
    let (lease, is_appended) = begin(&place, &known, one.clone(), &entries)
        .await
        .wanted("a free session is taken")?;
    expect_eq(&lease.holder, &one.holder)?;
    expect_eq(&lease.ttl, &one.ttl)?;
    expect_eq(&lease.fence.0, &(old.fence.0 + 1))?;
    if lease.version.is_some() {
        expect_eq(&lease.version, &Some(before))?;
    }
    if is_appended {
        known.note(&entries, &known.head_update());
    }
    is_there(&place, &known, Some(lease.held())).await?;
    // It is a lease like any other.
    known.progress(store, lease.fence).await?;
    is_there(&place, &known, Some(lease.held())).await
}

async fn begins_a_run_once(place: Place<'_>) -> Checked {
    let mut known = Known::created(&**place.store(), "a").await?;
    let entries = first(&place, &known).await?;
    let begun = begin(&place, &known, claim("one", Takeover::IfExpired), &entries);
    let (first, is_appended) = begun.await.wanted("a free session is taken")?;
    let again = begin(&place, &known, claim("one", Takeover::Force), &entries);
    let (second, is_still) = again.await.wanted("it is taken over")?;
    expect_eq(&is_still, &is_appended)?;
    expect_eq(&second.fence.0, &(first.fence.0 + 1))?;
    if is_appended {
        known.note(&entries, &known.head_update());
    }
    is_there(&place, &known, Some(second.held())).await
}

async fn begins_where_it_is_known(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    let old = known.clone();
    known.input(store).await?;
    let entries = first(&place, &old).await?;
    let begun = begin(&place, &old, claim("one", Takeover::IfExpired), &entries);
    let (lease, is_appended) = begun.await.wanted("the lease is given")?;
    expect_eq(&is_appended, &false)?;
    is_there(&place, &known, Some(lease.held())).await?;
    let mut other = known.clone();
    other.head.uid = uid("another one");
    let entries = first(&place, &known).await?;
    let begun = begin(&place, &other, claim("two", Takeover::Force), &entries);
    let (lease, is_appended) = begun.await.wanted("the lease is given")?;
    expect_eq(&is_appended, &false)?;
    expect_eq(&lease.uid, &known.head.uid)?;
    is_there(&place, &known, Some(lease.held())).await
}

async fn begins_in_time(place: Place<'_>) -> Checked {
    let known = Known::created(&**place.store(), "a").await?;
    let now = place.now().await?.as_millis();
    for (number, away) in [-3_600_000, -60_000, 60_000, 3_600_000]
        .into_iter()
        .enumerate()
    {
        let entries = first_at(&known, time(now.saturating_add(away))?);
        let name = format!("number {number}");
        let begun = begin(&place, &known, claim(&name, Takeover::Force), &entries);
        let (lease, is_appended) = begun.await.wanted("the lease is given")?;
        expect_eq(&is_appended, &false).map_err(|finding| finding.at(&away))?;
        is_there(&place, &known, Some(lease.held())).await?;
    }
    Ok(())
}

async fn begin_refused(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let entries = first(&place, &known).await?;
    let free = claim("two", Takeover::IfExpired);
    let short = Claim {
        ttl: Duration::from_micros(999),
        ..free.clone()
    };
    let begun = begin(&place, &known, short, &entries).await;
    refused(begun, StoreReason::Refused)?;
    let gap: Vec<Entry> = entries.iter().skip(1).cloned().collect();
    let begun = begin(&place, &known, free.clone(), &gap).await;
    refused(begun, StoreReason::Refused)?;
    is_there(&place, &known, None).await?;
    let mut unknown = known.clone();
    unknown.head.id = id("b")?;
    let begun = begin(&place, &unknown, free.clone(), &entries).await;
    refused(begun, StoreReason::NotFound)?;
    let held = known.acquired(store, "one", LONG).await?;
    let begun = begin(&place, &known, free.clone(), &entries).await;
    let error = refused(begun, StoreReason::LeaseHeld)?;
    expect_eq(&error.held, &Some(held.held()))?;
    is_there(&place, &known, Some(held.held())).await
}
