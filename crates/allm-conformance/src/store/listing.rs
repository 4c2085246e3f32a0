//! Which sessions a listing shows, and in which order.

use allm_core::{Cursor, Head, PageRequest, SessionFilter, SessionStore};

use super::Look;
use super::bench::{Located, Wanted};
use super::place::Place;
use super::population::{Numbers, filter_for, populate, single_filters};
use crate::finding::{Checked, Finding, Rule, expect, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "list",
            contract: "sessions 10",
            behaviour: "a listing shows every session as it was last written, by creation time and then by id",
        },
        |place| Box::pin(list(place)),
    ),
    (
        Rule {
            name: "one_filter",
            contract: "S113",
            behaviour: "each filter alone shows what `SessionFilter::matches` says",
        },
        |place| Box::pin(one_filter(place)),
    ),
    (
        Rule {
            name: "all_filters",
            contract: "S113",
            behaviour: "filters together show what meets all of them",
        },
        |place| Box::pin(all_filters(place)),
    ),
];

/// How many pages a listing of the kit has at most; more means that it does not end.
const MOST_PAGES: usize = 2000;

pub(super) fn page(size: u32, cursor: Option<Cursor>) -> Result<PageRequest, Finding> {
    let page = PageRequest::new(size);
    let page = page.map_err(|error| Finding::failed("a page request", error.to_string()))?;
    Ok(match cursor {
        Some(cursor) => page.after(cursor),
        None => page,
    })
}

/// All that a listing shows, page by page.
pub(super) async fn listed(
    store: &dyn SessionStore,
    filter: &SessionFilter,
    size: u32,
) -> Result<Vec<Head>, Finding> {
    let mut heads = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let found = store.list(filter, page(size, cursor)?).await;
        let found = found.wanted("a page of the listing")?;
        heads.extend(found.items);
        cursor = found.next;
        if cursor.is_none() {
            return Ok(heads);
        }
    }
    Err(Finding::failed("a listing that ends", "it goes on and on"))
}

const SESSIONS: usize = 60;

async fn list(place: Place<'_>) -> Checked {
    let heads = populate(&**place.store(), SESSIONS).await?;
    let found = listed(&**place.store(), &SessionFilter::new(), 500).await?;
    let ids = |heads: &[Head]| -> Vec<_> { heads.iter().map(|head| head.id.clone()).collect() };
    expect_eq(&ids(&found), &ids(&heads))?;
    for (found, head) in found.iter().zip(&heads) {
        expect_eq(found, head)?;
    }
    Ok(())
}

/// What is found against what the filter says of each head. Neither the order nor the rest of a head is looked at.
fn compared(found: &[Head], heads: &[Head], filter: &SessionFilter) -> Checked {
    for head in heads {
        let shown = found.iter().filter(|found| found.id == head.id).count();
        let expected = usize::from(filter.matches(head));
        expect(
            shown == expected,
            if expected == 1 {
                "a session that matches is shown once"
            } else {
                "a session that does not match is not shown"
            },
            || format!("{shown} times {head:?} for {filter:?}"),
        )?;
    }
    Ok(())
}

async fn one_filter(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let heads = populate(store, SESSIONS).await?;
    for (which, filter) in single_filters()? {
        let found = listed(store, &filter, 500).await.located(which)?;
        compared(&found, &heads, &filter).located(which)?;
    }
    Ok(())
}

async fn all_filters(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let heads = populate(store, SESSIONS).await?;
    let mut numbers = Numbers::new(2);
    for head in &heads {
        for all in [true, false, false] {
            let filter = filter_for(head, &mut numbers, all);
            let found = listed(store, &filter, 500).await?;
            compared(&found, &heads, &filter)?;
        }
    }
    Ok(())
}
