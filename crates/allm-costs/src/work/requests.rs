//! Whole requests.

use allm::{Engine, Message, Thread};

use crate::Failure;

/// So many requests with the same thread of 50 messages, answered whole.
///
/// # Errors
///
/// When one fails.
pub async fn requests(engine: &Engine, count: usize) -> Result<(), Failure> {
    let thread = messages(50);
    for _ in 0..count {
        let _ = engine.chat(thread.clone()).text().await?;
    }
    Ok(())
}

/// One request with a thread of so many messages, answered whole.
///
/// # Errors
///
/// When it fails.
pub async fn thread(engine: &Engine, count: usize) -> Result<(), Failure> {
    let _ = engine.chat(messages(count)).text().await?;
    Ok(())
}

fn messages(count: usize) -> Thread {
    let mut thread = Thread::new();
    for index in 1..count {
        let text = format!(
            "Message {index} says \"yes\".\nAnd it goes on for a while, as people and models do."
        );
        thread.push(if index % 2 == 1 {
            Message::user(text)
        } else {
            Message::assistant(text)
        });
    }
    thread.with_user("Go on.")
}
