//! What holds for every method.

use std::future::poll_fn;
use std::task::Poll;

use allm_core::{
    BoxFuture, DeleteIf, Entry, EntryClass, Fence, Link, LoadFrom, SessionStore, StoreError,
    StoreReason, Takeover, Version,
};

use super::Look;
use super::bench::{Located, Wanted, append_id, holder, id, idle, refused};
use super::place::Place;
use super::session::{Known, LONG, follow, new_session, same};
use crate::finding::{Checked, Finding, Rule, expect};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "lazy",
            contract: "SessionStore",
            behaviour: "nothing happens before the first poll",
        },
        |place| Box::pin(lazy(place)),
    ),
    (
        Rule {
            name: "dropped",
            contract: "SessionStore",
            behaviour: "a write that is dropped half-way is done or not done, and asking again settles it",
        },
        |place| Box::pin(dropped(place)),
    ),
    (
        Rule {
            name: "now",
            contract: "S167",
            behaviour: "the store's clock goes on and never back",
        },
        |place| Box::pin(now(place)),
    ),
    (
        Rule {
            name: "quiet_errors",
            contract: "S122",
            behaviour: "no error holds content",
        },
        |place| Box::pin(quiet_errors(place)),
    ),
];

async fn lazy(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 3).await?;
    let snapshot = known.put_snapshot(store, 2).await?;
    let lease = known.acquired(store, "one", LONG).await?;
    let before = known.load(store, LoadFrom::Snapshot).await?;
    let (new, at, driver) = (new_session("b")?, known.at(), holder("two"));
    let entries = known.next(EntryClass::Input, &["x"])?;
    let newer = known.snapshot(3)?;
    place.pass(place.now().await?).await?;
    drop(store.create(&new));
    drop(store.append(&at, None, append_id("1"), &entries, &idle()));
    drop(store.delete(&at.id, DeleteIf::Force));
    drop(store.acquire(&at.id, &driver, LONG, Takeover::Force));
    drop(store.renew(&lease));
    drop(store.release(lease.clone()));
    drop(store.put_snapshot(&at, newer));
    drop(store.trim(&at, Version(2)));
    let absent = store.load(&new.id, LoadFrom::Snapshot).await;
    refused(absent, StoreReason::NotFound).located("a creation")?;
    same(&known.load(store, LoadFrom::Snapshot).await?, &before)?;
    expect(
        before.snapshot.as_ref() == Some(&snapshot),
        "the snapshot that was kept",
        || format!("{:?}", before.snapshot),
    )?;
    known.is_there(store).await
}

/// Polls as often as it is woken, and drops it when that was `polls` times.
async fn dropped_after<T>(mut future: BoxFuture<'_, T>, polls: usize) {
    let mut left = polls;
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Pending if left > 1 => {
            left -= 1;
            Poll::Pending
        }
        Poll::Pending | Poll::Ready(_) => Poll::Ready(()),
    })
    .await;
}

/// `Ok`, or the answer that says that it was done the first time.
fn settled<T>(answer: Result<T, StoreError>, done: StoreReason) -> Checked {
    match answer {
        Err(error) if error.reason != done => Err(Finding::failed(
            format!("Ok or `{done}`"),
            error.to_string(),
        )),
        _ => Ok(()),
    }
}

async fn dropped(place: Place<'_>) -> Checked {
    for polls in [1, 2, 3, 4, 5, 6, 8, 12, 20] {
        let store = &**place.store();
        let which = format!("after {polls} polls");
        dropped_creation(store, polls).await.located(&which)?;
        dropped_append(store, polls).await.located(&which)?;
        dropped_cuts(store, polls).await.located(&which)?;
        dropped_deletion(store, polls).await.located(&which)?;
    }
    Ok(())
}

async fn dropped_creation(store: &dyn SessionStore, polls: usize) -> Checked {
    let new = new_session(&format!("created-{polls}"))?;
    let known = Known::of(&new);
    dropped_after(store.create(&new), polls).await;
    match store.load(&new.id, LoadFrom::After(Version(0))).await {
        Ok(loaded) => same(&loaded, &known.after(Version(0), None)).located("a creation")?,
        Err(error) => refused::<()>(Err(error), StoreReason::NotFound).map(|_| ())?,
    }
    settled(store.create(&new).await, StoreReason::AlreadyExists)?;
    known.is_there(store).await.located("a creation, settled")
}

async fn dropped_append(store: &dyn SessionStore, polls: usize) -> Checked {
    let before = Known::created(store, &format!("appended-{polls}")).await?;
    let entries = before.next(EntryClass::Input, &["1", "2", "3", "4", "5"])?;
    let mut after = before.clone();
    after.note(&entries, &idle());
    let append = append_id(&format!("dropped {polls}"));
    let (at, head) = (before.at(), idle());
    dropped_after(store.append(&at, None, append, &entries, &head), polls).await;
    let loaded = before.load(store, LoadFrom::After(Version(0))).await?;
    if loaded.head.version == before.version() {
        same(&loaded, &before.after(Version(0), None)).located("an append")?;
    } else {
        same(&loaded, &after.after(Version(0), None)).located("an append")?;
    }
    let again = store.append(&at, None, append, &entries, &head).await;
    again.wanted("asking again settles an append")?;
    after.is_there(store).await.located("an append, settled")
}

async fn dropped_cuts(store: &dyn SessionStore, polls: usize) -> Checked {
    let known = Known::with_entries(store, &format!("cut-{polls}"), 4).await?;
    let (at, snapshot) = (known.at(), known.snapshot(4)?);
    dropped_after(store.put_snapshot(&at, snapshot.clone()), polls).await;
    known.is_there(store).await.located("a snapshot")?;
    let again = store.put_snapshot(&at, snapshot.clone()).await;
    again.wanted("asking again settles a snapshot")?;
    dropped_after(store.trim(&at, Version(4)), polls).await;
    let loaded = known.load(store, LoadFrom::After(Version(0))).await?;
    let whole = known.after(Version(0), None);
    let cut = known.after(Version(4), Some(snapshot));
    same(&loaded, &whole).or_else(|_| same(&loaded, &cut).located("a trim"))?;
    let again = store.trim(&at, Version(4)).await;
    again.wanted("asking again settles a trim")?;
    same(&known.load(store, LoadFrom::After(Version(0))).await?, &cut)
}

async fn dropped_deletion(store: &dyn SessionStore, polls: usize) -> Checked {
    let known = Known::with_entries(store, &format!("deleted-{polls}"), 3).await?;
    let id = &known.head.id;
    dropped_after(store.delete(id, DeleteIf::Any), polls).await;
    match store.load(id, LoadFrom::After(Version(0))).await {
        Ok(loaded) => same(&loaded, &known.after(Version(0), None)).located("a deletion")?,
        Err(error) => refused::<()>(Err(error), StoreReason::NotFound).map(|_| ())?,
    }
    let again = store.delete(id, DeleteIf::Any).await;
    settled(again, StoreReason::NotFound).located("a deletion")?;
    let absent = store.load(id, LoadFrom::Snapshot).await;
    refused(absent, StoreReason::NotFound)
        .located("a deletion, settled")
        .map(|_| ())
}

async fn now(place: Place<'_>) -> Checked {
    let mut last = place.now().await?;
    for _ in 0..100 {
        let now = place.now().await?;
        expect(last <= now, "a time that is not before the last", || {
            format!("{now} after {last}")
        })?;
        last = now;
    }
    place.pass(last).await
}

/// What is in the content of entries and snapshots, and must not be anywhere else.
const SECRET: &str = "secret-4711";

/// The secret, also as numbers.
fn is_told(text: &str) -> bool {
    let bytes = SECRET.as_bytes();
    let joined = |form: fn(&u8) -> String, between: &str| {
        let bytes: Vec<_> = bytes.iter().map(form).collect();
        bytes.join(between)
    };
    let forms = [
        SECRET.to_owned(),
        joined(|byte| format!("{byte:02x}"), ""),
        joined(|byte| format!("{byte:02X}"), ""),
        joined(u8::to_string, ", "),
    ];
    forms.iter().any(|form| text.contains(form.as_str()))
}

async fn quiet_errors(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut errors = Vec::new();
    let mut told = |answer: Result<(), StoreError>| errors.extend(answer.err());
    let mut new = new_session("a")?;
    let start = Link::START;
    new.first = follow(&start, EntryClass::Input, SECRET.into())?;
    let mut known = Known::created_as(store, &new).await?;
    told(store.create(&new).await.map(|_| ()));
    let before = known.clone();
    known.input(store).await?;
    let entry = |class| follow(&known.link(), class, SECRET.into());
    let bytes = SECRET
        .repeat(Entry::MAX_BYTES / SECRET.len() + 1)
        .into_bytes();
    let large = Entry {
        bytes: bytes.into(),
        ..entry(EntryClass::Input)?
    };
    let gap = Entry {
        version: Version(9),
        ..entry(EntryClass::Input)?
    };
    let old = follow(&before.link(), EntryClass::Input, SECRET.into())?;
    let progress = entry(EntryClass::Progress)?;
    let appends = [
        (&known, None, "large", large),
        (&known, None, "gap", gap),
        (&known, None, "no fence", progress.clone()),
        (&known, Some(Fence(7)), "fenced", progress),
        (&before, None, "old", old),
    ];
    for (session, fence, append, entry) in &appends {
        let append = append_id(append);
        let entries = std::slice::from_ref(entry);
        let answer = session.try_append(store, *fence, append, entries).await;
        told(answer.map(|_| ()));
    }
    let mut unfit = known.snapshot(1)?;
    unfit.bytes = SECRET.as_bytes().to_vec().into();
    unfit.version = Version(2);
    told(known.try_snapshot(store, &unfit).await);
    told(store.trim(&known.at(), Version(2)).await);
    let deleted = store.delete(&known.head.id, DeleteIf::Any).await;
    deleted.wanted("deleted")?;
    told(known.try_snapshot(store, &unfit).await);
    for name in ["a", "b"] {
        let mut session = known.clone();
        session.head.id = id(name)?;
        let entries = [entry(EntryClass::Input)?];
        let answer = session.try_append(store, None, append_id("late"), &entries);
        told(answer.await.map(|_| ()));
        let loaded = store.load(&session.head.id, LoadFrom::Snapshot).await;
        told(loaded.map(|_| ()));
    }
    for error in errors {
        let shown = [format!("{error:?}"), error.to_string()];
        let is_quiet = !shown.iter().any(|text| is_told(text));
        expect(is_quiet, "an error without content", || {
            format!("content in a `{}`", error.reason)
        })?;
    }
    Ok(())
}
