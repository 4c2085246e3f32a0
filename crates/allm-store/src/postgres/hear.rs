//! Hints from machine to machine.
//!
//! They are sent after the append and beside it: the commit of a transaction that has a `NOTIFY` in it waits for all
//! others that have one.

use std::collections::BTreeSet;
use std::sync::{Arc, Once};
use std::time::Duration;

use allm_core::SessionId;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, raw_sql};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::sleep;

use super::connecting::in_few_turns;
use super::sql::Sql;
use crate::hints::{Hints, Writer};

/// How long appends are gathered after others were told of one. Each telling is a commit, which those of appends feel.
const GATHER: Duration = Duration::from_millis(50);
/// How long it is waited before a lost connection is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Stands before the id of a session to which its driver has appended something. No id has such a character.
const BY_DRIVER: char = '\u{1}';

pub(super) struct Hearing {
    hints: Arc<Hints>,
    options: PgConnectOptions,
    channel: String,
    /// Appends that others have not been told of.
    untold: mpsc::UnboundedSender<(SessionId, Writer)>,
    teller: AbortHandle,
    listening: Once,
    listener: std::sync::Mutex<Option<AbortHandle>>,
}

impl Hearing {
    pub(super) fn new(options: PgConnectOptions, schema: &str) -> Self {
        let channel = format!("allm_{schema}");
        let (untold, mut appends) = mpsc::unbounded_channel();
        let (telling, name) = (options.clone(), channel.clone());
        let teller: JoinHandle<()> = tokio::spawn(async move {
            let mut connection = None;
            while let Some(first) = appends.recv().await {
                let mut told = BTreeSet::from([first]);
                while let Ok(next) = appends.try_recv() {
                    told.insert(next);
                }
                if connection.is_none() {
                    connection = in_few_turns(telling.connect()).await.ok();
                }
                let Some(open) = &mut connection else {
                    // Nobody is told of these. It was only a hint.
                    sleep(PAUSE).await;
                    continue;
                };
                let telling = raw_sql(AssertSqlSafe(notify(&name, &told)));
                if telling.execute(open).await.is_err() {
                    connection = None;
                }
                sleep(GATHER).await;
            }
        });
        Self {
            hints: Arc::default(),
            options,
            channel,
            untold,
            teller: teller.abort_handle(),
            listening: Once::new(),
            listener: std::sync::Mutex::default(),
        }
    }

    /// Tells everybody that something was appended.
    pub(super) fn tell(&self, id: &SessionId, by: Writer) {
        self.hints.give(id, by);
        // It ends with the store, so there is somebody to take it.
        let _ = self.untold.send((id.clone(), by));
    }

    /// Ready when somebody told of this session.
    pub(super) async fn wait(&self, id: &SessionId) {
        self.listening.call_once(|| self.listen());
        self.hints.wait(id).await;
    }

    /// Ready when somebody told of what no driver has appended to this session.
    pub(super) async fn wait_for_input(&self, id: &SessionId) {
        self.listening.call_once(|| self.listen());
        self.hints.wait_for_input(id).await;
    }

    /// From the first time that somebody waits.
    fn listen(&self) {
        let pool = PgPoolOptions::new().max_connections(1);
        let pool = pool.connect_lazy_with(self.options.clone());
        let (hints, channel) = (Arc::clone(&self.hints), self.channel.clone());
        let listener = tokio::spawn(async move {
            loop {
                let listening = async {
                    let mut listener = in_few_turns(PgListener::connect_with(&pool)).await?;
                    listener.listen(&channel).await?;
                    // Whatever came before.
                    hints.give_all();
                    loop {
                        match listener.try_recv().await? {
                            Some(told) => match read(told.payload()) {
                                Some((id, by)) => hints.give(&id, by),
                                None => hints.give_all(),
                            },
                            // The connection was lost and will be made again.
                            None => hints.give_all(),
                        }
                    }
                };
                let lost: Result<(), sqlx::Error> = listening.await;
                drop(lost);
                sleep(PAUSE).await;
            }
        });
        let mut kept = (self.listener.lock()).unwrap_or_else(std::sync::PoisonError::into_inner);
        *kept = Some(listener.abort_handle());
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.teller.abort();
        let mut kept = (self.listener.lock()).unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(listener) = kept.take() {
            listener.abort();
        }
    }
}

/// One statement for all of them; nobody waits until it is on the disk.
fn notify(channel: &str, told: &BTreeSet<(SessionId, Writer)>) -> String {
    let payload = |sql: Sql, (id, by): &(SessionId, Writer)| match by {
        Writer::Driver => sql.text(&format!("{BY_DRIVER}{id}")),
        Writer::Anyone => sql.text(id.as_str()),
    };
    let sql = Sql::new("pg_catalog")
        .push("SELECT set_config('synchronous_commit', 'off', true), pg_notify(");
    let sql = sql.text(channel).push(", told) FROM unnest(");
    sql.array(told, payload, "text[]")
        .push(") AS told")
        .finish()
}

/// Which session was told of, and who has appended something to it.
fn read(payload: &str) -> Option<(SessionId, Writer)> {
    let (id, by) = match payload.strip_prefix(BY_DRIVER) {
        Some(id) => (id, Writer::Driver),
        None => (payload, Writer::Anyone),
    };
    Some((id.parse().ok()?, by))
}
