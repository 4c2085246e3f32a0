//! The smallest store that keeps the rules: one map behind one lock, and a clock that is set by hand.
//!
//! Only `main.rs` names it: any other store with a clock that can be set may take its place.

mod answers;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use allm_core::{
    AppendId, Cursor, DeleteIf, Entry, Fence, Hash, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionUid, Snapshot,
    StoreError, StoreReason, Takeover, Timestamp, Version, WriterId, check_append,
};

#[derive(Default)]
pub(crate) struct MemoryStore(Mutex<State>);

#[derive(Default)]
struct State {
    clock: i64,
    sessions: BTreeMap<SessionId, Stored>,
    gone: Vec<SessionUid>,
}

struct Stored {
    head: Head,
    entries: Vec<Entry>,
    /// How many entries were trimmed.
    trimmed: Version,
    snapshots: Vec<Snapshot>,
    appends: BTreeMap<AppendId, (Version, Hash)>,
    fence: u64,
    lease: Option<Lease>,
}

fn error(reason: StoreReason) -> StoreError {
    StoreError::new(reason, "in memory")
}

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).expect("in range")
}

impl State {
    fn named(&mut self, id: &SessionId) -> Result<&mut Stored, StoreError> {
        let found = self.sessions.get_mut(id);
        found.ok_or_else(|| error(StoreReason::NotFound))
    }

    fn exact(&mut self, id: &SessionId, uid: SessionUid) -> Result<&mut Stored, StoreError> {
        let gone = self.gone.contains(&uid);
        match self.sessions.get_mut(id) {
            Some(stored) if stored.head.uid == uid => Ok(stored),
            Some(_) => Err(error(StoreReason::Gone)),
            None if gone => Err(error(StoreReason::Gone)),
            None => Err(error(StoreReason::NotFound)),
        }
    }
}

impl Stored {
    /// The head with its lease, if that is live.
    fn head(&self, clock: i64) -> Head {
        let live = |lease: &&Lease| time(clock) < lease.expires_at;
        Head {
            lease: self.lease.as_ref().filter(live).map(Lease::held),
            ..self.head.clone()
        }
    }

    fn at(&self, version: Version) -> Result<(), StoreError> {
        if self.head.version == version {
            Ok(())
        } else {
            Err(StoreError::conflict(version, self.head.version))
        }
    }
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("not poisoned")
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.state().clock += i64::try_from(time.as_millis()).expect("short");
    }

    fn create_now(&self, new: &NewSession) -> Result<Head, StoreError> {
        new.check()?;
        let mut state = self.state();
        if state.sessions.contains_key(&new.id) {
            return Err(error(StoreReason::AlreadyExists));
        }
        let head = Head::created(new);
        let stored = Stored {
            head: head.clone(),
            entries: vec![new.first.clone()],
            trimmed: Version(0),
            snapshots: Vec::new(),
            appends: BTreeMap::new(),
            fence: 0,
            lease: None,
        };
        state.sessions.insert(new.id.clone(), stored);
        Ok(head)
    }

    fn load_now(&self, id: &SessionId, from: LoadFrom) -> Result<Loaded, StoreError> {
        let mut state = self.state();
        let clock = state.clock;
        let stored = state.named(id)?;
        let newest = stored.snapshots.last();
        let snapshot = match from {
            LoadFrom::After(after) if stored.trimmed <= after => None,
            LoadFrom::After(_) | LoadFrom::Snapshot => newest.cloned(),
        };
        let after = match (&snapshot, from) {
            (Some(snapshot), _) => snapshot.version,
            (None, LoadFrom::After(after)) => after,
            (None, LoadFrom::Snapshot) => Version(0),
        };
        let later = |entry: &&Entry| entry.version > after;
        Ok(Loaded {
            head: stored.head(clock),
            entries: stored.entries.iter().filter(later).cloned().collect(),
            snapshot,
        })
    }

    fn append_now(
        &self,
        at: &Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &[Entry],
        head: &HeadUpdate,
    ) -> Result<Version, StoreError> {
        let version = check_append(at, fence, entries)?;
        let last = entries.last().expect("checked");
        let mut state = self.state();
        let stored = state.exact(&at.id, at.uid)?;
        if let Some(known) = stored.appends.get(&append_id) {
            return if *known == (version, last.chain) {
                Ok(version)
            } else {
                Err(StoreError::conflict(at.version, stored.head.version))
            };
        }
        let current = stored.lease.as_ref().map(|lease| lease.fence);
        if fence.is_some() && fence != current {
            return Err(error(StoreReason::Fenced));
        }
        stored.at(at.version)?;
        stored.appends.insert(append_id, (version, last.chain));
        stored.entries.extend_from_slice(entries);
        stored.head = stored.head.clone().appended(last, head);
        Ok(version)
    }

    fn list_now(
        &self,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Page<Head>, StoreError> {
        let state = self.state();
        // A cursor carries its filter, so that it is of no use with another one.
        let read = |cursor: &Cursor| serde_json::from_str(cursor.as_str()).ok();
        let after: Option<(Timestamp, SessionId)> = match page.cursor().map(read) {
            None => None,
            Some(Some((made_for, after))) if SessionFilter::eq(&made_for, filter) => Some(after),
            Some(_) => return Err(error(StoreReason::Refused)),
        };
        let key = |head: &Head| (head.created_at, head.id.clone());
        let mut items: Vec<Head> = (state.sessions.values())
            .map(|stored| stored.head(state.clock))
            .filter(|head| {
                filter.matches(head) && after.as_ref().is_none_or(|after| *after < key(head))
            })
            .collect();
        items.sort_by_key(key);
        let size = page.size() as usize;
        let more = items.len() > size;
        items.truncate(size);
        let last = items.last().filter(|_| more);
        let next =
            last.map(|head| serde_json::to_string(&(filter, key(head))).expect("serialises"));
        Ok(Page {
            items,
            next: next.map(Cursor::new),
        })
    }

    fn delete_now(&self, id: &SessionId, condition: DeleteIf) -> Result<(), StoreError> {
        let mut state = self.state();
        let clock = state.clock;
        let stored = state.named(id)?;
        if let DeleteIf::Version(version) = condition {
            stored.at(version)?;
        }
        let head = stored.head(clock);
        match head.lease {
            Some(held) if condition != DeleteIf::Force => Err(StoreError::lease_held(held)),
            _ => {
                state.sessions.remove(id);
                state.gone.push(head.uid);
                Ok(())
            }
        }
    }

    fn acquire_now(
        &self,
        id: &SessionId,
        holder: &WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Result<Lease, StoreError> {
        let millis = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        if millis == 0 {
            return Err(error(StoreReason::Refused));
        }
        let mut state = self.state();
        let clock = state.clock;
        let stored = state.named(id)?;
        if let (Some(held), Takeover::IfExpired) = (stored.head(clock).lease, takeover) {
            return Err(StoreError::lease_held(held));
        }
        stored.fence += 1;
        let lease = Lease {
            id: id.clone(),
            uid: stored.head.uid,
            holder: holder.clone(),
            fence: Fence(stored.fence),
            ttl,
            expires_at: time(clock + millis),
        };
        stored.lease = Some(lease.clone());
        Ok(lease)
    }

    fn renew_now(&self, lease: &Lease) -> Result<Lease, StoreError> {
        let mut state = self.state();
        let clock = state.clock;
        let stored = state.exact(&lease.id, lease.uid)?;
        match &mut stored.lease {
            Some(current) if current.fence == lease.fence => {
                let millis = i64::try_from(lease.ttl.as_millis()).unwrap_or(i64::MAX);
                current.expires_at = time(clock + millis);
                Ok(current.clone())
            }
            _ => Err(error(StoreReason::Fenced)),
        }
    }

    fn release_now(&self, lease: &Lease) -> Result<(), StoreError> {
        if let Ok(stored) = self.state().exact(&lease.id, lease.uid) {
            let others = |current: &Lease| current.fence != lease.fence;
            stored.lease = stored.lease.take().filter(others);
        }
        Ok(())
    }

    fn snapshot_now(&self, at: &Position, snapshot: Snapshot) -> Result<(), StoreError> {
        let mut state = self.state();
        let stored = state.exact(&at.id, at.uid)?;
        let mut links = stored.entries.iter().map(Entry::link);
        if at.version != snapshot.version || !links.any(|link| link == snapshot.link()) {
            return Err(error(StoreReason::Refused));
        }
        stored
            .snapshots
            .retain(|kept| kept.version != snapshot.version);
        stored.snapshots.push(snapshot);
        stored.snapshots.sort_by_key(|kept| kept.version);
        Ok(())
    }

    fn trim_now(&self, at: &Position, before: Version) -> Result<(), StoreError> {
        let mut state = self.state();
        let stored = state.exact(&at.id, at.uid)?;
        stored.at(at.version)?;
        let covers = |snapshot: &Snapshot| snapshot.version.next() >= before;
        if !stored.snapshots.iter().any(covers) {
            return Err(error(StoreReason::Refused));
        }
        stored.entries.retain(|entry| entry.version >= before);
        stored.trimmed = stored.trimmed.max(Version(before.0.saturating_sub(1)));
        Ok(())
    }
}
