//! Runs of many turns with a call each.

use allm::{Engine, Fake, Map, Script, Tool};
use serde_json::json;

use super::streams::{Read, read};
use crate::Failure;

/// A run of so many turns against a server that asks for a key in each of them.
///
/// # Errors
///
/// When the run fails.
pub async fn turns(engine: &Engine, count: usize) -> Result<Read, Failure> {
    let limit = u32::try_from(count + 2)?;
    let chat = engine.chat("Go on.").tool(lookup()).max_turns(limit);
    read(chat.stream()).await
}

/// The same with the scripted provider: no bytes are sent.
///
/// # Errors
///
/// When the run fails.
pub async fn scripted_turns(count: usize) -> Result<Read, Failure> {
    turns(&scripted(count)?, count).await
}

/// An engine whose provider asks for a key so many times.
pub(super) fn scripted(count: usize) -> Result<Engine, Failure> {
    let call = |number: usize| {
        let text = Script::new().text("Once more.");
        text.call("lookup", json!({"key": format!("{number:06}")}))
    };
    let fake = (0..count).map(call).fold(Fake::new(), Fake::reply);
    let fake = fake.reply("That is all.");
    Ok(Engine::builder().provider(fake).model("fake:any").build()?)
}

pub(super) fn lookup() -> Tool {
    let schema =
        json!({"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]});
    Tool::new("lookup", "Finds what is known of a key.", schema).handler(found)
}

/// What the model is told: about 200 bytes.
async fn found(_: Map) -> Result<String, std::fmt::Error> {
    Ok(super::bodies::TOLD.to_owned())
}
