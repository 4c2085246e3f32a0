//! Encoders and the size of content: L70–L74, L76, L79–L82 at the runner.

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
    CallFailure, Effect, EncodeError, ErrorDecision, Event, ExecutionResult, OnToolError,
    ReportedError, Tool, ToolFailure, ToolReply, ToolResultEncoder, ToolRunOptions,
};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use runner_support::*;

struct Panics;

impl Serialize for Panics {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("no form")
    }
}

/// L70.
#[tokio::test]
async fn l70_a_value_that_does_not_serialise() {
    let tools = [
        tool("keys").handler(|_: Value| async move {
            Fine::Ok(std::collections::BTreeMap::from([(vec![1], 1)]))
        }),
        tool("panics").handler(|_: Value| async move { Fine::Ok(Panics) }),
    ];
    let batch = run(&tools, ToolRunOptions::new()).await;
    assert_eq!(reasons(&batch), ["encoding_failed", "encoding_failed"]);
}

#[derive(Clone, Default)]
struct Custom {
    values: Option<fn() -> Result<String, EncodeError>>,
    failures: Option<fn() -> Result<String, EncodeError>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ToolResultEncoder for Custom {
    fn encode(&self, value: &Value) -> Result<String, EncodeError> {
        self.asked.lock().unwrap().push(format!("value {value}"));
        self.values
            .map_or_else(|| Ok(format!("<{value}>")), |act| act())
    }

    fn encode_failure(&self, _: &ToolFailure, report: &CallFailure) -> Result<String, EncodeError> {
        self.asked
            .lock()
            .unwrap()
            .push(format!("failure {}", report.reason));
        let reason = report.reason;
        self.failures
            .map_or_else(|| Ok(format!("<{reason}>")), |act| act())
    }
}

/// Reports an error.
fn failing(name: &str) -> Tool {
    tool(name).handler(|_: Value| async move { Err::<u8, _>("no") })
}

/// L71.
#[tokio::test]
async fn l71_a_custom_encoder_is_used_for_everything() {
    let policy = OnToolError::decide(|call, _| match call.name.as_str() {
        "replaced" => ErrorDecision::continue_with(7),
        _ => ErrorDecision::Continue,
    });
    let tools = [
        giving("value", json!(1)),
        failing("fails"),
        failing("replaced"),
        tool("halts").handler(|_: Value| async move { ToolReply::halt("done", &2) }),
    ];
    let options = ToolRunOptions::new()
        .encoder(allm::JsonEncoder)
        .encoder(Custom::default())
        .on_tool_error(policy);
    let batch = run(&tools, options).await;
    assert_eq!(texts(&batch), ["<1>", "<reported>", "<7>", "<2>"]);
}

/// L72.
#[tokio::test]
async fn l72_an_encoder_that_fails_on_a_value() {
    for act in [(|| Err(EncodeError::new("no"))) as fn() -> _, || {
        panic!("no")
    }] {
        let custom = Custom {
            values: Some(act),
            ..Custom::default()
        };
        let asked = Arc::clone(&custom.asked);
        let batch = run(
            &[giving("a", json!(1))],
            ToolRunOptions::new().encoder(custom),
        )
        .await;
        assert_eq!(reasons(&batch), ["encoding_failed"]);
        assert_eq!(*asked.lock().unwrap(), ["value 1"]);
    }
}

/// L73, L74.
#[tokio::test]
async fn l73_l74_an_encoder_that_fails_on_failures() {
    for act in [(|| Err(EncodeError::new("no"))) as fn() -> _, || {
        panic!("no")
    }] {
        let custom = Custom {
            values: Some(act),
            failures: Some(act),
            ..Custom::default()
        };
        let tools = [failing("a"), giving("b", json!(1))];
        let batch = run(&tools, ToolRunOptions::new().encoder(custom)).await;
        assert_eq!(reasons(&batch), ["reported", "encoding_failed"]);
        assert_eq!(batch.halt, None);
    }
}

/// L76.
#[tokio::test]
async fn l76_a_panic_text_is_for_the_closure_only() {
    let seen = Arc::new(Mutex::new(String::new()));
    let policy = OnToolError::decide({
        let seen = Arc::clone(&seen);
        move |_, failure| {
            *seen.lock().unwrap() = format!("{failure:?}");
            ErrorDecision::Halt
        }
    });
    let tools = [tool("a").handler(|_: Value| async move { panic!("secret-123") as Fine<u8> })];
    let options = ToolRunOptions::new().on_tool_error(policy);
    let batch = run(&tools, options.clone()).await;
    let events = stream(&tools, options).await;
    assert!(!format!("{batch:?} {events:?}").contains("secret-123"));
    assert!(seen.lock().unwrap().contains("secret-123"));
}

const LIMIT: usize = 262_144;

/// L79.
#[tokio::test]
async fn l79_whatever_becomes_content_is_cut() {
    let long = "x".repeat(10 << 20);
    let policy = OnToolError::decide(|call, _| match call.name.as_str() {
        "replaced" => ErrorDecision::continue_with("x".repeat(10 << 20)),
        _ => ErrorDecision::Continue,
    });
    let reported = ToolReply::Error(ReportedError::new(long.clone()));
    let halt = ToolReply::halt("done", &long);
    let replying = |name: &str, reply: ToolReply| {
        tool(name).handler(move |_: Value| {
            let reply = reply.clone();
            async move { reply }
        })
    };
    let tools = [
        replying("a", reported),
        failing("replaced"),
        replying("h", halt),
    ];
    let batch = run(&tools, ToolRunOptions::new().on_tool_error(policy)).await;
    for text in texts(&batch) {
        let mark = text.find("\n[cut: 262144 of ").expect("the mark");
        assert_eq!(mark, LIMIT);
    }
    let metadata = batch.halt.unwrap().into_metadata();
    assert_eq!(metadata["halt_result"].as_str().unwrap().len(), long.len());
}

/// L80: the value in the event is whole, the content is not.
#[tokio::test]
async fn l80_a_huge_value_has_bounded_content() {
    const HUGE: usize = 64 << 20;
    let tools = [tool("a").handler(|_: Value| async move { Fine::Ok("x".repeat(HUGE)) })];
    let events = stream(&tools, ToolRunOptions::new()).await;
    let ExecutionResult::Ok(value) = result(&events, 0) else {
        panic!("it failed")
    };
    assert_eq!(value.as_str().unwrap().len(), HUGE);
    let Event::ToolResultEncoded(encoded) = &events[2] else {
        panic!("no content")
    };
    assert!(encoded.content.len() < LIMIT + 64);
}

/// L81 at the runner.
#[tokio::test]
async fn l81_the_limit_of_the_call() {
    let options = ToolRunOptions::new().max_tool_output(4);
    let batch = run(&[giving("a", json!("abcdef")), tool("b")], options).await;
    assert_eq!(texts(&batch)[0], "abcd\n[cut: 4 of 6 bytes]");
    assert!(texts(&batch)[1].starts_with("{\"er\n[cut: 4 of "));
}

/// L82.
#[tokio::test(start_paused = true)]
async fn l82_a_stopped_call_may_have_taken_effect() {
    let tools = [hanging("a"), hanging("b").effect(Effect::Pure)];
    let batch = run(&tools, ToolRunOptions::new().max_concurrency(2)).await;
    let may = |text: &str| text.contains("may have taken effect");
    assert_eq!(
        texts(&batch)
            .iter()
            .map(|text| may(text))
            .collect::<Vec<_>>(),
        [true, false]
    );
}
