//! Sessions in a store.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use allm_core::session::{Append, Session as Data};
use allm_core::{
    AppendId, CancelToken, DeleteIf, Fault, FaultCode, Head, Link, Map, NewSession, Page,
    PageRequest, SessionError, SessionFilter, SessionId, SessionStore, SessionUid, StoreError,
    StoreReason, Thread, Timestamp, ValidationError, ValidationReason, Version, WriterId,
};
use tokio::sync::{broadcast, watch};

use super::asking::Asking;
use super::covered::Covered;
use super::driver::Limits;
use super::durable::DurableSession;
use super::reading::Heard;
use super::store_clock::{LastSeen, StoreClock};
use super::store_journal::View;
use super::taking::{Live, Reservations};
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
    running: Mutex<HashMap<SessionUid, Live>>,
    pub(crate) clock: LastSeen,
    pub(crate) held: Reservations,
    /// How many sessions are taken here, or are being taken.
    pub(crate) count: watch::Sender<usize>,
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
    /// After how many entries within a run a snapshot may be written, besides one at its end. It is written when the
    /// entries since the last one hold a quarter of its bytes. 100.
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
            // As long as a lease tells the time.
            clock: LastSeen::lasting(options.lease_ttl / 3),
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
        let at = self.now().await?;
        let mut data = Data::empty(id.clone());
        data.check_input(&body, at)?;
        let append = Append {
            id: AppendId::from_bytes(random::bytes()),
            writer: self.0.writer.clone(),
            at,
            input_id: None,
        };
        let sealed = data.seal(&body, &append, &Link::START)?;
        let mut covered = Covered::default();
        covered.add(std::slice::from_ref(&sealed.entry));
        let view = View {
            link: sealed.entry.link(),
            last_writer: Some(append.writer),
            covered,
            data,
        };
        let new = NewSession {
            id,
            uid,
            first: sealed.entry,
            head: view.data.head(),
        };
        match self.asking().ask(|| self.0.store.create(&new)).await {
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
        match self.asking().load(&new.id, from).await {
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
        let view = View::load(self.asking_once(), &id).await?;
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
        let store = &self.0.store;
        let listed = self.asking_once().ask(|| store.list(filter, page.clone()));
        Ok(listed.await?)
    }

    /// Deletes a session.
    ///
    /// # Errors
    ///
    /// `conflict` at another version than the condition names, `busy` under a live lease that the condition does not
    /// overrule, `store` with `not_found`.
    pub async fn delete(&self, id: &SessionId, condition: DeleteIf) -> Result<(), SessionError> {
        let store = &self.0.store;
        let deleted = self.asking_once().ask(|| store.delete(id, condition));
        Ok(deleted.await?)
    }

    /// Ends what this process drives: nothing new is begun, what goes on may come to its end within the grace, and what
    /// does not is left where it is. Leases are given back, so that another process can go on at once; a session that is
    /// just being taken is given back as it is, or with the run that the write that takes it begins.
    /// [`cancel`](DurableSession::cancel) and [`save`](DurableSession::save) begin nothing, and are still done.
    pub async fn shutdown(&self, grace: Duration) {
        self.0.closing.cancel();
        let mut count = self.0.count.subscribe();
        let done = async {
            let _ = count.wait_for(|taken| *taken == 0).await;
        };
        if tokio::time::timeout(grace, done).await.is_ok() {
            return;
        }
        self.0.leave.cancel();
        let mut count = self.0.count.subscribe();
        let _ = count.wait_for(|taken| *taken == 0).await;
    }

    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<SessionUid, Live>> {
        self.0
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The live events of a session that this process drives.
    pub(crate) fn live(&self, uid: SessionUid) -> Option<broadcast::Receiver<Heard>> {
        self.running().get(&uid).map(Live::listen)
    }

    /// What time it is by the store's clock.
    pub(crate) async fn now(&self) -> Result<Timestamp, StoreError> {
        let now = self.asking().now().await?;
        self.0.clock.note(StoreClock::showing(now));
        Ok(now)
    }

    /// A store that does not answer is asked again for a while.
    pub(crate) fn asking(&self) -> Asking<'_> {
        Asking::again(&*self.0.store, self.0.options.retry_for)
    }

    /// A store that does not answer is not asked again.
    pub(crate) fn asking_once(&self) -> Asking<'_> {
        Asking::once(&*self.0.store)
    }
}
