//! A question and its answer.
//!
//! `Fake` stands where a provider will stand: it says what its script says, so this program needs no network and no key.
//!
//! ```sh
//! cargo run -q -p allm --example 01_plain_text
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, Message, Script, Thread, Usage};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply("Paris.")
        .reply(Script::new().text("Rome.").usage(Usage::io(21, 2)));
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .build()?;

    // A text goes in, a text comes out; anything but a whole answer is an `Err`.
    let answer = engine.chat("The capital of France?").text().await?;
    println!("{answer}");

    // A thread goes in, everything comes out.
    let thread = Thread::new()
        .with(Message::system("Answer in one word."))
        .with_user("The capital of Italy?");
    let result = engine.chat(thread).temperature(0.2).await?;
    println!("{} ({})", result.text(), result.halted_reason);
    println!("{:?} tokens", result.usage().total());
    Ok(())
}
