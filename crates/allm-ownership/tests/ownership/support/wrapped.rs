//! A store that asks a rule before each call, and tells it afterwards.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use allm::session::read;
use allm::{
    AppendId, BoxFuture, Claim, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionStore, Snapshot,
    StoreError, StoreReason, Takeover, Timestamp, Version, WriterId,
};

/// What a store is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Create,
    Load,
    Append,
    List,
    Delete,
    Acquire,
    Renew,
    Release,
    Snapshot,
    Trim,
    Now,
}

/// One call of a store.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Who calls.
    pub(crate) who: &'static str,
    pub(crate) op: Op,
    /// The kinds of the entries, for an append.
    pub(crate) kinds: Vec<&'static str>,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {}", self.who, self.op, self.kinds.join("+"))
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is done.
    Done,
    /// It is not done.
    Refused(StoreReason),
    /// It is done, and answered as if it had not been.
    Lost(StoreReason),
    /// There is never an answer.
    Hung,
}

/// Decides about calls.
pub(crate) trait Rule: Send + Sync {
    /// What becomes of this call; ready when it may be done.
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate>;

    /// What it was answered: a number that tells answers apart, or why not.
    fn told(&self, _call: &Call, _answer: Result<u64, StoreReason>) {}

    /// How a lease is taken.
    fn takeover(&self, asked: Takeover) -> Takeover {
        asked
    }

    /// Whether the store has only what every store must have: it tells no version with a lease, and a run ends with
    /// several writes.
    fn is_plain(&self) -> bool {
        true
    }

    /// Whether anyone is told that something was appended.
    fn hints(&self) -> bool {
        true
    }
}

/// A store of one machine, whose calls go by a rule.
pub(crate) struct Wrapped {
    inner: Arc<dyn SessionStore>,
    who: &'static str,
    rule: Arc<dyn Rule>,
}

impl Wrapped {
    pub(crate) fn around(
        inner: &Arc<dyn SessionStore>,
        who: &'static str,
        rule: &Arc<impl Rule + 'static>,
    ) -> Arc<dyn SessionStore> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            who,
            rule: Arc::clone(rule) as Arc<dyn Rule>,
        })
    }

    fn judged<'a, T: Send + 'a>(
        &'a self,
        op: Op,
        kinds: Vec<&'static str>,
        number: impl Fn(&T) -> u64 + Send + 'a,
        done: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let call = Call {
            who: self.who,
            op,
            kinds,
        };
        Box::pin(async move {
            let error = |reason| StoreError::new(reason, "as the test wants it");
            let answer = match self.rule.judge(&call).await {
                Fate::Done => done.await,
                Fate::Refused(reason) => Err(error(reason)),
                Fate::Lost(reason) => done.await.and(Err(error(reason))),
                Fate::Hung => std::future::pending().await,
            };
            let told = answer.as_ref().map(&number);
            self.rule.told(&call, told.map_err(|error| error.reason));
            answer
        })
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

fn kinds_of(entries: &[Entry]) -> Vec<&'static str> {
    let kind = |entry: &Entry| read(entry).expect("an entry").body.kind();
    entries.iter().map(kind).collect()
}

impl SessionStore for Wrapped {
    fn create<'a>(&'a self, new: &'a NewSession) -> Answer<'a, Head> {
        self.judged(Op::Create, Vec::new(), |_| 1, self.inner.create(new))
    }

    fn load<'a>(&'a self, id: &'a SessionId, from: LoadFrom) -> Answer<'a, Loaded> {
        let number = |loaded: &Loaded| loaded.head.version.0;
        self.judged(Op::Load, Vec::new(), number, self.inner.load(id, from))
    }

    fn append<'a>(
        &'a self,
        at: &'a Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, Version> {
        let done = self.inner.append(at, fence, append_id, entries, head);
        self.judged(Op::Append, kinds_of(entries), |version| version.0, done)
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
        if self.rule.is_plain() {
            let appended = self.append(at, Some(lease.fence), append_id, entries, head);
            return Box::pin(async move { appended.await.map(|_| false) });
        }
        let inner = &self.inner;
        let done = inner.append_and_release(at, lease, append_id, entries, head, snapshot);
        let mut kinds = kinds_of(entries);
        kinds.push("release");
        self.judged(Op::Append, kinds, |released| u64::from(*released), done)
    }

    fn list<'a>(&'a self, filter: &'a SessionFilter, page: PageRequest) -> Answer<'a, Page<Head>> {
        let done = self.inner.list(filter, page);
        self.judged(Op::List, Vec::new(), |page| page.items.len() as u64, done)
    }

    fn delete<'a>(&'a self, id: &'a SessionId, condition: DeleteIf) -> Answer<'a, ()> {
        let done = self.inner.delete(id, condition);
        self.judged(Op::Delete, Vec::new(), |()| 0, done)
    }

    fn acquire<'a>(
        &'a self,
        id: &'a SessionId,
        holder: &'a WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Answer<'a, Lease> {
        let takeover = self.rule.takeover(takeover);
        let acquired = self.inner.acquire(id, holder, ttl, takeover);
        let is_plain = self.rule.is_plain();
        let done = Box::pin(async move {
            let lease = acquired.await?;
            let version = lease.version.filter(|_| !is_plain);
            Ok(Lease { version, ..lease })
        });
        self.judged(Op::Acquire, Vec::new(), |lease| lease.fence.0, done)
    }

    fn acquire_and_append<'a>(
        &'a self,
        claim: &'a Claim,
        at: &'a Position,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, (Lease, bool)> {
        if self.rule.is_plain() {
            let acquired = self.acquire(&at.id, &claim.holder, claim.ttl, claim.takeover);
            return Box::pin(async move { acquired.await.map(|lease| (lease, false)) });
        }
        let claim = Claim {
            takeover: self.rule.takeover(claim.takeover),
            ..claim.clone()
        };
        let mut kinds = vec!["acquire"];
        kinds.extend(kinds_of(entries));
        let done = Box::pin(async move {
            let inner = &self.inner;
            let begun = inner.acquire_and_append(&claim, at, append_id, entries, head);
            begun.await
        });
        let number = |(lease, _): &(Lease, bool)| lease.fence.0;
        self.judged(Op::Append, kinds, number, done)
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Lease> {
        let done = self.inner.renew(lease);
        self.judged(Op::Renew, Vec::new(), |lease| lease.fence.0, done)
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        let done = self.inner.release(lease);
        self.judged(Op::Release, Vec::new(), |()| 0, done)
    }

    fn put_snapshot<'a>(&'a self, at: &'a Position, snapshot: Snapshot) -> Answer<'a, ()> {
        let done = self.inner.put_snapshot(at, snapshot);
        self.judged(Op::Snapshot, Vec::new(), |()| 0, done)
    }

    fn trim<'a>(&'a self, at: &'a Position, before: Version) -> Answer<'a, ()> {
        let done = self.inner.trim(at, before);
        self.judged(Op::Trim, Vec::new(), |()| 0, done)
    }

    fn changed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        if self.rule.hints() {
            self.inner.changed(id)
        } else {
            Box::pin(std::future::pending())
        }
    }

    fn addressed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        if self.rule.hints() {
            self.inner.addressed(id)
        } else {
            Box::pin(std::future::pending())
        }
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        let number = |now: &Timestamp| now.as_millis().unsigned_abs();
        self.judged(Op::Now, Vec::new(), number, self.inner.now())
    }
}
