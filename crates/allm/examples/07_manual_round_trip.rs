//! The calls come to you: `Mode::Manual` runs nothing.
//!
//! The run halts with `manual_tool_calls` and the result has the open calls. Run them however you like, here with the
//! library's own runner; put a tool message for each into the thread, and chat again.
//!
//! ```sh
//! cargo run -q -p allm --example 07_manual_round_trip
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Fake, HaltReason, Mode, Script, Thread, ToolRunOptions, run_tool_calls, tool};
use serde_json::json;

/// Squares a number.
#[tool]
async fn square(number: i64) -> Result<i64, String> {
    number
        .checked_mul(number)
        .ok_or_else(|| "too large".to_owned())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply(
            Script::new()
                .call("square", json!({"number": 12}))
                .call("square", json!({"number": "twelve"})),
        )
        .reply("144; the other one is not a number.");
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .mode(Mode::Manual)
        .tool(square)
        .build()?;
    let tools = [square()];

    let mut thread = Thread::from("Square 12 and twelve.");
    loop {
        let result = engine.chat(thread).await?.into_result()?;
        if result.halted_reason != HaltReason::ManualToolCalls {
            println!("{}: {}", result.halted_reason, result.text());
            return Ok(());
        }
        let calls = result.open_calls().to_vec();
        for call in &calls {
            println!("wanted: {}{}", call.name, call.raw_arguments);
        }

        let batch = run_tool_calls(calls, &tools, ToolRunOptions::new()).await?;
        thread = result.thread;
        for message in batch.messages {
            println!("answer: {}", message.text());
            thread.push(message);
        }
    }
}
