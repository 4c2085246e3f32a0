//! Fences: who may write progress.

use allm_core::{EntryClass, Fence, StoreReason};

use super::Look;
use super::bench::{Located, Wanted, append_id, refused};
use super::place::Place;
use super::session::{Known, LONG};
use crate::finding::{Checked, Rule, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "fences_grow",
            contract: "S126",
            behaviour: "the first fence is 1, and each acquisition has the next: after a release, a takeover, an expiry",
        },
        |place| Box::pin(fences_grow(place)),
    ),
    (
        Rule {
            name: "fences_grow_after_a_restart",
            contract: "S126",
            behaviour: "fences go on growing when the store was closed and opened again",
        },
        |place| Box::pin(fences_grow_after_a_restart(place)),
    ),
    (
        Rule {
            name: "fenced",
            contract: "S125",
            behaviour: "an append with a fence that was overtaken is `fenced` and writes nothing; the new one works",
        },
        |place| Box::pin(fenced(place)),
    ),
    (
        Rule {
            name: "released_fence",
            contract: "S125, S126",
            behaviour: "a fence that was released, or was never given out, is `fenced`",
        },
        |place| Box::pin(released_fence(place)),
    ),
    (
        Rule {
            name: "fence_outlives_its_lease",
            contract: "S125",
            behaviour: "a lease that has run out does not end its fence; the next acquisition does",
        },
        |place| Box::pin(fence_outlives_its_lease(place)),
    ),
];

/// Progress with this fence is refused and writes nothing.
async fn is_fenced(place: &Place<'_>, known: &Known, fence: Fence) -> Checked {
    let store = &**place.store();
    for class in [EntryClass::Progress, EntryClass::Input] {
        let entries = known.next(class, &["late"])?;
        let append = append_id(&format!("late {fence}"));
        let answer = known.try_append(store, Some(fence), append, &entries).await;
        refused(answer, StoreReason::Fenced).located(&format!("{class:?}"))?;
    }
    known.is_there(store).await
}

async fn fences_grow(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let mut fences = Vec::new();
    let first = known.acquired(store, "one", LONG).await?;
    fences.push(first.fence);
    fences.push(known.taken_over(store, "two").await?.fence);
    let third = known.taken_over(store, "two").await?;
    fences.push(third.fence);
    store.release(third).await.wanted("released")?;
    let fourth = known.acquired(store, "one", place.short_ttl()).await?;
    fences.push(fourth.fence);
    place.pass(fourth.expires_at).await?;
    fences.push(known.acquired(store, "two", LONG).await?.fence);
    expect_eq(&fences, &(1..=5).map(Fence).collect())?;
    let other = Known::created(store, "b").await?;
    let lease = other.acquired(store, "one", LONG).await?;
    expect_eq(&lease.fence, &Fence(1)).located("another session")
}

async fn fences_grow_after_a_restart(place: Place<'_>) -> Checked {
    let (known, released) = {
        let store = &**place.store();
        let known = Known::created(store, "a").await?;
        known.acquired(store, "one", LONG).await?;
        let released = Known::created(store, "b").await?;
        let lease = released.acquired(store, "one", LONG).await?;
        store.release(lease).await.wanted("released")?;
        (known, released)
    };
    let place = place.restarted().await?;
    let store = &**place.store();
    let second = known.taken_over(store, "two").await?;
    expect_eq(&second.fence, &Fence(2)).located("after a takeover")?;
    let second = released.acquired(store, "two", LONG).await?;
    expect_eq(&second.fence, &Fence(2)).located("after a release")
}

async fn fenced(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    let first = known.acquired(store, "one", LONG).await?;
    known.progress(store, first.fence).await?;
    let second = known.taken_over(store, "two").await?;
    is_fenced(&place, &known, first.fence).await?;
    known.progress(store, second.fence).await?;
    is_fenced(&place, &known, first.fence).await?;
    known.is_there(store).await
}

async fn released_fence(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    for fence in [0, 1, 2] {
        let fenced = is_fenced(&place, &known, Fence(fence)).await;
        fenced.located("nobody ever drove it")?;
    }
    let lease = known.acquired(store, "one", LONG).await?;
    is_fenced(&place, &known, Fence(2))
        .await
        .located("a fence of the future")?;
    store.release(lease.clone()).await.wanted("released")?;
    is_fenced(&place, &known, lease.fence)
        .await
        .located("released")
}

async fn fence_outlives_its_lease(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    let first = known.acquired(store, "one", place.short_ttl()).await?;
    place.pass(first.expires_at).await?;
    let late = known.progress(store, first.fence).await;
    late.located("expired, and nobody has taken over")?;
    known.acquired(store, "two", LONG).await?;
    is_fenced(&place, &known, first.fence)
        .await
        .located("taken over")
}
