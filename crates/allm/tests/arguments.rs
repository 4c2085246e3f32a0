//! The check of arguments: L53–L61, L63–L65, L237 at the runner.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod runner_support;

use std::sync::{Arc, Mutex};

use allm::{
    ArgumentFault, BatchHalt, DefaultExecutor, Error, ErrorDecision, OnToolError, Tool, ToolCall,
    ToolFailure, ToolRunOptions, run_tool_calls, stream_tool_calls,
};
use serde::Deserialize;
use serde_json::{Value, json};

use runner_support::*;

/// A tool that gives back what it gets and counts how often it ran.
fn echo(schema: Value) -> (Tool, Count) {
    let ran = Count::default();
    let counted = ran.clone();
    let tool = Tool::new("t", "", schema).handler(move |value: Value| {
        counted.add();
        async move { Fine::Ok(value) }
    });
    (tool, ran)
}

fn city() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "address": {
                "type": "object",
                "properties": {"zip": {"type": "string"}, "a/b~c": {"type": "string"}},
                "required": ["zip", "a/b~c"],
            },
        },
        "required": ["city"],
        "additionalProperties": false,
    })
}

async fn content(tool: &Tool, call: ToolCall) -> String {
    let options = ToolRunOptions::new();
    let batch = run_tool_calls(vec![call], std::slice::from_ref(tool), options)
        .await
        .unwrap();
    texts(&batch).remove(0)
}

async fn refused(schema: Value, arguments: &str) -> Value {
    let (tool, ran) = echo(schema);
    let content = content(&tool, call_with(0, "t", arguments)).await;
    assert_eq!(ran.get(), 0);
    let error = error(&content);
    assert_eq!(error["reason"], "invalid_arguments");
    error
}

fn paths(error: &Value) -> Vec<String> {
    let faults = error["faults"].as_array().unwrap().iter();
    faults
        .map(|fault| fault["path"].as_str().unwrap().to_owned())
        .collect()
}

/// L53.
#[tokio::test]
async fn l53_arguments_that_fit_reach_the_handler_unchanged() {
    let (tool, _) = echo(city());
    let given = r#"{"city":"Boston","address":{"zip":"1","a/b~c":"2"}}"#;
    let got: Value = serde_json::from_str(&content(&tool, call_with(0, "t", given)).await).unwrap();
    assert_eq!(got, serde_json::from_str::<Value>(given).unwrap());
    let (tool, _) = echo(json!({}));
    for none in ["", " \n", "null", "{}"] {
        assert_eq!(content(&tool, call_with(0, "t", none)).await, "{}");
    }
}

/// L54.
#[tokio::test]
async fn l54_a_wrong_type_is_a_fault_at_its_place() {
    let error = refused(city(), r#"{"city": 5}"#).await;
    assert_eq!(paths(&error), ["/city"]);
    assert!(error["message"].as_str().unwrap().contains("`t`"));
    assert!(error.get("help").is_none());
}

/// L55, L306.
#[tokio::test]
async fn l55_a_missing_property_is_a_fault_where_it_would_be() {
    assert_eq!(paths(&refused(city(), "{}").await), ["/city"]);
    let error = refused(city(), r#"{"city": "x", "address": {}}"#).await;
    assert_eq!(paths(&error), ["/address/a~1b~0c", "/address/zip"]);
    let error = refused(city(), r#"{"city": "x", "extra": 1}"#).await;
    assert_eq!(paths(&error), ["/extra"]);
}

/// L56.
#[tokio::test]
async fn l56_all_faults_are_listed_up_to_twenty() {
    let error = refused(city(), r#"{"city": 1, "address": {"zip": 1}}"#).await;
    let mut three = paths(&error);
    three.sort_unstable();
    assert_eq!(three, ["/address/a~1b~0c", "/address/zip", "/city"]);
    let names: Vec<String> = (0..50).map(|n| format!("p{n}")).collect();
    let error = refused(json!({"type": "object", "required": names}), "{}").await;
    assert_eq!(paths(&error).len(), 20);
    let list = json!({"type": "object", "properties": {"l": {"items": {"type": "string"}}}});
    let many = json!({"l": vec![1; 50]}).to_string();
    assert_eq!(paths(&refused(list, &many).await).len(), 20);
}

/// L57, L58.
#[tokio::test]
async fn l57_l58_malformed_arguments_never_become_an_empty_object() {
    for raw in [r#"{"city": "Bos"#, "[]", r#""x""#, "3", "{} {}", "nul"] {
        let call = call_with(0, "t", raw);
        assert_eq!((&call.arguments, &*call.raw_arguments), (&None, raw));
        let error = refused(json!({}), raw).await;
        assert_eq!(paths(&error), [""]);
    }
    let (tool, ran) = echo(json!({}));
    let cut_off = ToolCall::cut_off("c0", "t", "{}");
    assert_eq!(
        error(&content(&tool, cut_off).await)["reason"],
        "invalid_arguments"
    );
    assert_eq!(ran.get(), 0);
}

fn long(bytes: usize) -> String {
    format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - r#"{"a":""}"#.len()))
}

/// L59.
#[tokio::test]
async fn l59_too_much_argument_text_is_not_read() {
    let (tool, ran) = echo(json!({}));
    content(&tool, call_with(0, "t", &long(1 << 20))).await;
    assert_eq!(ran.get(), 1);
    refused(json!({}), &long((1 << 20) + 1)).await;
    refused(json!({}), &"x".repeat(2 << 20)).await;

    let tools = [tool];
    let run = |limit, bytes| {
        let options = ToolRunOptions::new().max_tool_arguments(limit);
        run_tool_calls(vec![call_with(0, "t", &long(bytes))], &tools, options)
    };
    run(2 << 20, 2 << 20).await.unwrap();
    assert_eq!(ran.get(), 2, "a wider limit is one for reading, too");
    run(100, 101).await.unwrap();
    run(100, 100).await.unwrap();
    assert_eq!(ran.get(), 3);
}

fn nested(levels: usize) -> String {
    let inner = levels - 1;
    format!(r#"{{"a":{}{}}}"#, "[".repeat(inner), "]".repeat(inner))
}

/// L60.
#[tokio::test]
async fn l60_too_deep_arguments_are_refused() {
    let (tool, ran) = echo(json!({"properties": {"a": {"$ref": "#/$defs/l"}},
        "$defs": {"l": {"items": {"$ref": "#/$defs/l"}}}}));
    content(&tool, call_with(0, "t", &nested(128))).await;
    assert_eq!(ran.get(), 1);
    refused(json!({}), &nested(129)).await;
    refused(json!({}), &nested(100_000)).await;
}

#[derive(Deserialize)]
struct Typed {
    days: u8,
}

/// L61, also for a handler that the executor knows by name.
#[tokio::test]
async fn l61_arguments_that_the_handler_cannot_take() {
    let handler = |typed: Typed| async move { Fine::Ok(typed.days) };
    let tools = [tool("own").handler(handler), tool("named")];
    let options = ToolRunOptions::new().executor(DefaultExecutor::new().handler("named", handler));
    let bad = r#"{"days": 300}"#;
    let calls = vec![call_with(0, "own", bad), call_with(1, "named", bad)];
    let batch = run_tool_calls(calls, &tools, options.clone())
        .await
        .unwrap();
    for text in texts(&batch) {
        let error = error(&text);
        assert_eq!(error["reason"], "invalid_arguments");
        assert_eq!(paths(&error), ["/days"]);
    }
    let good = r#"{"days": 3}"#;
    let calls = vec![call_with(0, "own", good), call_with(1, "named", good)];
    let batch = run_tool_calls(calls, &tools, options).await.unwrap();
    assert_eq!(texts(&batch), ["3", "3"]);
}

/// L63.
#[tokio::test]
async fn l63_a_refused_call_halts_under_halt() {
    let (tool, ran) = echo(city());
    let options = ToolRunOptions::new().on_tool_error(OnToolError::Halt);
    let batch = run(&[tool], options).await;
    let halt = batch.halt.unwrap();
    assert!(matches!(halt, BatchHalt::Call(_)));
    let metadata = Value::Object(halt.into_metadata());
    assert_eq!(
        metadata,
        json!({"halted_reason": "tool_error", "halt_tool_call_id": "c0"})
    );
    assert_eq!(ran.get(), 0);
}

/// L64.
#[tokio::test]
async fn l64_the_closure_gets_the_faults() {
    let seen = Arc::new(Mutex::new(Vec::<ArgumentFault>::new()));
    let policy = OnToolError::decide({
        let seen = Arc::clone(&seen);
        move |_, failure| {
            let ToolFailure::InvalidArguments(refused) = failure else {
                panic!("{failure:?}")
            };
            seen.lock().unwrap().extend(refused.faults.iter().cloned());
            ErrorDecision::Continue
        }
    });
    let (tool, _) = echo(city());
    run(&[tool], ToolRunOptions::new().on_tool_error(policy)).await;
    let seen = seen.lock().unwrap();
    assert_eq!((seen.len(), &*seen[0].path), (1, "/city"));
}

/// L65.
#[tokio::test]
async fn l65_a_refused_call_is_not_told_as_started() {
    let (tool, _) = echo(city());
    let tools = [tool];
    let events = all(stream_tool_calls(
        calls(&tools),
        &tools,
        ToolRunOptions::new(),
    ))
    .await;
    assert_eq!(tags(&events), [(0, "completed"), (0, "encoded")]);
    assert_eq!(failed(&events, 0), "invalid_arguments");
}

/// L237 at the runner.
#[tokio::test]
async fn l237_a_refused_call_of_a_compact_tool_has_the_help() {
    let (tool, ran) = echo(city());
    let tool = tool.compact();
    let told = error(&content(&tool, call(0, "t")).await);
    assert_eq!(told["help"], allm::compact::full_help(&tool));
    assert_eq!(ran.get(), 0);
}

/// What is said of a fault holds no value and is not long.
#[tokio::test]
async fn faults_are_short() {
    let error = refused(
        city(),
        &format!(r#"{{"city": ["{}"]}}"#, "v".repeat(10_000)),
    )
    .await;
    let message = error["faults"][0]["message"].as_str().unwrap();
    assert!(message.len() < 100 && !message.contains("vvv"), "{message}");
}

/// A schema that no call can be checked with is refused with the call.
#[tokio::test]
async fn a_schema_that_does_not_compile_is_refused() {
    let bad = [Tool::new(
        "t",
        "",
        json!({"properties": {"a": {"pattern": "("}}}),
    )];
    let error = run_tool_calls(vec![], &bad, ToolRunOptions::new())
        .await
        .unwrap_err();
    let Error::Validation(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.faults[0].path.to_string(), "tools[0].schema");
}
