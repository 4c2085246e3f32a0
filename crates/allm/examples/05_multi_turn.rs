//! A conversation of several turns of the person.
//!
//! The engine remembers nothing. A result holds the thread with everything that was said; add what the person says next
//! and chat again. A thread can be kept as JSON in between.
//!
//! ```sh
//! cargo run -q -p allm --example 05_multi_turn
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, Message, Thread, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply("Nice to meet you, Ada.")
        .reply("Your name is Ada.")
        .reply("Three letters.");
    let engine = Engine::builder()
        .provider(model.clone())
        .model("fake:any")
        .build()?;

    let mut thread = Thread::new().with(Message::system("You are brief."));
    for said in ["I am Ada.", "What is my name?", "How long is it?"] {
        let result = engine.chat(thread.with_user(said)).await?.into_result()?;
        let sent = model.last_request().map_or(0, |last| last.messages.len());
        println!("person: {said}");
        println!("model:  {} ({sent} messages were sent)", result.text());

        let stored = json::to_string(&result.thread)?;
        thread = json::from_str(&stored)?;
    }
    println!("the thread has {} messages", thread.len());
    Ok(())
}
