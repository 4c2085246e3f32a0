//! Each filter alone and all together, against the filter of the core.

use allm_core::{
    HeadUpdate, LeaseFilter, NewSession, SessionFilter, SessionStatus, Takeover, WriterId,
};

use super::{Store, listed, new_session, time};

/// Numbers that look random and are the same in every run.
pub struct Numbers(u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn time(&mut self) -> allm_core::Timestamp {
        time(i64::try_from(self.below(6)).expect("small"))
    }

    fn often(&mut self) -> bool {
        self.below(3) == 0
    }
}

fn any_session(numbers: &mut Numbers, index: usize) -> NewSession {
    let name = format!(
        "{}{index}",
        ["a", "a%", "a_", "b"][numbers.below(4) as usize]
    );
    let mut new = new_session(&name);
    new.first.at = numbers.time();
    new.head = HeadUpdate::new(SessionStatus::ALL[numbers.below(7) as usize]);
    new.head.runnable = numbers.often();
    for key in ["k", "l"] {
        if numbers.below(2) == 0 {
            let value = ["v", "w", ""][numbers.below(3) as usize];
            new.head.tags.insert(key.into(), value.into());
        }
    }
    new.head.next_expiry = numbers.often().then(|| numbers.time());
    new
}

fn any_filter(numbers: &mut Numbers) -> SessionFilter {
    let mut filter = SessionFilter::new();
    while numbers.often() {
        filter = filter.status(SessionStatus::ALL[numbers.below(7) as usize]);
    }
    if numbers.often() {
        filter.runnable = Some(numbers.below(2) == 0);
    }
    for key in ["k", "l"] {
        if numbers.often() {
            filter = filter.tag(key, ["v", "w", "", "x"][numbers.below(4) as usize]);
        }
    }
    if numbers.often() {
        filter = filter.id_prefix(["", "a", "a%", "a_", "b1"][numbers.below(5) as usize]);
    }
    for limit in [
        &mut filter.created_from,
        &mut filter.created_before,
        &mut filter.updated_from,
        &mut filter.updated_before,
        &mut filter.expires_before,
    ] {
        *limit = numbers.often().then(|| numbers.time());
    }
    if numbers.often() {
        filter = filter.lease([LeaseFilter::Free, LeaseFilter::Held][numbers.below(2) as usize]);
    }
    filter
}

pub async fn every_filter_agrees_with_the_naive_one(store: &Store) {
    let mut numbers = Numbers(7);
    for index in 0..60 {
        let new = any_session(&mut numbers, index);
        store.create(&new).await.expect("created");
        if numbers.often() {
            let holder = WriterId::new("h");
            let ttl = allm_core::Lease::DEFAULT_TTL * 100;
            let lease = store
                .acquire(&new.id, &holder, ttl, Takeover::IfExpired)
                .await;
            let lease = lease.expect("free");
            if numbers.often() {
                store.release(lease).await.expect("released");
            }
        }
    }
    let all = listed(store, &SessionFilter::new(), 500).await;
    assert_eq!(all.len(), 60);
    assert!(all.is_sorted_by_key(|head| (head.created_at, head.id.clone())));
    let mut shown = 0;
    for round in 0..300_u32 {
        let filter = any_filter(&mut numbers);
        let expected: Vec<_> = all
            .iter()
            .filter(|head| filter.matches(head))
            .cloned()
            .collect();
        let size = [1, 7, 500][(round % 3) as usize];
        assert_eq!(listed(store, &filter, size).await, expected, "{filter:?}");
        shown += expected.len();
    }
    assert!(shown > 300, "the filters show something");
}
