//! Who runs the handlers, and how the model sees what they give.
//!
//! An executor stands around every call: here it writes a log. An encoder makes values into text: here a list becomes
//! lines, which is shorter than JSON.
//!
//! ```sh
//! cargo run -q -p allm --example 17_executor_and_encoder
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use allm::{
    BoxFuture, DefaultExecutor, EncodeError, Engine, Fake, JsonEncoder, Map, Script, Tool,
    ToolContext, ToolError, ToolExecutor, ToolReply, ToolResultEncoder, tool,
};
use serde_json::Value;

/// Lists the harbours.
#[tool]
async fn harbours() -> Result<[&'static str; 3], String> {
    Ok(["Brest", "Cadiz", "Genoa"])
}

/// Writes down each call, and leaves the running to the executor that there is anyway.
struct Logged(DefaultExecutor);

impl ToolExecutor for Logged {
    fn execute<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Arc<Map>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
        Box::pin(async move {
            println!("log: {} begins", tool.name);
            let reply = self.0.execute(tool, arguments, context).await;
            println!("log: {} ends, ok: {}", tool.name, reply.is_ok());
            reply
        })
    }
}

/// A list of texts as lines, everything else as JSON.
struct Lines;

impl ToolResultEncoder for Lines {
    fn encode(&self, value: &Value) -> Result<String, EncodeError> {
        let items = value.as_array().into_iter().flatten();
        let lines: Option<Vec<&str>> = items.map(Value::as_str).collect();
        match lines {
            Some(lines) if value.is_array() => Ok(lines.join("\n")),
            _ => JsonEncoder.encode(value),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply(Script::new().call("harbours", ()))
        .reply("There are three.");
    let engine = Engine::builder()
        .provider(model.clone())
        .model("fake:any")
        .tool(harbours)
        .executor(Logged(DefaultExecutor::new()))
        .encoder(Lines)
        .build()?;

    let result = engine.chat("Which harbours are there?").await?;
    for answer in result.steps.iter().flat_map(|step| &step.tool_results) {
        println!("{}", answer.text());
    }
    println!("{}", result.text());
    Ok(())
}
