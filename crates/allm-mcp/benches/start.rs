//! How long a run with three servers and 200 tools takes to start, up to the engine that can use them, beside the slowest
//! of the servers alone: the time that it takes a bare client to start it, greet it and read its list.
//!
//! ```sh
//! cargo bench -p allm-mcp --bench start
//! ```

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use allm::{Engine, Fake};
use allm_mcp::{McpServer, connect_all};
use serde_json::{Value, json};

const ROUNDS: u32 = 7;

/// The servers: a prefix, how many tools in pages of 25, and for how many seconds it does something else first.
const THREE: [(&str, &str, &str); 3] = [
    ("one", "67", "0.3"),
    ("two", "67", "0.4"),
    ("three", "66", "0.5"),
];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client/server.py")
}

/// How long a server itself takes: no library, no checks.
fn alone((_, tools, seconds): (&str, &str, &str)) -> Outcome<Duration> {
    let begun = Instant::now();
    let mut child = Command::new("python3")
        .arg("-I")
        .arg(script())
        .args(["many", tools, "25", seconds])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = child.stdin.take().ok_or("no input")?;
    let mut from = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let mut ask = |method: &str, params: Value| -> Outcome<Value> {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        writeln!(to, "{request}")?;
        to.flush()?;
        let line = from.next().ok_or("no answer")??;
        Ok(serde_json::from_str(&line)?)
    };
    let about = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bare", "version": "0"}
    });
    ask("initialize", about)?;
    let mut cursor = json!({});
    loop {
        let page = ask("tools/list", cursor)?;
        match page.pointer("/result/nextCursor") {
            Some(next) => cursor = json!({"cursor": next}),
            None => break,
        }
    }
    let took = begun.elapsed();
    child.kill()?;
    child.wait()?;
    Ok(took)
}

/// How long all of them take, until an engine has their tools.
async fn together() -> Outcome<Duration> {
    let servers = THREE.map(|(prefix, tools, seconds)| {
        let server = McpServer::command("python3").arg("-I").arg(script());
        let server = server.args(["many", tools, "25", seconds]);
        server.prefix(prefix)
    });
    let begun = Instant::now();
    let servers = connect_all(servers).await?;
    let tools = servers.tools();
    assert_eq!(tools.len(), 200);
    let engine = Engine::builder().provider(Fake::new()).model("fake:any");
    let engine = engine.tools(tools).build()?;
    let took = begun.elapsed();
    drop(engine);
    servers.close().await;
    Ok(took)
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let (mut of_slowest, mut of_all) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut slowest = Duration::ZERO;
        for server in THREE {
            slowest = slowest.max(alone(server)?);
        }
        of_slowest.push(slowest);
        of_all.push(runtime.block_on(together())?);
    }
    let (alone, together) = (middle(of_slowest), middle(of_all));
    let ratio = together.as_secs_f64() / alone.as_secs_f64();
    println!("the slowest of three servers alone    {alone:?}");
    println!("an engine with their 200 tools        {together:?}");
    println!("ratio                                 {ratio:.2}");
    Ok(())
}
