//! Sessions that are in the store already, made by the library as another program would.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use allm::{
    ApprovalRule, DurableSession, Effect, Engine, Fake, Script, Sessions, Tool, ToolReply, Usage,
};
use allm_store::{Clock, SqliteStore};
use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::Home;

/// The store of a home, opened beside the program.
pub(crate) struct Stored {
    runtime: Runtime,
    pub(crate) sessions: Sessions,
    pub(crate) clock: Clock,
    file: PathBuf,
}

impl Stored {
    /// With the time of the machine.
    pub(crate) fn new(home: &Home) -> Self {
        Self::with(home, Clock::system())
    }

    /// With a clock that stands at this time.
    pub(crate) fn at(home: &Home, time: &str) -> Self {
        Self::with(home, Clock::manual(time.parse().unwrap()))
    }

    fn with(home: &Home, clock: Clock) -> Self {
        let file = home.database();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let runtime = Runtime::new().unwrap();
        let options = SqliteStore::options().clock(clock.clone());
        let store = runtime.block_on(options.open(&file)).unwrap();
        Self {
            runtime,
            sessions: Sessions::new(store),
            clock,
            file,
        }
    }

    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Creates a session, says this to the engine, and waits for how it ends.
    pub(crate) fn said(&self, id: &str, engine: &Engine, text: &str) -> DurableSession {
        self.wait(async {
            let mut session = self.sessions.open_or_create(id).await.unwrap();
            let _ = session.reply(engine, text).await;
            session
        })
    }

    pub(crate) fn open(&self, id: &str) -> DurableSession {
        self.wait(self.sessions.open(id)).unwrap()
    }

    /// The file as any other program would open it.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(&self.file).unwrap()
    }

    /// Holds the file, as another program would, until this goes: others may read it and not write.
    pub(crate) fn locked(&self) -> Locked {
        let holder = self.connect();
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        Locked(holder)
    }

    /// Does something to the file behind everybody's back.
    pub(crate) fn execute(&self, sql: &str) {
        self.connect().execute_batch(sql).unwrap();
    }
}

/// A file that is held.
pub(crate) struct Locked(Connection);

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.execute_batch("ROLLBACK").unwrap();
    }
}

/// A model that says what it is told to say, and tools of every kind: one that is harmless, one that a person must agree
/// to, and one that asks.
pub(crate) fn engine(replies: impl IntoIterator<Item = Script>) -> Engine {
    let model = replies.into_iter().fold(Fake::new(), Fake::reply);
    let order = || json!({"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]});
    let look_up = Tool::new("look_up", "Looks an order up.", order())
        .effect(Effect::Pure)
        .handler(|arguments: Value| async move {
            Ok::<_, std::fmt::Error>(json!({"order": arguments["order"], "state": "sent"}))
        });
    let cancel = Tool::new("cancel", "Cancels an order.", order())
        .approval(ApprovalRule::Always)
        .handler(|_: Value| async move { Ok::<_, std::fmt::Error>("cancelled") });
    let ask = Tool::new("ask", "Asks the customer.", json!({"type": "object"}))
        .handler(|_: Value| async move { ToolReply::ask("Why do you cancel it?") });
    let builder = Engine::builder().provider(model).model("fake:any");
    builder.tools([look_up, cancel, ask]).build().unwrap()
}

/// A conversation with everything in it: a tool that runs, a question and its answer, an approval by somebody, a failure.
pub(crate) fn whole_story(stored: &Stored, id: &str) {
    let looks = Script::new()
        .usage(Usage::io(120, 40))
        .reasoning("The order comes first.")
        .text("I will see to it.")
        .call("look_up", json!({"order": 42}));
    let calls = Script::new()
        .call("cancel", json!({"order": 42}))
        .call("ask", json!({}));
    let fails = Script::new().fail(allm::AdapterReason::InvalidRequest);
    let engine = engine([looks, calls, Script::from("It is **done**."), fails]);
    let mut session = stored.said(id, &engine, "Cancel my order, please.");
    stored.wait(async {
        session.set_author("ada");
        stored.clock.advance(Duration::from_secs(60));
        let question = session.question().unwrap().call;
        session.answer(question, "It is too late.").await.unwrap();
        stored.clock.advance(Duration::from_secs(60));
        let approval = session.approvals().remove(0);
        session.approve(approval).await.unwrap();
        let _ = session.resume(&engine).await.unwrap();
        stored.clock.advance(Duration::from_secs(60));
        let _ = session.reply(&engine, "Thanks!").await;
    });
}

/// A session that waits for approval of `cancel`.
pub(crate) fn waits_for_approval(stored: &Stored, id: &str) -> DurableSession {
    let calls = Script::new().call("cancel", json!({"order": 42}));
    stored.said(id, &engine([calls]), "Cancel order 42.")
}
