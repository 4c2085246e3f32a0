//! What sessions cost that are kept: a turn (D1), opening one again (D2), many that wait (D3).
//!
//! ```sh
//! bench-durable turn 200
//! bench-durable resume 50
//! bench-durable waiting 10000
//! bench-durable turn 200 SQLite   # one store alone, for profiles
//! ```

mod bare;
mod listener;
mod resume;
mod turn;
mod waiting;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use allm::{Effect, Engine, Fake, Script, SessionStore, Tool};
use allm_postgres_test::Server;
use allm_store::{MemoryStore, PostgresStore, SqliteStore};
use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, count, only @ ..] = arguments.as_slice() else {
        bail!(
            "wanted: turn, resume or waiting, a count, and the names of stores if not all are meant"
        );
    };
    let count: usize = count.parse().context("the count is a number")?;
    let (what, only) = (what.clone(), only.to_vec());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    // As a server has it: what asks is a task, too.
    let measuring = runtime.spawn(async move {
        let stage = Stage::new(&only).await?;
        match what.as_str() {
            "turn" => turn::measure(&stage, count).await,
            "resume" => resume::measure(&stage, count).await,
            "waiting" => waiting::measure(&stage, count).await,
            other => bail!("nothing is called {other}"),
        }
    });
    let said = runtime.block_on(measuring)??;
    println!("{}", Value::Object(said));
    Ok(())
}

/// What is measured, by name.
type Said = Map<String, Value>;

/// The stores, in a folder of their own that goes when this goes.
struct Stage {
    folder: PathBuf,
    stores: Vec<(&'static str, Arc<dyn SessionStore>)>,
    /// The address of the database server, if there is one, and the server.
    postgres: Option<(String, Server)>,
}

impl Stage {
    async fn new(only: &[String]) -> anyhow::Result<Self> {
        let is_meant = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
        let folder = std::env::temp_dir().join(format!("allm-durable-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let sqlite = SqliteStore::open(folder.join("ours.db")).await?;
        let mut stores: Vec<(&'static str, Arc<dyn SessionStore>)> = vec![
            ("memory", Arc::new(MemoryStore::new())),
            ("SQLite", Arc::new(sqlite)),
        ];
        let mut postgres = None;
        if is_meant("PostgreSQL")
            && let Some(server) = Server::private()
        {
            let url = server.database();
            stores.push(("PostgreSQL", Arc::new(PostgresStore::connect(&url).await?)));
            postgres = Some((server.database(), server));
        }
        stores.retain(|(name, _)| is_meant(name));
        Ok(Self {
            folder,
            stores,
            postgres,
        })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// A model that answers each question with a call and then a text, and the tool that is called.
fn engine(turns: usize) -> anyhow::Result<Engine> {
    let tool = Tool::new("note", "Notes something.", json!({"type": "object"}))
        .effect(Effect::Idempotent)
        .handler(|value: Value| async move { Ok::<_, std::fmt::Error>(value) });
    let mut fake = Fake::new();
    for _ in 0..turns {
        let script = Script::new()
            .text("I note it.")
            .call("note", json!({"text": "x".repeat(200)}));
        fake = fake.reply(script).reply("y".repeat(400));
    }
    let builder = Engine::builder().provider(fake).model("fake:any");
    Ok(builder.tool(tool).build()?)
}

fn median(mut times: Vec<Duration>) -> Value {
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    json!(middle.as_secs_f64() * 1e6)
}
