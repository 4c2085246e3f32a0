//! A function that the model may call.
//!
//! `#[tool]` makes the tool: its name, its description and the schema of its arguments come from the function. The engine
//! runs it when the model calls it and gives the model what it returned.
//!
//! ```sh
//! cargo run -q -p allm --example 03_one_tool
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, Script, tool};
use serde::Serialize;
use serde_json::json;

#[derive(Serialize)]
struct Weather {
    degrees: i8,
    sky: &'static str,
}

/// Tells the weather of a city.
#[tool]
async fn weather(
    /// The city's name, such as Boston.
    city: String,
) -> Result<Weather, String> {
    match city.as_str() {
        "Boston" => Ok(Weather {
            degrees: 12,
            sky: "rain",
        }),
        _ => Err(format!("no station in {city}")),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply(Script::new().call("weather", json!({"city": "Boston"})))
        .reply("Take an umbrella: it rains in Boston, at 12 degrees.");
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .tool(weather)
        .build()?;

    let result = engine.chat("What should I wear in Boston?").await?;

    for message in &result.thread.messages {
        for call in &message.tool_calls {
            println!("{:?}: {}{}", message.role, call.name, call.raw_arguments);
        }
        if message.tool_calls.is_empty() {
            println!("{:?}: {}", message.role, message.text());
        }
    }
    Ok(())
}
