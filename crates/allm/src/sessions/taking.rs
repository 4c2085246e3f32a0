//! Taking a session: one in a process at a time, counted from the first moment on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use allm_core::session::{Applied, EntryBody};
use allm_core::{
    Claim, Error, Lease, LoadFrom, Loaded, Position, SessionError, SessionReason, SessionUid,
    StoreError, StoreReason, Takeover, Version,
};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::Instant;

use super::asking::Asking;
use super::journal::{Journal as _, extend};
use super::late::Attempts;
use super::lease::{HeldLease, Tenure};
use super::reading::Heard;
use super::registry::Sessions;
use super::store_clock::StoreClock;
use super::store_journal::{Ending, SealedAppend, StoreJournal, View, lost_if_gone};
use crate::engine::plan::Plan;

/// How many live events a slow reader may be behind.
const LIVE_EVENTS: usize = 1024;

/// What a session is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To begin something. Who shuts down does not.
    Driving,
    /// To write down what is over.
    Settling,
}

/// What a run begins with, made before the session was taken, so that one write takes it and begins.
pub(crate) struct First {
    pub(crate) at: Position,
    pub(crate) bodies: Vec<EntryBody>,
    pub(crate) sealed: SealedAppend,
    pub(crate) plan: Result<Box<Plan>, Error>,
}

/// A run that was begun when its session was taken.
pub(crate) struct Begun {
    /// The version before it.
    pub(crate) from: Version,
    pub(crate) plan: Result<Box<Plan>, Error>,
    pub(crate) applied: Applied,
}

/// A session that was taken.
pub(crate) struct Taken {
    pub(crate) lease: HeldLease,
    pub(crate) journal: StoreJournal,
    /// At which version the session was when it was taken, if that is known and nobody has looked since.
    pub(crate) taken_at: Option<Version>,
    /// Here when what was to be written first is written.
    pub(crate) begun: Option<Begun>,
    /// Here when it is taken to be driven.
    pub(crate) noted: Option<Noted>,
    _reserved: Reserved,
    _counted: Counted,
}

impl Sessions {
    /// Takes a session. Who shuts down waits for it from now on.
    pub(crate) async fn take(&self, view: &View, purpose: Purpose) -> Result<Taken, SessionError> {
        self.take_and_begin(view, purpose, || None).await
    }

    /// Takes a session, and in the same write begins what `first` makes, if it makes something and the session is where
    /// this view has it.
    pub(crate) async fn take_and_begin(
        &self,
        view: &View,
        purpose: Purpose,
        first: impl FnOnce() -> Option<First> + Send,
    ) -> Result<Taken, SessionError> {
        let counted = Counted::new(self);
        self.may(purpose)?;
        let uid = view.data.uid().ok_or_else(SessionError::lost_ownership)?;
        let reserved = self.reserve(uid, purpose).await?;
        // Who was waited for may have left because of it.
        self.may(purpose)?;
        // Whoever is told of what the run begins with finds where to listen.
        let noted = (purpose == Purpose::Driving).then(|| self.note(uid));
        let first = first();
        let acquired = self.acquire(view, uid, purpose, first.as_ref()).await;
        let (given, is_appended, asked) = acquired?;
        let (store, options) = (&self.0.store, &self.0.options);
        self.0.clock.note(StoreClock::of(&given));
        let (poke, pokes) = mpsc::channel(1);
        let (lease, tenure) = HeldLease::keep(given.clone(), asked, store, poke);
        if given.uid != uid {
            lease.release().await;
            return Err(SessionError::lost_ownership());
        }
        reserved.hold(tenure.clone());
        let taken_at = given.version;
        let mut journal = StoreJournal {
            store: Arc::clone(store),
            view: view.clone(),
            lease: given,
            ending: Ending::Apart,
            writer: self.0.writer.clone(),
            tenure,
            retry_for: options.retry_for,
            snapshot_every: options.snapshot_every,
            pokes,
            attempts: Attempts::default(),
            staged: None,
        };
        let begun = match first.filter(|_| is_appended) {
            None => None,
            Some(first) => match first.begin(&mut journal, self.asking_for(purpose)).await {
                Ok(begun) => Some(begun),
                Err(error) => {
                    lease.release().await;
                    return Err(error);
                }
            },
        };
        Ok(Taken {
            lease,
            taken_at,
            begun,
            noted,
            journal,
            _reserved: reserved,
            _counted: counted,
        })
    }

    /// Whether a session may be taken for this, and what is to be begun there may begin.
    pub(crate) fn may(&self, purpose: Purpose) -> Result<(), SessionError> {
        if purpose == Purpose::Driving && self.0.closing.is_cancelled() {
            let message = "this process is shutting down";
            return Err(SessionError::new(SessionReason::Busy, message));
        }
        Ok(())
    }

    /// Comes to be the one in this process who may have the lease. Another who asks for it is waited for; whoever has
    /// got it is not, unless he is about to leave what is to be settled.
    async fn reserve(&self, uid: SessionUid, purpose: Purpose) -> Result<Reserved, SessionError> {
        loop {
            let mut theirs = match Reserved::new(&self.0.held, uid) {
                Ok(reserved) => return Ok(reserved),
                Err(theirs) => theirs,
            };
            let held = theirs.wait_for(Option::is_some).await;
            let Some(tenure) = held.ok().and_then(|held| held.clone()) else {
                // He did not get it.
                continue;
            };
            if purpose == Purpose::Driving || !self.0.closing.is_cancelled() {
                let (holder, expires_at) = (self.0.writer.clone(), tenure.expires_at());
                let held = allm_core::HeldLease { holder, expires_at };
                return Err(StoreError::lease_held(held).into());
            }
            let _ = theirs.wait_for(|_| false).await;
        }
    }

    /// Who shuts down is not kept waiting for what would be begun.
    fn asking_for(&self, purpose: Purpose) -> Asking<'_> {
        match purpose {
            Purpose::Driving => self.asking().until(&self.0.closing),
            Purpose::Settling => self.asking(),
        }
    }

    /// The lease, whether what comes first is written, and when it was asked for.
    async fn acquire(
        &self,
        view: &View,
        uid: SessionUid,
        purpose: Purpose,
        first: Option<&First>,
    ) -> Result<(Lease, bool, Instant), SessionError> {
        let (store, writer) = (&*self.0.store, &self.0.writer);
        let id = view.data.id();
        let mut claim = Claim {
            holder: writer.clone(),
            ttl: self.0.options.lease_ttl,
            takeover: Takeover::IfExpired,
        };
        let head = first.map(|first| first.sealed.next.data.head());
        let asking = self.asking_for(purpose);
        let (mut asked, mut times) = (Instant::now(), 0_u32);
        loop {
            let claimed = &claim;
            let lease = asking.ask(|| {
                (asked, times) = (Instant::now(), times.saturating_add(1));
                match first.zip(head.as_ref()) {
                    Some((first, head)) => {
                        let SealedAppend {
                            append, entries, ..
                        } = &first.sealed;
                        store.acquire_and_append(claimed, &first.at, append.id, entries, head)
                    }
                    None => Box::pin(async move {
                        let (ttl, takeover) = (claimed.ttl, claimed.takeover);
                        let lease = store.acquire(id, writer, ttl, takeover).await?;
                        Ok((lease, false))
                    }),
                }
            });
            let error = match lease.await {
                Ok((lease, is_appended)) => return Ok((lease, is_appended, asked)),
                Err(error) => error,
            };
            if claim.takeover == Takeover::IfExpired
                && error.reason == StoreReason::LeaseHeld
                && error.held.as_ref().map(|held| &held.holder) == Some(writer)
            {
                // One that nobody here has was given and the answer lost, or it could not be given back.
                match self.may_force(view, uid, purpose).await {
                    Ok(()) => {
                        claim.takeover = Takeover::Force;
                        continue;
                    }
                    Err(error) => {
                        // What was asked before may have been done.
                        return Err(match first.filter(|_| times > 1) {
                            Some(first) => error.unsaved(first.bodies.clone()),
                            None => error,
                        });
                    }
                }
            }
            return Err(match first {
                Some(first) => first.not_begun(error, times, asking).await,
                None => lost_if_gone(error),
            });
        }
    }

    /// Whether a lease that this process is said to have is its own to take: it may be of another session, which has the id
    /// by now and is driven here. Who came to shut down meanwhile takes none.
    async fn may_force(
        &self,
        view: &View,
        uid: SessionUid,
        purpose: Purpose,
    ) -> Result<(), SessionError> {
        let after = LoadFrom::After(view.data.version());
        let loaded = self.asking_for(purpose).load(view.data.id(), after);
        let loaded = loaded.await.map_err(lost_if_gone)?;
        self.may(purpose)?;
        if loaded.head.uid == uid {
            Ok(())
        } else {
            Err(SessionError::lost_ownership())
        }
    }

    /// Notes that a session is driven here, until the guard goes.
    fn note(&self, uid: SessionUid) -> Noted {
        let live = Live::default();
        self.running().insert(uid, live.clone());
        Noted {
            sessions: self.clone(),
            uid,
            live,
        }
    }
}

impl First {
    /// Goes on from what was written, and takes in what others said since: a reply that was lost may come long after the
    /// write. Who has driven the session since has gone on with the run.
    async fn begin(
        self,
        journal: &mut StoreJournal,
        asking: Asking<'_>,
    ) -> Result<Begun, SessionError> {
        let from = journal.view.data.version();
        let mut applied = self.sealed.applied;
        journal.view = self.sealed.next;
        let mine = [from, journal.view.data.version()];
        let is_mine = |version: Version| mine.contains(&version);
        if !journal.lease.version.is_none_or(is_mine) {
            let seen = journal.view.refresh(asking).await;
            let seen = seen.map_err(|error| error.unsaved(self.bodies))?;
            if seen.is_driven {
                return Err(SessionError::lost_ownership());
            }
            extend(&mut applied, seen.applied);
        }
        journal.ends_with_the_run();
        Ok(Begun {
            from,
            plan: self.plan,
            applied,
        })
    }

    /// Why the run was not begun here, after so many questions. One before the last may have begun it all the same, and
    /// then somebody else has gone on with it.
    async fn not_begun(&self, error: StoreError, times: u32, asking: Asking<'_>) -> SessionError {
        let unsaved = self.bodies.clone();
        match error.reason {
            StoreReason::LeaseHeld if times > 1 => {
                let after = LoadFrom::After(self.at.version);
                match asking.load(&self.at.id, after).await {
                    Ok(loaded) if self.is_in(&loaded) => SessionError::lost_ownership(),
                    Ok(loaded) if loaded.snapshot.is_none() => error.into(),
                    // It may be written or not.
                    _ => SessionError::from(error).unsaved(unsaved),
                }
            }
            StoreReason::LeaseHeld | StoreReason::NotFound => lost_if_gone(error),
            _ => lost_if_gone(error).unsaved(unsaved),
        }
    }

    /// Whether its entries stand in what was read from its position on.
    fn is_in(&self, loaded: &Loaded) -> bool {
        let first = self.sealed.entries.first();
        loaded.head.uid == self.at.uid && first.is_some() && loaded.entries.first() == first
    }
}

/// The sessions whose lease this process has or asks for, and under what they are held once it has it.
pub(crate) type Reservations = Arc<Mutex<HashMap<SessionUid, watch::Receiver<Option<Tenure>>>>>;

/// That somebody in this process has the lease of a session, or asks for it.
struct Reserved {
    all: Reservations,
    uid: SessionUid,
    held: watch::Sender<Option<Tenure>>,
}

impl Reserved {
    /// What is known of him, when somebody else in this process does.
    fn new(all: &Reservations, uid: SessionUid) -> Result<Self, watch::Receiver<Option<Tenure>>> {
        let mut reservations = all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(theirs) = reservations.get(&uid) {
            return Err(theirs.clone());
        }
        let (held, theirs) = watch::channel(None);
        reservations.insert(uid, theirs);
        Ok(Self {
            all: Arc::clone(all),
            uid,
            held,
        })
    }

    fn hold(&self, tenure: Tenure) {
        self.held.send_replace(Some(tenure));
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut reservations = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        reservations.remove(&self.uid);
    }
}

/// That a session is being taken here, or was: who shuts down waits until it is given back.
struct Counted(watch::Sender<usize>);

impl Counted {
    fn new(sessions: &Sessions) -> Self {
        let count = sessions.0.count.clone();
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// That a session is driven here.
pub(crate) struct Noted {
    sessions: Sessions,
    uid: SessionUid,
    pub(crate) live: Live,
}

/// The way of live events to those who read along in this process. It is made when the first of them comes, because there
/// is room in it for many.
#[derive(Clone, Default)]
pub(crate) struct Live(Arc<OnceLock<broadcast::Sender<Heard>>>);

impl Live {
    /// Whether anyone listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.get().is_some_and(|live| live.receiver_count() > 0)
    }

    pub(crate) fn tell(&self, heard: Heard) {
        if let Some(live) = self.0.get() {
            let _ = live.send(heard);
        }
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Heard> {
        let live = self.0.get_or_init(|| broadcast::Sender::new(LIVE_EVENTS));
        live.subscribe()
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        let mut running = self.sessions.running();
        if running
            .get(&self.uid)
            .is_some_and(|live| Arc::ptr_eq(&live.0, &self.live.0))
        {
            running.remove(&self.uid);
        }
    }
}
