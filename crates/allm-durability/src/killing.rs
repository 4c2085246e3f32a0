//! A store at which programs die.

use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use allm::session::{EntryBody, read};
use allm::{
    AppendId, BoxFuture, Claim, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionStore, Snapshot,
    StoreError, Takeover, Timestamp, Version, WriterId,
};

use crate::points::Points;

/// A store that passes a point before and after each write: after it the write is done, and nobody was told.
pub struct KillingStore {
    inner: Arc<dyn SessionStore>,
    points: Arc<Points>,
    /// Where it is written down what was appended for sure.
    kept: Option<File>,
}

impl fmt::Debug for KillingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KillingStore").finish_non_exhaustive()
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl KillingStore {
    /// This store, with these points.
    #[must_use]
    pub fn new(inner: Arc<dyn SessionStore>, points: Arc<Points>) -> Self {
        Self {
            inner,
            points,
            kept: None,
        }
    }

    /// Writes down what was appended for sure: a line with the session, the version and the chain.
    #[must_use]
    pub fn keeping(mut self, file: File) -> Self {
        self.kept = Some(file);
        self
    }

    fn keep(&self, at: &Position, entries: &[Entry]) {
        if let (Some(mut kept), Some(last)) = (self.kept.as_ref(), entries.last()) {
            let line = format!("{} {} {}\n", at.id, last.version, last.chain);
            // One write, so that a death leaves a whole line or none.
            kept.write_all(line.as_bytes()).expect("written down");
        }
    }

    async fn appended<T>(
        &self,
        name: String,
        at: &Position,
        entries: &[Entry],
        write: Answer<'_, T>,
    ) -> Result<T, StoreError> {
        let done = self.around(&name, write).await;
        let is_outcome =
            |entry: &&Entry| read(entry).is_ok_and(|entry| entry.body.kind() == "tool_outcome");
        if done.is_ok() {
            for _ in entries.iter().filter(is_outcome) {
                self.points.count("outcomes");
            }
            self.keep(at, entries);
        }
        done
    }

    async fn around<T>(&self, name: &str, write: Answer<'_, T>) -> Result<T, StoreError> {
        self.points.pass(&format!("before {name}"));
        let done = write.await;
        // What was refused is not a write.
        if done.is_ok() {
            self.points.pass(&format!("after {name}"));
        }
        done
    }
}

/// What an append is called: the kinds of its entries, and their calls.
#[must_use]
pub fn name_of(entries: &[Entry]) -> String {
    let name = |entry: &Entry| match read(entry) {
        Ok(entry) => match &entry.body {
            EntryBody::ToolIntent(intent) => match intent.attempt {
                1 => format!("tool_intent {}", intent.call),
                _ => format!("tool_intent {} again", intent.call),
            },
            EntryBody::ToolOutcome(outcome) => format!("tool_outcome {}", outcome.call),
            EntryBody::Answered(answered) => format!("answered {}", answered.call),
            EntryBody::ResultSubmitted(result) => format!("result_submitted {}", result.call),
            EntryBody::ApprovalDecided(decided) => format!("approval_decided {}", decided.call),
            EntryBody::ModelResponded(responded) => format!("model_responded {}", responded.turn),
            EntryBody::CallsPlanned(planned) => format!("calls_planned {}", planned.turn),
            body => body.kind().to_owned(),
        },
        Err(_) => "unreadable".to_owned(),
    };
    entries.iter().map(name).collect::<Vec<_>>().join(" + ")
}

impl SessionStore for KillingStore {
    fn create<'a>(&'a self, new: &'a NewSession) -> Answer<'a, Head> {
        Box::pin(self.around("create", self.inner.create(new)))
    }

    fn load<'a>(&'a self, id: &'a SessionId, from: LoadFrom) -> Answer<'a, Loaded> {
        self.inner.load(id, from)
    }

    fn append<'a>(
        &'a self,
        at: &'a Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, Version> {
        let write = self.inner.append(at, fence, append_id, entries, head);
        Box::pin(self.appended(name_of(entries), at, entries, write))
    }

    fn append_and_release<'a>(
        &'a self,
        at: &'a Position,
        lease: &'a Lease,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
        snapshot: Option<&'a Snapshot>,
    ) -> Answer<'a, bool> {
        let inner = &self.inner;
        let write = inner.append_and_release(at, lease, append_id, entries, head, snapshot);
        let name = format!("{} + release", name_of(entries));
        Box::pin(self.appended(name, at, entries, write))
    }

    fn list<'a>(&'a self, filter: &'a SessionFilter, page: PageRequest) -> Answer<'a, Page<Head>> {
        self.inner.list(filter, page)
    }

    fn delete<'a>(&'a self, id: &'a SessionId, condition: DeleteIf) -> Answer<'a, ()> {
        self.inner.delete(id, condition)
    }

    fn acquire<'a>(
        &'a self,
        id: &'a SessionId,
        holder: &'a WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Answer<'a, Lease> {
        Box::pin(async move {
            let write = self.inner.acquire(id, holder, ttl, takeover);
            // A driver that is told of a stop tries for the lease while another holds it, or not: that is no position.
            let done = write.await;
            if done.is_ok() {
                self.points.pass("after acquire");
            }
            done
        })
    }

    fn acquire_and_append<'a>(
        &'a self,
        claim: &'a Claim,
        at: &'a Position,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, (Lease, bool)> {
        Box::pin(async move {
            let name = format!("acquire + {}", name_of(entries));
            self.points.pass(&format!("before {name}"));
            let inner = &self.inner;
            let begun = inner.acquire_and_append(claim, at, append_id, entries, head);
            let begun = begun.await;
            match &begun {
                Ok((_, true)) => {
                    self.points.pass(&format!("after {name}"));
                    self.keep(at, entries);
                }
                Ok((_, false)) => self.points.pass("after acquire"),
                Err(_) => {}
            }
            begun
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Lease> {
        self.inner.renew(lease)
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        Box::pin(self.around("release", self.inner.release(lease)))
    }

    fn put_snapshot<'a>(&'a self, at: &'a Position, snapshot: Snapshot) -> Answer<'a, ()> {
        Box::pin(self.around("snapshot", self.inner.put_snapshot(at, snapshot)))
    }

    fn trim<'a>(&'a self, at: &'a Position, before: Version) -> Answer<'a, ()> {
        self.inner.trim(at, before)
    }

    fn changed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        self.inner.changed(id)
    }

    fn addressed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        self.inner.addressed(id)
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        self.inner.now()
    }
}
