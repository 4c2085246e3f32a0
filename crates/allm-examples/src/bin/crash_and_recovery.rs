//! A process that is killed at the worst moment, and what the next one makes of it.
//!
//! The model calls three tools at once: one that only looks (`pure`), one whose far side knows the key of a repetition
//! (`idempotent`), and one that must never run twice (`at_most_once`). The first process is killed with signal 9 when all
//! three have acted and none has said so. The second one finds the session and goes on:
//!
//! - the look is run again, because it changes nothing;
//! - the invoice is sent again with the same key, and the far side sends it once;
//! - the payment is not run again. Whether it happened cannot be known here, and the model is told just that.
//!
//! ```sh
//! cargo run -q -p allm-examples --bin crash_and_recovery
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use allm::{Effect, Engine, Role, Script, Sessions, SessionsOptions, Tool, ToolContext};
use allm_examples::{Said, folder, model};
use allm_store::SqliteStore;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};
use tokio::sync::Barrier;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        Some(place) => child(Path::new(&place)).await,
        None => parent().await,
    }
}

/// A tool that writes into the world what it did, and with which key.
fn tool(name: &'static str, effect: Effect, world: PathBuf, dies: Option<Arc<Barrier>>) -> Tool {
    Tool::new(name, "", json!({"type": "object"}))
        .effect(effect)
        .handler(move |_: Value, context: ToolContext| {
            let (world, dies) = (world.clone(), dies.clone());
            async move {
                let mut world = OpenOptions::new().append(true).create(true).open(world)?;
                // One write, so that lines of tools that act at the same time stay whole.
                let line = format!("{name} {}\n", &context.idempotency_key[..14]);
                world.write_all(line.as_bytes())?;
                if let Some(all) = dies {
                    // When the others have acted, too, the process is gone, without another word.
                    all.wait().await;
                    kill_process(getpid(), Signal::KILL)?;
                    std::future::pending::<()>().await;
                }
                Ok::<_, std::io::Error>(json!("done"))
            }
        })
}

fn engine(place: &Path, dies: bool) -> Result<Engine, Box<dyn Error>> {
    let calls = Script::new()
        .call("look_up", json!({}))
        .call("send_invoice", json!({}))
        .call("pay", json!({}));
    let model = model(vec![
        (Said::User("pay"), calls),
        (
            Said::Tools,
            Script::from("Please check with the bank whether it was paid."),
        ),
    ]);
    let world = place.join("world.txt");
    let dies = dies.then(|| Arc::new(Barrier::new(3)));
    let tools = [
        tool("look_up", Effect::Pure, world.clone(), dies.clone()),
        tool(
            "send_invoice",
            Effect::Idempotent,
            world.clone(),
            dies.clone(),
        ),
        tool("pay", Effect::AtMostOnce, world, dies),
    ];
    Ok(Engine::builder()
        .provider(model)
        .model("fake:any")
        .tools(tools)
        .build()?)
}

async fn sessions(place: &Path) -> Result<Sessions, Box<dyn Error>> {
    let store = SqliteStore::open(place.join("sessions.db")).await?;
    let mut options = SessionsOptions::default();
    // So that the demonstration does not wait half a minute for the dead driver's hold to run out.
    options.lease_ttl = Duration::from_secs(1);
    Ok(Sessions::with(Arc::new(store), options))
}

async fn child(place: &Path) -> Result<(), Box<dyn Error>> {
    let sessions = sessions(place).await?;
    let mut session = sessions.create("bill-7").await?;
    let engine = engine(place, true)?;
    let _ = session
        .reply(&engine, "Look up bill 7, invoice it and pay it.")
        .await?;
    Err("the first process should not have come so far".into())
}

async fn parent() -> Result<(), Box<dyn Error>> {
    let place = folder("crash");
    fs::create_dir_all(&place)?;
    let status = Command::new(std::env::current_exe()?)
        .arg(&place)
        .status()?;
    match status.signal() {
        Some(signal) => println!("The first process ended: killed by signal {signal}."),
        None => return Err(format!("the first process was not killed: {status}").into()),
    }

    let sessions = sessions(&place).await?;
    let session = sessions.open("bill-7").await?;
    println!(
        "The session is {} at version {}.",
        session.status(),
        session.version()
    );
    let engine = engine(&place, false)?;
    let mut recovered = Vec::new();
    while recovered.is_empty() {
        // The dead driver holds it until its time is over.
        tokio::time::sleep(Duration::from_millis(200)).await;
        recovered = sessions.recover(&engine).await?;
    }
    let session = sessions.open("bill-7").await?;
    println!(
        "The second process went on. The session is {}.",
        session.status()
    );
    for message in &session.thread().messages {
        match message.role {
            Role::Tool => println!("  tool: {}", message.text()),
            Role::Assistant if !message.text().is_empty() => {
                println!("  model: {}", message.text())
            }
            _ => {}
        }
    }
    let world = fs::read_to_string(place.join("world.txt"))?;
    for name in ["look_up", "send_invoice", "pay"] {
        let lines: Vec<&str> = world
            .lines()
            .filter(|line| line.starts_with(name))
            .collect();
        let mut keys = lines.clone();
        keys.sort_unstable();
        keys.dedup();
        println!("{name} acted {} times; keys: {}.", lines.len(), keys.len());
    }
    fs::remove_dir_all(&place)?;
    Ok(())
}
