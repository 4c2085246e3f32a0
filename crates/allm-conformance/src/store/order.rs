//! Which error comes first when there are several to choose from.

use allm_core::{DeleteIf, Entry, EntryClass, Fence, StoreError, StoreReason, Version};

use super::Look;
use super::bench::{Located, Wanted, append_id, conflict, id, refused};
use super::place::Place;
use super::session::{Known, LONG};
use super::sizes::too_large;
use crate::finding::{Checked, Finding, Rule, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "append_form",
            contract: "sessions 10",
            behaviour: "an append of nothing, or with a gap, is refused and writes nothing",
        },
        |place| Box::pin(append_form(place)),
    ),
    (
        Rule {
            name: "form_first",
            contract: "sessions 10",
            behaviour: "the form of an append is judged before the session is looked for",
        },
        |place| Box::pin(form_first(place)),
    ),
    (
        Rule {
            name: "gone_before_the_rest",
            contract: "sessions 10",
            behaviour: "`gone` and `not_found` come before `fenced` and `conflict`",
        },
        |place| Box::pin(gone_before_the_rest(place)),
    ),
    (
        Rule {
            name: "append_id_before_fence",
            contract: "sessions 10",
            behaviour: "a known append id is judged before the fence",
        },
        |place| Box::pin(append_id_before_fence(place)),
    ),
    (
        Rule {
            name: "fence_before_version",
            contract: "sessions 10",
            behaviour: "the fence is judged before the version",
        },
        |place| Box::pin(fence_before_version(place)),
    ),
];

async fn append_form(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let mut gap = known.next(EntryClass::Input, &["x", "y"])?;
    if let Some(entry) = gap.last_mut() {
        entry.version = entry.version.next();
    }
    let mut doubled = known.next(EntryClass::Input, &["x"])?;
    doubled.extend_from_within(..);
    let mut early = known.next(EntryClass::Input, &["x"])?;
    if let Some(entry) = early.first_mut() {
        entry.version = known.version();
    }
    let forms = [
        ("nothing", Vec::new()),
        ("a gap", gap),
        ("an entry twice", doubled),
        ("a version that is there", early),
    ];
    for (which, entries) in forms {
        let answer = known
            .try_append(store, None, append_id(which), &entries)
            .await;
        refused(answer, StoreReason::Refused).located(which)?;
    }
    known.is_there(store).await
}

async fn form_first(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let large = [too_large(&known)?];
    let bare = known.next(EntryClass::Progress, &["x"])?;
    let deleted = store.delete(&known.head.id, DeleteIf::Any).await;
    deleted.wanted("deleted")?;
    let mut unknown = known.clone();
    unknown.head.id = id("b")?;
    for (which, session) in [
        ("a session that is gone", known),
        ("an unknown id", unknown),
    ] {
        let forms: [(StoreReason, &[Entry]); 3] = [
            (StoreReason::TooLarge, &large),
            (StoreReason::Refused, &bare),
            (StoreReason::Refused, &[]),
        ];
        for (reason, entries) in forms {
            let answer = session
                .try_append(store, None, append_id("1"), entries)
                .await;
            refused(answer, reason).located(which)?;
        }
    }
    Ok(())
}

async fn gone_before_the_rest(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 2).await?;
    let entries = known.next(EntryClass::Progress, &["x"])?;
    let stale = Some(Fence(7));
    let mut unknown = known.clone();
    unknown.head.id = id("b")?;
    let answer = unknown.try_append(store, stale, append_id("1"), &entries);
    refused(answer.await, StoreReason::NotFound)?;
    let deleted = store.delete(&known.head.id, DeleteIf::Any).await;
    deleted.wanted("deleted")?;
    let answer = known.try_append(store, stale, append_id("1"), &entries);
    refused(answer.await, StoreReason::Gone).map(|_| ())
}

async fn append_id_before_fence(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let before = Known::created(store, "a").await?;
    let lease = before.acquired(store, "one", LONG).await?;
    let append = async |text: &str| -> Result<Result<Version, StoreError>, Finding> {
        let entries = before.next(EntryClass::Progress, &[text])?;
        let fence = Some(lease.fence);
        Ok(before
            .try_append(store, fence, append_id("1"), &entries)
            .await)
    };
    let first = append("x").await?.wanted("progress with its fence")?;
    before.taken_over(store, "two").await?;
    // The fence is old by now, and so is the version.
    let same = append("x").await?.wanted("the same entries: Ok")?;
    expect_eq(&same, &first)?;
    let other = append("y").await?;
    conflict(other, before.version(), Version(2)).located("other entries")
}

async fn fence_before_version(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let before = Known::created(store, "a").await?;
    before.clone().input(store).await?;
    let lease = before.acquired(store, "one", LONG).await?;
    before.taken_over(store, "two").await?;
    let entries = before.next(EntryClass::Progress, &["x"])?;
    let answer = before.try_append(store, Some(lease.fence), append_id("1"), &entries);
    refused(answer.await, StoreReason::Fenced).map(|_| ())
}
