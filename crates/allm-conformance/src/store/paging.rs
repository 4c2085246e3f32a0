//! Listings in pieces, while the world goes on.

use std::collections::BTreeMap;

use allm_core::{
    Cursor, DeleteIf, EntryClass, LeaseFilter, SessionFilter, SessionStatus, SessionStore,
    StoreReason,
};

use super::Look;
use super::bench::{Located, Wanted, refused, time};
use super::listing::{listed, page};
use super::place::Place;
use super::population::populate;
use super::session::{Known, new_session};
use crate::finding::{Checked, Finding, Rule, expect, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "pages",
            contract: "S114",
            behaviour: "a listing in pages of any size shows each session once, also those created at one instant",
        },
        |place| Box::pin(pages(place)),
    ),
    (
        Rule {
            name: "page_size",
            contract: "S114",
            behaviour: "a page is at most as long as asked",
        },
        |place| Box::pin(page_size(place)),
    ),
    (
        Rule {
            name: "pages_meanwhile",
            contract: "S114",
            behaviour: "while others are created, updated and deleted, each lasting session is shown exactly once",
        },
        |place| Box::pin(pages_meanwhile(place)),
    ),
    (
        Rule {
            name: "forged_cursor",
            contract: "S114",
            behaviour: "a cursor that the store did not make is refused",
        },
        |place| Box::pin(forged_cursor(place)),
    ),
    (
        Rule {
            name: "cursor_of_another_filter",
            contract: "S114",
            behaviour: "a cursor that was made for another filter is refused",
        },
        |place| Box::pin(cursor_of_another_filter(place)),
    ),
];

async fn pages(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let heads = populate(store, 40).await?;
    let expected: Vec<_> = heads.into_iter().map(|head| head.id).collect();
    for size in [1, 2, 3, 7, 39, 40, 41] {
        let found = listed(store, &SessionFilter::new(), size).await?;
        let found: Vec<_> = found.into_iter().map(|head| head.id).collect();
        expect_eq(&found, &expected).located(&format!("pages of {size}"))?;
    }
    Ok(())
}

async fn page_size(place: Place<'_>) -> Checked {
    let store = &**place.store();
    populate(store, 10).await?;
    for size in 1..12 {
        let found = store.list(&SessionFilter::new(), page(size, None)?).await;
        let length = found.wanted("a page of the listing")?.items.len();
        let size = usize::try_from(size).unwrap_or(0);
        expect(length <= size, &format!("at most {size}"), || {
            format!("{length} sessions")
        })?;
    }
    Ok(())
}

/// What others do while somebody reads.
struct World<'a> {
    store: &'a dyn SessionStore,
    lasting: Vec<Known>,
    passing: Vec<Known>,
    created: usize,
}

impl World<'_> {
    async fn create(&mut self, name: &str, millis: i64) -> Result<Known, Finding> {
        let mut new = new_session(name)?;
        new.first.at = time(millis)?;
        Known::created_as(self.store, &new).await
    }

    /// One of each: a creation before and behind the reader, an update, a deletion of what was just shown.
    async fn turn(&mut self, shown: &str) -> Checked {
        self.created += 1;
        let number = self.created;
        for millis in [0, 5, 9] {
            let name = format!("new-{millis}-{number}");
            let new = self.create(&name, millis).await?;
            self.passing.push(new);
        }
        let at = number % self.lasting.len().max(1);
        if let Some(known) = self.lasting.get_mut(at) {
            let entries = known.next(EntryClass::Input, &["update"])?;
            known.append(self.store, None, &entries).await?;
        }
        let shown = |known: &Known| known.head.id == shown;
        if let Some(at) = self.passing.iter().position(shown) {
            let known = self.passing.swap_remove(at);
            let deleted = self.store.delete(&known.head.id, DeleteIf::Any).await;
            deleted.wanted("deleted")?;
        }
        Ok(())
    }
}

async fn pages_meanwhile(place: Place<'_>) -> Checked {
    const TURNS: usize = 30;
    let store = &**place.store();
    let mut world = World {
        store,
        lasting: Vec::new(),
        passing: Vec::new(),
        created: 0,
    };
    for number in 0..8_i64 {
        let name = format!("lasting-{number}");
        let lasting = world.create(&name, number / 2 * 3).await?;
        world.lasting.push(lasting);
        let name = format!("passing-{number}");
        let passing = world.create(&name, number / 2 * 3).await?;
        world.passing.push(passing);
    }
    let mut shown: BTreeMap<String, usize> = BTreeMap::new();
    let mut cursor = None;
    for turn in 0.. {
        let found = store.list(&SessionFilter::new(), page(1, cursor)?).await;
        let found = found.wanted("a page of the listing")?;
        let mut last = String::new();
        for head in found.items {
            last = head.id.to_string();
            *shown.entry(last.clone()).or_default() += 1;
        }
        cursor = found.next;
        if cursor.is_none() {
            break;
        }
        // What is created behind the reader would keep it busy for ever.
        if turn < TURNS {
            world.turn(&last).await?;
        } else if turn > 20 * TURNS {
            return Err(Finding::failed("a listing that ends", "it goes on and on"));
        }
    }
    for known in &world.lasting {
        let id = known.head.id.as_str();
        let times = shown.get(id).copied().unwrap_or(0);
        expect_eq(&times, &1).located(id)?;
    }
    let twice = shown.iter().find(|(_, times)| **times > 1);
    expect(twice.is_none(), "nothing is shown twice", || {
        format!("{twice:?}")
    })
}

/// A cursor in the middle of a listing, if the store gives one.
async fn cursor(store: &dyn SessionStore, filter: &SessionFilter) -> Result<Cursor, Finding> {
    let found = store.list(filter, page(1, None)?).await;
    let found = found.wanted("a page of the listing")?;
    found
        .next
        .ok_or_else(|| Finding::failed("a page of one leads to the next", "no cursor"))
}

async fn forged_cursor(place: Place<'_>) -> Checked {
    let store = &**place.store();
    for name in ["a", "b", "c"] {
        Known::created(store, name).await?;
    }
    let filter = SessionFilter::new();
    let real = cursor(store, &filter).await?;
    let mut shorter = real.as_str().to_owned();
    shorter.pop();
    let longer = format!("{}x", real.as_str());
    let forged = [
        "",
        " ",
        "forged",
        "0",
        "1",
        "null",
        "{}",
        "[]",
        "b",
        "'; DROP TABLE sessions; --",
        "\0",
        "\u{1f30d}",
        "AAAA",
        "////",
        &shorter,
        &longer,
    ];
    for text in forged {
        let request = page(1, Some(Cursor::new(text)))?;
        let answer = store.list(&filter, request).await;
        refused(answer, StoreReason::Refused).located(&format!("cursor {text:?}"))?;
    }
    let request = page(1, Some(real))?;
    let answer = store.list(&filter, request).await;
    answer.wanted("its own cursor is good").map(|_| ())
}

async fn cursor_of_another_filter(place: Place<'_>) -> Checked {
    let store = &**place.store();
    for name in ["a", "ab", "abc", "b"] {
        Known::created(store, name).await?;
    }
    let new = SessionFilter::new;
    let filters = [
        new(),
        new().status(SessionStatus::Idle),
        new().not_runnable(),
        new().id_prefix("a"),
        new().created_from(time(0)?),
        new().updated_from(time(0)?),
        new().lease(LeaseFilter::Free),
    ];
    for made_for in &filters {
        let cursor = cursor(store, made_for).await?;
        for other in filters.iter().filter(|other| *other != made_for) {
            let request = page(1, Some(cursor.clone()))?;
            let answer = store.list(other, request).await;
            let place = format!("made for {made_for:?}, used for {other:?}");
            refused(answer, StoreReason::Refused).located(&place)?;
        }
    }
    Ok(())
}
