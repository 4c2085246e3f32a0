//! The far side of the tools: it outlives whoever is killed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allm::session::CallKey;
use allm::{LoadFrom, SessionId, SessionStore, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::facts::Facts;

/// What a child says to the world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Word {
    /// A handler was entered.
    Enter(Hit),
    /// A handler has its effect.
    Act(Hit),
    /// Has a call had its effect?
    Probe {
        /// The key of the call.
        key: String,
    },
    /// The points that were passed, in order.
    Passed(Vec<String>),
    /// Something that should never have happened.
    Violation(String),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The session.
    pub session: String,
    /// The tool.
    pub tool: String,
    /// The provider's id of the call.
    pub call_id: String,
    /// The idempotency key that the handler was given.
    pub key: String,
}

/// What the world says when it is asked whether something has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Honesty {
    /// The truth.
    #[default]
    Truth,
    /// That it does not know.
    Unknown,
    /// Nothing that can be understood.
    Failing,
}

/// What happened in the world.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Handlers that were entered.
    pub entered: Vec<Hit>,
    /// Handlers that got as far as their effect.
    pub acted: Vec<Hit>,
    /// The effects that this far side has by key: what a deduplicating service would do.
    pub effects: BTreeMap<String, u32>,
    /// The keys that were asked about.
    pub probed: Vec<String>,
    /// The points that the last child passed.
    pub passed: Vec<String>,
    /// What should never have happened.
    pub violations: Vec<String>,
}

impl Seen {
    /// How often the handler of this call was entered.
    #[must_use]
    pub fn entered(&self, call_id: &str) -> usize {
        let hits = self.entered.iter();
        hits.filter(|hit| hit.call_id == call_id).count()
    }

    /// How often it got as far as its effect.
    #[must_use]
    pub fn acted(&self, call_id: &str) -> usize {
        let hits = self.acted.iter();
        hits.filter(|hit| hit.call_id == call_id).count()
    }
}

struct Inner {
    store: Arc<dyn SessionStore>,
    honesty: Honesty,
    /// Whether the journal is looked at before anything happens.
    watches: bool,
    seen: Mutex<Seen>,
    /// How many children still talk.
    talking: watch::Sender<usize>,
}

impl Inner {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The far side of the tools. It counts what happens, and looks through a connection of its own whether it may.
pub struct World {
    inner: Arc<Inner>,
    port: u16,
    task: JoinHandle<()>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

impl World {
    /// A new world, beside this store.
    ///
    /// # Panics
    ///
    /// When there is no port to be had.
    pub async fn begin(store: Arc<dyn SessionStore>, honesty: Honesty) -> Self {
        Self::listening(store, honesty, true).await
    }

    /// A world that only counts.
    ///
    /// # Panics
    ///
    /// When there is no port to be had.
    pub async fn counting(store: Arc<dyn SessionStore>) -> Self {
        Self::listening(store, Honesty::Truth, false).await
    }

    async fn listening(store: Arc<dyn SessionStore>, honesty: Honesty, watches: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("a port").port();
        let inner = Arc::new(Inner {
            store,
            honesty,
            watches,
            seen: Mutex::default(),
            talking: watch::Sender::new(0),
        });
        let listening = Arc::clone(&inner);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                listening.talking.send_modify(|talking| *talking += 1);
                let listening = Arc::clone(&listening);
                tokio::spawn(async move {
                    listen(&listening, stream).await;
                    listening.talking.send_modify(|talking| *talking -= 1);
                });
            }
        });
        Self { inner, port, task }
    }

    /// Where it listens.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// What has happened when everything that the dead have said was heard.
    ///
    /// # Panics
    ///
    /// Never: the world is there.
    pub async fn settled(&self) -> Seen {
        let mut talking = self.inner.talking.subscribe();
        let quiet = talking.wait_for(|talking| *talking == 0).await;
        drop(quiet.expect("the world is there"));
        self.seen()
    }

    /// What has happened so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.inner.seen().clone()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(inner: &Inner, stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        // A child that is killed just stops talking.
        match stream.read_line(&mut line).await {
            Ok(read) if read > 0 => {}
            _ => return,
        }
        let Ok(word) = serde_json::from_str(&line) else {
            return;
        };
        let mut answer = hear(inner, word).await.to_string();
        answer.push('\n');
        if stream.get_mut().write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn hear(inner: &Inner, word: Word) -> Value {
    match word {
        Word::Enter(hit) => {
            // S84: whoever may not be run twice must have said so where others can read it.
            let is_pure = hit.tool.starts_with("pure");
            if inner.watches && !is_pure && !is_intended(inner, &hit).await {
                let violation = format!("{} was entered without an intent", hit.tool);
                inner.seen().violations.push(violation);
            }
            inner.seen().entered.push(hit);
            Value::Null
        }
        Word::Act(hit) => {
            let mut seen = inner.seen();
            *seen.effects.entry(hit.key.clone()).or_default() += 1;
            let value = json!({"done": hit.tool});
            seen.acted.push(hit);
            value
        }
        Word::Probe { key } => {
            if inner.watches && !is_over(inner, &key).await {
                let violation = "a probe before the deadline of its intent".to_owned();
                inner.seen().violations.push(violation);
            }
            let mut seen = inner.seen();
            let done = seen.acted.iter().find(|hit| hit.key == key);
            let answer = match (inner.honesty, done) {
                (Honesty::Unknown, _) => json!("unknown"),
                (Honesty::Failing, _) => json!("failing"),
                (Honesty::Truth, Some(hit)) => json!({"done": {"done": hit.tool}}),
                (Honesty::Truth, None) => json!("not_done"),
            };
            seen.probed.push(key);
            answer
        }
        Word::Passed(names) => {
            inner.seen().passed = names;
            Value::Null
        }
        Word::Violation(told) => {
            inner.seen().violations.push(told);
            Value::Null
        }
    }
}

async fn facts(inner: &Inner, session: &str) -> Option<Facts> {
    let id = SessionId::new(session).ok()?;
    let from = LoadFrom::After(Version(0));
    let loaded = inner.store.load(&id, from).await.ok()?;
    Some(Facts::of(&loaded))
}

/// Whether the journal says that this call is being run.
async fn is_intended(inner: &Inner, hit: &Hit) -> bool {
    let Some(facts) = facts(inner, &hit.session).await else {
        return false;
    };
    let with_key = |key: &CallKey| {
        let intents = facts.intents.get(key);
        intents.is_some_and(|intents| intents.iter().any(|intent| intent.key == hit.key))
    };
    let open = |key: &CallKey| !facts.outcomes.contains_key(key);
    let keys: Vec<_> = facts.intents.keys().filter(|key| with_key(key)).collect();
    keys.iter().any(|key| open(key))
}

/// S89: whether the last attempt with this key is over by the store's clock. The session is found by the key.
async fn is_over(inner: &Inner, key: &str) -> bool {
    let entered: Vec<Hit> = inner.seen().entered.clone();
    let Some(hit) = entered.iter().find(|hit| hit.key == key) else {
        // Never entered, so there is nothing that could still go on.
        return true;
    };
    let (Some(facts), Ok(now)) = (facts(inner, &hit.session).await, inner.store.now().await) else {
        return false;
    };
    let mut intents = facts.intents.values().flatten();
    intents.all(|intent| intent.key != key || intent.deadline <= now)
}
