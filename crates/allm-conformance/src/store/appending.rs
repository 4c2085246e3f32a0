//! How sessions go on.

use allm_core::{EntryClass, HeadUpdate, SessionStatus, StoreReason, Takeover, Version};

use super::Look;
use super::bench::{Located, Wanted, append_id, conflict, id, refused, time};
use super::place::Place;
use super::session::{Known, LONG};
use crate::finding::{Checked, Rule, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "append",
            contract: "S109",
            behaviour: "an append gives the new version, and all of its entries and its head are there, replacing the head",
        },
        |place| Box::pin(append(place)),
    ),
    (
        Rule {
            name: "append_unknown",
            contract: "sessions 10",
            behaviour: "appending to an id that never was is `not_found`",
        },
        |place| Box::pin(append_unknown(place)),
    ),
    (
        Rule {
            name: "old_version",
            contract: "S108",
            behaviour: "appending at an old version is a `conflict` with both versions and writes nothing",
        },
        |place| Box::pin(old_version(place)),
    ),
    (
        Rule {
            name: "future_version",
            contract: "S108",
            behaviour: "appending at a future version is a `conflict` with both versions and writes nothing",
        },
        |place| Box::pin(future_version(place)),
    ),
    (
        Rule {
            name: "append_again",
            contract: "S110",
            behaviour: "the same append again gives its first version and writes nothing",
        },
        |place| Box::pin(append_again(place)),
    ),
    (
        Rule {
            name: "append_again_later",
            contract: "S110",
            behaviour: "the same append again gives its first version also when the session has gone on",
        },
        |place| Box::pin(append_again_later(place)),
    ),
    (
        Rule {
            name: "append_again_after_takeover",
            contract: "S110, S125",
            behaviour: "the same append again gives its first version also when another fence is current, or none",
        },
        |place| Box::pin(append_again_after_takeover(place)),
    ),
    (
        Rule {
            name: "append_id_reused",
            contract: "S110",
            behaviour: "an append id that was used for other entries is a `conflict` with both versions and writes nothing",
        },
        |place| Box::pin(append_id_reused(place)),
    ),
    (
        Rule {
            name: "progress_needs_a_fence",
            contract: "S111",
            behaviour: "progress without a fence is refused, alone and among inputs",
        },
        |place| Box::pin(progress_needs_a_fence(place)),
    ),
    (
        Rule {
            name: "input_needs_no_fence",
            contract: "S111, S129",
            behaviour: "inputs are taken without a fence, also while somebody drives, who goes on behind them",
        },
        |place| Box::pin(input_needs_no_fence(place)),
    ),
];

async fn append(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    let other = Known::created(store, "b").await?;
    let full = HeadUpdate {
        status: SessionStatus::AwaitingUser,
        runnable: true,
        tags: [("team".to_owned(), "support".to_owned())].into(),
        next_expiry: Some(time(77)?),
    };
    let bare = HeadUpdate::new(SessionStatus::Completed);
    for (number, head) in [full, bare].into_iter().enumerate() {
        let texts = ["one", "two", "three", "four", "five"];
        let entries = known.next(EntryClass::Input, &texts)?;
        let append = append_id(&number.to_string());
        let at = known.at();
        let version = store.append(&at, None, append, &entries, &head).await;
        let version = version.wanted("five entries are appended")?;
        known.note(&entries, &head);
        expect_eq(&version, &known.version())?;
        known.is_there(store).await?;
    }
    other.is_there(store).await.located("another session")
}

async fn append_unknown(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    known.head.id = id("b")?;
    let entries = known.next(EntryClass::Input, &["x"])?;
    let answer = known.try_append(store, None, append_id("1"), &entries);
    refused(answer.await, StoreReason::NotFound).map(|_| ())
}

async fn old_version(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::with_entries(store, "a", 2).await?;
    let old = known.clone();
    known.input(store).await?;
    let entries = old.next(EntryClass::Input, &["old"])?;
    let answer = old
        .try_append(store, None, append_id("old"), &entries)
        .await;
    conflict(answer, old.version(), known.version())?;
    known.is_there(store).await
}

async fn future_version(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 2).await?;
    let mut ahead = known.clone();
    let missing = ahead.next(EntryClass::Input, &["three", "four"])?;
    ahead.note(&missing, &known.head_update());
    let entries = ahead.next(EntryClass::Input, &["five"])?;
    let answer = ahead.try_append(store, None, append_id("ahead"), &entries);
    conflict(answer.await, ahead.version(), known.version())?;
    known.is_there(store).await
}

async fn append_again(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let before = Known::created(store, "a").await?;
    let entries = before.next(EntryClass::Input, &["x", "y"])?;
    let first = before.try_append(store, None, append_id("1"), &entries);
    let first = first.await.wanted("the entries are appended")?;
    let again = before.try_append(store, None, append_id("1"), &entries);
    expect_eq(&again.await.wanted("the same append again is Ok")?, &first)?;
    let mut known = before.clone();
    known.note(&entries, &before.head_update());
    known.is_there(store).await
}

async fn append_again_later(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let before = Known::created(store, "a").await?;
    let entries = before.next(EntryClass::Input, &["x", "y"])?;
    let first = before.try_append(store, None, append_id("1"), &entries);
    let first = first.await.wanted("the entries are appended")?;
    let mut known = before.clone();
    known.note(&entries, &before.head_update());
    for _ in 0..3 {
        known.input(store).await?;
        let again = before.try_append(store, None, append_id("1"), &entries);
        expect_eq(&again.await.wanted("the same append again is Ok")?, &first)?;
    }
    known.is_there(store).await
}

async fn append_again_after_takeover(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let before = Known::created(store, "a").await?;
    let lease = before.acquired(store, "one", LONG).await?;
    let entries = before.next(EntryClass::Progress, &["x"])?;
    let append = || before.try_append(store, Some(lease.fence), append_id("1"), &entries);
    let first = append().await.wanted("progress with its fence")?;
    let second = before.taken_over(store, "two").await?;
    let again = append().await.wanted("Ok after a takeover")?;
    expect_eq(&again, &first)?;
    store.release(second).await.wanted("released")?;
    let again = append().await.wanted("Ok after a release")?;
    expect_eq(&again, &first)
}

async fn append_id_reused(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let before = Known::created(store, "a").await?;
    let entries = before.next(EntryClass::Input, &["x"])?;
    let first = before.try_append(store, None, append_id("1"), &entries);
    first.await.wanted("the entries are appended")?;
    let mut known = before.clone();
    known.note(&entries, &before.head_update());
    let reused = async |from: &Known, texts: &[&str]| {
        let entries = from.next(EntryClass::Input, texts)?;
        let answer = from.try_append(store, None, append_id("1"), &entries).await;
        conflict(answer, from.version(), known.version())
    };
    reused(&before, &["y"]).await.located("another text")?;
    reused(&before, &["x", "y"])
        .await
        .located("one entry more")?;
    reused(&known, &["x"]).await.located("a later version")?;
    known.is_there(store).await
}

async fn progress_needs_a_fence(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let alone = known.next(EntryClass::Progress, &["x"])?;
    let mut among = known.next(EntryClass::Input, &["x", "y", "z"])?;
    if let Some(entry) = among.get_mut(1) {
        entry.class = EntryClass::Progress;
    }
    for (which, entries) in [("alone", alone), ("among inputs", among)] {
        let answer = known
            .try_append(store, None, append_id(which), &entries)
            .await;
        refused(answer, StoreReason::Refused).located(which)?;
    }
    known.is_there(store).await
}

async fn input_needs_no_fence(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    known.input(store).await.located("nobody drives")?;
    let lease = known.try_acquire(store, "one", LONG, Takeover::IfExpired);
    let lease = lease.await.wanted("a free session is acquired")?;
    known.input(store).await.located("somebody drives")?;
    known
        .progress(store, lease.fence)
        .await
        .located("behind it")?;
    let entries = known.next(EntryClass::Input, &["by the driver"])?;
    let by_driver = known.append(store, Some(lease.fence), &entries);
    by_driver.await.located("with the fence")?;
    expect_eq(&known.version(), &Version(5))?;
    known.is_there(store).await
}
