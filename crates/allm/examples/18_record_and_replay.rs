//! Testing with recordings: a real provider answers from a file. No network, no key.
//!
//! The file was recorded once with `Recorder`, or, as here, written by hand. What is sent must be what was recorded: a
//! request that differs fails, and tells where.
//!
//! ```sh
//! cargo run -q -p allm --example 18_record_and_replay
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, OpenAi, Replay, tool};

/// Tells the weather of a city.
#[tool]
async fn weather(city: String) -> Result<String, String> {
    Ok(format!("rain in {city}, 12 degrees"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/cassettes/weather.json"
    );
    let replay = Replay::open(file)?;
    let engine = Engine::builder()
        .provider(OpenAi::new().replay(&replay))
        .model("openai:gpt-4.1-mini")
        .tool(weather)
        .build()?;

    // The recording holds both turns: the call of the tool, and the answer to its result.
    let result = engine.chat("What should I wear in Boston?").await?;
    for answer in result.steps.iter().flat_map(|step| &step.tool_results) {
        println!("tool:   {}", answer.text());
    }
    println!("model:  {}", result.text());
    replay.assert_used();

    // Another question was never recorded.
    if let Err(error) = engine.chat("And in Oslo?").await {
        println!("error:  {}", error.reason());
    }
    Ok(())
}
