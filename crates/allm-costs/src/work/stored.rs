//! Sessions that are kept.

use std::hint::black_box;
use std::sync::Arc;

use allm::{Engine, Fake, Message, Sessions, SessionsOptions, Thread};
use allm_store::MemoryStore;

use super::loops;
use crate::Failure;

const ANSWER: &str = "It is noted, and what follows from it as well.";

/// One session that is told something so many times and answers, each time stored, with a snapshot after each.
///
/// # Errors
///
/// When something is not stored or not answered.
pub async fn replies(count: usize) -> Result<(), Failure> {
    let fake = Fake::new().always(ANSWER);
    let engine = Engine::builder().provider(fake).model("fake:any").build()?;
    let sessions = Sessions::new(MemoryStore::new());
    let mut session = sessions.create("long").await?;
    for number in 0..count {
        let _ = session.reply(&engine, said(number)).await?;
    }
    if session.thread().len() == 2 * count {
        Ok(())
    } else {
        Err("something is missing".into())
    }
}

/// One stored run of so many turns: its journal, and one snapshot in the end.
///
/// # Errors
///
/// When something is not stored or not answered.
pub async fn journal(count: usize) -> Result<(), Failure> {
    let engine = loops::scripted(count)?.with(|settings| settings.tool(loops::lookup()))?;
    let limit = u32::try_from(count + 2)?;
    let engine = engine.with(|settings| settings.max_turns(limit))?;
    let mut options = SessionsOptions::default();
    options.snapshot_every = u64::MAX;
    let sessions = Sessions::with(Arc::new(MemoryStore::new()), options);
    let mut session = sessions.create("long").await?;
    let _ = session.reply(&engine, "Go on.").await?;
    if session.thread().len() == 2 * count + 2 {
        Ok(())
    } else {
        Err("something is missing".into())
    }
}

/// What the snapshots of [`replies`] hold, written as JSON one after the other.
///
/// # Errors
///
/// When a thread cannot be written.
pub fn written(count: usize) -> Result<(), Failure> {
    let mut thread = Thread::new();
    for number in 0..count {
        thread.push(Message::user(said(number)));
        thread.push(Message::assistant(ANSWER));
        black_box(allm::json::to_vec(&thread)?);
    }
    Ok(())
}

fn said(number: usize) -> String {
    format!("This is message {number:06}.")
}
