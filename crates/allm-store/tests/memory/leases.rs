//! Leases and fences.

use super::{
    Duration, Fence, Lease, LeaseFilter, PageRequest, SessionFilter, SessionStore, StoreError,
    StoreReason, Takeover, Version, Writer, block_on, new_session, reason,
};

#[test]
fn s124_a_live_lease_refuses_and_names_its_holder() {
    let writer = Writer::create("a");
    let lease = writer.acquire("one", Takeover::IfExpired).expect("free");
    for holder in ["one", "two"] {
        let refused = writer.acquire(holder, Takeover::IfExpired);
        assert_eq!(refused, Err(StoreError::lease_held(lease.held())));
    }
    let held = SessionFilter::new().lease(LeaseFilter::Held);
    let listed = block_on(writer.store.list(&held, PageRequest::default())).expect("listed");
    assert_eq!(listed.items[0].lease, Some(lease.held()));
}

#[test]
fn s125_who_was_overtaken_is_fenced_and_who_was_not_goes_on() {
    let mut writer = Writer::create("a");
    let first = writer.acquire("one", Takeover::IfExpired).expect("free");
    writer.clock.advance(Lease::DEFAULT_TTL);
    assert_eq!(writer.progress(first.fence, 1), Ok(Version(2)));
    writer.reload();
    let second = writer.acquire("two", Takeover::IfExpired).expect("expired");
    assert_eq!(reason(writer.progress(first.fence, 2)), StoreReason::Fenced);
    assert_eq!(
        reason(block_on(writer.store.renew(&first))),
        StoreReason::Fenced
    );
    // What was done before is still known, though the fence is old.
    writer.at.version = Version(1);
    writer.link = new_session("a", 1).first.link();
    assert_eq!(writer.progress(first.fence, 1), Ok(Version(2)));
    writer.reload();
    assert_eq!(writer.progress(second.fence, 3), Ok(Version(3)));
}

#[test]
fn s126_fences_grow_with_each_acquisition() {
    let writer = Writer::create("a");
    let first = writer.acquire("one", Takeover::IfExpired).expect("free");
    let second = writer.acquire("two", Takeover::Force).expect("forced");
    // The first holds nothing any more, so there is nothing to give back.
    block_on(writer.store.release(first)).expect("no harm");
    block_on(writer.store.release(second.clone())).expect("released");
    assert_eq!(
        reason(writer.progress(second.fence, 1)),
        StoreReason::Fenced
    );
    let third = writer.acquire("one", Takeover::IfExpired).expect("free");
    assert_eq!((second.fence, third.fence), (Fence(2), Fence(3)));
    writer.clock.advance(Duration::from_secs(10));
    let renewed = block_on(writer.store.renew(&third)).expect("current");
    assert_eq!(renewed.fence, third.fence);
    assert!(renewed.expires_at > third.expires_at);
}
