//! What the store holds, and what each operation does to it.

use std::collections::{BTreeMap, HashMap};

use allm_core::{
    AppendId, Claim, DeleteIf, Entry, Fence, Hash, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionUid, Snapshot,
    StoreError, Takeover, Timestamp, Version, check_append,
};

use crate::clock::{later, whole_millis};
use crate::cursor;
use crate::rules::{
    TOMBSTONE_MILLIS, already_exists, at_version, check_claim, fenced, gone, is_appended,
    is_untimely, not_found, refused, uncovered_trim, unfit_snapshot,
};

#[derive(Default)]
pub(super) struct State {
    sessions: BTreeMap<SessionId, Stored>,
    /// The deleted ones, with the time until which they are remembered.
    tombstones: HashMap<(SessionId, SessionUid), Timestamp>,
}

struct Stored {
    head: Head,
    entries: Vec<Entry>,
    /// The last version that was trimmed; 0 when none was.
    trimmed: Version,
    /// The newest.
    snapshot: Option<Snapshot>,
    appends: HashMap<AppendId, (Version, Hash)>,
    fence: Fence,
    lease: Option<Lease>,
}

impl Stored {
    /// The head with its lease, if that is live.
    fn head(&self, now: Timestamp) -> Head {
        let live = |lease: &&Lease| now < lease.expires_at;
        Head {
            lease: self.lease.as_ref().filter(live).map(Lease::held),
            ..self.head.clone()
        }
    }
}

impl State {
    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    fn named(&mut self, id: &SessionId) -> Result<&mut Stored, StoreError> {
        self.sessions.get_mut(id).ok_or_else(not_found)
    }

    fn exact(
        &mut self,
        now: Timestamp,
        id: &SessionId,
        uid: SessionUid,
    ) -> Result<&mut Stored, StoreError> {
        let until = self.tombstones.get(&(id.clone(), uid));
        match self.sessions.get_mut(id) {
            Some(stored) if stored.head.uid == uid => Ok(stored),
            Some(_) => Err(gone()),
            None if until.is_some_and(|until| now < *until) => Err(gone()),
            None => Err(not_found()),
        }
    }

    pub(super) fn create(&mut self, new: &NewSession) -> Result<Head, StoreError> {
        new.check()?;
        if self.sessions.contains_key(&new.id) {
            return Err(already_exists());
        }
        let head = Head::created(new);
        let stored = Stored {
            head: head.clone(),
            entries: vec![new.first.clone()],
            trimmed: Version(0),
            snapshot: None,
            appends: HashMap::new(),
            fence: Fence(0),
            lease: None,
        };
        self.sessions.insert(new.id.clone(), stored);
        Ok(head)
    }

    pub(super) fn load(
        &mut self,
        now: Timestamp,
        id: &SessionId,
        from: LoadFrom,
    ) -> Result<Loaded, StoreError> {
        let stored = self.named(id)?;
        let (snapshot, after) = match from {
            LoadFrom::After(after) if stored.trimmed <= after => (None, after),
            LoadFrom::After(_) | LoadFrom::Snapshot => {
                let after = stored.snapshot.as_ref().map(|kept| kept.version);
                (stored.snapshot.clone(), after.unwrap_or_default())
            }
        };
        let later = |entry: &&Entry| entry.version > after;
        Ok(Loaded {
            head: stored.head(now),
            entries: stored.entries.iter().filter(later).cloned().collect(),
            snapshot,
        })
    }

    pub(super) fn append(
        &mut self,
        now: Timestamp,
        at: &Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &[Entry],
        head: &HeadUpdate,
    ) -> Result<Version, StoreError> {
        let version = check_append(at, fence, entries)?;
        let last = (entries.last()).ok_or_else(|| refused("there is nothing to append"))?;
        let stored = self.exact(now, &at.id, at.uid)?;
        if let Some(known) = stored.appends.get(&append_id) {
            return if *known == (version, last.chain) {
                Ok(version)
            } else {
                Err(StoreError::conflict(at.version, stored.head.version))
            };
        }
        let current = stored.lease.as_ref().map(|lease| lease.fence);
        if fence.is_some() && fence != current {
            return Err(fenced());
        }
        at_version(at.version, stored.head.version)?;
        stored.appends.insert(append_id, (version, last.chain));
        stored.entries.extend_from_slice(entries);
        stored.head = stored.head.clone().appended(last, head);
        Ok(version)
    }

    pub(super) fn list(
        &self,
        now: Timestamp,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Page<Head>, StoreError> {
        let after = page.cursor().map(|cursor| cursor::read(filter, cursor));
        let after = after.transpose()?;
        let key = |head: &Head| (head.created_at, head.id.clone());
        let mut items: Vec<Head> = (self.sessions.values())
            .map(|stored| stored.head(now))
            .filter(|head| filter.matches(head))
            .filter(|head| after.as_ref().is_none_or(|after| *after < key(head)))
            .collect();
        items.sort_by_key(key);
        Ok(cursor::page(filter, page, items))
    }

    pub(super) fn delete(
        &mut self,
        now: Timestamp,
        id: &SessionId,
        condition: DeleteIf,
    ) -> Result<(), StoreError> {
        let head = self.named(id)?.head(now);
        if let DeleteIf::Version(version) = condition {
            at_version(version, head.version)?;
        }
        match head.lease {
            Some(held) if condition != DeleteIf::Force => Err(StoreError::lease_held(held)),
            _ => {
                self.sessions.remove(id);
                self.tombstones.retain(|_, until| now < *until);
                let until = later(now, TOMBSTONE_MILLIS);
                self.tombstones.insert((head.id, head.uid), until);
                Ok(())
            }
        }
    }

    pub(super) fn acquire(
        &mut self,
        now: Timestamp,
        id: &SessionId,
        claim: &Claim,
    ) -> Result<Lease, StoreError> {
        check_claim(claim)?;
        let stored = self.named(id)?;
        if let (Some(held), Takeover::IfExpired) = (stored.head(now).lease, claim.takeover) {
            return Err(StoreError::lease_held(held));
        }
        stored.fence = Fence(stored.fence.0.saturating_add(1));
        let lease = Lease {
            id: id.clone(),
            uid: stored.head.uid,
            holder: claim.holder.clone(),
            fence: stored.fence,
            ttl: claim.ttl,
            expires_at: later(now, whole_millis(claim.ttl)),
            version: Some(stored.head.version),
        };
        stored.lease = Some(lease.clone());
        Ok(lease)
    }

    /// Takes a session, and appends what begins a run under the lease if the session is where it should be.
    pub(super) fn acquire_and_append(
        &mut self,
        now: Timestamp,
        claim: &Claim,
        at: &Position,
        append_id: AppendId,
        entries: &[Entry],
        head: &HeadUpdate,
    ) -> Result<(Lease, bool), StoreError> {
        check_append(at, Some(Fence(0)), entries)?;
        let lease = self.acquire(now, &at.id, claim)?;
        if is_untimely(&lease, at, entries, now) {
            return Ok((lease, false));
        }
        let appended = self.append(now, at, Some(lease.fence), append_id, entries, head);
        Ok((lease, is_appended(appended)?))
    }

    pub(super) fn renew(&mut self, now: Timestamp, lease: &Lease) -> Result<Lease, StoreError> {
        let stored = self.exact(now, &lease.id, lease.uid)?;
        match &mut stored.lease {
            Some(current) if current.fence == lease.fence => {
                current.ttl = lease.ttl;
                current.expires_at = later(now, whole_millis(lease.ttl));
                Ok(current.clone())
            }
            _ => Err(fenced()),
        }
    }

    pub(super) fn release(&mut self, now: Timestamp, lease: &Lease) {
        if let Ok(stored) = self.exact(now, &lease.id, lease.uid) {
            let others = |current: &Lease| current.fence != lease.fence;
            stored.lease = stored.lease.take().filter(others);
        }
    }

    /// What goes with the append that ends a run.
    pub(super) fn keep_and_release(
        &mut self,
        now: Timestamp,
        at: &Position,
        lease: &Lease,
        snapshot: Option<&Snapshot>,
    ) {
        if let Some(snapshot) = snapshot {
            let at = Position {
                version: snapshot.version,
                ..at.clone()
            };
            // It is a cache: what does not fit is not kept.
            let _ = self.put_snapshot(now, &at, snapshot.clone());
        }
        self.release(now, lease);
    }

    pub(super) fn put_snapshot(
        &mut self,
        now: Timestamp,
        at: &Position,
        snapshot: Snapshot,
    ) -> Result<(), StoreError> {
        let stored = self.exact(now, &at.id, at.uid)?;
        let link = snapshot.link();
        let kept = stored.snapshot.as_ref().map(Snapshot::link);
        let mut links = stored.entries.iter().map(Entry::link).chain(kept);
        if at.version != snapshot.version || !links.any(|found| found == link) {
            return Err(unfit_snapshot());
        }
        if kept.is_none_or(|kept| kept.version <= link.version) {
            stored.snapshot = Some(snapshot);
        }
        Ok(())
    }

    pub(super) fn trim(
        &mut self,
        now: Timestamp,
        at: &Position,
        before: Version,
    ) -> Result<(), StoreError> {
        let stored = self.exact(now, &at.id, at.uid)?;
        at_version(at.version, stored.head.version)?;
        let covers = |snapshot: &Snapshot| snapshot.version.next() >= before;
        if !stored.snapshot.as_ref().is_some_and(covers) {
            return Err(uncovered_trim());
        }
        stored.entries.retain(|entry| entry.version >= before);
        let dropped = Version(before.0.saturating_sub(1));
        stored.trimmed = stored.trimmed.max(dropped);
        Ok(())
    }
}
