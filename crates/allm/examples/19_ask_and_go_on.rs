//! A tool asks a person in the middle of its work and goes on with the answer.
//!
//! In `09_ask_user` the answer goes to the model, which calls the tool once more if it likes. Here it goes to the tool: its
//! handler is called again, with the same arguments, the answer and what it gave along with its question. The model sees
//! one call and one result. A session keeps what is needed for that; this one is a value, without a store.
//!
//! ```sh
//! cargo run -q -p allm --example 19_ask_and_go_on
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, Map, Script, Session, ToolContext, ToolReply, tool};
use serde_json::json;

/// Books a table.
#[tool]
async fn book_table(people: u32, ctx: ToolContext) -> ToolReply {
    let Some(answer) = &ctx.answer else {
        let free = json!(["18:30", "20:00"]);
        // For your user interface; nothing in the library reads it.
        let opts = Map::from_iter([("choices".to_owned(), free.clone())]);
        // For the next call of this handler, perhaps tomorrow and on another machine.
        let state = json!({"free": free});
        return ToolReply::ask_and_go_on_with("At what time?", opts, state);
    };
    let time = answer.text();
    let free = answer
        .state
        .as_ref()
        .and_then(|state| state["free"].as_array());
    if free.is_some_and(|free| free.contains(&json!(time))) {
        ToolReply::ok(&json!({"booked": time, "people": people}))
    } else {
        let state = answer.state.clone();
        ToolReply::ask_and_go_on_with(format!("{time} is taken. Another one?"), Map::new(), state)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply(Script::new().call("book_table", json!({"people": 4})))
        .reply("Your table is booked for eight o'clock.");
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .tool(book_table)
        .build()?;

    let mut session = Session::new("guest-7")?;
    let mut result = session.reply(&engine, "A table for four, please.").await?;
    for said in ["19:00", "20:00"] {
        let question = result.pending_question.as_deref().unwrap_or_default();
        println!("tool:   {question} {}", json!(result.ask_user_opts()));
        println!("person: {said}");
        result = session.reply(&engine, said).await?;
    }
    println!("model:  {}", result.text());

    println!();
    for message in session.thread().messages.iter() {
        println!("{:?}: {}", message.role, message.text());
    }
    Ok(())
}
