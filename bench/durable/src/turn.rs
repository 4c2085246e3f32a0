//! D1: one turn with a tool, in a session that is kept, beside the same turn that is not, and beside bare inserts of what
//! it wrote.

use std::sync::Arc;
use std::time::{Duration, Instant};

use allm::{Engine, Session, Sessions, SessionsOptions};
use anyhow::ensure;
use serde_json::json;

use crate::bare::Bare;
use crate::listener::{Appended, Listener};
use crate::{Said, Stage, engine, median};

/// A store, what writes to it bare, and what both took.
struct Kept {
    name: &'static str,
    sessions: Sessions,
    listener: Arc<Listener>,
    engine: Engine,
    bare: Option<Bare>,
    turns: Vec<Duration>,
    /// One transaction for each entry, at the pace of the turn.
    paced: Vec<Duration>,
    /// The same, one after the other.
    singly: Vec<Duration>,
    /// One transaction for each append, one after the other.
    together: Vec<Duration>,
    entries: usize,
    appends: usize,
}

pub(crate) async fn measure(stage: &Stage, count: usize) -> anyhow::Result<Said> {
    let mut all = Vec::new();
    for (name, store) in &stage.stores {
        let bare = match (*name, &stage.postgres) {
            ("SQLite", _) => Some(Bare::sqlite(&stage.folder.join("bare.db"))?),
            ("PostgreSQL", Some((url, _))) => Some(Bare::postgres(url).await?),
            _ => None,
        };
        let listener = Arc::new(Listener::new(Arc::clone(store)));
        all.push(Kept {
            name,
            sessions: Sessions::with(listener.clone(), SessionsOptions::default()),
            listener,
            engine: engine(count)?,
            bare,
            turns: Vec::new(),
            paced: Vec::new(),
            singly: Vec::new(),
            together: Vec::new(),
            entries: 0,
            appends: 0,
        });
    }
    let (chatting, valued) = (engine(count)?, engine(count)?);
    let (mut chats, mut values) = (Vec::new(), Vec::new());
    for round in 0..count {
        let begun = Instant::now();
        ensure!(chatting.chat("Go").await?.failure().is_none(), "it failed");
        chats.push(begun.elapsed());
        let mut session = Session::new("value")?;
        let begun = Instant::now();
        let _ = session.reply(&valued, "Go").await?;
        values.push(begun.elapsed());
        for kept in &mut all {
            kept.round(round).await?;
        }
    }
    let mut said = Said::new();
    said.insert("D1 no session, a tool turn, µs".into(), median(chats));
    said.insert("D1 value, a tool turn, µs".into(), median(values));
    for kept in all {
        let name = kept.name;
        said.insert(format!("D1 {name}, a tool turn, µs"), median(kept.turns));
        if kept.bare.is_some() {
            let (entries, appends) = (kept.entries, kept.appends);
            said.insert(format!("D1 {name}, entries of a tool turn"), json!(entries));
            said.insert(format!("D1 {name}, appends of a tool turn"), json!(appends));
            for (how, times) in [
                ("an entry, at the pace of the turn", kept.paced),
                ("an entry", kept.singly),
                ("an append", kept.together),
            ] {
                let what = format!("D1 {name}, bare inserts, one transaction {how}, µs");
                said.insert(what, median(times));
            }
        }
    }
    Ok(said)
}

impl Kept {
    async fn round(&mut self, round: usize) -> anyhow::Result<()> {
        let mut session = self.sessions.create(format!("turn-{round}")).await?;
        self.listener.take();
        let begun = Instant::now();
        let _ = session.reply(&self.engine, "Go").await?;
        self.turns.push(begun.elapsed());
        let appends = self.listener.take();
        let paced = singly(&appends);
        (self.entries, self.appends) = (paced.len(), appends.len());
        if let Some(bare) = &mut self.bare {
            let session = 3 * i64::try_from(round)?;
            self.paced.push(bare.insert(session, &paced).await?);
            let at_once = without_pauses(&paced);
            self.singly.push(bare.insert(session + 1, &at_once).await?);
            let at_once = without_pauses(&appends);
            self.together
                .push(bare.insert(session + 2, &at_once).await?);
        }
        Ok(())
    }
}

/// Each entry by itself, the first of an append after its pause.
fn singly(appends: &[Appended]) -> Vec<Appended> {
    let entries = appends.iter().flat_map(|append| {
        let pauses = std::iter::once(append.pause).chain(std::iter::repeat(Duration::ZERO));
        pauses.zip(&append.lengths)
    });
    let entry = |(pause, length): (Duration, &usize)| Appended {
        pause,
        lengths: vec![*length],
    };
    entries.map(entry).collect()
}

fn without_pauses(appends: &[Appended]) -> Vec<Appended> {
    let at_once = |append: &Appended| Appended {
        pause: Duration::ZERO,
        lengths: append.lengths.clone(),
    };
    appends.iter().map(at_once).collect()
}
