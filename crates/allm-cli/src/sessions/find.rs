//! Finding sessions: by their id, or the last ones.

use allm::{
    DurableSession, Head, PageRequest, SessionFilter, SessionId, Sessions, StoreReason, Timestamp,
};

use super::fault;
use crate::problem::Problem;

/// How many ids are compared with one that is not there.
const COMPARED: usize = 2000;
/// How many near ones are named.
const NAMED: usize = 3;
/// How alike ids must be, of 1.
const ALIKE: f64 = 0.8;

const DAY: i64 = 86_400_000;
/// How far back last sessions are looked for: first a little, and then further, as long as there are not enough.
const BACK: [Option<i64>; 4] = [Some(DAY), Some(30 * DAY), Some(365 * DAY), None];

/// An id that was typed.
pub(crate) fn typed(id: &str) -> Result<SessionId, Problem> {
    SessionId::new(id).map_err(|_| {
        let shown = crate::transcript::plain::one_line(id);
        Problem::usage(format!("`{shown}` is no id of a session"))
            .advice("an id has 1 to 200 bytes and no control characters")
    })
}

/// Opens the session of this id.
pub(crate) async fn open(sessions: &Sessions, id: &str) -> Result<DurableSession, Problem> {
    let id = typed(id)?;
    match sessions.open(id.as_str()).await {
        Ok(session) => Ok(session),
        Err(error) if error.store_reason() == Some(StoreReason::NotFound) => {
            Err(missing(sessions, &id).await)
        }
        Err(error) => Err(fault::told(id.as_str(), &error)),
    }
}

/// That an id is not there, with ids that are and look like it.
pub(crate) async fn missing(sessions: &Sessions, id: &SessionId) -> Problem {
    let what = format!("there is no session `{id}`");
    let near = near(sessions, id.as_str()).await;
    let advice = match near.as_slice() {
        [] => "see what there is: allm sessions list".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Problem::usage(what).advice(advice)
}

async fn near(sessions: &Sessions, id: &str) -> Vec<String> {
    let mut found: Vec<(f64, String)> = Vec::new();
    let mut page = PageRequest::new(PageRequest::MAX_SIZE).unwrap_or_default();
    let mut seen = 0;
    // A suggestion is not worth a second failure: what cannot be listed is not suggested.
    while let Ok(listed) = sessions.list(&SessionFilter::new(), page.clone()).await {
        seen += listed.items.len();
        for head in &listed.items {
            let other = head.id.as_str();
            let likeness = match other.contains(id) || id.contains(other) {
                true => 1.0,
                false => strsim::jaro_winkler(id, other),
            };
            if likeness >= ALIKE {
                found.push((likeness, other.to_owned()));
            }
        }
        match listed.next {
            Some(next) if seen < COMPARED => page = page.after(next),
            _ => break,
        }
    }
    found.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| first.cmp(second)));
    let named = found.into_iter().take(NAMED);
    named.map(|(_, id)| format!("`{id}`")).collect()
}

/// The sessions that were written to last, the newest first: at most so many.
///
/// A store lists the oldest first. So it is asked for those of the last day, and only when they are not enough for
/// those of the time before.
pub(crate) async fn newest(
    sessions: &Sessions,
    filter: &SessionFilter,
    limit: usize,
) -> Result<Vec<Head>, Problem> {
    let store = sessions.store();
    let now = store.now().await?.as_millis();
    let mut found = Vec::new();
    for back in BACK {
        let from = back.and_then(|back| Timestamp::from_millis(now.saturating_sub(back)).ok());
        let filter = SessionFilter {
            updated_from: from,
            ..filter.clone()
        };
        found = all(sessions, &filter).await?;
        if found.len() >= limit {
            break;
        }
    }
    found.sort_by(|a, b| (b.updated_at, &b.id).cmp(&(a.updated_at, &a.id)));
    found.truncate(limit);
    Ok(found)
}

async fn all(sessions: &Sessions, filter: &SessionFilter) -> Result<Vec<Head>, Problem> {
    let mut found = Vec::new();
    let mut page = PageRequest::new(PageRequest::MAX_SIZE).unwrap_or_default();
    loop {
        let listed = sessions.list(filter, page.clone()).await;
        let listed = listed.map_err(|error| fault::told("", &error))?;
        found.extend(listed.items);
        match listed.next {
            Some(next) => page = page.after(next),
            None => return Ok(found),
        }
    }
}

/// The id that was named, or that of the session that was written to last.
pub(crate) async fn named_or_last(
    sessions: &Sessions,
    id: Option<String>,
) -> Result<SessionId, Problem> {
    if let Some(id) = id {
        return typed(&id);
    }
    let newest = newest(sessions, &SessionFilter::new(), 1).await?;
    match newest.into_iter().next() {
        Some(head) => Ok(head.id),
        None => Err(Problem::usage("there are no sessions yet").advice("`allm chat` begins one")),
    }
}
