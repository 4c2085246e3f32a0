//! Stores that go wrong about leases and fences.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use allm_core::{
    EntryClass, Fence, Lease, SessionId, SessionUid, StoreError, StoreReason, Takeover, Timestamp,
};

use super::faulty::{Answer, Append, Ask, broken, error, remembering};

#[tokio::test]
async fn s124_acquisitions() {
    let renamed = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Acquire(..), Ok(Answer::Lease(lease))) => Ok(Answer::Lease(Lease {
            uid: SessionUid::from_bytes([0; 16]),
            ..lease
        })),
        (_, answer) => answer,
    });
    let renamed = renamed.await;
    assert!(renamed.contains(&"lease".to_owned()), "{renamed:?}");
    let to_its_holder = broken(|right, mut ask| {
        if let Ask::Acquire(id, holder, _, takeover) = &mut ask
            && let Some(held) = right.head(id).and_then(|head| head.lease)
            && held.holder == *holder
        {
            *takeover = Takeover::Force;
        }
        right.ask(&ask)
    });
    assert_eq!(to_its_holder.await, ["lease_held"]);
    let untold = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Acquire(..), Err(old)) => Err(StoreError { held: None, ..old }),
        (_, answer) => answer,
    });
    assert_eq!(
        untold.await,
        ["literal_holders", "lease_held", "one_driver"]
    );
    let rounded = broken(|right, mut ask| {
        if let Ask::Acquire(_, _, ttl, _) = &mut ask {
            *ttl = (*ttl).max(Duration::from_millis(1));
        }
        right.ask(&ask)
    });
    assert_eq!(rounded.await, ["acquire_refused"]);
}

#[tokio::test]
async fn leases_that_end_at_another_time() {
    type Held = BTreeMap<SessionId, Lease>;
    let shown = remembering(|held: &mut Held, right, ask| {
        let answer = right.ask(&ask);
        match (&ask, answer) {
            (Ask::Acquire(id, ..), Ok(Answer::Lease(lease))) => {
                held.insert(id.clone(), lease.clone());
                Ok(Answer::Lease(lease))
            }
            (Ask::Release(lease) | Ask::End(_, lease, _), answer @ Ok(_)) => {
                held.remove(&lease.id);
                answer
            }
            (Ask::Load(id, _), Ok(Answer::Loaded(mut loaded))) => {
                if loaded.head.lease.is_none() {
                    loaded.head.lease = held.get(id).map(Lease::held);
                }
                Ok(Answer::Loaded(loaded))
            }
            (_, answer) => answer,
        }
    });
    assert_eq!(shown.await, ["lease_expires", "created_again"]);
    let early = broken(|right, mut ask| {
        if let Ask::Acquire(id, _, _, takeover) = &mut ask
            && let Some(held) = right.head(id).and_then(|head| head.lease)
            && held.expires_at.as_millis() - right.now() < 1000
        {
            *takeover = Takeover::Force;
        }
        right.ask(&ask)
    });
    assert_eq!(early.await, ["lease_lasts"]);
}

#[tokio::test]
async fn s125_renewals() {
    let idle = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Renew(lease), Ok(Answer::Lease(_))) => Ok(Answer::Lease(lease.clone())),
        (_, answer) => answer,
    });
    assert_eq!(idle.await, ["renew", "renew_expired"]);
    let early = broken(|right, ask| match &ask {
        Ask::Renew(lease)
            if right
                .head(&lease.id)
                .is_some_and(|head| head.uid == lease.uid && head.lease.is_none()) =>
        {
            Err(error(StoreReason::Fenced))
        }
        _ => right.ask(&ask),
    });
    assert_eq!(early.await, ["renew_expired"]);
    let by_holder = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Renew(lease), Err(old)) if old.reason == StoreReason::Fenced => {
            let held = right.head(&lease.id).and_then(|head| head.lease);
            match held {
                Some(held) if held.holder == lease.holder => Ok(Answer::Lease(lease.clone())),
                _ => Err(old),
            }
        }
        (_, answer) => answer,
    });
    assert_eq!(by_holder.await, ["renew_lost"]);
}

#[tokio::test]
async fn releases() {
    let strict = broken(|right, ask| match &ask {
        Ask::Release(lease) if right.head(&lease.id).is_none() => Err(error(StoreReason::Gone)),
        _ => right.ask(&ask),
    });
    assert_eq!(strict.await, ["release"]);
    type Latest = BTreeMap<SessionUid, Lease>;
    let by_anybody = remembering(|latest: &mut Latest, right, mut ask| {
        if let Ask::Release(lease) = &mut ask
            && let Some(current) = latest.get(&lease.uid)
        {
            *lease = current.clone();
        }
        let answer = right.ask(&ask);
        if let Ok(Answer::Lease(lease)) = &answer {
            latest.insert(lease.uid, lease.clone());
        }
        answer
    });
    assert_eq!(by_anybody.await, ["release_lost"]);
}

#[tokio::test]
async fn s126_fences_that_do_not_grow() {
    let after_a_release = remembering(|released: &mut BTreeSet<SessionId>, right, ask| {
        if let Ask::Release(lease) = &ask {
            released.insert(lease.id.clone());
        }
        match (&ask, right.ask(&ask)) {
            (Ask::Acquire(id, ..), Ok(Answer::Lease(mut lease))) if right.opened == 0 => {
                if released.contains(id) {
                    lease.fence.0 -= 1;
                }
                Ok(Answer::Lease(lease))
            }
            (_, answer) => answer,
        }
    });
    assert_eq!(after_a_release.await, ["fences_grow"]);
    let after_a_restart = broken(|right, mut ask| {
        if let (1.., Ask::Release(lease)) = (right.opened, &mut ask) {
            lease.fence.0 += 1;
        }
        match (&ask, right.ask(&ask)) {
            (Ask::Acquire(..), Ok(Answer::Lease(mut lease))) if right.opened > 0 => {
                lease.fence.0 -= 1;
                Ok(Answer::Lease(lease))
            }
            (_, answer) => answer,
        }
    });
    assert_eq!(after_a_restart.await, ["fences_grow_after_a_restart"]);
    let small = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Acquire(..), Ok(Answer::Lease(mut lease))) => {
            lease.fence = lease.fence.min(Fence(15));
            Ok(Answer::Lease(lease))
        }
        (_, answer) => answer,
    });
    assert_eq!(small.await, ["each_fence_once"]);
}

#[tokio::test]
async fn s125_fences_that_are_not_looked_at() {
    let any = broken(|right, mut ask| {
        if let Ask::Append(Append { at, fence, .. }) = &mut ask
            && fence.is_some()
            && let Some(current) = (1..30)
                .map(Fence)
                .find(|fence| right.is_current(at, *fence))
        {
            *fence = Some(current);
        }
        right.ask(&ask)
    });
    assert_eq!(
        any.await,
        [
            "fence_before_version",
            "fenced",
            "released_fence",
            "fence_outlives_its_lease"
        ]
    );
    let released = remembering(|released: &mut BTreeSet<Fence>, right, ask| {
        if let Ask::Release(lease) = &ask {
            released.insert(lease.fence);
        }
        match (&ask, right.ask(&ask)) {
            (Ask::Append(append), Err(old))
                if old.reason == StoreReason::Fenced
                    && append.fence.is_some_and(|fence| released.contains(&fence)) =>
            {
                Ok(Answer::Version(append.at.version.next()))
            }
            (_, answer) => answer,
        }
    });
    assert_eq!(released.await, ["released_fence"]);
    let with_its_lease = broken(|right, ask| match &ask {
        Ask::Append(append)
            if append.fence.is_some()
                && append
                    .entries
                    .iter()
                    .any(|entry| entry.class == EntryClass::Progress)
                && right.head(&append.at.id).is_some_and(|head| {
                    head.uid == append.at.uid
                        && head.lease.is_none()
                        && head.version == append.at.version
                }) =>
        {
            Err(error(StoreReason::Fenced))
        }
        _ => right.ask(&ask),
    });
    assert_eq!(with_its_lease.await, ["fence_outlives_its_lease"]);
}

#[tokio::test]
async fn a_clock_that_goes_back() {
    let shaky = remembering(
        |readings: &mut i64, right, ask| match (&ask, right.ask(&ask)) {
            (Ask::Now, Ok(Answer::Time(time))) => {
                *readings += 1;
                let back = i64::from(*readings % 7 == 0);
                Ok(Answer::Time(
                    Timestamp::from_millis(time.as_millis() - back).unwrap(),
                ))
            }
            (_, answer) => answer,
        },
    );
    assert_eq!(shaky.await, ["now"]);
}
