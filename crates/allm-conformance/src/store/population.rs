//! Many sessions that differ in everything that a filter looks at; the same ones each time.

use allm_core::{
    Entry, EntryClass, Head, HeadUpdate, LeaseFilter, Link, NewSession, SessionFilter,
    SessionStatus, SessionStore, Timestamp,
};

use super::bench::{Wanted, append_id, id, time, uid};
use super::session::{Known, LONG, follow};
use crate::finding::Finding;

/// Numbers that look random and are the same each time.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number under `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let limit = u64::try_from(limit.max(1)).unwrap_or(1);
        usize::try_from(mixed % limit).unwrap_or(0)
    }

    pub(super) fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    /// One of these.
    fn of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len()))
    }
}

const PREFIXES: [&str; 7] = ["order-", "order_", "Order-", "a%", "a_", "a", "\u{e9}"];
const KEYS: [&str; 3] = ["team", "tier", "te%m"];
const VALUES: [&str; 3] = ["support", "Support", "sup_ort"];
/// Times in milliseconds: few, so that many sessions share one.
const TIMES: [i64; 6] = [0, 1, 2, 1000, 60_000, 86_400_000];

fn update(numbers: &mut Numbers) -> Result<HeadUpdate, Finding> {
    let status = numbers.of(&SessionStatus::ALL).copied();
    let mut update = HeadUpdate::new(status.unwrap_or(SessionStatus::Idle));
    update.runnable = numbers.one_in(2);
    for key in KEYS {
        if let (false, Some(value)) = (numbers.one_in(3), numbers.of(&VALUES)) {
            update.tags.insert(key.to_owned(), (*value).to_owned());
        }
    }
    if let (false, Some(millis)) = (numbers.one_in(3), numbers.of(&TIMES)) {
        update.next_expiry = Some(time(*millis)?);
    }
    Ok(update)
}

/// Creates them, and tells their heads in the order of a listing.
pub(super) async fn populate(store: &dyn SessionStore, count: usize) -> Result<Vec<Head>, Finding> {
    let mut numbers = Numbers::new(1);
    let mut heads = Vec::new();
    for number in 0..count {
        let prefix = numbers.of(&PREFIXES).copied().unwrap_or_default();
        let name = format!("{prefix}{number}");
        let created = numbers.of(&TIMES).copied().unwrap_or_default();
        let first = follow(&Link::START, EntryClass::Input, b"first".to_vec())?;
        let new = NewSession {
            id: id(&name)?,
            uid: uid(&name),
            first: Entry {
                at: time(created)?,
                ..first
            },
            head: update(&mut numbers)?,
        };
        let mut known = Known::created_as(store, &new).await?;
        if numbers.one_in(2) {
            let later = numbers.of(&TIMES).copied().unwrap_or_default();
            let mut entries = known.next(EntryClass::Input, &["second"])?;
            for entry in &mut entries {
                entry.at = time(created.saturating_add(later))?;
            }
            let head = update(&mut numbers)?;
            let append = append_id(&name);
            let at = known.at();
            let appended = store.append(&at, None, append, &entries, &head).await;
            appended.wanted("the entries are appended")?;
            known.note(&entries, &head);
        }
        if numbers.one_in(3) {
            let lease = known.acquired(store, "driver", LONG).await?;
            known.head.lease = Some(lease.held());
        }
        heads.push(known.head);
    }
    heads.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(heads)
}

/// Every condition by itself, with every value that lies on, before or behind a border.
pub(super) fn single_filters() -> Result<Vec<(&'static str, SessionFilter)>, Finding> {
    let new = SessionFilter::new;
    let mut filters = vec![
        ("no condition", new()),
        ("runnable", new().runnable()),
        ("not runnable", new().not_runnable()),
        ("lease free", new().lease(LeaseFilter::Free)),
        ("lease held", new().lease(LeaseFilter::Held)),
    ];
    for status in SessionStatus::ALL {
        filters.push(("one status", new().status(status)));
        let other = new().status(status).status(SessionStatus::Idle);
        filters.push(("two statuses", other));
    }
    for key in KEYS {
        for value in VALUES {
            filters.push(("one tag", new().tag(key, value)));
            filters.push(("two tags", new().tag(key, value).tag("team", "support")));
        }
        filters.push(("a tag that nobody has", new().tag(key, "other")));
        filters.push(("a tag by its value", new().tag("support", key)));
    }
    for prefix in PREFIXES
        .into_iter()
        .chain(["", "or", "ORDER", "b", "%", "_"])
    {
        filters.push(("id prefix", new().id_prefix(prefix)));
    }
    for millis in TIMES.into_iter().chain([-1, 59_999, 172_800_001]) {
        let time = time(millis)?;
        filters.push(("created from", new().created_from(time)));
        filters.push(("created before", new().created_before(time)));
        filters.push(("updated from", new().updated_from(time)));
        filters.push(("updated before", new().updated_before(time)));
        filters.push(("expires before", new().expires_before(time)));
    }
    Ok(filters)
}

/// Conditions that this head meets; each is there by chance, or all are.
pub(super) fn filter_for(head: &Head, numbers: &mut Numbers, all: bool) -> SessionFilter {
    let later = |time: Timestamp| {
        Timestamp::from_millis(time.as_millis().saturating_add(1)).unwrap_or(time)
    };
    let mut is_set = || all || numbers.one_in(3);
    let mut filter = SessionFilter::new();
    if is_set() {
        filter = filter.status(head.status).status(SessionStatus::Error);
    }
    if is_set() {
        filter.runnable = Some(head.runnable);
    }
    if is_set() {
        filter.tags.clone_from(&head.tags);
    }
    if is_set() {
        let prefix: String = head.id.as_str().chars().take(2).collect();
        filter = filter.id_prefix(prefix);
    }
    if is_set() {
        filter = filter.created_from(head.created_at);
    }
    if is_set() {
        filter = filter.created_before(later(head.created_at));
    }
    if is_set() {
        filter = filter.updated_from(head.updated_at);
    }
    if is_set() {
        filter = filter.updated_before(later(head.updated_at));
    }
    if let (true, Some(expiry)) = (is_set(), head.next_expiry) {
        filter = filter.expires_before(later(expiry));
    }
    if is_set() {
        filter = filter.lease(match head.lease {
            Some(_) => LeaseFilter::Held,
            None => LeaseFilter::Free,
        });
    }
    filter
}
