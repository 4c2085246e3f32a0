//! One tool is yours, the rest run by themselves.
//!
//! Calls of a tool marked `manual` are left open for you; the other calls of the same turn have run. Nothing is sent
//! until each open call has its answer. Here a person in the back office has to approve a refund.
//!
//! ```sh
//! cargo run -q -p allm --example 08_per_tool_manual
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, HaltReason, Message, Script, tool};
use serde::Deserialize;
use serde_json::json;

/// Looks an order up.
#[tool]
async fn find_order(order: u32) -> Result<String, String> {
    Ok(format!("order {order}: a kettle, 30 EUR, broken"))
}

#[derive(Deserialize)]
struct Refund {
    order: u32,
    euros: u32,
}

/// Gives the money back.
#[tool(manual)]
async fn refund(order: u32, euros: u32) -> Result<String, String> {
    Err(format!("order {order}, {euros} EUR: nobody calls this"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply(
            Script::new()
                .call("find_order", json!({"order": 7}))
                .call("refund", json!({"order": 7, "euros": 30})),
        )
        .reply("Your 30 EUR are on the way.");
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .tools([find_order, refund])
        .build()?;

    let result = engine.chat("My kettle (order 7) is broken.").await?;
    assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);

    // The call that ran has its answer in the thread already.
    let step = result.steps.last().ok_or("no step")?;
    for done in &step.tool_results {
        println!("ran:    {}", done.text());
    }

    let mut thread = result.thread.clone();
    for call in result.open_calls() {
        let Refund { order, euros } = call.parse()?;
        println!("open:   {} of order {order}, {euros} EUR", call.name);
        thread.push(Message::tool_result(call.id.clone(), "approved by Eve"));
    }

    println!("model:  {}", engine.chat(thread).text().await?);
    Ok(())
}
