//! A run is stopped from outside, while a tool is at work, and the conversation goes on afterwards.
//!
//! Cancelling ends every wait at once. The result is a result as any other: what had finished is in it, every call has an
//! answer, and the thread can be sent again.
//!
//! ```sh
//! cargo run -q -p allm --example 12_cancellation
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use allm::{CancelToken, Engine, Fake, Script, tool};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// Copies a file, at leisure.
#[tool]
async fn copy(file: String, hours: u64) -> Result<String, String> {
    sleep(Duration::from_secs(hours * 3600)).await;
    Ok(format!("{file} is copied"))
}

// With the clock paused, waiting takes no time. A program that copies real files has no `start_paused`.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply(
            Script::new()
                .call("copy", json!({"file": "small", "hours": 0}))
                .call("copy", json!({"file": "large", "hours": 9})),
        )
        .reply("Only the small one is copied.");
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .tool(copy)
        .tool_timeout(Duration::MAX)
        .build()?;

    let token = CancelToken::new();
    let button = token.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(2)).await;
        button.cancel();
    });

    let began = Instant::now();
    let result = engine.chat("Copy both files.").cancel(token).await?;
    println!("{} after {:?}", result.halted_reason, began.elapsed());
    for answer in result.steps.iter().flat_map(|step| &step.tool_results) {
        println!("  {}", answer.text());
    }

    let thread = result.thread.with_user("I pressed stop. What is done?");
    println!("{}", engine.chat(thread).text().await?);
    Ok(())
}
