//! Stores that go wrong about snapshots, ends of runs, trimming and deletion.

use std::collections::{BTreeMap, BTreeSet};

use allm_core::{
    AppendId, Claim, DeleteIf, Fence, Lease, LoadFrom, SessionId, SessionUid, Snapshot, StoreError,
    StoreReason, Takeover, Version, check_append,
};

use super::faulty::{Answer, Ask, Right, broken, changed, error, remembering};

#[tokio::test]
async fn snapshots() {
    let one_more = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Load(id, LoadFrom::Snapshot), Ok(Answer::Loaded(mut loaded))) => {
            if let Some(snapshot) = &loaded.snapshot
                && let Some(entry) = right
                    .entries(id)
                    .into_iter()
                    .find(|entry| entry.version == snapshot.version)
            {
                loaded.entries.insert(0, entry);
            }
            Ok(Answer::Loaded(loaded))
        }
        (_, answer) => answer,
    });
    assert_eq!(
        one_more.await,
        [
            "exact_bytes",
            "large_content",
            "shared_content",
            "snapshot",
            "newest_snapshot",
            "ends_a_run",
            "ends_a_run_once",
            "kept",
            "seen_elsewhere"
        ]
    );
    type Last = BTreeMap<SessionId, Snapshot>;
    let latest = remembering(|last: &mut Last, right, ask| {
        let answer = right.ask(&ask);
        match (&ask, answer) {
            (Ask::PutSnapshot(at, snapshot), Ok(done)) => {
                last.insert(at.id.clone(), snapshot.clone());
                Ok(done)
            }
            (Ask::Load(id, LoadFrom::Snapshot), Ok(Answer::Loaded(mut loaded))) => {
                if let Some(snapshot) = last.get(id)
                    && loaded.snapshot.is_some()
                {
                    loaded.entries = right.entries(id);
                    loaded
                        .entries
                        .retain(|entry| entry.version > snapshot.version);
                    loaded.snapshot = Some(snapshot.clone());
                }
                Ok(Answer::Loaded(loaded))
            }
            (_, answer) => answer,
        }
    });
    assert_eq!(latest.await, ["newest_snapshot"]);
    let unasked = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Load(id, LoadFrom::After(after)), Ok(Answer::Loaded(mut loaded)))
            if *after > Version(0) && loaded.snapshot.is_none() =>
        {
            loaded.snapshot = right.snapshot(id);
            Ok(Answer::Loaded(loaded))
        }
        (_, answer) => answer,
    });
    assert_eq!(
        unasked.await,
        ["snapshot_not_asked_for", "trim", "load_trimmed"]
    );
    let unfit = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::PutSnapshot(..), Err(old)) if old.reason == StoreReason::Refused => Ok(Answer::Done),
        (_, answer) => answer,
    });
    assert_eq!(unfit.await, ["snapshot_fits"]);
    let unknown = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::PutSnapshot(..), Err(old)) if old.reason == StoreReason::NotFound => Ok(Answer::Done),
        (_, answer) => answer,
    });
    assert_eq!(unknown.await, ["snapshot_unknown"]);
}

#[tokio::test]
async fn s172_trims() {
    let one_more = broken(|right, ask| match &ask {
        Ask::Trim(at, before) => {
            let answer = right.ask(&ask);
            if answer.is_ok() {
                let _ = right.ask(&Ask::Trim(at.clone(), before.next()));
            }
            answer
        }
        _ => right.ask(&ask),
    });
    assert_eq!(one_more.await, ["trim", "load_trimmed"]);
    let as_if_whole = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Load(_, LoadFrom::After(_)), Ok(Answer::Loaded(mut loaded))) => {
            loaded.snapshot = None;
            Ok(Answer::Loaded(loaded))
        }
        (_, answer) => answer,
    });
    assert_eq!(as_if_whole.await, ["load_trimmed", "dropped"]);
    let uncovered = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Trim(..), Err(old)) if old.reason == StoreReason::Refused => Ok(Answer::Done),
        (_, answer) => answer,
    });
    assert_eq!(uncovered.await, ["trim_needs_a_snapshot"]);
    let snapshot_first = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Trim(at, _), Err(old)) if old.reason == StoreReason::Conflict => {
            match right.snapshot(&at.id) {
                Some(_) => Err(old),
                None => Err(error(StoreReason::Refused)),
            }
        }
        (_, answer) => answer,
    });
    assert_eq!(snapshot_first.await, ["trim_elsewhere"]);
    type Trims = BTreeMap<SessionId, u8>;
    let forgetful = remembering(|trims: &mut Trims, right, mut ask| {
        match &mut ask {
            Ask::Trim(at, _) => *trims.entry(at.id.clone()).or_default() += 1,
            Ask::Append(append) => {
                let number = trims.get(&append.at.id).copied().unwrap_or(0);
                append.id = changed(append.id, number);
            }
            _ => {}
        }
        right.ask(&ask)
    });
    assert_eq!(forgetful.await, ["trimmed_append_ids"]);
}

#[tokio::test]
async fn s169_s170_deletions() {
    let told = remembering(|deleted: &mut BTreeSet<SessionId>, right, ask| {
        if let Ask::Delete(id, _) = &ask {
            deleted.insert(id.clone());
        }
        match (&ask, right.ask(&ask)) {
            (Ask::Acquire(id, ..), Err(_)) if right.head(id).is_none() && deleted.contains(id) => {
                Err(error(StoreReason::Gone))
            }
            (_, answer) => answer,
        }
    });
    assert_eq!(told.await, ["delete"]);
    let easy = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Delete(..), Err(old)) if old.reason == StoreReason::NotFound => Ok(Answer::Done),
        (_, answer) => answer,
    });
    assert_eq!(easy.await, ["delete_unknown"]);
    let any_version = broken(|right, mut ask| {
        if let Ask::Delete(_, condition @ DeleteIf::Version(_)) = &mut ask {
            *condition = DeleteIf::Any;
        }
        right.ask(&ask)
    });
    assert_eq!(any_version.await, ["delete_version"]);
    let lease_first = broken(|right, ask| match &ask {
        Ask::Delete(id, DeleteIf::Version(_)) => match right.head(id).and_then(|head| head.lease) {
            Some(held) => Err(StoreError::lease_held(held)),
            None => right.ask(&ask),
        },
        _ => right.ask(&ask),
    });
    assert_eq!(lease_first.await, ["delete_version"]);
    let forcing = broken(|right, mut ask| {
        if let Ask::Delete(_, condition @ DeleteIf::Any) = &mut ask {
            *condition = DeleteIf::Force;
        }
        right.ask(&ask)
    });
    assert_eq!(forcing.await, ["delete_leased"]);
}

#[tokio::test]
async fn s132_s169_tombstones() {
    let none = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (_, Err(old)) if old.reason == StoreReason::Gone => {
            match ask.id().and_then(|id| right.head(id)) {
                Some(_) => Err(old),
                None => Err(error(StoreReason::NotFound)),
            }
        }
        (_, answer) => answer,
    });
    assert_eq!(
        none.await,
        [
            "gone_before_the_rest",
            "gone",
            "gone_for_thirty_days",
            "survives_a_restart"
        ]
    );
    type Times = BTreeMap<SessionUid, i64>;
    let a_week = remembering(|times: &mut Times, right, ask| {
        if let Ask::Delete(id, _) = &ask
            && let Some(head) = right.head(id)
        {
            times.insert(head.uid, right.now());
        }
        match (&ask, right.ask(&ask)) {
            (Ask::Append(append), Err(old)) if old.reason == StoreReason::Gone => {
                let time = times.get(&append.at.uid).copied().unwrap_or(0);
                if right.now() - time > 7 * 86_400_000 {
                    return Err(error(StoreReason::NotFound));
                }
                Err(old)
            }
            (_, answer) => answer,
        }
    });
    assert_eq!(a_week.await, ["gone_for_thirty_days"]);
    let by_id = broken(|right, mut ask| {
        if let Ask::Append(append) = &mut ask
            && let Some(head) = right.head(&append.at.id)
        {
            append.at.uid = head.uid;
        }
        right.ask(&ask)
    });
    assert_eq!(by_id.await, ["gone_though_created_again"]);
    type Appends = BTreeMap<(SessionId, AppendId), (SessionUid, Version)>;
    let remembered = remembering(|appends: &mut Appends, right, ask| {
        let Ask::Append(append) = &ask else {
            return right.ask(&ask);
        };
        let key = (append.at.id.clone(), append.id);
        let present = right.head(&append.at.id).map(|head| head.uid);
        match appends.get(&key) {
            Some((uid, version)) if *uid != append.at.uid && present == Some(append.at.uid) => {
                return Ok(Answer::Version(*version));
            }
            _ => {}
        }
        let answer = right.ask(&ask);
        if let Ok(Answer::Version(version)) = &answer {
            appends.insert(key, (append.at.uid, *version));
        }
        answer
    });
    assert_eq!(remembered.await, ["created_again"]);
}

#[tokio::test]
async fn nothing_goes_by_itself() {
    type Times = BTreeMap<SessionId, i64>;
    let a_year = remembering(|times: &mut Times, right, ask| {
        let now = right.now();
        if let Ask::Create(new) = &ask {
            times.insert(new.id.clone(), now);
        }
        let old = times
            .iter()
            .filter(|(_, time)| now - **time > 365 * 86_400_000);
        for (id, _) in old {
            let _ = right.ask(&Ask::Delete(id.clone(), DeleteIf::Force));
        }
        right.ask(&ask)
    });
    assert_eq!(a_year.await, ["kept"]);
}

#[tokio::test]
async fn s208_ends_of_runs() {
    // It says that it did all, and has only appended.
    let forgetful = broken(|right, ask| match ask {
        Ask::End(append, ..) => {
            right.ask(&Ask::Append(append))?;
            Ok(Answer::Released(true))
        }
        ask => right.ask(&ask),
    });
    assert_eq!(forgetful.await, ["ends_a_run", "ends_a_run_once"]);
    let unkept = broken(|right, ask| match ask {
        Ask::End(append, lease, _) => right.ask(&Ask::End(append, lease, None)),
        ask => right.ask(&ask),
    });
    assert_eq!(unkept.await, ["ends_a_run", "ends_a_run_once"]);
    // It did all, and says that it has only appended.
    let modest = broken(|right, ask| {
        let is_end = matches!(ask, Ask::End(..));
        let answer = right.ask(&ask)?;
        Ok(match answer {
            Answer::Released(_) if is_end => Answer::Released(false),
            answer => answer,
        })
    });
    assert_eq!(modest.await, ["ends_a_run"]);
    // Whoever has the session now loses it.
    let careless = broken(|right, ask| match ask {
        Ask::End(append, mut lease, snapshot) => {
            let ended = right.ask(&Ask::End(append.clone(), lease.clone(), snapshot));
            while right
                .head(&append.at.id)
                .is_some_and(|head| head.lease.is_some())
            {
                right.ask(&Ask::Release(lease.clone()))?;
                lease.fence.0 += 1;
            }
            ended
        }
        ask => right.ask(&ask),
    });
    assert_eq!(careless.await, ["ends_a_run_once", "end_refused"]);
    // It gives the lease back before it looks whether it may append.
    let hasty = broken(|right, ask| {
        let answer = right.ask(&ask);
        if let (Ask::End(_, lease, _), Err(_)) = (&ask, &answer) {
            right.ask(&Ask::Release(lease.clone()))?;
        }
        answer
    });
    assert_eq!(hasty.await, ["end_refused"]);
    let twice = broken(|right, ask| match ask {
        Ask::End(mut append, lease, snapshot) => {
            let head = right.head(&append.at.id);
            if let Some(head) = head.filter(|head| head.version != append.at.version) {
                append.id = changed(append.id, u8::try_from(head.version.0).expect("few"));
            }
            right.ask(&Ask::End(append, lease, snapshot))
        }
        ask => right.ask(&ask),
    });
    assert_eq!(twice.await, ["ends_a_run_once"]);
}

#[tokio::test]
async fn s209_leases_tell_versions() {
    let early = broken(|right, ask| {
        let answer = right.ask(&ask)?;
        Ok(match answer {
            Answer::Lease(lease) => Answer::Lease(Lease {
                version: Some(Version(1)),
                ..lease
            }),
            answer => answer,
        })
    });
    assert_eq!(early.await, ["lease_tells_the_version"]);
    let silent = broken(|right, ask| {
        let answer = right.ask(&ask)?;
        Ok(match answer {
            Answer::Lease(lease) => Answer::Lease(Lease {
                version: None,
                ..lease
            }),
            answer => answer,
        })
    });
    assert_eq!(silent.await, [""; 0]);
}

/// A store that has only what every store must have.
#[tokio::test]
async fn s208_a_store_that_ends_runs_with_several_writes() {
    let plain = broken(|right, ask| match ask {
        Ask::End(append, ..) => {
            right.ask(&Ask::Append(append))?;
            Ok(Answer::Released(false))
        }
        ask => right.ask(&ask),
    });
    assert_eq!(plain.await, [""; 0]);
}

#[tokio::test]
async fn s209_beginnings_of_runs() {
    // It says that it did all, and has only given the lease.
    let forgetful = broken(|right, ask| match ask {
        Ask::Begin(claim, append) => {
            let lease = acquired(right, &claim, &append.at.id)?;
            Ok(Answer::Begun((lease, true)))
        }
        ask => right.ask(&ask),
    });
    assert_eq!(
        forgetful.await,
        [
            "begins_a_run",
            "begins_a_run_once",
            "begins_where_it_is_known",
            "begins_in_time",
            "begin_refused"
        ]
    );
    // It did all, and says that it has only given the lease.
    let modest = broken(|right, ask| match right.ask(&ask)? {
        Answer::Begun((lease, _)) => Ok(Answer::Begun((lease, false))),
        answer => Ok(answer),
    });
    assert_eq!(modest.await, ["begins_a_run", "begins_a_run_once"]);
    let twice = broken(|right, ask| match ask {
        Ask::Begin(claim, mut append) => {
            let head = right.head(&append.at.id);
            if claim.takeover == Takeover::Force
                && let Some(head) = head.filter(|head| head.version != append.at.version)
            {
                append.id = changed(append.id, u8::try_from(head.version.0).expect("few"));
            }
            right.ask(&Ask::Begin(claim, append))
        }
        ask => right.ask(&ask),
    });
    assert_eq!(twice.await, ["begins_a_run_once"]);
    // Whatever is in the way, it says that it was appended.
    let bold = broken(|right, ask| match right.ask(&ask)? {
        Answer::Begun((lease, _)) => Ok(Answer::Begun((lease, true))),
        answer => Ok(answer),
    });
    assert_eq!(bold.await, ["begins_where_it_is_known", "begins_in_time"]);
    // It does not look at the time.
    let timeless = broken(|right, ask| match ask {
        Ask::Begin(claim, mut append) => {
            check_append(&append.at, Some(Fence(0)), &append.entries)?;
            let lease = acquired(right, &claim, &append.at.id)?;
            append.fence = Some(lease.fence);
            match right.ask(&Ask::Append(append)) {
                Err(error)
                    if !matches!(error.reason, StoreReason::Conflict | StoreReason::Gone) =>
                {
                    Err(error)
                }
                appended => Ok(Answer::Begun((lease, appended.is_ok()))),
            }
        }
        ask => right.ask(&ask),
    });
    assert_eq!(timeless.await, ["begins_in_time"]);
    // It takes what another holds.
    let greedy = broken(|right, ask| match ask {
        Ask::Begin(mut claim, append) => {
            claim.takeover = Takeover::Force;
            right.ask(&Ask::Begin(claim, append))
        }
        ask => right.ask(&ask),
    });
    assert_eq!(greedy.await, ["begin_refused"]);
}

fn acquired(right: &Right, claim: &Claim, id: &SessionId) -> Result<Lease, StoreError> {
    let Claim {
        holder,
        ttl,
        takeover,
    } = claim.clone();
    match right.ask(&Ask::Acquire(id.clone(), holder, ttl, takeover))? {
        Answer::Lease(lease) => Ok(lease),
        other => panic!("{other:?}"),
    }
}

/// A store that has only what every store must have.
#[tokio::test]
async fn s209_a_store_that_begins_runs_with_two_writes() {
    let plain = broken(|right, ask| match ask {
        Ask::Begin(claim, append) => {
            check_append(&append.at, Some(Fence(0)), &append.entries)?;
            let lease = acquired(right, &claim, &append.at.id)?;
            Ok(Answer::Begun((lease, false)))
        }
        ask => right.ask(&ask),
    });
    assert_eq!(plain.await, [""; 0]);
}
