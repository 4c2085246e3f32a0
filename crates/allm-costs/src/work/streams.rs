//! One stream, read to its end.

use allm::{Engine, Event, EventStream, Tool};
use serde_json::json;

use crate::Failure;

/// What was read of a stream, so that a test knows that the work was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Pieces of text.
    pub deltas: usize,
    /// Pieces of arguments.
    pub fragments: usize,
    /// Calls that were complete.
    pub calls: usize,
}

/// Reads a text.
///
/// # Errors
///
/// When the run fails.
pub async fn text(engine: &Engine) -> Result<Read, Failure> {
    read(engine.chat("Go on.").stream()).await
}

/// Reads a call of `note`, which nobody runs.
///
/// # Errors
///
/// When the run fails.
pub async fn arguments(engine: &Engine) -> Result<Read, Failure> {
    let schema =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let note = Tool::new("note", "Keeps a text.", schema).manual();
    read(engine.chat("Go on.").tool(note).stream()).await
}

/// Reads a run to its end.
pub(super) async fn read(mut events: EventStream) -> Result<Read, Failure> {
    let mut read = Read::default();
    let mut has_ended = false;
    while let Some(event) = events.next().await {
        match event {
            Event::TextDelta(_) => read.deltas += 1,
            Event::ToolCallDelta(_) => read.fragments += 1,
            Event::ToolCallCompleted(_) => read.calls += 1,
            Event::Error(event) => return Err(format!("{:?}", event.error).into()),
            Event::ChatCompleted(end) => {
                if let Some(failure) = end.result.failure() {
                    return Err(format!("{failure:?}").into());
                }
                has_ended = true;
            }
            _ => {}
        }
    }
    if has_ended {
        Ok(read)
    } else {
        Err("the run was cut".into())
    }
}
