//! Stores that go wrong when others are about, and in when they do their work.

use std::collections::BTreeMap;

use allm_core::{DeleteIf, Loaded, SessionId, StoreError, StoreReason, Takeover};

use super::faulty::{Answer, Ask, When, broken, changed, raced, remembering, untimely};

/// Who waits between a look and the deed, and looks again, is right.
#[tokio::test]
async fn to_be_slow_is_no_fault() {
    assert_eq!(untimely(When::Later).await, [""; 0]);
}

#[tokio::test]
async fn s107_races() {
    let creators = raced(|right, ask| {
        if let Ask::Create(new) = &ask
            && new.check().is_ok()
            && right.early.is_none()
            && right.head(&new.id).is_some()
        {
            right.ask(&Ask::Delete(new.id.clone(), DeleteIf::Force))?;
        }
        right.ask(&ask)
    });
    assert_eq!(creators.await, ["one_creator"]);
    let appends = raced(|right, ask| match (&ask, right.ask(&ask), &right.early) {
        (Ask::Append(append), Err(error), Some(early))
            if error.reason == StoreReason::Conflict && early.version == append.at.version =>
        {
            Ok(Answer::Version(append.at.version.next()))
        }
        (_, answer, _) => answer,
    });
    assert_eq!(
        appends.await,
        [
            "append_id_reused",
            "two_appends",
            "many_appenders",
            "raced_elsewhere"
        ]
    );
    let repeats = raced(|right, ask| {
        let before = ask.id().and_then(|id| right.head(id));
        match (&ask, right.ask(&ask), &right.early, before) {
            (Ask::Append(append), Ok(_), Some(early), Some(before))
                if early.version == append.at.version && before.version != early.version =>
            {
                Err(StoreError::conflict(append.at.version, before.version))
            }
            (_, answer, ..) => answer,
        }
    });
    assert_eq!(repeats.await, ["same_append_at_once"]);
    let drivers = raced(|right, mut ask| {
        if let Ask::Acquire(_, _, _, takeover) = &mut ask
            && right
                .early
                .as_ref()
                .is_some_and(|head| head.lease.is_none())
        {
            *takeover = Takeover::Force;
        }
        right.ask(&ask)
    });
    assert_eq!(drivers.await, ["one_driver"]);
}

#[tokio::test]
async fn reads_of_two_instants() {
    let old_head = raced(|right, ask| match (right.ask(&ask), &right.early) {
        (Ok(Answer::Loaded(loaded)), Some(early)) => Ok(Answer::Loaded(Loaded {
            head: early.clone(),
            ..loaded
        })),
        (answer, _) => answer,
    });
    assert_eq!(old_head.await, ["read_at_one_instant"]);
}

#[tokio::test]
async fn entries_that_are_lost() {
    let few = broken(|right, ask| match right.ask(&ask) {
        Ok(Answer::Loaded(mut loaded)) => {
            let many = loaded.entries.len().saturating_sub(40);
            loaded.entries.drain(..many);
            Ok(Answer::Loaded(loaded))
        }
        answer => answer,
    });
    assert_eq!(few.await, ["many_appenders", "read_at_one_instant"]);
}

#[tokio::test]
async fn work_at_the_wrong_time() {
    assert_eq!(untimely(When::Called).await, ["lazy"]);
    assert_eq!(
        untimely(When::Halved).await,
        [
            "append_id_reused",
            "progress_needs_a_fence",
            "append_form",
            "too_large",
            "read_at_one_instant",
            "dropped"
        ]
    );
}

#[tokio::test]
async fn s122_errors_that_talk() {
    let talking = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Append(append), Err(mut error)) => {
            let bytes = append.entries.first().map(|entry| entry.bytes.clone());
            let bytes = bytes.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
            error.message.push_str(&text);
            Err(error)
        }
        (_, answer) => answer,
    });
    assert_eq!(talking.await, ["quiet_errors"]);
    let in_numbers = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::PutSnapshot(_, snapshot), Err(mut error)) => {
            error.message = format!("{:?}", snapshot.bytes.to_vec());
            Err(error)
        }
        (_, answer) => answer,
    });
    assert_eq!(in_numbers.await, ["quiet_errors"]);
}

#[tokio::test]
async fn stores_that_keep_things_to_themselves() {
    type Cache = BTreeMap<SessionId, Loaded>;
    let cached = remembering(|cache: &mut Cache, right, ask| {
        let answer = right.ask(&ask);
        match (&ask, &answer) {
            (Ask::Load(id, _), Ok(Answer::Loaded(loaded))) => {
                cache.insert(id.clone(), loaded.clone());
            }
            (Ask::Delete(id, _), Ok(_)) if right.opened == 0 => {
                cache.remove(id);
            }
            (Ask::Load(id, _), Err(_)) => {
                if let Some(loaded) = cache.get(id) {
                    return Ok(Answer::Loaded(loaded.clone()));
                }
            }
            _ => {}
        }
        answer
    });
    assert_eq!(cached.await, ["seen_elsewhere"]);
    let second = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Append(append), Err(error))
            if right.opened > 0 && error.reason == StoreReason::Conflict =>
        {
            Ok(Answer::Version(append.at.version.next()))
        }
        (_, answer) => answer,
    });
    assert_eq!(second.await, ["raced_elsewhere"]);
    let forgetful = broken(|right, mut ask| {
        if let Ask::Append(append) = &mut ask {
            let number = u8::try_from(right.opened).unwrap();
            append.id = changed(append.id, number);
        }
        right.ask(&ask)
    });
    assert_eq!(forgetful.await, ["survives_a_restart"]);
}
