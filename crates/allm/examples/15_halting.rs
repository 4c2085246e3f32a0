//! Two ways to end a run from your side: a tool that says "this is the end", and a look at each finished turn.
//!
//! ```sh
//! cargo run -q -p allm --example 15_halting
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, Script, ToolReply, tool};
use serde_json::json;

/// Takes the plan. Nothing is left to do after it.
#[tool]
async fn submit_plan(steps: Vec<String>) -> ToolReply {
    ToolReply::halt("plan_submitted", &json!({"steps": steps}))
}

/// Reads a page.
#[tool]
async fn read(page: u32) -> Result<String, String> {
    Ok(format!("page {page}: the treasure is under the oak"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let plan = json!({"steps": ["buy paint", "paint the door"]});
    let model = Fake::new()
        .reply(Script::new().call("submit_plan", plan))
        .reply(Script::new().call("read", json!({"page": 1})));
    let engine = Engine::builder()
        .provider(model.clone())
        .model("fake:any")
        .tools([submit_plan, read])
        .build()?;

    // The reason is the tool's own word, and so is the value.
    let result = engine.chat("Plan how to paint the door.").await?;
    println!("{}", result.halted_reason);
    println!("{}", json!(result.halt_result()));

    // `halt_when` sees each turn that would go on.
    let result = engine
        .chat("Where is the treasure?")
        .halt_when(|step| {
            let mut results = step.tool_results.iter();
            results.any(|result| result.text().contains("oak"))
        })
        .await?;
    println!("{} after {} turn", result.halted_reason, result.steps.len());
    model.assert_calls(2);
    Ok(())
}
