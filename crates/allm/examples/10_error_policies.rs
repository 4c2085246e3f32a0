//! What becomes of a run when a tool fails.
//!
//! By default the model is told and goes on. `OnToolError::Halt` ends the run; a closure decides call by call, and may put
//! something else in the failure's place. It sees the handler's own error, by its type.
//!
//! ```sh
//! cargo run -q -p allm --example 10_error_policies
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::fmt;

use allm::{Engine, ErrorDecision, Fake, OnToolError, Script, ToolFailure, tool};
use serde_json::json;

#[derive(Debug)]
enum StockError {
    NoSuchItem(String),
    WarehouseClosed,
}

impl fmt::Display for StockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchItem(item) => write!(f, "there is no {item}"),
            Self::WarehouseClosed => f.write_str("the warehouse is closed"),
        }
    }
}

/// Counts what is left of an item.
#[tool]
async fn stock(item: String) -> Result<u32, StockError> {
    match item.as_str() {
        "kettle" => Err(StockError::WarehouseClosed),
        _ => Err(StockError::NoSuchItem(item)),
    }
}

/// An unknown item is worth telling the model; for a closed warehouse there is an answer at hand.
fn by_kind() -> OnToolError {
    OnToolError::decide(|_call, failure| match failure {
        ToolFailure::Reported(report) => match report.source_ref() {
            Some(StockError::WarehouseClosed) => ErrorDecision::continue_with("ask again at eight"),
            _ => ErrorDecision::Continue,
        },
        // The handler panicked, took too long, or was called with arguments that do not fit.
        _ => ErrorDecision::Halt,
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let policies = [
        ("continue", OnToolError::Continue),
        ("halt", OnToolError::Halt),
        ("decide", by_kind()),
    ];
    for (name, policy) in policies {
        let model = Fake::new()
            .reply(
                Script::new()
                    .call("stock", json!({"item": "kettle"}))
                    .call("stock", json!({"item": "unicorn"})),
            )
            .reply("I could not find out.");
        let engine = Engine::builder()
            .provider(model)
            .model("fake:any")
            .tool(stock)
            .on_tool_error(policy)
            .build()?;

        let result = engine.chat("Kettles and unicorns?").await?;
        println!("{name}: {}", result.halted_reason);
        for answer in result.steps.iter().flat_map(|step| &step.tool_results) {
            println!("  {}", answer.text());
        }
    }
    Ok(())
}
