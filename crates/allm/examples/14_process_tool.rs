//! Tools that are programs: each call is a child process.
//!
//! A program reads one line of JSON and writes one JSON reply: `{"ok": …}`, `{"error": …}`, `{"ask_user": …}` or
//! `{"halt": …}`. It has an empty environment and a process group of its own, which is killed when the call is stopped. One
//! that dies without a reply is a failed call like any other. Needs the feature `process` and a Unix.
//!
//! ```sh
//! cargo run -q -p allm --example 14_process_tool
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use allm::{Effect, Engine, Fake, ProcessTool, Script, Tool};
use serde_json::json;

/// Greets whom the arguments name. A program in a language that knows JSON would simply parse its input.
const GREET: &str = r#"
read -r call
who=${call#*\"who\":\"}
who=${who%%\"*}
printf '{"ok": "Hello, %s!"}' "$who"
"#;

/// Dies without a reply. What it says is for you, in the error's cause; the model never sees it.
const BROKEN: &str = "echo 'secret path: /srv/keys' >&2; exit 3";

fn shell(script: &str) -> Arc<ProcessTool> {
    let program = ProcessTool::new("/bin/sh").args(["-c", script]);
    Arc::new(program.max_cpu(Duration::from_secs(5)))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let schema = json!({
        "type": "object",
        "properties": {"who": {"type": "string"}},
        "required": ["who"],
    });
    let greet = Tool::new("greet", "Greets somebody.", schema)
        .effect(Effect::Pure)
        .with_handler(shell(GREET));
    let broken = Tool::new("broken", "Never works.", json!({"type": "object"}))
        .effect(Effect::Pure)
        .with_handler(shell(BROKEN));

    let model = Fake::new()
        .reply(
            Script::new()
                .call("greet", json!({"who": "Ada"}))
                .call("broken", ()),
        )
        .reply("Ada is greeted.");
    let engine = Engine::builder()
        .provider(model)
        .model("fake:any")
        .tools([greet, broken])
        .build()?;

    let result = engine.chat("Greet Ada.").await?;
    for answer in result.steps.iter().flat_map(|step| &step.tool_results) {
        println!("{}", answer.text());
    }
    println!("{}", result.text());
    Ok(())
}
