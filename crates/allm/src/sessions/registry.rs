//! Sessions in a store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use allm_core::session::{Append, Session as Data};
use allm_core::{
    AppendId, CancelToken, DeleteIf, Fault, FaultCode, Head, Link, Map, NewSession, Page,
    PageRequest, SessionError, SessionFilter, SessionId, SessionReason, SessionStore, SessionUid,
    StoreError, StoreReason, Takeover, Thread, ValidationError, ValidationReason, Version,
    WriterId,
};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::Instant;

use super::driver::Limits;
use super::durable::DurableSession;
use super::lease::HeldLease;
use super::reading::Heard;
use super::store_journal::{StoreJournal, View};
use crate::random;

/// Sessions in a store: made, found, driven and deleted. Cheap to clone.
///
/// Make one for each process. It holds nothing of a session that is not being driven.
#[derive(Clone)]
pub struct Sessions(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) writer: WriterId,
    pub(crate) options: SessionsOptions,
    running: Mutex<HashMap<SessionUid, broadcast::Sender<Heard>>>,
    /// The sessions whose lease this process holds or asks for.
    held: Arc<Mutex<HashSet<SessionUid>>>,
    /// How many sessions are driven here.
    count: watch::Sender<usize>,
    pub(crate) closing: CancelToken,
    pub(crate) leave: CancelToken,
}

/// How sessions are driven.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionsOptions {
    /// How long a driver's hold on a session lasts when nobody renews it; it is renewed every third of this. 30 s.
    pub lease_ttl: Duration,
    /// How long a store that does not answer is asked again before a run is given up. 30 s.
    pub retry_for: Duration,
    /// After how many entries a snapshot is written, besides one after each run. 100.
    pub snapshot_every: u64,
    /// After how many recoveries without progress a run fails. 3.
    pub max_recoveries: u32,
    /// How long after its time limit a call has ended for sure, on whatever machine it ran. 5 s.
    pub call_slack: Duration,
    /// With it, approvals leave the process as signed tokens
    /// ([`approval_tokens`](crate::DurableSession::approval_tokens)), and a decision without a good one is refused.
    pub approval_secret: Option<ApprovalSecret>,
}

/// What approvals are signed with. It is never shown.
#[derive(Clone)]
pub struct ApprovalSecret(Arc<[u8]>);

impl ApprovalSecret {
    /// A secret of these bytes: at least 32, and random.
    ///
    /// # Errors
    ///
    /// A fault at `approval_secret` when there are fewer.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Result<Self, ValidationError> {
        let bytes = bytes.into();
        if bytes.len() >= 32 {
            return Ok(Self(bytes));
        }
        let fault =
            Fault::new("approval_secret", FaultCode::OutOfRange).detail("at least 32 bytes");
        let reason = ValidationReason::InvalidSessionInput;
        Err(ValidationError::new(reason, vec![fault]))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for ApprovalSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApprovalSecret(***)")
    }
}

impl Default for SessionsOptions {
    fn default() -> Self {
        let Limits {
            max_recoveries,
            call_slack,
        } = Limits::default();
        Self {
            lease_ttl: Duration::from_secs(30),
            retry_for: Duration::from_secs(30),
            snapshot_every: 100,
            max_recoveries,
            call_slack,
            approval_secret: None,
        }
    }
}

impl SessionsOptions {
    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            max_recoveries: self.max_recoveries,
            call_slack: self.call_slack,
        }
    }
}

/// What a new session begins with.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Beginning {
    /// What was said before.
    pub thread: Thread,
    /// What handlers are told.
    pub context: Map,
    /// The caller's own facts.
    pub metadata: Map,
    /// What listings can be filtered by.
    pub tags: BTreeMap<String, String>,
}

impl Beginning {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was said before.
    #[must_use]
    pub fn thread(mut self, thread: impl Into<Thread>) -> Self {
        self.thread = thread.into();
        self
    }

    /// What handlers are told.
    #[must_use]
    pub fn context(mut self, context: Map) -> Self {
        self.context = context;
        self
    }

    /// The caller's own facts.
    #[must_use]
    pub fn metadata(mut self, metadata: Map) -> Self {
        self.metadata = metadata;
        self
    }

    /// What listings can be filtered by.
    #[must_use]
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(key.into(), value.into());
        self
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("writer", &self.0.writer)
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}

impl Sessions {
    /// The sessions of this store.
    pub fn new(store: impl SessionStore + 'static) -> Self {
        Self::with(Arc::new(store), SessionsOptions::default())
    }

    /// The sessions of this store, driven in another way.
    pub fn with(store: Arc<dyn SessionStore>, options: SessionsOptions) -> Self {
        let writer = format!("{:032x}", u128::from_le_bytes(random::bytes()));
        Self(Arc::new(Inner {
            store,
            writer: WriterId::from(writer),
            options,
            running: Mutex::default(),
            held: Arc::default(),
            count: watch::Sender::new(0),
            closing: CancelToken::new(),
            leave: CancelToken::new(),
        }))
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn SessionStore> {
        &self.0.store
    }

    /// Who this process is, in the journals that it writes.
    #[must_use]
    pub fn writer(&self) -> &WriterId {
        &self.0.writer
    }

    /// Makes a session with nothing in it.
    ///
    /// # Errors
    ///
    /// `store` with `already_exists` when the id is taken; an id that breaks the rules; what the store cannot do.
    pub async fn create(&self, id: impl Into<Arc<str>>) -> Result<DurableSession, SessionError> {
        self.create_with(id, Beginning::default()).await
    }

    /// Makes a session that begins with this.
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create); a thread or a tag that breaks the rules.
    pub async fn create_with(
        &self,
        id: impl Into<Arc<str>>,
        beginning: Beginning,
    ) -> Result<DurableSession, SessionError> {
        let id = SessionId::new(id)?;
        let Beginning {
            thread,
            context,
            metadata,
            tags,
        } = beginning;
        let uid = SessionUid::from_bytes(random::bytes());
        let body = Data::created(uid, thread, context, metadata, tags);
        let store = &self.0.store;
        let at = store.now().await?;
        let mut data = Data::empty(id.clone());
        data.check_input(&body, at)?;
        let append = Append {
            id: AppendId::from_bytes(random::bytes()),
            writer: self.0.writer.clone(),
            at,
            input_id: None,
        };
        let sealed = data.seal(&body, &append, &Link::START)?;
        let view = View {
            link: sealed.entry.link(),
            last_writer: Some(append.writer),
            data,
        };
        let new = NewSession {
            id,
            uid,
            first: sealed.entry,
            head: view.data.head(),
        };
        match store.create(&new).await {
            Ok(_) => {}
            Err(error) => self.settle_creation(&new, error).await?,
        }
        Ok(DurableSession::new(self.clone(), view))
    }

    /// A creation whose reply was lost was done if the session is this one.
    async fn settle_creation(&self, new: &NewSession, error: StoreError) -> Result<(), StoreError> {
        if !error.is_retryable() && error.reason != StoreReason::AlreadyExists {
            return Err(error);
        }
        let from = allm_core::LoadFrom::After(Version(1));
        match self.0.store.load(&new.id, from).await {
            Ok(loaded) if loaded.head.uid == new.uid => Ok(()),
            _ => Err(error),
        }
    }

    /// Reads a session. Nothing else happens: no model call, no tool, no write.
    ///
    /// # Errors
    ///
    /// `store` with `not_found` or `corrupt`; `replay_diverged`, `unsupported_version` or `unsupported_machine` for a
    /// journal that this library cannot follow.
    pub async fn open(&self, id: impl Into<Arc<str>>) -> Result<DurableSession, SessionError> {
        let id = SessionId::new(id)?;
        let view = View::load(&*self.0.store, &id).await?;
        Ok(DurableSession::new(self.clone(), view))
    }

    /// Reads a session, or makes it if it is not there.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open) and [`create`](Self::create), `not_found` and `already_exists` aside.
    pub async fn open_or_create(
        &self,
        id: impl Into<Arc<str>>,
    ) -> Result<DurableSession, SessionError> {
        let id = id.into();
        let is = |error: &SessionError, reason| error.store_reason() == Some(reason);
        match self.open(Arc::clone(&id)).await {
            Err(error) if is(&error, StoreReason::NotFound) => {}
            opened => return opened,
        }
        match self.create(Arc::clone(&id)).await {
            // Somebody else made it meanwhile.
            Err(error) if is(&error, StoreReason::AlreadyExists) => self.open(id).await,
            created => created,
        }
    }

    /// Lists sessions, page by page.
    ///
    /// # Errors
    ///
    /// What the store cannot do.
    pub async fn list(
        &self,
        filter: &SessionFilter,
        page: PageRequest,
    ) -> Result<Page<Head>, SessionError> {
        Ok(self.0.store.list(filter, page).await?)
    }

    /// Deletes a session.
    ///
    /// # Errors
    ///
    /// `conflict` at another version than the condition names, `busy` under a live lease that the condition does not
    /// overrule, `store` with `not_found`.
    pub async fn delete(&self, id: &SessionId, condition: DeleteIf) -> Result<(), SessionError> {
        Ok(self.0.store.delete(id, condition).await?)
    }

    /// Ends what this process drives: nothing new is begun, what goes on may come to its end within the grace, and what
    /// does not is left where it is. Leases are given back, so that another process can go on at once.
    pub async fn shutdown(&self, grace: Duration) {
        self.0.closing.cancel();
        let mut count = self.0.count.subscribe();
        let done = async {
            let _ = count.wait_for(|running| *running == 0).await;
        };
        if tokio::time::timeout(grace, done).await.is_ok() {
            return;
        }
        self.0.leave.cancel();
        let mut count = self.0.count.subscribe();
        let _ = count.wait_for(|running| *running == 0).await;
    }

    fn running(&self) -> MutexGuard<'_, HashMap<SessionUid, broadcast::Sender<Heard>>> {
        self.0
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The live events of a session that this process drives.
    pub(crate) fn live(&self, uid: SessionUid) -> Option<broadcast::Receiver<Heard>> {
        self.running().get(&uid).map(broadcast::Sender::subscribe)
    }

    /// Takes a session to drive it.
    pub(crate) async fn take(
        &self,
        view: &View,
        takeover: Takeover,
    ) -> Result<Taken, SessionError> {
        if self.0.closing.is_cancelled() {
            let message = "this process is shutting down";
            return Err(SessionError::new(SessionReason::Busy, message));
        }
        let options = &self.0.options;
        let store = &self.0.store;
        let (id, ttl) = (view.data.id(), options.lease_ttl);
        let asked = Instant::now();
        let reserved = Reserved::new(&self.0.held, view.data.uid());
        let mut lease = store.acquire(id, &self.0.writer, ttl, takeover).await;
        // A lease that nobody here holds was given and the answer lost, or could not be given back.
        if let Err(error) = &lease
            && reserved.is_some()
            && error
                .held
                .as_ref()
                .is_some_and(|held| held.holder == self.0.writer)
        {
            lease = store
                .acquire(id, &self.0.writer, ttl, Takeover::Force)
                .await;
        }
        let lease = lease.map_err(super::store_journal::lost_if_gone)?;
        if reserved.is_none() {
            // Somebody else here is taking it, and would take a lease of ours for a lost one of his.
            let (holder, expires_at) = (self.0.writer.clone(), lease.expires_at);
            let busy = StoreError::lease_held(allm_core::HeldLease { holder, expires_at });
            let _ = store.release(lease).await;
            return Err(busy.into());
        }
        if Some(lease.uid) != view.data.uid() {
            let _ = store.release(lease).await;
            return Err(SessionError::lost_ownership());
        }
        let (poke, pokes) = mpsc::channel(1);
        let fence = lease.fence;
        let (lease, tenure) = HeldLease::keep(lease, asked, store, poke);
        let journal = StoreJournal {
            store: Arc::clone(store),
            view: view.clone(),
            fence,
            writer: self.0.writer.clone(),
            tenure,
            retry_for: options.retry_for,
            snapshot_every: options.snapshot_every,
            snapshot_at: Version(0),
            pokes,
        };
        Ok(Taken {
            lease,
            journal,
            _reserved: reserved,
        })
    }

    /// Notes that a session is driven here, until the guard goes.
    pub(crate) fn note(&self, uid: SessionUid) -> Noted {
        let (live, _) = broadcast::channel(LIVE_EVENTS);
        self.running().insert(uid, live.clone());
        self.0.count.send_modify(|count| *count += 1);
        Noted {
            sessions: self.clone(),
            uid,
            live,
        }
    }
}

/// How many live events a slow reader may be behind.
const LIVE_EVENTS: usize = 1024;

/// A session taken to be driven.
pub(crate) struct Taken {
    pub(crate) lease: HeldLease,
    pub(crate) journal: StoreJournal,
    _reserved: Option<Reserved>,
}

/// That this process holds the lease of a session, or asks for it.
struct Reserved {
    held: Arc<Mutex<HashSet<SessionUid>>>,
    uid: SessionUid,
}

impl Reserved {
    /// `None` when somebody else in this process does.
    fn new(held: &Arc<Mutex<HashSet<SessionUid>>>, uid: Option<SessionUid>) -> Option<Self> {
        let uid = uid?;
        let is_first = held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(uid);
        is_first.then(|| Self {
            held: Arc::clone(held),
            uid,
        })
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&self.uid);
    }
}

/// That a session is driven here.
pub(crate) struct Noted {
    sessions: Sessions,
    uid: SessionUid,
    pub(crate) live: broadcast::Sender<Heard>,
}

impl Drop for Noted {
    fn drop(&mut self) {
        let mut running = self.sessions.running();
        if running
            .get(&self.uid)
            .is_some_and(|live| live.same_channel(&self.live))
        {
            running.remove(&self.uid);
        }
        drop(running);
        self.sessions.0.count.send_modify(|count| *count -= 1);
    }
}
