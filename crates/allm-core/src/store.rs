//! The trait of session stores.

use std::time::Duration;

use crate::data::{
    AppendId, Claim, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded, NewSession,
    Page, PageRequest, Position, SessionFilter, SessionId, Snapshot, Takeover, Timestamp, Version,
    WriterId, check_append,
};
use crate::error::StoreError;
use crate::future::BoxFuture;

/// Keeps the journals of sessions.
///
/// A session in a store is: a [`Head`], a journal of [`Entry`]s with versions 1, 2, 3 …, snapshots, and at most one
/// lease. The store moves bytes and never reads inside them; hashing, parsing and replay are its caller's.
///
/// # Rules for every store
///
/// - Nothing happens before the first poll.
/// - A write is one transaction: the whole of it is durable when the future is ready with `Ok`, or nothing of it is.
/// - All of an answer is as of one instant. What was written is seen by every later read, from any machine.
/// - Time is the store's own clock, the one of [`now`](Self::now). It is not the clock of whoever asks.
/// - Bytes come back as they went in. Content above 64 KiB may be kept once by its hash; a piece that is missing or
///   altered is `corrupt` at the version of its entry.
/// - Ids, tags and prefixes are matched literally, as bytes.
/// - No error, log line or `Debug` output holds content, a key or a connection's password.
/// - Nothing is deleted unless somebody asks for it.
///
/// # Errors
///
/// Every method may answer `unavailable` when the database does not answer and `schema_too_new` or `schema_too_old`
/// when it is of another release. Every write may answer `full`. `unavailable` and `full` are the only ones that are
/// worth asking again for; a write that ended so may still have been done, and each method says how that is settled.
///
/// # Cancel safety
///
/// A future that is dropped after its first poll leaves its write done or not done, never half. Settle it as after
/// `unavailable`. Dropping a read leaves nothing behind.
pub trait SessionStore: Send + Sync {
    /// Creates a session with its first entry and gives its head ([`Head::created`]).
    ///
    /// Of several creators of one id exactly one succeeds. An id whose session was deleted is free again.
    ///
    /// A creation whose reply was lost is settled by [`load`](Self::load): it was done if the `uid` is the same.
    ///
    /// # Errors
    ///
    /// In this order: those of [`NewSession::check`]; `already_exists` when a session has the id, whatever its `uid`.
    fn create<'a>(&'a self, new: &'a NewSession) -> BoxFuture<'a, Result<Head, StoreError>>;

    /// Gives the head and the entries in order, as [`LoadFrom`] says, with the snapshot that they go on from.
    ///
    /// A version beyond the last entry gives no entries. The store does not verify the chain;
    /// [`Loaded::verify`] does. The snapshot is the newest; whether its hash is right is for the caller to check,
    /// who may ask again for all entries.
    ///
    /// # Errors
    ///
    /// `not_found` when no session has the id; `corrupt` when a row or a piece of content cannot be had.
    fn load<'a>(
        &'a self,
        id: &'a SessionId,
        from: LoadFrom,
    ) -> BoxFuture<'a, Result<Loaded, StoreError>>;

    /// Appends all entries and writes the head ([`Head::appended`]), or does nothing. Gives the new version.
    ///
    /// The same `append_id` with the same entries again gives the version that it got the first time and writes
    /// nothing, also when the session has gone on or another fence is current by now. So a lost reply is settled by
    /// asking again. An append id is remembered as long as the session is there. Entries are the same when the last
    /// one has the same version and `chain`, because a chain covers all that came before.
    ///
    /// The fence is the current one when it is that of the last acquisition and was not released. A lease that has
    /// expired does not end its fence; the next acquisition does.
    ///
    /// # Errors
    ///
    /// In this order:
    ///
    /// - those of [`check_append`]: `too_large`, `refused`;
    /// - `gone` when the session with this `uid` was deleted, also if another one has its id now; `not_found` when the
    ///   id is not known and no tombstone is left;
    /// - `conflict` with both versions when the append id was used for other entries;
    /// - `fenced` when a fence is given and is not the current one;
    /// - `conflict` with both versions when the session is at another version than `at`, earlier or later.
    fn append<'a>(
        &'a self,
        at: &'a Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> BoxFuture<'a, Result<Version, StoreError>>;

    /// Appends what ends a run, and in the same transaction keeps the snapshot of the session as it then is and gives the
    /// lease back. So a run ends with one write in place of three, and nobody sees one part of it without the others.
    ///
    /// True when all of it was done. False when the entries were appended and nothing else was: then it is for the caller
    /// to put the snapshot and to release the lease, and where that was done already, asking again does no harm. The
    /// default is [`append`](Self::append) and false. A snapshot is a cache: it must not be the reason why entries are not
    /// appended.
    ///
    /// # Errors
    ///
    /// Those of [`append`](Self::append) with the fence of the lease. The same `append_id` with the same entries again
    /// is no error here, either.
    fn append_and_release<'a>(
        &'a self,
        at: &'a Position,
        lease: &'a Lease,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
        snapshot: Option<&'a Snapshot>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let _ = snapshot;
        Box::pin(async move {
            let fence = Some(lease.fence);
            self.append(at, fence, append_id, entries, head).await?;
            Ok(false)
        })
    }

    /// Lists heads that match the filter ([`SessionFilter::matches`]), ordered by creation time and then by id.
    ///
    /// Pages are at most as long as asked, and may be shorter; only a page without `next` is the last. A session that
    /// exists and matches throughout a listing appears in it exactly once, whatever happens to others meanwhile.
    ///
    /// # Errors
    ///
    /// `refused` for a cursor that this store did not make, or made for another filter.
    fn list<'a>(
        &'a self,
        filter: &'a SessionFilter,
        page: PageRequest,
    ) -> BoxFuture<'a, Result<Page<Head>, StoreError>>;

    /// Deletes a session: its entries, snapshots, lease, append ids, and content that no other session uses.
    ///
    /// A tombstone with `id`, `uid` and time stays for 30 days, so that late writers are told `gone`. It is not seen by
    /// reads. A lost reply is settled by asking again; `not_found` then says that it was done.
    ///
    /// # Errors
    ///
    /// In this order: `not_found`; `conflict` when it is at another version than the condition names; `lease_held` with
    /// the holder when a live lease is there and the deletion is not forced.
    fn delete<'a>(
        &'a self,
        id: &'a SessionId,
        condition: DeleteIf,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Gives `holder` the right to drive the session for `ttl` from now on.
    ///
    /// The fence is one higher than that of the last acquisition, also after a release, a takeover or a restart; the
    /// first is 1. It writes no entry and changes no version.
    ///
    /// A lost reply cannot be told from another's success: ask again after `ttl`, or with [`Takeover::Force`] when the
    /// holder that is named is the one who asks.
    ///
    /// # Errors
    ///
    /// `refused` for a `ttl` under a millisecond; `not_found`; `lease_held` with holder and expiry when a live lease is
    /// there and `takeover` does not force, also when the holder is the same.
    fn acquire<'a>(
        &'a self,
        id: &'a SessionId,
        holder: &'a WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> BoxFuture<'a, Result<Lease, StoreError>>;

    /// Gives the right to drive the session, and in the same transaction appends what a run begins with under it. So a run
    /// begins with one write in place of two.
    ///
    /// The lease is given as by [`acquire`](Self::acquire), at the version that it tells, if it tells one. True when the
    /// entries were appended: now, or the first time that this `append_id` was used for them. False when the session is
    /// not the one, or not at the version, that `at` names, or when the time of the last entry is more than a second from
    /// the store's: then the lease was given and nothing else was done. The default is [`acquire`](Self::acquire) and
    /// false.
    ///
    /// A lost reply is settled as one of `acquire` is. When it is asked again, the entries are not appended twice.
    ///
    /// # Errors
    ///
    /// Those of [`acquire`](Self::acquire); `too_large` and `refused` for entries as by [`append`](Self::append). Nothing
    /// was done then.
    fn acquire_and_append<'a>(
        &'a self,
        claim: &'a Claim,
        at: &'a Position,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> BoxFuture<'a, Result<(Lease, bool), StoreError>> {
        let _ = (append_id, head);
        Box::pin(async move {
            check_append(at, Some(Fence(0)), entries)?;
            let Claim {
                holder,
                ttl,
                takeover,
            } = claim;
            let lease = self.acquire(&at.id, holder, *ttl, *takeover).await?;
            Ok((lease, false))
        })
    }

    /// Makes a lease last for its `ttl` from now on, and gives it with its new expiry.
    ///
    /// One that has expired can be renewed as long as nobody has taken over. Asking again does no harm.
    ///
    /// # Errors
    ///
    /// `gone` when the session with this `uid` was deleted; `fenced` when the lease was released or taken over.
    fn renew<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<Lease, StoreError>>;

    /// Gives a lease back.
    ///
    /// One that is no longer the current one is left alone, and so is a session that is gone: both are `Ok`, because
    /// the caller does not hold it. Asking again does no harm.
    ///
    /// # Errors
    ///
    /// Only those that every method may answer.
    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Keeps a snapshot. A store may drop older ones, never the newest. Asking again does no harm.
    ///
    /// The session may have gone on since. A snapshot is kept only if its version is that of `at` and its `chain` is
    /// that of the entry there, so what is kept fits the journal.
    ///
    /// # Errors
    ///
    /// `gone` and `not_found` as for [`append`](Self::append); `refused` when the snapshot does not fit the journal.
    fn put_snapshot<'a>(
        &'a self,
        at: &'a Position,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Drops the entries with versions below `before`; a snapshot must cover them all, so one at `before - 1` or later
    /// must be there.
    ///
    /// The store does not know where a turn begins: the caller sees to it that none of them belongs to an open turn or
    /// an unfinished run, as of `at`. The append ids of dropped entries stay remembered. Asking again does no harm.
    ///
    /// # Errors
    ///
    /// In this order: `gone` and `not_found` as for [`append`](Self::append); `conflict` when the session is at another
    /// version than `at`; `refused` when no snapshot covers what would be dropped.
    fn trim<'a>(
        &'a self,
        at: &'a Position,
        before: Version,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Ready soon after something was appended to the session, by anyone. Who reads along waits for this and saves asking
    /// again and again.
    ///
    /// Only a hint: it may come for nothing, and it may not come at all. What was appended before the first poll is not
    /// told. So nothing may rely on it; who waits asks the store from time to time as well. The default never comes.
    fn changed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        let _ = id;
        Box::pin(std::future::pending())
    }

    /// Ready soon after something was appended to the session without a fence: by somebody who does not drive it. The
    /// driver waits for this, and is not woken by what it has written itself.
    ///
    /// A hint, as [`changed`](Self::changed) is, which is the default.
    fn addressed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        self.changed(id)
    }

    /// The time by the store's clock.
    ///
    /// # Errors
    ///
    /// Only those that every method may answer.
    fn now(&self) -> BoxFuture<'_, Result<Timestamp, StoreError>>;
}
