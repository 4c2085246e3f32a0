//! A tool asks a person before it goes on.
//!
//! The run halts with `ask_user` and the question is the last message of its thread. Add what the person says and chat
//! again: the model sees question and answer, and calls the tool once more.
//!
//! ```sh
//! cargo run -q -p allm --example 09_ask_user
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, HaltReason, Map, Script, ToolReply, tool};
use serde_json::json;

/// Deletes a folder, once the person has confirmed it.
#[tool]
async fn delete_folder(path: String, confirmed: Option<bool>) -> ToolReply {
    if confirmed == Some(true) {
        return ToolReply::ok("deleted");
    }
    // Options are for your user interface; nothing here reads them.
    let opts = Map::from_iter([("choices".to_owned(), json!(["yes", "no"]))]);
    ToolReply::ask_with(format!("Really delete {path}?"), opts)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply(Script::new().call("delete_folder", json!({"path": "/tmp/old"})))
        .reply(Script::new().call(
            "delete_folder",
            json!({"path": "/tmp/old", "confirmed": true}),
        ))
        .reply("It is gone.");
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .tool(delete_folder)
        .build()?;

    let asked = engine.chat("Remove /tmp/old, please.").await?;
    assert_eq!(asked.halted_reason, HaltReason::AskUser);
    println!(
        "tool:   {}",
        asked.pending_question.as_deref().unwrap_or_default()
    );
    println!("        {}", json!(asked.ask_user_opts()));

    println!("person: yes");
    let answer = engine.chat(asked.thread.with_user("yes")).text().await?;
    println!("model:  {answer}");
    Ok(())
}
