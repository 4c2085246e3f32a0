//! `allm mcp serve`: the program's tools, for others.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{home, notes};
use crate::support::Home;
use crate::support::model::Model;

fn said(id: i64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn hello() -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"}
    });
    said(0, "initialize", params)
}

/// M177
#[test]
fn the_tools_of_a_configuration_are_served_on_standard_input_and_output() {
    let model = Model::script([]);
    let home = home(&model, "");
    let lines = [
        hello(),
        said(1, "tools/list", json!({})),
        said(
            2,
            "tools/call",
            json!({"name": "say", "arguments": {"text": "hi"}}),
        ),
        said(
            3,
            "tools/call",
            json!({"name": "calculator", "arguments": {"expression": "6*7"}}),
        ),
        said(
            4,
            "tools/call",
            json!({"name": "note", "arguments": {"text": "milk"}}),
        ),
    ];
    let words = [
        "mcp",
        "serve",
        "--config",
        "served.toml",
        "--with",
        "calculator",
    ];
    let ended = home.piped(words, &(lines.join("\n") + "\n"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr, "allm: `wait` is manual and not served\n");
    let mut answers = std::collections::BTreeMap::new();
    for line in ended.stdout.lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        answers.insert(answer["id"].as_i64().unwrap(), answer["result"].clone());
    }
    assert_eq!(answers[&0]["serverInfo"]["name"], "allm");
    let listed = answers[&1]["tools"].as_array().unwrap().iter();
    let names: Vec<&str> = listed.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["calculator", "say", "note", "seat"]);
    assert_eq!(answers[&2]["content"][0]["text"], "hi");
    assert!(
        answers[&3]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("42")
    );
    // Nobody could be asked.
    assert_eq!(answers[&4]["isError"], true);
    assert_eq!(notes(&home), "");
}

/// M177
#[test]
fn who_is_no_client_is_told_what_it_is_for() {
    let home = Home::new();
    let ended = home.piped(["mcp", "serve"], "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("this is for MCP clients"),
        "{}",
        ended.stderr
    );
    // And who says nothing did nothing wrong.
    assert_eq!(home.piped(["mcp", "serve"], "").code, Some(0));
}

/// M177
#[test]
fn the_tools_of_a_configuration_are_served_over_http() {
    let home = Home::new();
    let ended = home.allm(["mcp", "serve", "--http", "0.0.0.0:0"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("--token-env"), "{}", ended.stderr);
    let ended = home.allm([
        "mcp",
        "serve",
        "--http",
        "127.0.0.1:0",
        "--token-env",
        "NOPE",
    ]);
    assert_eq!(ended.code, Some(2));

    let mut command = home.command([
        "mcp",
        "serve",
        "--http",
        "127.0.0.1:0",
        "--with",
        "date",
        "--token-env",
        "T",
    ]);
    let mut child = command
        .env("T", "s3cret")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap();
    let address = address.split('/').next().unwrap().to_owned();
    assert!(post(&address, "", &hello()).starts_with("HTTP/1.1 401"));
    let answer = post(&address, "Authorization: Bearer s3cret\r\n", &hello());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    end(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Tells a process to end.
fn end(id: u32) {
    let status = std::process::Command::new("kill")
        .arg(id.to_string())
        .status();
    assert!(status.unwrap().success());
}

fn post(address: &str, lines: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{lines}Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let _ = stream.write_all(body.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}
