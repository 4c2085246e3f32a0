//! What a tool needs besides its arguments: a database, a user, a setting.
//!
//! A context is a value of your own type, given to the engine or to one call. Handlers read it by its type. The model sees
//! nothing of it.
//!
//! ```sh
//! cargo run -q -p allm --example 11_typed_context
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use allm::{Engine, Fake, Script, ToolContext, tool};

/// Who is asking, and where the orders are.
struct Shop {
    customer: &'static str,
    orders: Arc<HashMap<&'static str, Vec<&'static str>>>,
}

/// Lists the orders of the customer who is asking.
#[tool]
async fn my_orders(ctx: ToolContext) -> Result<Vec<&'static str>, &'static str> {
    let shop = ctx.get::<Shop>().ok_or("there is no shop")?;
    let orders = shop.orders.get(shop.customer);
    orders.cloned().ok_or("no such customer")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let orders = Arc::new(HashMap::from([
        ("ada", vec!["kettle", "tea"]),
        ("bob", vec!["umbrella"]),
    ]));
    let shop = |customer| Shop {
        customer,
        orders: Arc::clone(&orders),
    };
    let model = Fake::new()
        .reply(Script::new().call("my_orders", ()))
        .reply("That is all.")
        .repeat_last();
    let engine = Engine::builder()
        .provider(model.clone())
        .model("fake:any")
        .tool(my_orders)
        .context(shop("ada"))
        .build()?;

    // The engine's context, and then one for this call alone: it replaces the engine's as a whole.
    let result = engine.chat("What did I order?").await?;
    println!("ada: {}", result_of(&result));

    let bobs = engine.with(|engine| engine.provider(model.fork()))?;
    let result = bobs.chat("What did I order?").context(shop("bob")).await?;
    println!("bob: {}", result_of(&result));
    Ok(())
}

/// What the tool said.
fn result_of(result: &allm::ChatResult) -> String {
    let mut results = result.steps.iter().flat_map(|step| &step.tool_results);
    results
        .next()
        .map(|result| result.text())
        .unwrap_or_default()
}
