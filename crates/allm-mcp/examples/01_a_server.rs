//! The tools of an MCP server, in an engine.
//!
//! The server is a child process: here a small one in Python, `notes.py` beside this file. It could be any other:
//! `McpServer::command("npx").args(["-y", "@modelcontextprotocol/server-filesystem", "/srv/notes"])`.
//!
//! ```sh
//! cargo run -q -p allm-mcp --example 01_a_server
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, Script};
use allm_mcp::McpServer;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/notes.py");
    let notes = McpServer::command("python3")
        .arg(script)
        .prefix("notes")
        .connect()
        .await?;
    for tool in notes.tools() {
        println!(
            "{} ({}): {}",
            tool.name,
            tool.effect.as_str(),
            tool.description
        );
    }

    // Stands in for a provider: it says what it is told to say.
    let model = Fake::new()
        .reply(Script::new().call("notes_add", json!({"text": "water the plants"})))
        .reply(Script::new().call("notes_list", json!({})))
        .reply("You have three notes.");
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .tools(notes.tools())
        .build()?;
    let result = engine
        .chat("Note that I water the plants, and show me all.")
        .await?
        .into_result()?;
    for message in result
        .thread
        .messages
        .iter()
        .filter(|message| message.tool_call_id.is_some())
    {
        println!("the server said: {}", message.text().replace('\n', ", "));
    }
    println!("the model said: {}", result.text());
    notes.close().await;
    Ok(())
}
