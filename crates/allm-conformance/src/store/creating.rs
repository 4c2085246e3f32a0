//! How sessions begin.

use std::sync::Arc;

use allm_core::{BoxFuture, Entry, Head, LoadFrom, StoreReason, Version};

use super::Look;
use super::bench::{Located, Wanted, refused, time, uid};
use super::place::Place;
use super::session::{Known, new_session, new_session_as};
use super::sizes::too_large;
use crate::finding::{Checked, Finding, Rule, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "create",
            contract: "sessions 10",
            behaviour: "a session that is created has the head and the entry that it was created with",
        },
        |place| Box::pin(create(place)),
    ),
    (
        Rule {
            name: "create_twice",
            contract: "S107",
            behaviour: "creating an id that is there is `already_exists`, whatever the uid, and changes nothing",
        },
        |place| Box::pin(create_twice(place)),
    ),
    (
        Rule {
            name: "one_creator",
            contract: "S107",
            behaviour: "of a hundred creators of one id at once exactly one succeeds, and the session is its",
        },
        |place| Box::pin(one_creator(place)),
    ),
    (
        Rule {
            name: "create_form",
            contract: "S107, S115",
            behaviour: "a first entry that is too large or not version 1 is refused, before the id is looked at",
        },
        |place| Box::pin(create_form(place)),
    ),
];

async fn create(place: Place<'_>) -> Checked {
    let store = place.store();
    let mut new = new_session("a")?;
    new.head.runnable = true;
    new.head.tags = [("team".to_owned(), "support".to_owned())].into();
    new.head.next_expiry = Some(time(5)?);
    let head = store.create(&new).await.wanted("the session is created")?;
    expect_eq(&head, &Head::created(&new))?;
    Known::of(&new).is_there(&**store).await
}

async fn create_twice(place: Place<'_>) -> Checked {
    let store = place.store();
    let known = Known::created(&**store, "a").await?;
    for (which, uid) in [("the same uid", uid("a")), ("another uid", uid("b"))] {
        let again = store.create(&new_session_as("a", uid)?).await;
        refused(again, StoreReason::AlreadyExists).located(which)?;
    }
    known.is_there(&**store).await
}

async fn one_creator(place: Place<'_>) -> Checked {
    const CREATORS: usize = 100;
    let mut work: Vec<BoxFuture<'static, _>> = Vec::new();
    for number in 0..CREATORS {
        let new = new_session_as("a", uid(&number.to_string()))?;
        let store = Arc::clone(place.store());
        work.push(Box::pin(async move { store.create(&new).await }));
    }
    let mut winners = Vec::new();
    for answer in place.together(work).await? {
        match answer {
            Ok(head) => winners.push(head.uid),
            Err(error) if error.reason == StoreReason::AlreadyExists => {}
            Err(error) => {
                let expected = "`already_exists` for all but one";
                return Err(Finding::failed(expected, error.to_string()));
            }
        }
    }
    let new = new_session("a")?;
    let loaded = place.store().load(&new.id, LoadFrom::Snapshot).await;
    let loaded = loaded.wanted("the session is there")?;
    expect_eq(&winners, &vec![loaded.head.uid])
}

async fn create_form(place: Place<'_>) -> Checked {
    let store = place.store();
    let known = Known::created(&**store, "a").await?;
    for name in ["a", "b"] {
        let located = if name == "a" {
            "an id that is there"
        } else {
            "a new id"
        };
        let new = new_session(name)?;
        for version in [0, 2] {
            let mut new = new.clone();
            new.first.version = Version(version);
            refused(store.create(&new).await, StoreReason::Refused).located(located)?;
        }
        let mut new = new;
        new.first = Entry {
            version: Version(1),
            ..too_large(&known)?
        };
        refused(store.create(&new).await, StoreReason::TooLarge).located(located)?;
    }
    let absent = store.load(&new_session("b")?.id, LoadFrom::Snapshot).await;
    refused(absent, StoreReason::NotFound)?;
    known.is_there(&**store).await
}
