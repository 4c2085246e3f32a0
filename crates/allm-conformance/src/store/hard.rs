//! Texts that a query might take for something else.

use std::collections::BTreeMap;

use allm_core::{
    EntryClass, HeadUpdate, LoadFrom, NewSession, PageRequest, SessionFilter, SessionStatus,
    StoreError, StoreReason, Takeover,
};

use super::Look;
use super::bench::{Located, append_id, holder, refused};
use super::listing::listed;
use super::place::Place;
use super::session::{Known, LONG, new_session};
use crate::finding::{Checked, Finding, Rule, expect, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "literal_ids",
            contract: "S116",
            behaviour: "ids with quotes, wildcards, SQL and any script are told apart and matched as bytes",
        },
        |place| Box::pin(literal_ids(place)),
    ),
    (
        Rule {
            name: "literal_prefixes",
            contract: "S116",
            behaviour: "a prefix of an id is matched as bytes",
        },
        |place| Box::pin(literal_prefixes(place)),
    ),
    (
        Rule {
            name: "literal_tags",
            contract: "S116",
            behaviour: "keys and values of tags are stored and matched as bytes",
        },
        |place| Box::pin(literal_tags(place)),
    ),
    (
        Rule {
            name: "literal_holders",
            contract: "S116",
            behaviour: "holders of leases are stored as bytes",
        },
        |place| Box::pin(literal_holders(place)),
    ),
    (
        Rule {
            name: "nul",
            contract: "S116",
            behaviour: "a NUL in a tag or a prefix is taken literally or refused, and then nothing is changed",
        },
        |place| Box::pin(nul(place)),
    ),
];

/// Texts of which no two are equal, though careless matching takes some for others.
pub(super) const HARD: [&str; 28] = [
    "a",
    "A",
    "a ",
    " a",
    "ab",
    "a%",
    "a_",
    "%",
    "_",
    "%%",
    "a\\",
    "a\\%",
    "'",
    "''",
    "\"",
    "a'b",
    "'; DROP TABLE sessions; --",
    "' OR '1'='1",
    "$1",
    "?",
    ":id",
    "{\"a\":1}",
    "\u{e9}",
    "e\u{301}",
    "\u{1f30d}",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
    "\u{feff}a",
    "null",
];

async fn population(place: &Place<'_>) -> Result<Vec<Known>, Finding> {
    let store = &**place.store();
    let mut all = Vec::new();
    let longest = "x".repeat(200);
    for text in HARD.iter().copied().chain([longest.as_str()]) {
        all.push(Known::created(store, text).await.located(text)?);
    }
    Ok(all)
}

async fn literal_ids(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut all = population(&place).await?;
    for known in &mut all {
        let name = known.head.id.to_string();
        known.input(store).await.located(&name)?;
    }
    for known in &all {
        let name = known.head.id.to_string();
        known.is_there(store).await.located(&name)?;
        let again = store.create(&new_session(&name)?).await;
        refused(again, StoreReason::AlreadyExists).located(&name)?;
    }
    Ok(())
}

async fn literal_prefixes(place: Place<'_>) -> Checked {
    let mut all = population(&place).await?;
    all.sort_by(|a, b| a.head.id.cmp(&b.head.id));
    for prefix in HARD
        .iter()
        .copied()
        .chain(["", "x", "xx", "*", "a%b", "[a-z]", "."])
    {
        let matching = all.iter().map(|known| &known.head.id);
        let matching = matching.filter(|id| id.as_str().starts_with(prefix));
        let expected: Vec<_> = matching.cloned().collect();
        let filter = SessionFilter::new().id_prefix(prefix);
        let found = listed(&**place.store(), &filter, 500).await?;
        let found: Vec<_> = found.into_iter().map(|head| head.id).collect();
        expect_eq(&found, &expected).located(&format!("prefix {prefix:?}"))?;
    }
    Ok(())
}

async fn literal_tags(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut all = Vec::new();
    for (number, text) in HARD.into_iter().enumerate() {
        for (side, key, value) in [("key", text, "1"), ("value", "tag", text)] {
            let mut new = new_session(&format!("{side}-{number}"))?;
            new.head.tags = [(key.to_owned(), value.to_owned())].into();
            all.push(Known::created_as(store, &new).await.located(text)?);
        }
    }
    for known in &all {
        let mut filter = SessionFilter::new();
        filter.tags.clone_from(&known.head.tags);
        let found = listed(store, &filter, 500).await?;
        expect_eq(&found, &vec![known.head.clone()])?;
    }
    Ok(())
}

async fn literal_holders(place: Place<'_>) -> Checked {
    let store = &**place.store();
    for text in HARD {
        let known = Known::created(store, text).await?;
        let lease = known.acquired(store, text, LONG).await.located(text)?;
        expect_eq(&lease.holder, &holder(text))?;
        let again = known.try_acquire(store, "other", LONG, Takeover::IfExpired);
        let error = refused(again.await, StoreReason::LeaseHeld)?;
        expect_eq(&error.held, &Some(lease.held()))?;
    }
    Ok(())
}

/// Done to the letter, or refused.
fn literal_or_refused<T>(answer: Result<T, StoreError>) -> Result<Option<T>, Finding> {
    match answer {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.reason == StoreReason::Refused => Ok(None),
        Err(error) => Err(Finding::failed("Ok or `refused`", error.to_string())),
    }
}

async fn nul(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    let pairs = [("a\0b", "1"), ("a", "1\0"), ("\0", "\0")];
    for (number, (key, value)) in pairs.into_iter().enumerate() {
        let tags: BTreeMap<_, _> = [(key.to_owned(), value.to_owned())].into();
        let head = HeadUpdate {
            tags: tags.clone(),
            ..HeadUpdate::new(SessionStatus::Idle)
        };
        let entries = known.next(EntryClass::Input, &["x"])?;
        let append = append_id(&number.to_string());
        let at = known.at();
        let answer = store.append(&at, None, append, &entries, &head).await;
        if literal_or_refused(answer)?.is_some() {
            known.note(&entries, &head);
        }
        known.is_there(store).await.located("after an append")?;
        let new = NewSession {
            head,
            ..new_session(&format!("new-{number}"))?
        };
        if literal_or_refused(store.create(&new).await)?.is_some() {
            let created = Known::of(&new);
            created.is_there(store).await.located("after a creation")?;
        } else {
            let absent = store.load(&new.id, LoadFrom::Snapshot).await;
            refused(absent, StoreReason::NotFound)?;
        }
    }
    let filter = SessionFilter::new().id_prefix("a\0");
    let page = store.list(&filter, PageRequest::default()).await;
    let found = literal_or_refused(page)?.map_or(0, |page| page.items.len());
    expect(found == 0, "no session has a NUL in its id", || {
        format!("{found} sessions")
    })
}
