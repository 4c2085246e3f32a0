//! Connections, each on a thread of its own, lent one at a time.
//!
//! Work is handed over whole, from the beginning of its transaction to its end, and the task is woken once, with the
//! result. Work that has begun is done to its end, whether or not anybody still waits for it.
//!
//! A thread is used again only when its work ended well and somebody was there to hear of it. Else it ends, and closes its
//! connection, so nothing has to be asked of one before it is lent again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use allm_core::{StoreError, StoreReason};
use rusqlite::Connection;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::fault::{Fault, told};
use super::open::Opening;
use crate::database::fault::{no_answer, not_in_time};

pub(super) struct Threads {
    opening: Arc<Opening>,
    permits: Semaphore,
    idle: Mutex<Vec<Thread>>,
    wait: Duration,
}

impl Threads {
    /// At most `size` connections; whoever waits for one waits this long.
    pub(super) fn new(opening: Arc<Opening>, size: u32, wait: Duration) -> Self {
        Self {
            opening,
            permits: Semaphore::new(size.max(1) as usize),
            idle: Mutex::default(),
            wait,
        }
    }

    /// Has this done by a thread.
    pub(super) async fn run<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    {
        let permit = timeout(self.wait, self.permits.acquire()).await;
        let _permit = permit.map_err(|_| not_in_time())?;
        let idle = self.idle().pop();
        let thread = match idle {
            Some(thread) => thread,
            None => Thread::start(&self.opening).await?,
        };
        match thread.run(work).await? {
            Err(Fault::Broken(error)) => Err(told(error)),
            done => {
                self.idle().push(thread);
                done.map_err(|fault| fault.told(told))
            }
        }
    }

    /// Closes those that are idle and waits until they are.
    pub(super) async fn close(&self) {
        let idle = std::mem::take(&mut *self.idle());
        for Thread { work, ended } in idle {
            drop(work);
            // That nothing more comes from it is what is waited for.
            drop(ended.await);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Thread>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

/// A thread with a connection. Dropping it closes the connection when what it does is done.
pub(super) struct Thread {
    work: mpsc::Sender<Work>,
    ended: oneshot::Receiver<()>,
}

impl Thread {
    pub(super) async fn start(opening: &Arc<Opening>) -> Result<Self, StoreError> {
        let opening = Arc::clone(opening);
        let (work, given) = mpsc::channel::<Work>();
        let (opened, opens) = oneshot::channel();
        let (ends, ended) = oneshot::channel();
        let run = move || {
            match opening.open() {
                Ok(mut connection) => {
                    if opened.send(Ok(())).is_ok() {
                        for work in given {
                            work(&mut connection);
                        }
                    }
                }
                // Nobody hears it who does not wait for it any more.
                Err(error) => drop(opened.send(Err(error))),
            }
            drop::<oneshot::Sender<()>>(ends);
        };
        let thread = std::thread::Builder::new().name("allm-sqlite".to_owned());
        thread.spawn(run).map_err(|error| {
            let message = format!("there is no thread for the database: {}", error.kind());
            StoreError::new(StoreReason::Unavailable, message)
        })?;
        opens.await.map_err(|_| no_answer())?.map_err(told)?;
        Ok(Self { work, ended })
    }

    pub(super) async fn run<T, W>(&self, work: W) -> Result<Result<T, Fault>, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (tell, done) = oneshot::channel();
        let work: Work = Box::new(move |connection| drop(tell.send(work(connection))));
        self.work.send(work).map_err(|_| no_answer())?;
        done.await.map_err(|_| no_answer())
    }
}
