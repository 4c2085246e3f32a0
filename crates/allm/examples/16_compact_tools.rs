//! Many tools, small requests: a compact tool is sent as a stub, and the model asks `tool_help` for the rest.
//!
//! The library adds `tool_help` and answers it. Calls are checked against the full schema all the same.
//!
//! ```sh
//! cargo run -q -p allm --example 16_compact_tools
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, Script, ToolSpec, tool};
use serde_json::json;

/// Books a table. Knows the restaurants of the old town only, and takes no bookings for today.
#[tool(compact)]
async fn book_table(
    /// The restaurant, as it calls itself.
    restaurant: String,
    people: u8,
    /// Children's chairs.
    chairs: Option<u8>,
) -> Result<String, String> {
    let chairs = chairs.unwrap_or(0);
    Ok(format!("{restaurant}: {people} people, {chairs} chairs"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let table = json!({"restaurant": "Oak", "people": 2});
    let model = Fake::new()
        .reply(Script::new().call("tool_help", json!({"names": ["book_table"]})))
        .reply(Script::new().call("book_table", table))
        .reply("There is a table for you at the Oak.");
    let engine = Engine::builder()
        .provider(model.clone())
        .model("fake:any")
        .tool(book_table)
        .build()?;

    let result = engine.chat("A table for two at the Oak.").await?;

    let request = model.last_request().ok_or("nothing was sent")?;
    for tool in &request.tools {
        if let ToolSpec::Function(tool) = tool
            && tool.name == "book_table"
        {
            println!("sent:   {} {}", tool.description, tool.schema);
        }
    }
    for answer in result.steps.iter().flat_map(|step| &step.tool_results) {
        println!("result: {}", answer.text());
    }
    println!("model:  {}", result.text());
    Ok(())
}
