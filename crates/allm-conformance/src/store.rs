//! The kit for those who write a [`SessionStore`].
//!
//! A subject makes fresh stores: each check gets one of its own, over data that is empty and that nobody else writes to.
//! A closure that makes them is a subject.
//!
//! ```
//! use std::sync::Arc;
//! use allm_conformance::store::{self, Fresh};
//! # use allm_core::*;
//! # struct MyStore;
//! # impl MyStore {
//! #     async fn open(_: &str) -> Result<Self, StoreError> { Err(StoreError::new(StoreReason::Unavailable, "none")) }
//! # }
//! # type A<'a, T> = BoxFuture<'a, Result<T, StoreError>>;
//! # impl SessionStore for MyStore {
//! #     fn create<'a>(&'a self, _: &'a NewSession) -> A<'a, Head> { Box::pin(std::future::pending()) }
//! #     fn load<'a>(&'a self, _: &'a SessionId, _: LoadFrom) -> A<'a, Loaded> { Box::pin(std::future::pending()) }
//! #     fn append<'a>(&'a self, _: &'a Position, _: Option<Fence>, _: AppendId, _: &'a [Entry], _: &'a HeadUpdate)
//! #         -> A<'a, Version> { Box::pin(std::future::pending()) }
//! #     fn list<'a>(&'a self, _: &'a SessionFilter, _: PageRequest) -> A<'a, Page<Head>> { Box::pin(std::future::pending()) }
//! #     fn delete<'a>(&'a self, _: &'a SessionId, _: DeleteIf) -> A<'a, ()> { Box::pin(std::future::pending()) }
//! #     fn acquire<'a>(&'a self, _: &'a SessionId, _: &'a WriterId, _: std::time::Duration, _: Takeover)
//! #         -> A<'a, Lease> { Box::pin(std::future::pending()) }
//! #     fn renew<'a>(&'a self, _: &'a Lease) -> A<'a, Lease> { Box::pin(std::future::pending()) }
//! #     fn release(&self, _: Lease) -> A<'_, ()> { Box::pin(std::future::pending()) }
//! #     fn put_snapshot<'a>(&'a self, _: &'a Position, _: Snapshot) -> A<'a, ()> { Box::pin(std::future::pending()) }
//! #     fn trim<'a>(&'a self, _: &'a Position, _: Version) -> A<'a, ()> { Box::pin(std::future::pending()) }
//! #     fn now(&self) -> A<'_, Timestamp> { Box::pin(std::future::pending()) }
//! # }
//!
//! async fn my_store_keeps_the_rules() {
//!     let number = std::sync::atomic::AtomicU32::new(0);
//!     let fresh = || {
//!         let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
//!         async move {
//!             let url = format!("mine://localhost/test_{number}");
//!             let store = MyStore::open(&url).await.expect("an empty database");
//!             Fresh::new(Arc::new(store)).reopen(move || {
//!                 let url = url.clone();
//!                 async move { Arc::new(MyStore::open(&url).await.expect("the same database")) }
//!             })
//!         }
//!     };
//!     store::check(&fresh).await.assert();
//! }
//! ```
//!
//! Two things are optional. A store whose clock can be set gives [`Fresh::advance`]; for any other one the kit takes short
//! leases and waits until the store's own clock has passed their end. A store whose data outlives it gives
//! [`Fresh::reopen`]; without it, what was written is not looked at from elsewhere. Checks that need what is not given are
//! skipped, and the report says so.

mod appending;
mod beginning;
mod bench;
mod conduct;
mod creating;
mod deleting;
mod elsewhere;
mod ending;
mod fences;
mod hard;
mod leases;
mod listing;
mod loading;
mod order;
mod paging;
mod place;
mod population;
mod session;
mod sizes;
mod snapshots;
mod together;
mod trimming;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use allm_core::{BoxFuture, SessionStore};

use crate::finding::{Checked, Finding, Rule};
use crate::report::Report;
use crate::wait;

use place::Place;

/// What is checked: how to make a fresh store.
pub trait StoreSubject: Send + Sync {
    /// A store over data that is empty and that nobody else writes to. It may panic; the check then fails with the text.
    fn fresh(&self) -> BoxFuture<'_, Fresh>;

    /// How long the kit waits for something that should come at once. Nothing waits so long when all is well.
    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// The clock of the kit's own waiting. By default it is real time; a test with a paused clock gives that one.
    ///
    /// It is not the clock of the store: that is [`Fresh::advance`].
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        wait::sleep(duration)
    }

    /// Does all of this work at once. By default the futures are polled side by side in the test's own task; a subject
    /// whose store is shared by threads spawns them, so that they really race.
    fn together(&self, work: Vec<BoxFuture<'static, ()>>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            wait::all(work).await;
        })
    }
}

impl<F, Made> StoreSubject for F
where
    F: Fn() -> Made + Send + Sync,
    Made: Future<Output = Fresh> + Send + 'static,
{
    fn fresh(&self) -> BoxFuture<'_, Fresh> {
        Box::pin(self())
    }
}

type Reopen = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn SessionStore>> + Send + Sync>;
type Advance = Box<dyn Fn(Duration) + Send + Sync>;

/// A store over empty data, and what can be done to it from outside.
#[must_use]
pub struct Fresh {
    store: Arc<dyn SessionStore>,
    reopen: Option<Reopen>,
    advance: Option<Advance>,
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl Fresh {
    /// This store and nothing else.
    pub fn new<S: SessionStore + 'static>(store: Arc<S>) -> Self {
        Self {
            store,
            reopen: None,
            advance: None,
            kept: Vec::new(),
        }
    }

    /// With a way to open the same data again, as another process would: also while the first store is there, and
    /// also after it is gone.
    pub fn reopen<F, Opened, S>(mut self, reopen: F) -> Self
    where
        F: Fn() -> Opened + Send + Sync + 'static,
        Opened: Future<Output = Arc<S>> + Send + 'static,
        S: SessionStore + 'static,
    {
        self.reopen = Some(Box::new(move || {
            let opened = reopen();
            Box::pin(async move { opened.await as Arc<dyn SessionStore> })
        }));
        self
    }

    /// With a way to set the store's clock forward.
    pub fn advance(mut self, advance: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        self.advance = Some(Box::new(advance));
        self
    }

    /// Keeps something until the check is over: a temporary directory, a server.
    pub fn keep(mut self, kept: impl Any + Send + Sync) -> Self {
        self.kept.push(Box::new(kept));
        self
    }
}

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fresh")
            .field("reopen", &self.reopen.is_some())
            .field("advance", &self.advance.is_some())
            .finish_non_exhaustive()
    }
}

type Look = for<'a> fn(Place<'a>) -> BoxFuture<'a, Checked>;

/// Checks a store against every rule of [`SessionStore`].
///
/// Needs no particular runtime; it runs in that of the caller's test.
pub async fn check(subject: &dyn StoreSubject) -> Report {
    let mut checks = Vec::new();
    let rules = [
        creating::RULES,
        appending::RULES,
        beginning::RULES,
        order::RULES,
        loading::RULES,
        sizes::RULES,
        hard::RULES,
        listing::RULES,
        paging::RULES,
        leases::RULES,
        fences::RULES,
        snapshots::RULES,
        ending::RULES,
        trimming::RULES,
        deleting::RULES,
        together::RULES,
        conduct::RULES,
        elsewhere::RULES,
    ];
    for (rule, look) in rules.into_iter().flatten() {
        let looked = wait::caught(async {
            let fresh = subject.fresh().await;
            look(Place::new(subject, fresh)).await
        });
        // A check waits for several things in a row, each with the patience of its own.
        let limit = subject.sleep(subject.patience().saturating_mul(4));
        let checked = match wait::before(limit, looked).await {
            Some(Ok(checked)) => checked,
            Some(Err(panic)) => Err(Finding::failed(rule.behaviour, panic)),
            None => Err(Finding::failed(rule.behaviour, "nothing came in time")),
        };
        checks.push(Rule::came_to(*rule, checked));
    }
    Report::new("store", checks)
}
