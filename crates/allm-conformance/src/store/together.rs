//! Writers at the same time.

use std::collections::BTreeSet;
use std::sync::Arc;

use allm_core::{
    BoxFuture, Entry, EntryClass, Fence, Lease, Link, LoadFrom, PageRequest, SessionFilter,
    SessionId, SessionStore, StoreError, StoreReason, Takeover, Version,
};

use super::Look;
use super::bench::{Wanted, append_id, holder, idle};
use super::place::Place;
use super::session::{Known, LONG, follow};
use crate::finding::{Checked, Finding, Rule, expect, expect_eq};
use crate::wait::give_way;

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "two_appends",
            contract: "S131",
            behaviour: "of two appends at one version at once one succeeds and the other is a `conflict`",
        },
        |place| Box::pin(two_appends(place)),
    ),
    (
        Rule {
            name: "same_append_at_once",
            contract: "S110",
            behaviour: "the same append many times at once is written once, and each gets its version",
        },
        |place| Box::pin(same_append_at_once(place)),
    ),
    (
        Rule {
            name: "many_appenders",
            contract: "S130",
            behaviour: "of fifty writers that read and append again on a conflict none loses its entry",
        },
        |place| Box::pin(many_appenders(place)),
    ),
    (
        Rule {
            name: "read_at_one_instant",
            contract: "S109, SessionStore",
            behaviour: "what is read while somebody writes is the session as of one instant: whole appends, and their head",
        },
        |place| Box::pin(read_at_one_instant(place)),
    ),
    (
        Rule {
            name: "one_driver",
            contract: "S123, S124",
            behaviour: "of many that acquire a free session at once one succeeds, and the others are told of it",
        },
        |place| Box::pin(one_driver(place)),
    ),
    (
        Rule {
            name: "each_fence_once",
            contract: "S126",
            behaviour: "takeovers at the same time get different fences without a gap",
        },
        |place| Box::pin(each_fence_once(place)),
    ),
];

/// What one of several gets; the rest is `reason`.
fn one_of<T>(answers: Vec<Result<T, StoreError>>, reason: StoreReason) -> Result<T, Finding> {
    let mut winners = Vec::new();
    for answer in answers {
        match answer {
            Ok(answer) => winners.push(answer),
            Err(error) if error.reason == reason => {}
            Err(error) => {
                let expected = format!("`{reason}` for all but one");
                return Err(Finding::failed(expected, error.to_string()));
            }
        }
    }
    let count = winners.len();
    match winners.pop() {
        Some(winner) if count == 1 => Ok(winner),
        _ => Err(Finding::failed("exactly one Ok", format!("{count}"))),
    }
}

async fn two_appends(place: Place<'_>) -> Checked {
    for round in 0..10 {
        let store = place.store();
        let known = Known::created(&**store, &format!("round-{round}")).await?;
        let mut work: Vec<BoxFuture<'static, _>> = Vec::new();
        for name in ["one", "two"] {
            let (store, known) = (Arc::clone(store), known.clone());
            let entries = known.next(EntryClass::Input, &[name, "and more"])?;
            let append = append_id(&format!("{name} {round}"));
            work.push(Box::pin(async move {
                let answer = known.try_append(&*store, None, append, &entries);
                answer.await.map(|_| entries)
            }));
        }
        let written = one_of(place.together(work).await?, StoreReason::Conflict)?;
        let mut known = known;
        known.note(&written, &idle());
        known.is_there(&**store).await?;
    }
    Ok(())
}

async fn same_append_at_once(place: Place<'_>) -> Checked {
    let store = place.store();
    let mut known = Known::created(&**store, "a").await?;
    let entries = known.next(EntryClass::Input, &["x", "y"])?;
    let mut work: Vec<BoxFuture<'static, _>> = Vec::new();
    for _ in 0..8 {
        let (store, known, entries) = (Arc::clone(store), known.clone(), entries.clone());
        work.push(Box::pin(async move {
            let answer = known.try_append(&*store, None, append_id("1"), &entries);
            answer.await
        }));
    }
    let mut versions = BTreeSet::new();
    for answer in place.together(work).await? {
        versions.insert(answer.wanted("the version, for each")?);
    }
    expect(versions.len() == 1, "one version for all", || {
        format!("{versions:?}")
    })?;
    known.note(&entries, &idle());
    known.is_there(&**store).await
}

/// Reads and appends until it is written.
async fn insist(store: &dyn SessionStore, id: &SessionId, text: &str) -> Checked {
    const TRIES: usize = 10_000;
    for number in 0..TRIES {
        let loaded = store.load(id, LoadFrom::After(Version(0))).await;
        let loaded = loaded.wanted("the session can be loaded")?;
        let link = loaded.entries.last().map(Entry::link);
        let link = link.ok_or_else(|| Finding::failed("its entries", "none"))?;
        let entries = [follow(&link, EntryClass::Input, text.as_bytes().to_vec())?];
        // With a store that answers at once nobody would ever meet a conflict.
        give_way().await;
        let append = append_id(&format!("{text} {number}"));
        let at = loaded.head.position();
        match store.append(&at, None, append, &entries, &idle()).await {
            Ok(_) => return Ok(()),
            Err(error) if error.reason == StoreReason::Conflict => {}
            Err(error) => return Err(Finding::failed("Ok or `conflict`", error.to_string())),
        }
    }
    Err(Finding::failed("in the end it is written", "never"))
}

async fn many_appenders(place: Place<'_>) -> Checked {
    const WRITERS: usize = 50;
    let store = place.store();
    let known = Known::created(&**store, "a").await?;
    let mut work: Vec<BoxFuture<'static, _>> = Vec::new();
    for number in 0..WRITERS {
        let (store, id) = (Arc::clone(store), known.head.id.clone());
        work.push(Box::pin(async move {
            insist(&*store, &id, &format!("writer {number}")).await
        }));
    }
    for written in place.together(work).await? {
        written?;
    }
    let loaded = known.load(&**store, LoadFrom::After(Version(0))).await?;
    let verified = loaded.verify(&Link::START);
    verified.wanted("the chain verifies")?;
    let texts: BTreeSet<_> = loaded.entries.iter().map(|entry| &entry.bytes).collect();
    let (entries, different) = (loaded.entries.len(), texts.len());
    expect_eq(&(entries, different), &(WRITERS + 1, WRITERS + 1))
}

/// How many entries go together.
const BATCH: u64 = 5;

async fn write_batches(store: &dyn SessionStore, mut known: Known) -> Checked {
    for _ in 0..30 {
        let texts = ["1", "2", "3", "4", "5"];
        let entries = known.next(EntryClass::Input, &texts)?;
        known.append(store, None, &entries).await?;
        give_way().await;
    }
    Ok(())
}

async fn read_batches(store: &dyn SessionStore, id: &SessionId) -> Checked {
    let whole = |version: Version| {
        expect(version.0 % BATCH == 1, "whole appends", || {
            format!("version {version}")
        })
    };
    for _ in 0..40 {
        let loaded = store.load(id, LoadFrom::After(Version(0))).await;
        let loaded = loaded.wanted("the session can be loaded")?;
        let verified = loaded.verify(&Link::START);
        whole(verified.wanted("entries and head agree")?.version)?;
        let found = store
            .list(&SessionFilter::new(), PageRequest::default())
            .await;
        for head in found.wanted("a page of the listing")?.items {
            whole(head.version)?;
        }
        give_way().await;
    }
    Ok(())
}

async fn read_at_one_instant(place: Place<'_>) -> Checked {
    let store = place.store();
    let known = Known::created(&**store, "a").await?;
    let mut work: Vec<BoxFuture<'static, Checked>> = Vec::new();
    for _ in 0..4 {
        let (store, id) = (Arc::clone(store), known.head.id.clone());
        work.push(Box::pin(async move { read_batches(&*store, &id).await }));
    }
    let writer = Arc::clone(store);
    work.push(Box::pin(
        async move { write_batches(&*writer, known).await },
    ));
    place.together(work).await?.into_iter().collect()
}

fn acquirers(
    place: &Place<'_>,
    known: &Known,
    takeover: Takeover,
) -> Vec<BoxFuture<'static, Result<Lease, StoreError>>> {
    let one = |number: usize| {
        let (store, id) = (Arc::clone(place.store()), known.head.id.clone());
        let holder = holder(&format!("driver {number}"));
        let acquired: BoxFuture<'static, _> =
            Box::pin(async move { store.acquire(&id, &holder, LONG, takeover).await });
        acquired
    };
    (0..20).map(one).collect()
}

async fn one_driver(place: Place<'_>) -> Checked {
    let known = Known::created(&**place.store(), "a").await?;
    let work = acquirers(&place, &known, Takeover::IfExpired);
    let answers = place.together(work).await?;
    let held: BTreeSet<_> = answers
        .iter()
        .filter_map(|answer| answer.as_ref().err())
        .map(|error| error.held.as_ref().map(|held| held.holder.clone()))
        .collect();
    let lease = one_of(answers, StoreReason::LeaseHeld)?;
    let told = [Some(lease.holder)].into();
    expect(held == told, "all are told of the one", || {
        format!("{held:?}")
    })
}

async fn each_fence_once(place: Place<'_>) -> Checked {
    let known = Known::created(&**place.store(), "a").await?;
    let work = acquirers(&place, &known, Takeover::Force);
    let mut fences = Vec::new();
    for answer in place.together(work).await? {
        fences.push(answer.wanted("a takeover by force succeeds")?.fence);
    }
    fences.sort_unstable();
    expect_eq(&fences, &(1..=20).map(Fence).collect())
}
