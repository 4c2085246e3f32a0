//! A store with one thing wrong: every question passes through a closure that may change it, or its answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allm_conformance::Report;
use allm_conformance::store::{self, Fresh};
use allm_core::{
    AppendId, BoxFuture, Claim, DeleteIf, Entry, EntryClass, Fence, Hash, Head, HeadUpdate, Lease,
    Link, LoadFrom, Loaded, NewSession, Page, PageRequest, Position, SessionFilter, SessionId,
    SessionStatus, SessionStore, Snapshot, StoreError, StoreReason, Takeover, Timestamp, Version,
    WriterId,
};

use super::{MemoryStore, failed};

#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Create(NewSession),
    Load(SessionId, LoadFrom),
    Append(Append),
    /// An append that ends a run, under this lease and with this snapshot.
    End(Append, Lease, Option<Snapshot>),
    /// An append that begins a run, under the lease that this gives.
    Begin(Claim, Append),
    List(SessionFilter, PageRequest),
    Delete(SessionId, DeleteIf),
    Acquire(SessionId, WriterId, Duration, Takeover),
    Renew(Lease),
    Release(Lease),
    PutSnapshot(Position, Snapshot),
    Trim(Position, Version),
    Now,
}

#[derive(Clone, Debug)]
pub(crate) struct Append {
    pub(crate) at: Position,
    pub(crate) fence: Option<Fence>,
    pub(crate) id: AppendId,
    pub(crate) entries: Vec<Entry>,
    pub(crate) head: HeadUpdate,
}

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Head(Head),
    Loaded(Loaded),
    Version(Version),
    Page(Page<Head>),
    Lease(Lease),
    Released(bool),
    Begun((Lease, bool)),
    Time(Timestamp),
    Done,
}

pub(crate) type Answered = Result<Answer, StoreError>;

/// The store that is right, as one question meets it.
pub(crate) struct Right {
    memory: Arc<MemoryStore>,
    /// How many stores over the same data were opened before.
    pub(crate) opened: usize,
    /// The session when the question was first looked at, where that is some time ago.
    pub(crate) early: Option<Head>,
}

/// What a store in memory is asked is ready at once.
fn ready<T>(mut future: BoxFuture<'_, T>) -> T {
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a store in memory waits"),
    }
}

impl Right {
    pub(crate) fn ask(&self, ask: &Ask) -> Answered {
        let store = &*self.memory;
        match ask.clone() {
            Ask::Create(new) => ready(store.create(&new)).map(Answer::Head),
            Ask::Load(id, from) => ready(store.load(&id, from)).map(Answer::Loaded),
            Ask::Append(append) => {
                let Append {
                    at,
                    fence,
                    id,
                    entries,
                    head,
                } = append;
                ready(store.append(&at, fence, id, &entries, &head)).map(Answer::Version)
            }
            Ask::End(append, lease, snapshot) => {
                let (at, entries, head) = (append.at, append.entries, append.head);
                let snapshot = snapshot.as_ref();
                let done =
                    store.append_and_release(&at, &lease, append.id, &entries, &head, snapshot);
                ready(done).map(Answer::Released)
            }
            Ask::Begin(claim, append) => {
                let (at, entries, head) = (append.at, append.entries, append.head);
                let begun = store.acquire_and_append(&claim, &at, append.id, &entries, &head);
                ready(begun).map(Answer::Begun)
            }
            Ask::List(filter, page) => ready(store.list(&filter, page)).map(Answer::Page),
            Ask::Delete(id, condition) => ready(store.delete(&id, condition)).map(done),
            Ask::Acquire(id, holder, ttl, takeover) => {
                ready(store.acquire(&id, &holder, ttl, takeover)).map(Answer::Lease)
            }
            Ask::Renew(lease) => ready(store.renew(&lease)).map(Answer::Lease),
            Ask::Release(lease) => ready(store.release(lease)).map(done),
            Ask::PutSnapshot(at, snapshot) => ready(store.put_snapshot(&at, snapshot)).map(done),
            Ask::Trim(at, before) => ready(store.trim(&at, before)).map(done),
            Ask::Now => ready(store.now()).map(Answer::Time),
        }
    }

    /// All that is there.
    pub(crate) fn heads(&self) -> Vec<Head> {
        let page = PageRequest::new(PageRequest::MAX_SIZE).expect("valid");
        match self.ask(&Ask::List(SessionFilter::new(), page)) {
            Ok(Answer::Page(page)) => page.items,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn head(&self, id: &SessionId) -> Option<Head> {
        match self.ask(&Ask::Load(id.clone(), LoadFrom::Snapshot)) {
            Ok(Answer::Loaded(loaded)) => Some(loaded.head),
            _ => None,
        }
    }

    pub(crate) fn now(&self) -> i64 {
        match self.ask(&Ask::Now) {
            Ok(Answer::Time(time)) => time.as_millis(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn snapshot(&self, id: &SessionId) -> Option<Snapshot> {
        match self.ask(&Ask::Load(id.clone(), LoadFrom::Snapshot)) {
            Ok(Answer::Loaded(loaded)) => loaded.snapshot,
            _ => None,
        }
    }

    /// Whether this fence is the current one: an append far ahead tells.
    pub(crate) fn is_current(&self, at: &Position, fence: Fence) -> bool {
        let version = Version(1 << 40);
        let at = Position {
            version,
            ..at.clone()
        };
        let link = Link {
            version,
            chain: Hash::ZERO,
        };
        let time = Timestamp::from_millis(0).expect("in range");
        let append = Append {
            at,
            fence: Some(fence),
            id: AppendId::from_bytes([0xee; 16]),
            entries: vec![Entry::following(&link, EntryClass::Input, time, "x".into())],
            head: HeadUpdate::new(SessionStatus::Idle),
        };
        let answer = self.ask(&Ask::Append(append));
        matches!(answer, Err(error) if error.reason == StoreReason::Conflict)
    }

    /// Every entry that is left.
    pub(crate) fn entries(&self, id: &SessionId) -> Vec<Entry> {
        match self.ask(&Ask::Load(id.clone(), LoadFrom::After(Version(0)))) {
            Ok(Answer::Loaded(loaded)) => loaded.entries,
            _ => Vec::new(),
        }
    }
}

impl Ask {
    /// The session that it is about.
    pub(crate) fn id(&self) -> Option<&SessionId> {
        match self {
            Self::Create(new) => Some(&new.id),
            Self::Load(id, _) | Self::Delete(id, _) | Self::Acquire(id, ..) => Some(id),
            Self::Append(append) | Self::End(append, ..) | Self::Begin(_, append) => {
                Some(&append.at.id)
            }
            Self::Renew(lease) | Self::Release(lease) => Some(&lease.id),
            Self::PutSnapshot(at, _) | Self::Trim(at, _) => Some(&at.id),
            Self::List(..) | Self::Now => None,
        }
    }
}

pub(crate) fn error(reason: StoreReason) -> StoreError {
    StoreError::new(reason, "planted")
}

fn done((): ()) -> Answer {
    Answer::Done
}

type Change = dyn Fn(&Right, Ask) -> Answered + Send + Sync;

/// When a question is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// At the first poll, as it should be.
    Polled,
    /// At once.
    Called,
    /// At the second poll; the session was looked at when it was polled first, and others have had their turn since.
    Later,
    /// The first entry of an append at the first poll, the others at the second.
    Halved,
}

pub(crate) struct Faulty {
    memory: Arc<MemoryStore>,
    opened: usize,
    change: Arc<Change>,
    when: When,
}

impl Faulty {
    fn future<'a, T: Send + 'a>(
        &'a self,
        ask: Ask,
        of: fn(Answer) -> Option<T>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let answer = move |ask, early| {
            let right = Right {
                memory: Arc::clone(&self.memory),
                opened: self.opened,
                early,
            };
            let answer = (self.change)(&right, ask)?;
            Ok(of(answer).expect("an answer of the kind"))
        };
        match self.when {
            When::Polled => Box::pin(async move { answer(ask, None) }),
            When::Called => Box::pin(std::future::ready(answer(ask, None))),
            When::Later => Box::pin(async move {
                let early = ask.id().and_then(|id| self.right().head(id));
                tokio::task::yield_now().await;
                answer(ask, early)
            }),
            When::Halved => Box::pin(async move {
                let Ask::Append(append) = ask else {
                    return answer(ask, None);
                };
                let (first, rest) = append.halved();
                let written = answer(Ask::Append(first), None)?;
                let Some(rest) = rest else {
                    return Ok(written);
                };
                tokio::task::yield_now().await;
                answer(Ask::Append(rest), None)
            }),
        }
    }

    fn right(&self) -> Right {
        Right {
            memory: Arc::clone(&self.memory),
            opened: self.opened,
            early: None,
        }
    }
}

impl Append {
    /// The first entry, and the others under another id.
    fn halved(self) -> (Self, Option<Self>) {
        if self.entries.len() < 2 {
            return (self, None);
        }
        let mut first = self.clone();
        let others = first.entries.split_off(1);
        let mut rest = self;
        rest.at.version = rest.at.version.next();
        rest.id = changed(rest.id, 1);
        rest.entries = others;
        (first, Some(rest))
    }
}

/// Another append id for each number but 0.
pub(crate) fn changed(id: AppendId, number: u8) -> AppendId {
    let mut bytes = *id.as_bytes();
    bytes[0] ^= number;
    AppendId::from_bytes(bytes)
}

macro_rules! answer {
    ($kind:ident) => {
        |answer| match answer {
            Answer::$kind(answer) => Some(answer),
            _ => None,
        }
    };
}

type Future<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

const DONE: fn(Answer) -> Option<()> = |answer| matches!(answer, Answer::Done).then_some(());

impl SessionStore for Faulty {
    fn create<'a>(&'a self, new: &'a NewSession) -> Future<'a, Head> {
        self.future(Ask::Create(new.clone()), answer!(Head))
    }

    fn load<'a>(&'a self, id: &'a SessionId, from: LoadFrom) -> Future<'a, Loaded> {
        self.future(Ask::Load(id.clone(), from), answer!(Loaded))
    }

    fn append<'a>(
        &'a self,
        at: &'a Position,
        fence: Option<Fence>,
        id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Future<'a, Version> {
        let (at, entries, head) = (at.clone(), entries.to_vec(), head.clone());
        let append = Append {
            at,
            fence,
            id,
            entries,
            head,
        };
        self.future(Ask::Append(append), answer!(Version))
    }

    fn append_and_release<'a>(
        &'a self,
        at: &'a Position,
        lease: &'a Lease,
        id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
        snapshot: Option<&'a Snapshot>,
    ) -> Future<'a, bool> {
        let append = Append {
            at: at.clone(),
            fence: Some(lease.fence),
            id,
            entries: entries.to_vec(),
            head: head.clone(),
        };
        let ask = Ask::End(append, lease.clone(), snapshot.cloned());
        self.future(ask, answer!(Released))
    }

    fn list<'a>(&'a self, filter: &'a SessionFilter, page: PageRequest) -> Future<'a, Page<Head>> {
        self.future(Ask::List(filter.clone(), page), answer!(Page))
    }

    fn delete<'a>(&'a self, id: &'a SessionId, condition: DeleteIf) -> Future<'a, ()> {
        self.future(Ask::Delete(id.clone(), condition), DONE)
    }

    fn acquire<'a>(
        &'a self,
        id: &'a SessionId,
        holder: &'a WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Future<'a, Lease> {
        let ask = Ask::Acquire(id.clone(), holder.clone(), ttl, takeover);
        self.future(ask, answer!(Lease))
    }

    fn acquire_and_append<'a>(
        &'a self,
        claim: &'a Claim,
        at: &'a Position,
        id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Future<'a, (Lease, bool)> {
        let append = Append {
            at: at.clone(),
            fence: None,
            id,
            entries: entries.to_vec(),
            head: head.clone(),
        };
        self.future(Ask::Begin(claim.clone(), append), answer!(Begun))
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Future<'a, Lease> {
        self.future(Ask::Renew(lease.clone()), answer!(Lease))
    }

    fn release(&self, lease: Lease) -> Future<'_, ()> {
        self.future(Ask::Release(lease), DONE)
    }

    fn put_snapshot<'a>(&'a self, at: &'a Position, snapshot: Snapshot) -> Future<'a, ()> {
        self.future(Ask::PutSnapshot(at.clone(), snapshot), DONE)
    }

    fn trim<'a>(&'a self, at: &'a Position, before: Version) -> Future<'a, ()> {
        self.future(Ask::Trim(at.clone(), before), DONE)
    }

    fn now(&self) -> Future<'_, Timestamp> {
        self.future(Ask::Now, answer!(Time))
    }
}

/// What the kit says of a store that is changed so. Each fresh store gets a change of its own, with its own memory.
pub(crate) async fn report<C, F>(when: When, change: C) -> Report
where
    C: Fn() -> F + Send + Sync,
    F: Fn(&Right, Ask) -> Answered + Send + Sync + 'static,
{
    let fresh = || {
        let memory = Arc::new(MemoryStore::default());
        let change: Arc<Change> = Arc::new(change());
        let clock = Arc::clone(&memory);
        let opened = AtomicUsize::new(0);
        let open = move || {
            Arc::new(Faulty {
                memory: Arc::clone(&memory),
                opened: opened.fetch_add(1, Ordering::Relaxed),
                change: Arc::clone(&change),
                when,
            })
        };
        let fresh = Fresh::new(open()).advance(move |time| clock.pass(time));
        std::future::ready(fresh.reopen(move || std::future::ready(open())))
    };
    store::check(&fresh).await
}

fn names(report: &Report) -> Vec<String> {
    failed(report).into_iter().map(str::to_owned).collect()
}

/// The rules that such a store breaks.
pub(crate) async fn broken<F>(change: F) -> Vec<String>
where
    F: Fn(&Right, Ask) -> Answered + Send + Sync + Copy + 'static,
{
    names(&report(When::Polled, || change).await)
}

/// The same, of a fault that shows when others have their turn between a look and the deed.
pub(crate) async fn raced<F>(change: F) -> Vec<String>
where
    F: Fn(&Right, Ask) -> Answered + Send + Sync + Copy + 'static,
{
    names(&report(When::Later, || change).await)
}

/// The same, of a fault that has a memory, new for each fresh store.
pub(crate) async fn remembering<M, F>(change: F) -> Vec<String>
where
    M: Default + Send + 'static,
    F: Fn(&mut M, &Right, Ask) -> Answered + Send + Sync + Copy + 'static,
{
    let with_memory = || {
        let memory = Mutex::new(M::default());
        move |right: &Right, ask: Ask| change(&mut memory.lock().unwrap(), right, ask)
    };
    names(&report(When::Polled, with_memory).await)
}

/// The same, of a store that is right in its answers and wrong in when it does its work.
pub(crate) async fn untimely(when: When) -> Vec<String> {
    names(&report(when, || |right: &Right, ask: Ask| right.ask(&ask)).await)
}
