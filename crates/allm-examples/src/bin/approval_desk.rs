//! A conversation that stops for a person's agreement, and remembers what it waits for.
//!
//! The model wants to send two refunds. Nothing is sent before a person has looked at each: `y` sends it, `n` and a
//! reason does not, an amount sends that much instead. Whatever else is typed is asked again. Leave with `q` or kill the
//! program, and start it again: it asks for what is still open.
//!
//! ```sh
//! cargo run -q -p allm-examples --bin approval_desk            # in a folder of its own
//! cargo run -q -p allm-examples --bin approval_desk desk.db    # in a file that stays
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::PathBuf;

use allm::{ApprovalRule, Effect, Engine, Map, Script, SessionReason, Sessions, Tool, ToolContext};
use allm_examples::{Said, folder, model};
use allm_store::SqliteStore;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin, stdin};

fn engine() -> Result<Engine, Box<dyn Error>> {
    let schema = json!({
        "type": "object",
        "properties": {"order": {"type": "integer"}, "euros": {"type": "number", "exclusiveMinimum": 0}},
        "required": ["order", "euros"]
    });
    let refund = Tool::new("refund", "Sends money back to a customer.", schema)
        .approval(ApprovalRule::Always)
        .effect(Effect::Idempotent)
        .handler(|arguments: Value, context: ToolContext| async move {
            println!(
                "  … sending {arguments} with the key {}…",
                &context.idempotency_key[..14]
            );
            Ok::<_, std::fmt::Error>(json!({"sent": arguments.get("euros")}))
        });
    let refunds = Script::new()
        .text("I will refund both orders.")
        .call("refund", json!({"order": 41, "euros": 20}))
        .call("refund", json!({"order": 42, "euros": 1500}));
    let model = model(vec![
        (Said::User("refund"), refunds),
        (Said::Tools, Script::from("That is settled.")),
    ]);
    let builder = Engine::builder().provider(model).model("fake:any");
    Ok(builder.tool(refund).build()?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args().nth(1).map(PathBuf::from);
    let own = folder("desk");
    let file = match &given {
        Some(file) => file.clone(),
        None => {
            std::fs::create_dir_all(&own)?;
            own.join("desk.db")
        }
    };
    let sessions = Sessions::new(SqliteStore::open(&file).await?);
    let engine = engine()?;
    let mut session = sessions.open_or_create("case-7").await?;
    println!("The session is {}.", session.status());
    if session.thread().is_empty() {
        println!("User: please refund orders 41 and 42");
        let result = session
            .reply(&engine, "Please refund orders 41 and 42.")
            .await?;
        println!("Model: {}", result.text());
    }
    let mut lines = BufReader::new(stdin()).lines();
    for approval in session.approvals() {
        loop {
            println!(
                "{} wants {}. Agree? [y / n reason / euros / q]",
                approval.tool,
                Value::Object(approval.arguments.clone())
            );
            let Some(answer) = next(&mut lines).await? else {
                println!("Not decided. Start again to go on.");
                return Ok(());
            };
            let decided = match answer.split_once(' ').unwrap_or((&answer, "")) {
                ("y", _) => session.approve(&approval).await,
                ("n", reason) => session.deny(&approval, reason).await,
                (euros, _) => {
                    let mut arguments: Map = approval.arguments.clone();
                    // What is no number does not fit the schema, as an amount of 0 does not.
                    let euros = euros
                        .parse()
                        .map_or(json!(euros), |euros: f64| json!(euros));
                    arguments.insert("euros".to_owned(), euros);
                    session.approve_with(&engine, &approval, arguments).await
                }
            };
            match decided {
                Ok(()) => break,
                Err(error) if error.reason == SessionReason::InvalidArguments => {
                    println!("That does not fit: {error}.");
                }
                Err(error) => return Err(error.into()),
            }
        }
        println!("The session is {}.", session.status());
    }
    if session.is_runnable() {
        let result = session.resume(&engine).await?;
        println!("Model: {}", result.text());
    }
    println!(
        "The session is {} at version {}.",
        session.status(),
        session.version()
    );
    if given.is_none() {
        std::fs::remove_dir_all(&own)?;
    }
    Ok(())
}

/// What the person typed; `None` to leave.
async fn next(lines: &mut Lines<BufReader<Stdin>>) -> Result<Option<String>, std::io::Error> {
    let line = lines.next_line().await?;
    Ok(line
        .map(|line| line.trim().to_owned())
        .filter(|line| line != "q" && !line.is_empty()))
}
