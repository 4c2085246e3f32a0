//! An answer as a Rust value, after tools have run.
//!
//! Many models cannot use tools and keep to a schema at once. `structured_finalize` makes it two passes: first the tools,
//! without the format; then one more turn with the format and without tools.
//!
//! ```sh
//! cargo run -q -p allm --example 06_structured_output_after_tools
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, Script, response_format, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// What the program wants to have.
#[derive(Deserialize, JsonSchema)]
struct Report {
    city: String,
    degrees: i8,
    umbrella: bool,
}

/// Tells the weather of a city.
#[tool]
async fn weather(city: String) -> Result<String, String> {
    Ok(format!("rain in {city}, 12 degrees"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply(Script::new().call("weather", json!({"city": "Boston"})))
        .reply("It rains in Boston, at 12 degrees.")
        .reply(r#"{"city": "Boston", "degrees": 12, "umbrella": true}"#);
    let engine = Engine::builder()
        .provider(model.clone())
        .model("fake:any")
        .tool(weather)
        .build()?;

    let report: Report = engine
        .chat("Do I need an umbrella in Boston?")
        .response_format(response_format::<Report>())
        .structured_finalize()
        .parse()
        .await?;
    println!("{}: {} degrees", report.city, report.degrees);
    println!("umbrella: {}", report.umbrella);

    for (turn, call) in model.calls().iter().enumerate() {
        let format = call.request.response_format.is_some();
        let tools = call.request.tools.len();
        println!("turn {turn}: with a format: {format}, tools: {tools}");
    }
    Ok(())
}
