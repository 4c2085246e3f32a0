//! Stores that read and list wrongly.

use std::collections::{BTreeMap, BTreeSet};

use allm_core::{
    Cursor, Entry, Hash, Head, LoadFrom, Page, PageRequest, SessionFilter, SessionId, StoreError,
    StoreReason, Timestamp, Version,
};

use serde_json::{Value, json};

use super::faulty::{Answer, Answered, Ask, Right, broken, error, remembering};

#[tokio::test]
async fn s112_loads() {
    let one_more = broken(|right, ask| match ask {
        Ask::Load(id, LoadFrom::After(Version(after))) => {
            let from = LoadFrom::After(Version(after.saturating_sub(1)));
            right.ask(&Ask::Load(id, from))
        }
        ask => right.ask(&ask),
    });
    assert_eq!(
        one_more.await,
        [
            "load_after",
            "snapshot_not_asked_for",
            "trim",
            "load_trimmed"
        ]
    );
    let as_texts = broken(|right, ask| match right.ask(&ask) {
        Ok(Answer::Loaded(mut loaded)) => {
            let text = |entry: &Entry| entry.version.to_string();
            loaded.entries.sort_by_key(text);
            Ok(Answer::Loaded(loaded))
        }
        answer => answer,
    });
    assert_eq!(
        as_texts.await,
        [
            "append",
            "load_after",
            "load_all",
            "exact_bytes",
            "many_appenders",
            "read_at_one_instant",
            "raced_elsewhere"
        ]
    );
    let limited = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::Load(_, LoadFrom::Snapshot), Ok(Answer::Loaded(mut loaded))) => {
            loaded.entries.truncate(10);
            Ok(Answer::Loaded(loaded))
        }
        (_, answer) => answer,
    });
    assert_eq!(limited.await, ["load_all"]);
    let gone = remembering(|known: &mut BTreeSet<SessionId>, right, ask| {
        if let Ask::Create(new) = &ask {
            known.insert(new.id.clone());
        }
        match &ask {
            Ask::Load(id, LoadFrom::After(_)) if !known.contains(id) => {
                Err(error(StoreReason::Gone))
            }
            _ => right.ask(&ask),
        }
    });
    assert_eq!(gone.await, ["load_unknown"]);
}

/// A store that gives back other bytes.
fn rewritten(answer: Answered, rewrite: fn(&[u8]) -> Vec<u8>) -> Answered {
    let Ok(Answer::Loaded(mut loaded)) = answer else {
        return answer;
    };
    for entry in &mut loaded.entries {
        entry.bytes = rewrite(&entry.bytes).into();
    }
    Ok(Answer::Loaded(loaded))
}

#[tokio::test]
async fn s56_s115_content() {
    let trimmed =
        broken(|right, ask| rewritten(right.ask(&ask), |bytes| bytes.trim_ascii_end().to_vec()));
    assert_eq!(
        trimmed.await,
        ["exact_bytes", "literal_ids", "survives_a_restart"]
    );
    let partly = broken(|right, ask| {
        let answer = right.ask(&ask);
        if let (Ask::Append(append), Err(old)) = (&ask, &answer)
            && old.reason == StoreReason::TooLarge
        {
            let mut first = append.clone();
            first.entries.truncate(1);
            let _ = right.ask(&Ask::Append(first));
        }
        answer
    });
    assert_eq!(partly.await, ["too_large"]);
    let smaller = broken(|right, ask| match &ask {
        Ask::Append(append)
            if append
                .entries
                .iter()
                .any(|entry| entry.bytes.len() == Entry::MAX_BYTES) =>
        {
            Err(error(StoreReason::TooLarge))
        }
        _ => right.ask(&ask),
    });
    assert_eq!(smaller.await, ["largest"]);
    let cut = broken(|right, ask| match right.ask(&ask) {
        Ok(Answer::Loaded(mut loaded)) => {
            if let Some(snapshot) = &mut loaded.snapshot {
                snapshot.bytes.truncate(128 * 1024);
            }
            Ok(Answer::Loaded(loaded))
        }
        answer => answer,
    });
    assert_eq!(cut.await, ["large_content"]);
    // What is kept once goes with the first session that has it.
    let shared = remembering(|lost: &mut BTreeSet<Hash>, right, ask| {
        let hash = |entry: &Entry| Hash::of_bytes(&entry.bytes);
        if let Ask::Delete(id, _) = &ask {
            let large = right.entries(id).into_iter();
            lost.extend(
                large
                    .filter(|entry| entry.bytes.len() > 65_536)
                    .map(|entry| hash(&entry)),
            );
        }
        let answer = right.ask(&ask);
        if let Ok(Answer::Loaded(loaded)) = &answer
            && let Some(entry) = loaded
                .entries
                .iter()
                .find(|entry| lost.contains(&hash(entry)))
        {
            return Err(StoreError::corrupt(entry.version));
        }
        answer
    });
    assert_eq!(shared.await, ["shared_content"]);
}

#[tokio::test]
async fn s116_texts() {
    let folded = broken(|right, ask| match &ask {
        Ask::Create(new) => {
            let lower = new.id.as_str().to_lowercase();
            let heads = right.heads();
            let is_there = |head: &Head| head.id.as_str().to_lowercase() == lower;
            if new.check().is_ok() && heads.iter().any(is_there) {
                return Err(error(StoreReason::AlreadyExists));
            }
            right.ask(&ask)
        }
        _ => right.ask(&ask),
    });
    assert_eq!(
        folded.await,
        ["literal_ids", "literal_prefixes", "literal_holders"]
    );
    let wild = broken(|right, ask| match ask {
        Ask::List(mut filter, page) => {
            let prefix = filter.id_prefix.take();
            filter.id_prefix = prefix.map(|prefix| prefix.trim_end_matches('%').to_owned());
            right.ask(&Ask::List(filter, page))
        }
        ask => right.ask(&ask),
    });
    assert_eq!(
        wild.await,
        ["literal_prefixes", "one_filter", "all_filters"]
    );
    let trimmed = broken(|right, mut ask| {
        if let Ask::Create(new) = &mut ask {
            for value in new.head.tags.values_mut() {
                *value = value.trim().to_owned();
            }
        }
        right.ask(&ask)
    });
    assert_eq!(trimmed.await, ["literal_tags"]);
    let holders = broken(|right, mut ask| {
        if let Ask::Acquire(_, holder, ..) = &mut ask {
            *holder = holder.as_str().trim().into();
        }
        right.ask(&ask)
    });
    assert_eq!(holders.await, ["literal_holders"]);
    let nul = broken(|right, ask| match &ask {
        Ask::Append(append)
            if append
                .head
                .tags
                .iter()
                .any(|(key, value)| (key.clone() + value).contains('\0')) =>
        {
            Err(error(StoreReason::Unavailable))
        }
        _ => right.ask(&ask),
    });
    assert_eq!(nul.await, ["nul"]);
}

#[tokio::test]
async fn s113_lists() {
    let by_id = broken(|right, ask| match (&ask, right.ask(&ask)) {
        (Ask::List(..), Ok(Answer::Page(mut page))) if page.next.is_none() => {
            page.items.sort_by(|a, b| a.id.cmp(&b.id));
            Ok(Answer::Page(page))
        }
        (_, answer) => answer,
    });
    assert_eq!(by_id.await, ["list", "pages"]);
    let inclusive = broken(|right, mut ask| {
        if let Ask::List(filter, _) = &mut ask
            && let Some(time) = &mut filter.expires_before
        {
            *time = Timestamp::from_millis(time.as_millis() + 1).unwrap();
        }
        right.ask(&ask)
    });
    assert_eq!(inclusive.await, ["one_filter"]);
    let forgetful = broken(|right, mut ask| {
        if let Ask::List(filter, _) = &mut ask
            && filter.created_from.is_some()
            && filter.runnable.is_some()
        {
            filter.lease = None;
        }
        right.ask(&ask)
    });
    assert_eq!(forgetful.await, ["all_filters"]);
}

/// A listing of one's own: `next` says where it goes on after a head at an index, `is_later` what comes after that.
fn listing(
    right: &Right,
    filter: &SessionFilter,
    page: &PageRequest,
    next: fn(&Head, usize) -> Value,
    is_later: fn(&Head, usize, &Value) -> bool,
) -> Answered {
    let read =
        |cursor: &Cursor| serde_json::from_str::<(SessionFilter, Value)>(cursor.as_str()).ok();
    let after = match page.cursor().map(read) {
        None => None,
        Some(Some((made_for, after))) if made_for == *filter => Some(after),
        Some(_) => return Err(error(StoreReason::Refused)),
    };
    let heads: Vec<Head> = right.heads();
    let heads = heads.into_iter().filter(|head| filter.matches(head));
    let mut items: Vec<(usize, Head)> = heads
        .enumerate()
        .filter(|(index, head)| {
            after
                .as_ref()
                .is_none_or(|after| is_later(head, *index, after))
        })
        .collect();
    let more = items.len() > page.size() as usize;
    items.truncate(page.size() as usize);
    let last = items.last().filter(|_| more);
    let cursor = last.map(|(index, head)| {
        Cursor::new(serde_json::to_string(&(filter, next(head, *index))).unwrap())
    });
    Ok(Answer::Page(Page {
        items: items.into_iter().map(|(_, head)| head).collect(),
        next: cursor,
    }))
}

#[tokio::test]
async fn s114_pages() {
    let skipping = broken(|right, ask| match &ask {
        Ask::List(filter, page) => {
            let is_later = |head: &Head, _: usize, after: &Value| {
                after
                    .as_i64()
                    .is_some_and(|after| head.created_at.as_millis() > after)
            };
            listing(
                right,
                filter,
                page,
                |head, _| json!(head.created_at.as_millis()),
                is_later,
            )
        }
        _ => right.ask(&ask),
    });
    assert_eq!(skipping.await, ["pages", "pages_meanwhile"]);
    let counting = broken(|right, ask| match &ask {
        Ask::List(filter, page) => {
            let is_later =
                |_: &Head, index: usize, after: &Value| json!(index).as_u64() > after.as_u64();
            listing(right, filter, page, |_, index| json!(index), is_later)
        }
        _ => right.ask(&ask),
    });
    assert_eq!(counting.await, ["pages_meanwhile"]);
    let one_more = broken(|right, ask| match ask {
        Ask::List(filter, page) if page.size() < PageRequest::MAX_SIZE => {
            let longer = PageRequest::new(page.size() + 1).unwrap();
            let longer = match page.cursor() {
                Some(cursor) => longer.after(cursor.clone()),
                None => longer,
            };
            right.ask(&Ask::List(filter, longer))
        }
        ask => right.ask(&ask),
    });
    assert_eq!(one_more.await, ["page_size"]);
}

#[tokio::test]
async fn s114_cursors() {
    /// The cursors that were given out, and for which listing.
    type Given = BTreeMap<String, SessionFilter>;
    fn note(given: &mut Given, filter: &SessionFilter, answered: &Answered) {
        if let Ok(Answer::Page(page)) = answered
            && let Some(next) = &page.next
        {
            given.insert(next.as_str().to_owned(), filter.clone());
        }
    }
    let trusting = remembering(|given: &mut Given, right, ask| {
        let Ask::List(filter, page) = &ask else {
            return right.ask(&ask);
        };
        let is_forged = |cursor: &Cursor| !given.contains_key(cursor.as_str());
        let answered = if page.cursor().is_some_and(is_forged) {
            let first = PageRequest::new(page.size()).unwrap();
            right.ask(&Ask::List(filter.clone(), first))
        } else {
            right.ask(&ask)
        };
        note(given, filter, &answered);
        answered
    });
    assert_eq!(trusting.await, ["forged_cursor"]);
    let any_filter = remembering(|given: &mut Given, right, ask| {
        let Ask::List(filter, page) = &ask else {
            return right.ask(&ask);
        };
        // The cursor is taken for one of its own listing.
        let own = page.cursor().and_then(|cursor| given.get(cursor.as_str()));
        let own = own.unwrap_or(filter).clone();
        let answered = right.ask(&Ask::List(own, page.clone()));
        note(given, filter, &answered);
        answered
    });
    assert_eq!(any_filter.await, ["cursor_of_another_filter"]);
}
