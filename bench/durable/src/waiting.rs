//! D3: the memory of many sessions that wait for a person.

use std::sync::Arc;
use std::time::Duration;

use allm::{Engine, Fake, Script, Session, Sessions, SessionsOptions, Tool};
use anyhow::{Context as _, ensure};
use bench_common::held_bytes;
use serde_json::json;

use crate::{Said, Stage};

/// A model that always calls a tool that a person runs. It remembers what it was asked, so each session has one of its own,
/// which goes before anything is counted.
fn engine() -> anyhow::Result<Engine> {
    let script = Script::new()
        .text("May I?")
        .call("pay", json!({"to": "somebody", "amount": 12}));
    let tool = Tool::new("pay", "Pays.", json!({"type": "object"})).manual();
    let builder = Engine::builder().provider(Fake::new().always(script));
    Ok(builder.model("fake:any").tool(tool).build()?)
}

pub(crate) async fn measure(stage: &Stage, count: usize) -> anyhow::Result<Said> {
    let mut said = Said::new();
    let question = "q".repeat(200);
    let before = held_bytes();
    let mut held = Vec::with_capacity(count);
    for number in 0..count {
        let mut session = Session::new(format!("waiting-{number}"))?;
        let _ = session.reply(&engine()?, question.clone()).await?;
        ensure!(session.pending_tool_calls().len() == 1, "it does not wait");
        held.push(session);
    }
    let each = (held_bytes() - before) as f64 / count as f64;
    said.insert(
        "D3 value, bytes held by a waiting session".into(),
        json!(each),
    );
    let one = held.first().context("there is one")?;
    let text = allm::json::to_vec(one)?.len();
    said.insert("D3 value, bytes of its JSON".into(), json!(text));
    drop(held);
    for (name, store) in &stage.stores {
        if *name != "SQLite" {
            continue;
        }
        let sessions = Sessions::with(Arc::clone(store), SessionsOptions::default());
        // What is made at the first use does not count.
        let mut first = sessions.create("first").await?;
        let _ = first.reply(&engine()?, question.clone()).await?;
        let before = quiet().await;
        let mut held = Vec::with_capacity(count);
        for number in 0..count {
            let mut session = sessions.create(format!("waiting-{number}")).await?;
            let _ = session.reply(&engine()?, question.clone()).await?;
            held.push(session);
        }
        let open = (quiet().await - before) as f64 / count as f64;
        drop(held);
        let closed = (quiet().await - before) as f64 / count as f64;
        said.insert(format!("D3 {name}, bytes held by a handle"), json!(open));
        said.insert(
            format!("D3 {name}, bytes held without a handle"),
            json!(closed),
        );
    }
    Ok(said)
}

/// What is held when it does not change any more: a driver gives its lease back after it has told the result.
async fn quiet() -> i64 {
    let mut last = held_bytes();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = held_bytes();
        if now == last {
            break;
        }
        last = now;
    }
    last
}
