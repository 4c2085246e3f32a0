//! Stores that create and append wrongly.

use std::collections::{BTreeMap, BTreeSet};

use allm_core::{
    AppendId, DeleteIf, Entry, EntryClass, Hash, Link, SessionUid, StoreError, StoreReason,
    Timestamp,
};

use super::faulty::{Answer, Append, Ask, broken, changed, error, remembering};

#[tokio::test]
async fn s107_creations() {
    let bare = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Create(_), Ok(Answer::Head(mut head))) => {
            head.tags.clear();
            Ok(Answer::Head(head))
        }
        (_, answer) => answer,
    });
    assert_eq!(bare.await, ["create"]);
    let idempotent = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Create(new), Err(error)) => match right.head(&new.id) {
            Some(head) if head.uid == new.uid => Ok(Answer::Head(head)),
            _ => Err(error),
        },
        (_, answer) => answer,
    });
    assert_eq!(
        idempotent.await,
        ["create_twice", "create_form", "literal_ids"]
    );
    let replacing = broken(|right, ask| {
        if let Ask::Create(new) = &ask
            && new.check().is_ok()
            && right.head(&new.id).is_some()
        {
            right.ask(&Ask::Delete(new.id.clone(), DeleteIf::Force))?;
        }
        right.ask(&ask)
    });
    assert_eq!(
        replacing.await,
        ["create_twice", "one_creator", "literal_ids"]
    );
    let id_first = broken(|right, ask| match &ask {
        Ask::Create(new) if right.head(&new.id).is_some() => Err(error(StoreReason::AlreadyExists)),
        _ => right.ask(&ask),
    });
    assert_eq!(id_first.await, ["create_form"]);
}

#[tokio::test]
async fn s108_versions() {
    let one_more = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Append(_), Ok(Answer::Version(version))) => Ok(Answer::Version(version.next())),
        (_, answer) => answer,
    });
    assert_eq!(one_more.await, ["append"]);
    let merging = broken(|right, mut ask| {
        if let Ask::Append(append) = &mut ask
            && let Some(head) = right.head(&append.at.id)
            && append.head.tags.is_empty()
        {
            append.head.tags = head.tags;
        }
        right.ask(&ask)
    });
    assert_eq!(merging.await, ["append"]);
    let forgotten = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Append(_), Err(old)) if old.reason == StoreReason::NotFound => {
            Err(error(StoreReason::Gone))
        }
        (_, answer) => answer,
    });
    assert_eq!(forgotten.await, ["append_unknown", "gone_before_the_rest"]);
    let half_told = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Append(_), Err(error)) if error.version < error.actual => Err(StoreError {
            actual: None,
            ..error
        }),
        (_, answer) => answer,
    });
    assert_eq!(
        half_told.await,
        [
            "old_version",
            "append_id_reused",
            "append_id_before_fence",
            "seen_elsewhere"
        ]
    );
    let turned = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Append(_), Err(error)) if error.version > error.actual => Err(StoreError {
            version: error.actual,
            actual: error.version,
            ..error
        }),
        (_, answer) => answer,
    });
    assert_eq!(turned.await, ["future_version"]);
}

#[tokio::test]
async fn s110_append_ids() {
    let at_once = broken(|right, ask| {
        let before = ask.id().and_then(|id| right.head(id));
        match (&ask, right.ask(&ask), before) {
            (Ask::Append(append), Ok(Answer::Version(version)), Some(before))
                if before.version == version =>
            {
                Err(StoreError::conflict(append.at.version, before.version))
            }
            (_, answer, _) => answer,
        }
    });
    assert_eq!(
        at_once.await,
        [
            "append_again",
            "append_again_after_takeover",
            "append_id_before_fence",
            "trimmed_append_ids",
            "same_append_at_once",
            "dropped",
            "survives_a_restart"
        ]
    );
    type Last = BTreeMap<SessionUid, (AppendId, u8)>;
    // An id that is not the last one is a new one.
    let until_the_next = remembering(|last: &mut Last, right, mut ask| {
        if let Ask::Append(append) = &mut ask {
            let (id, number) = last.entry(append.at.uid).or_insert((append.id, 0));
            if *id != append.id {
                *id = append.id;
                *number = number.wrapping_add(1);
            }
            append.id = changed(append.id, *number);
        }
        right.ask(&ask)
    });
    assert_eq!(until_the_next.await, ["append_again_later"]);
    let fence_first = broken(|right, ask| match &ask {
        Ask::Append(Append {
            at,
            fence: Some(fence),
            ..
        }) if right.head(&at.id).is_some_and(|head| head.uid == at.uid)
            && !right.is_current(at, *fence) =>
        {
            Err(error(StoreReason::Fenced))
        }
        _ => right.ask(&ask),
    });
    assert_eq!(
        fence_first.await,
        ["append_again_after_takeover", "append_id_before_fence"]
    );
    type Used = BTreeSet<(SessionUid, AppendId)>;
    let by_id_alone = remembering(|used: &mut Used, right, ask| {
        let Ask::Append(append) = &ask else {
            return right.ask(&ask);
        };
        let key = (append.at.uid, append.id);
        match (right.ask(&ask), right.head(&append.at.id)) {
            (Err(_), Some(head)) if used.contains(&key) => Ok(Answer::Version(head.version)),
            (answer, _) => {
                if answer.is_ok() {
                    used.insert(key);
                }
                answer
            }
        }
    });
    assert_eq!(
        by_id_alone.await,
        ["append_id_reused", "append_id_before_fence"]
    );
}

#[tokio::test]
async fn s111_classes() {
    let lax = broken(|right, mut ask| {
        if let Ask::Append(append) = &mut ask
            && append.fence.is_none()
            && right.head(&append.at.id).is_some()
        {
            for entry in &mut append.entries {
                entry.class = EntryClass::Input;
            }
        }
        right.ask(&ask)
    });
    assert_eq!(lax.await, ["progress_needs_a_fence"]);
    let strict = broken(|right, ask| match &ask {
        Ask::Append(append)
            if append.fence.is_none()
                && right
                    .head(&append.at.id)
                    .is_some_and(|head| head.uid == append.at.uid && head.lease.is_some()) =>
        {
            Err(error(StoreReason::Fenced))
        }
        _ => right.ask(&ask),
    });
    assert_eq!(strict.await, ["input_needs_no_fence", "survives_a_restart"]);
}

#[tokio::test]
async fn the_order_of_errors() {
    let nothing = broken(|right, ask| match &ask {
        Ask::Append(append) if append.entries.is_empty() => match right.head(&append.at.id) {
            Some(head) => Ok(Answer::Version(head.version)),
            None => right.ask(&ask),
        },
        _ => right.ask(&ask),
    });
    assert_eq!(nothing.await, ["append_form"]);
    let session_first = broken(|right, ask| match &ask {
        Ask::Append(append) if right.head(&append.at.id).is_none() => {
            let mut right_form = append.clone();
            let link = Link {
                version: append.at.version,
                chain: Hash::ZERO,
            };
            let time = Timestamp::from_millis(0).unwrap();
            let entry = Entry::following(&link, EntryClass::Input, time, "x".into());
            right_form.entries = vec![entry];
            right.ask(&Ask::Append(right_form))
        }
        _ => right.ask(&ask),
    });
    assert_eq!(session_first.await, ["form_first"]);
    let fence_first = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Append(append), Err(old))
            if append.fence.is_some()
                && matches!(old.reason, StoreReason::Gone | StoreReason::NotFound) =>
        {
            Err(error(StoreReason::Fenced))
        }
        (_, answer) => answer,
    });
    assert_eq!(fence_first.await, ["gone_before_the_rest", "gone"]);
    let fence_before_id = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (
            Ask::Append(Append {
                at,
                fence: Some(fence),
                ..
            }),
            Err(old),
        ) if old.reason == StoreReason::Conflict && !right.is_current(at, *fence) => {
            Err(error(StoreReason::Fenced))
        }
        (_, answer) => answer,
    });
    assert_eq!(fence_before_id.await, ["append_id_before_fence"]);
    let version_first = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Append(append), Err(old)) if old.reason == StoreReason::Fenced => {
            match right.head(&append.at.id) {
                Some(head) if head.version != append.at.version => {
                    Err(StoreError::conflict(append.at.version, head.version))
                }
                _ => Err(old),
            }
        }
        (_, answer) => answer,
    });
    assert_eq!(version_first.await, ["fence_before_version"]);
}
