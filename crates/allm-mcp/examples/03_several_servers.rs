//! Several servers at the same time, and a tool that is not what it was.
//!
//! ```sh
//! cargo run -q -p allm-mcp --example 03_several_servers
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use allm_core::{ApprovalRule, Hash};
use allm_mcp::{McpServer, connect_all};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/notes.py");
    let notes = || McpServer::command("python3").arg(script);

    // Two servers with tools of the same names need a prefix.
    match connect_all([notes().name("home"), notes().name("work")]).await {
        Ok(_) => println!("connected"),
        Err(error) => println!("{error}"),
    }
    let servers = connect_all([
        notes().prefix("home").only(["list"]),
        notes()
            .prefix("work")
            .approval("clear", ApprovalRule::Always),
    ])
    .await?;
    for tool in servers.tools() {
        println!("{} {:?}", tool.name, tool.approval);
    }
    servers.close().await;

    // What was looked at once can be remembered. Here one of the tools was another one then.
    let mut known = notes().connect().await?.fingerprints();
    known.insert("clear".to_owned(), Hash::of_bytes(b"what it was"));
    let again = notes().known_as(known).connect().await?;
    println!("offered: {}", again.tools().len());
    let changes = again.changes();
    for change in &changes {
        println!("{:?}: {}", change.kind, change.name);
    }
    again.accept(&changes);
    println!("offered: {}", again.tools().len());
    Ok(())
}
