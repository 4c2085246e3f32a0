//! D2: opening a session of 20 turns again.

use std::sync::Arc;
use std::time::Instant;

use allm::{Sessions, SessionsOptions};
use anyhow::ensure;

use crate::{Said, Stage, engine, median};

const TURNS: usize = 20;

pub(crate) async fn measure(stage: &Stage, count: usize) -> anyhow::Result<Said> {
    let mut all = Vec::new();
    for (name, store) in &stage.stores {
        let sessions = Sessions::with(Arc::clone(store), SessionsOptions::default());
        let mut session = sessions.create("long").await?;
        let engine = engine(TURNS)?;
        for turn in 0..TURNS {
            let said = format!("This is message {turn}. {}", "w".repeat(200));
            let _ = session.reply(&engine, said).await?;
        }
        all.push((*name, sessions, session.thread().len(), Vec::new()));
    }
    for _ in 0..count {
        for (_, sessions, length, times) in &mut all {
            let begun = Instant::now();
            let opened = sessions.open("long").await?;
            times.push(begun.elapsed());
            ensure!(opened.thread().len() == *length, "something is missing");
        }
    }
    let mut said = Said::new();
    for (name, _, _, times) in all {
        said.insert(format!("D2 {name}, opening 20 turns, µs"), median(times));
    }
    Ok(said)
}
