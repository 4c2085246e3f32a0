//! Connections, lent one at a time.
//!
//! A connection comes back only when the work on it ended well. One whose work failed or was dropped half way is closed,
//! so nothing has to be asked of it before it is lent again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::connecting::in_few_turns;

pub(super) struct Connections {
    options: PgConnectOptions,
    permits: Semaphore,
    idle: Mutex<Vec<PgConnection>>,
    wait: Duration,
}

/// A connection that is lent. Dropping it closes it.
pub(super) struct Lent<'a> {
    pub(super) connection: PgConnection,
    /// Whether it was used before, so that it may be dead without anybody having noticed.
    pub(super) used: bool,
    from: &'a Connections,
    _permit: SemaphorePermit<'a>,
}

impl Connections {
    /// At most `size` connections; whoever waits for one, or for the database to answer, waits this long.
    pub(super) fn new(options: PgConnectOptions, size: u32, wait: Duration) -> Self {
        Self {
            options,
            permits: Semaphore::new(size.max(1) as usize),
            idle: Mutex::default(),
            wait,
        }
    }

    pub(super) async fn lend(&self) -> Result<Lent<'_>, sqlx::Error> {
        let lend = async {
            let permit = self.permits.acquire().await;
            let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
            let idle = self.idle().pop();
            let used = idle.is_some();
            let connection = match idle {
                Some(connection) => connection,
                None => in_few_turns(self.options.connect()).await?,
            };
            Ok(Lent {
                connection,
                used,
                from: self,
                _permit: permit,
            })
        };
        let lent = timeout(self.wait, lend).await;
        lent.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// How long an answer is waited for.
    pub(super) const fn patience(&self) -> Duration {
        self.wait
    }

    /// Closes those that are idle: when one is found dead, so are the others.
    pub(super) fn forget_idle(&self) {
        self.idle().clear();
    }

    /// Closes those that are idle and waits until they are.
    pub(super) async fn close(&self) {
        let idle = std::mem::take(&mut *self.idle());
        for connection in idle {
            // It is closed in any case; there is nobody to tell how it went.
            drop(connection.close().await);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent<'_> {
    /// Gives it back, to be lent again.
    pub(super) fn keep(self) {
        self.from.idle().push(self.connection);
    }
}
