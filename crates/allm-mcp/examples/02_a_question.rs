//! A server asks a person in the middle of a call.
//!
//! The run halts with the question and its schema, as with any tool that asks. The answer goes to the server, which
//! finishes the call. Between the two, minutes may pass.
//!
//! ```sh
//! cargo run -q -p allm-mcp --example 02_a_question
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, Script, Sessions};
use allm_core::session::Wait;
use allm_mcp::McpServer;
use allm_store::MemoryStore;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/notes.py");
    let notes = McpServer::command("python3").arg(script).connect().await?;
    let model = Fake::new()
        .reply(Script::new().call("clear", json!({})))
        .reply("They are gone.");
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .tools(notes.tools())
        .build()?;
    let sessions = Sessions::new(MemoryStore::new());
    let mut session = sessions.open_or_create("user-7").await?;

    let result = session.reply(&engine, "Throw my notes away.").await?;
    println!("halted: {}", result.halted_reason);
    // What fits a form is JSON; for one field a plain text does.
    for answer in ["perhaps", "yes"] {
        if let Some(question) = session.question()
            && let Wait::Question(asked) = question.wait
        {
            println!("question: {}", asked.question.replace('\n', " / "));
            let schema = asked.options.get("schema").cloned().unwrap_or_default();
            println!(
                "wanted: {}",
                schema
                    .pointer("/properties/sure/type")
                    .cloned()
                    .unwrap_or_default()
            );
        }
        println!("answer: {answer}");
        let _ = session.reply(&engine, answer).await?;
    }
    for message in session.thread().messages.iter() {
        println!("{:?}: {}", message.role, message.text());
    }
    Ok(())
}
