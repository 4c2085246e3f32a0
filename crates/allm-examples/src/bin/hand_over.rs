//! Two processes that hand one conversation to each other.
//!
//! Each round a process opens the session, says one thing, and leaves. Nothing but the database is between them. The
//! program starts a PostgreSQL of its own for this; with a URL it uses yours.
//!
//! ```sh
//! cargo run -q -p allm-examples --bin hand_over
//! cargo run -q -p allm-examples --bin hand_over postgres://localhost/mine
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::process::Command;

use allm::{Engine, Fake, Sessions};
use allm_postgres_test::Server;
use allm_store::PostgresStore;

/// How often it is handed over.
const ROUNDS: usize = 4;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [name, url, round] => turn(name, url, round).await,
        [url] => rounds(url),
        _ => match Server::private() {
            Some(server) => rounds(&server.database()),
            None => {
                Err("PostgreSQL is not installed: run scripts/setup-postgres, or give a URL".into())
            }
        },
    }
}

/// Starts a process for each round.
fn rounds(url: &str) -> Result<(), Box<dyn Error>> {
    let this = std::env::current_exe()?;
    for round in 0..ROUNDS {
        let name = if round % 2 == 0 { "left" } else { "right" };
        let status = Command::new(&this)
            .args([name, url, &round.to_string()])
            .status()?;
        if !status.success() {
            return Err(format!("the {name} process failed").into());
        }
    }
    Ok(())
}

/// One process, one round.
async fn turn(name: &str, url: &str, round: &str) -> Result<(), Box<dyn Error>> {
    let sessions = Sessions::new(PostgresStore::connect(url).await?);
    let model = Fake::new().always(format!("The {name} process heard you."));
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .build()?;
    let mut session = sessions.open_or_create("handed-over").await?;
    let found = session.thread().len();
    let result = session
        .reply(&engine, format!("This is round {round}."))
        .await?;
    println!(
        "{name}: found {found} messages, was told \"{}\", left {} messages",
        result.text(),
        session.thread().len()
    );
    sessions.shutdown(std::time::Duration::from_secs(5)).await;
    Ok(())
}
