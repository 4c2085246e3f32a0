//! Who drives a session, and for how long.

use std::time::Duration;

use allm_core::{DeleteIf, Lease, LeaseFilter, LoadFrom, SessionFilter, StoreReason, Takeover};

use super::Look;
use super::bench::{Located, Wanted, holder, id, refused};
use super::listing::listed;
use super::place::Place;
use super::session::{Known, LONG};
use crate::finding::{Checked, Rule, expect, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "lease",
            contract: "sessions 11",
            behaviour: "a lease names session, holder and ttl, ends a ttl from now, is shown, and changes no version",
        },
        |place| Box::pin(lease(place)),
    ),
    (
        Rule {
            name: "lease_held",
            contract: "S124",
            behaviour: "a live lease refuses everybody, its own holder too, and names holder and expiry",
        },
        |place| Box::pin(lease_held(place)),
    ),
    (
        Rule {
            name: "acquire_refused",
            contract: "sessions 10",
            behaviour: "a ttl under a millisecond is refused, an id that never was is `not_found`",
        },
        |place| Box::pin(acquire_refused(place)),
    ),
    (
        Rule {
            name: "lease_expires",
            contract: "sessions 11",
            behaviour: "a lease that has expired by the store's clock is not shown and keeps nobody out",
        },
        |place| Box::pin(lease_expires(place)),
    ),
    (
        Rule {
            name: "lease_lasts",
            contract: "sessions 11",
            behaviour: "a lease is live to the last millisecond of its ttl",
        },
        |place| Box::pin(lease_lasts(place)),
    ),
    (
        Rule {
            name: "renew",
            contract: "sessions 11",
            behaviour: "a renewed lease keeps its fence and ends a ttl from now, as often as it is renewed",
        },
        |place| Box::pin(renew(place)),
    ),
    (
        Rule {
            name: "renew_expired",
            contract: "sessions 11",
            behaviour: "an expired lease can be renewed as long as nobody has taken over",
        },
        |place| Box::pin(renew_expired(place)),
    ),
    (
        Rule {
            name: "renew_lost",
            contract: "S125",
            behaviour: "renewing a lease that was taken over or released is `fenced` and changes nothing",
        },
        |place| Box::pin(renew_lost(place)),
    ),
    (
        Rule {
            name: "release",
            contract: "sessions 11",
            behaviour: "a released session is free at once; releasing again, or when it is gone, is Ok",
        },
        |place| Box::pin(release(place)),
    ),
    (
        Rule {
            name: "release_lost",
            contract: "sessions 11",
            behaviour: "releasing a lease that was taken over is Ok and leaves the new one alone",
        },
        |place| Box::pin(release_lost(place)),
    ),
];

/// The live lease is this one, by a load and by a list; or there is none.
async fn shown(place: &Place<'_>, known: &Known, lease: Option<&Lease>) -> Checked {
    let store = &**place.store();
    let expected = lease.map(Lease::held);
    let loaded = known.load(store, LoadFrom::Snapshot).await?;
    expect_eq(&loaded.head.lease, &expected).located("by a load")?;
    for (filter, is_held) in [(LeaseFilter::Held, true), (LeaseFilter::Free, false)] {
        let filter = SessionFilter::new().lease(filter);
        let found = listed(store, &filter, 500).await?;
        let found: Vec<_> = found.into_iter().map(|head| head.lease).collect();
        let wanted = (is_held == expected.is_some()).then(|| expected.clone());
        expect_eq(&found, &wanted.into_iter().collect()).located("by a list")?;
    }
    Ok(())
}

/// It ends a ttl after a time between `before` and now; a clock of microseconds may be rounded up.
async fn ends_in_time(place: &Place<'_>, lease: &Lease, before: i64) -> Checked {
    let after = place.now().await?.as_millis();
    let ttl = i64::try_from(lease.ttl.as_millis()).unwrap_or(i64::MAX);
    let from = lease.expires_at.as_millis().saturating_sub(ttl);
    expect(
        before <= from && from <= after + 1,
        &format!("it ends {:?} from now on", lease.ttl),
        || format!("it ends at {}", lease.expires_at),
    )
}

async fn lease(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 2).await?;
    shown(&place, &known, None).await?;
    let before = place.now().await?.as_millis();
    let lease = known.acquired(store, "one", LONG).await?;
    ends_in_time(&place, &lease, before).await?;
    let parts = (&lease.id, lease.uid, &lease.holder, lease.ttl);
    let expected = (&known.head.id, known.head.uid, &holder("one"), LONG);
    expect_eq(&parts, &expected)?;
    shown(&place, &known, Some(&lease)).await?;
    known.is_there(store).await
}

async fn lease_held(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let first = known.acquired(store, "one", LONG).await?;
    let second = async {
        let forced = known.try_acquire(store, "two", LONG, Takeover::Force);
        forced.await.wanted("a takeover by force succeeds")
    };
    let refuses = async |lease: &Lease| {
        for name in ["one", "two", "three"] {
            let answer = known.try_acquire(store, name, LONG, Takeover::IfExpired);
            let error = refused(answer.await, StoreReason::LeaseHeld).located(name)?;
            expect_eq(&error.held, &Some(lease.held()))?;
        }
        shown(&place, &known, Some(lease)).await
    };
    refuses(&first).await.located("a lease")?;
    refuses(&second.await?).await.located("a forced one")
}

async fn acquire_refused(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    for ttl in [Duration::ZERO, Duration::from_micros(999)] {
        let answer = known.try_acquire(store, "one", ttl, Takeover::Force).await;
        refused(answer, StoreReason::Refused).located(&format!("{ttl:?}"))?;
    }
    shown(&place, &known, None).await?;
    let unknown = id("b")?;
    for takeover in [Takeover::IfExpired, Takeover::Force] {
        let answer = store
            .acquire(&unknown, &holder("one"), LONG, takeover)
            .await;
        refused(answer, StoreReason::NotFound)?;
    }
    Ok(())
}

async fn lease_expires(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let first = known.acquired(store, "one", place.short_ttl()).await?;
    place.pass(first.expires_at).await?;
    shown(&place, &known, None).await?;
    let second = known.acquired(store, "two", LONG).await?;
    shown(&place, &known, Some(&second)).await?;
    let deletable = Known::created(store, "b").await?;
    let third = deletable.acquired(store, "one", place.short_ttl()).await?;
    place.pass(third.expires_at).await?;
    let deleted = store.delete(&deletable.head.id, DeleteIf::Any).await;
    deleted.wanted("it does not keep a deletion out")
}

async fn lease_lasts(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let ttl = Duration::from_secs(30);
    let lease = known.acquired(store, "one", ttl).await?;
    place.advance(ttl.saturating_sub(Duration::from_millis(1)))?;
    let answer = known.try_acquire(store, "two", LONG, Takeover::IfExpired);
    refused(answer.await, StoreReason::LeaseHeld)?;
    shown(&place, &known, Some(&lease)).await
}

async fn renew(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let first = known.acquired(store, "one", LONG).await?;
    let mut lease = first.clone();
    for _ in 0..3 {
        // Some time goes by, so that a renewal that does nothing is seen.
        place.pass(place.now().await?).await?;
        let before = place.now().await?.as_millis();
        let renewed = store
            .renew(&lease)
            .await
            .wanted("a current lease is renewed")?;
        ends_in_time(&place, &renewed, before).await?;
        let expected = Lease {
            expires_at: renewed.expires_at,
            ..first.clone()
        };
        expect_eq(&renewed, &expected)?;
        shown(&place, &known, Some(&renewed)).await?;
        lease = renewed;
    }
    // The holder may have lost the reply, and asks with the lease that it has.
    store
        .renew(&first)
        .await
        .wanted("asking again does no harm")?;
    known.is_there(store).await
}

async fn renew_expired(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let lease = known.acquired(store, "one", place.short_ttl()).await?;
    place.pass(lease.expires_at).await?;
    let before = place.now().await?.as_millis();
    let renewed = store.renew(&lease).await.wanted("nobody has taken over")?;
    expect_eq(&renewed.fence, &lease.fence)?;
    ends_in_time(&place, &renewed, before).await
}

async fn renew_lost(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let first = known.acquired(store, "one", LONG).await?;
    let second = known.taken_over(store, "one").await?;
    refused(store.renew(&first).await, StoreReason::Fenced).located("taken over")?;
    shown(&place, &known, Some(&second)).await?;
    store.release(second.clone()).await.wanted("released")?;
    for lease in [first, second] {
        refused(store.renew(&lease).await, StoreReason::Fenced).located("released")?;
    }
    shown(&place, &known, None).await
}

async fn release(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let lease = known.acquired(store, "one", LONG).await?;
    for _ in 0..2 {
        store
            .release(lease.clone())
            .await
            .wanted("Ok, also again")?;
        shown(&place, &known, None).await?;
    }
    known.is_there(store).await?;
    known.acquired(store, "two", LONG).await?;
    let deleted = store.delete(&known.head.id, DeleteIf::Force).await;
    deleted.wanted("deleted")?;
    store
        .release(lease.clone())
        .await
        .wanted("Ok when it is gone")?;
    let never = Lease {
        id: id("b")?,
        ..lease
    };
    store.release(never).await.wanted("Ok when it never was")
}

async fn release_lost(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let first = known.acquired(store, "one", LONG).await?;
    // The same holder: it is the fence that tells them apart.
    let second = known.taken_over(store, "one").await?;
    store.release(first).await.wanted("Ok, though it is lost")?;
    shown(&place, &known, Some(&second)).await?;
    let renewed = store.renew(&second).await;
    renewed.wanted("it is still held").map(|_| ())
}
