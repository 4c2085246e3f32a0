//! A run that does not know when to stop, and what stops it: turns, calls, tokens, money.
//!
//! A budget is looked at before anything is spent. A run that it stops is a result, and tells what was used.
//!
//! ```sh
//! cargo run -q -p allm --example 13_budgets
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm::{Chat, Engine, Fake, ModelRef, Price, PriceList, Script, Usage, tool};

/// Looks under one more stone.
#[tool]
async fn look() -> Result<&'static str, String> {
    Ok("nothing here")
}

/// A limit, and how it is set.
type Limit = (&'static str, fn(Chat) -> Chat);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Each answer calls the tool twice and uses 1000 tokens in and 100 out.
    let restless = Script::new()
        .call("look", ())
        .call("look", ())
        .usage(Usage::io(1000, 100));
    let prices = PriceList::new().with(ModelRef::new("fake", "any"), Price::new(2.0, 10.0));
    let engine = Engine::builder()
        .provider(Fake::new().always(restless))
        .model("fake:any")
        .prices(prices)
        .tool(look)
        .build()?;

    let limits: [Limit; 5] = [
        ("default", |chat| chat),
        ("max_turns", |chat| chat.max_turns(2)),
        ("max_tool_calls", |chat| chat.max_tool_calls(5)),
        ("max_run_tokens", |chat| chat.max_run_tokens(3000)),
        ("max_run_cost", |chat| chat.max_run_cost(0.01)),
    ];
    for (name, limited) in limits {
        let result = limited(engine.chat("Find the key.")).await?;
        let reason = &result.halted_reason;
        println!("{name}: {reason} after {} turns", result.steps.len());
        if let Some(budget) = result.exhausted_budget() {
            println!("  {budget:?}");
        }
    }
    Ok(())
}
