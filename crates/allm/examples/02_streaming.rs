//! The same call, watched while it happens: pieces of text, the tool at work, and the result as the last event.
//!
//! ```sh
//! cargo run -q -p allm --example 02_streaming
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Engine, Event, Fake, Script, ToolContext, tool};

/// Measures the tide at a harbour.
#[tool]
async fn tide(harbour: String, ctx: ToolContext) -> Result<String, String> {
    ctx.progress(format!("asking the gauge of {harbour}"));
    Ok("1.4 m, rising".to_owned())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Fake::new()
        .reply(Script::new().call_chunked("tide", [r#"{"harbour""#, r#": "Brest"}"#]))
        .reply(Script::new().chunks(["The water ", "is at 1.4 m ", "and rising."]));
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .tool(tide)
        .build()?;

    let mut events = engine.chat("How is the tide in Brest?").stream();
    while let Some(event) = events.next().await {
        match event {
            Event::TextDelta(piece) => println!("text      {:?}", &*piece.delta),
            Event::ToolCallDelta(piece) => println!("arguments {:?}", &*piece.arguments_delta),
            Event::ToolExecutionStarted(call) => println!("started   {}", call.name),
            Event::ToolProgress(report) => println!("progress  {:?}", report.message),
            Event::ToolResultEncoded(answer) => println!("result    {}", answer.content),
            Event::StepCompleted(step) => println!("-- turn {} is over", step.step_index),
            Event::ChatCompleted(end) => println!("-- {}", end.result.halted_reason),
            _ => {}
        }
    }
    Ok(())
}
