//! Several calls in one answer run at once. They end in any order; their results stand in the order of the calls.
//!
//! ```sh
//! cargo run -q -p allm --example 04_parallel_tools
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use allm::{Engine, Event, Fake, Script, tool};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// Asks a shop for its price.
#[tool]
async fn price(shop: String) -> Result<String, String> {
    let seconds = match shop.as_str() {
        "Ames" => 3,
        "Bell" => 1,
        _ => 2,
    };
    sleep(Duration::from_secs(seconds)).await;
    Ok(format!("{shop} answered after {seconds} s"))
}

// With the clock paused, waiting takes no time. A program that talks to real shops has no `start_paused`.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let ask = |shop| json!({"shop": shop});
    let model = Fake::new()
        .reply(
            Script::new()
                .call("price", ask("Ames"))
                .call("price", ask("Bell"))
                .call("price", ask("Cole")),
        )
        .reply("Bell was the quickest.");
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .tool(price)
        .max_concurrency(3)
        .build()?;

    let began = Instant::now();
    let mut events = engine.chat("Who answers first?").stream();
    while let Some(event) = events.next().await {
        match event {
            Event::ToolExecutionStarted(call) => println!("call {} starts", call.index),
            Event::ToolExecutionCompleted(call) => println!("call {} ends", call.index),
            Event::StepCompleted(step) => {
                for result in &step.tool_results {
                    println!("result: {}", result.text());
                }
            }
            Event::ChatCompleted(end) => println!("{}", end.result.text()),
            _ => {}
        }
    }
    println!("all of it took {} s", began.elapsed().as_secs());
    Ok(())
}
