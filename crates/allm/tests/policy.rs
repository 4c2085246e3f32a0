//! The error policy: L127–L142 at the runner.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod runner_support;

use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use allm::{
    BatchHalt, BoxFuture, CancelToken, EncodeError, ErrorDecision, Event, Map, OnToolError,
    ReportedError, Tool, ToolBatch, ToolCall, ToolContext, ToolError, ToolExecutor, ToolFailure,
    ToolReason, ToolReply, ToolResultEncoder, ToolRunOptions,
};
use serde_json::{Value, json};

use runner_support::*;

fn failing(name: &str) -> Tool {
    tool(name).handler(|_: Value| async move { Err::<u8, _>("no such city") })
}

fn metadata(batch: &ToolBatch) -> Value {
    Value::Object(batch.halt.clone().expect("it halted").into_metadata())
}

fn with(policy: OnToolError) -> ToolRunOptions {
    ToolRunOptions::new().on_tool_error(policy)
}

/// A policy that always decides this, and how often it was asked.
fn always(decision: ErrorDecision) -> (OnToolError, Count) {
    let asked = Count::default();
    let count = asked.clone();
    let policy = OnToolError::decide(move |_, _| {
        count.add();
        decision.clone()
    });
    (policy, asked)
}

/// L127.
#[tokio::test]
async fn l127_a_reported_error_becomes_content() {
    let batch = run(&[failing("a")], ToolRunOptions::new()).await;
    let error = error(&texts(&batch)[0]);
    assert_eq!(
        error,
        json!({"reason": "reported", "message": "no such city"})
    );
    assert_eq!(batch.halt, None);
    assert!(batch.messages[0].is_error);
}

struct Crashing(ToolReason);

impl ToolExecutor for Crashing {
    fn execute<'a>(
        &'a self,
        _: &'a Tool,
        _: Arc<Map>,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
        Box::pin(async { Err(ToolError::new(self.0, "inner words").cause("inner cause")) })
    }
}

/// L128.
#[tokio::test]
async fn l128_each_reason_is_told_by_its_name() {
    for reason in [
        ToolReason::HandlerRaised,
        ToolReason::HandlerExit,
        ToolReason::Timeout,
        ToolReason::InvalidReturn,
        ToolReason::EncodingFailed,
        ToolReason::NotFound,
    ] {
        let batch = run(
            &[tool("a")],
            ToolRunOptions::new().executor(Crashing(reason)),
        )
        .await;
        assert_eq!(reasons(&batch), [reason.as_str()]);
        assert!(!texts(&batch)[0].contains("inner"));
        assert_eq!(batch.halt, None);
    }
}

/// L129, L130.
#[tokio::test]
async fn l129_l130_halt() {
    let batch = run(&[failing("a")], with(OnToolError::Halt)).await;
    assert_eq!(
        metadata(&batch),
        json!({"halted_reason": "tool_error", "halt_tool_call_id": "c0"})
    );
    assert_eq!(reasons(&batch), ["reported"]);
    let events = stream(&[failing("a")], with(OnToolError::Halt)).await;
    assert_eq!(
        tags(&events),
        [(0, "started"), (0, "completed"), (0, "halt")]
    );
    assert_eq!(failed(&events, 0), "reported");
    let Event::ToolHalt(halt) = &events[2] else {
        panic!("no halt")
    };
    assert_eq!((&*halt.reason, halt.is_error), ("tool_error", true));
    assert_eq!(halt.result["reason"], "reported");
    error(&halt.content);
}

/// L131.
#[tokio::test]
async fn l131_the_closure_sees_the_failure_as_it_was() {
    #[derive(Debug, PartialEq)]
    struct Mine(u8);
    impl std::fmt::Display for Mine {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("mine")
        }
    }
    let seen = Arc::new(Mutex::new(Vec::<(ToolCall, ToolFailure)>::new()));
    let policy = OnToolError::decide({
        let seen = Arc::clone(&seen);
        move |call, failure| {
            seen.lock().unwrap().push((call.clone(), failure.clone()));
            ErrorDecision::Continue
        }
    });
    let tools = [
        tool("a").handler(|_: Value| async move { Err::<u8, _>(Mine(3)) }),
        tool("b").handler(|_: Value| async move { panic!("raised") as Fine<u8> }),
    ];
    run(&tools, with(policy).max_concurrency(1)).await;
    let seen = seen.lock().unwrap();
    let given = calls(&tools);
    assert_eq!([&seen[0].0, &seen[1].0], [&given[0], &given[1]]);
    let ToolFailure::Reported(reported) = &seen[0].1 else {
        panic!("{:?}", seen[0])
    };
    assert_eq!(reported.source_ref::<Mine>(), Some(&Mine(3)));
    let ToolFailure::Crashed(crashed) = &seen[1].1 else {
        panic!("{:?}", seen[1])
    };
    assert_eq!(crashed.cause.as_ref().unwrap().message, "raised");
}

/// L132.
#[tokio::test]
async fn l132_continue_with_replaces_the_content_only() {
    let (policy, asked) = always(ErrorDecision::continue_with(json!({"instead": 1})));
    let batch = run(&[failing("a")], with(policy.clone())).await;
    assert_eq!(
        (texts(&batch), &batch.halt),
        (vec![r#"{"instead":1}"#.to_owned()], &None)
    );
    let events = stream(&[failing("a")], with(policy)).await;
    assert_eq!(failed(&events, 0), "reported");
    assert_eq!(
        tags(&events),
        [(0, "started"), (0, "completed"), (0, "encoded")]
    );
    assert_eq!(asked.get(), 2, "once in each run");
}

/// L133.
#[tokio::test]
async fn l133_the_closure_can_say_what_the_plain_policies_say() {
    for (decision, plain) in [
        (ErrorDecision::Continue, OnToolError::Continue),
        (ErrorDecision::Halt, OnToolError::Halt),
    ] {
        let (policy, asked) = always(decision);
        let decided = run(&[failing("a")], with(policy)).await;
        assert_eq!(decided, run(&[failing("a")], with(plain)).await);
        assert_eq!(asked.get(), 1);
    }
}

/// L134, L139.
#[tokio::test]
async fn l134_l139_a_closure_that_panics_halts() {
    let asked = Count::default();
    let count = asked.clone();
    let policy = OnToolError::decide(move |call, _| {
        count.add();
        panic!("about {}", call.id)
    });
    let tools = [failing("a"), failing("b")];
    let batch = run(&tools, with(policy.clone())).await;
    let expected = json!({
        "halted_reason": "tool_error",
        "halt_tool_call_id": "c0",
        "on_tool_error_exception": "about c0",
    });
    assert_eq!(metadata(&batch), expected);
    assert_eq!(reasons(&batch), ["invalid_return", "invalid_return"]);
    let events = stream(&tools, with(policy)).await;
    let halts = tags(&events)
        .iter()
        .filter(|(_, tag)| *tag == "halt")
        .count();
    assert_eq!(halts, 2);
    assert_eq!(
        failed(&events, 0),
        "reported",
        "what happened before the policy"
    );
    assert_eq!(asked.get(), 4);
}

/// L135.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn l135_a_closure_that_hangs_halts() {
    let (release, wait) = mpsc::channel::<()>();
    let (wait, asked) = (Mutex::new(wait), Count::default());
    let count = asked.clone();
    let policy = OnToolError::decide(move |_, _| {
        count.add();
        let _ = wait.lock().unwrap().recv();
        ErrorDecision::Continue
    });
    let options = with(policy).tool_timeout(Duration::from_millis(20));
    let batch = run(&[failing("a")], options).await;
    drop(release);
    assert_eq!(reasons(&batch), ["invalid_return"]);
    let exception = metadata(&batch)["on_tool_error_exception"].clone();
    assert!(
        exception.as_str().unwrap().contains("did not return"),
        "{exception}"
    );
    assert_eq!(asked.get(), 1);
}

/// Refuses this text, and counts how often it was asked about a failure.
struct Refuses(&'static str, Count);

impl ToolResultEncoder for Refuses {
    fn encode(&self, value: &Value) -> Result<String, EncodeError> {
        if value == self.0 {
            return Err(EncodeError::new("refused"));
        }
        Ok(value.to_string())
    }

    fn encode_failure(
        &self,
        failure: &ToolFailure,
        _: &allm::CallFailure,
    ) -> Result<String, EncodeError> {
        self.1.add();
        let ToolFailure::Crashed(error) = failure else {
            return Err(EncodeError::new("stable, please"));
        };
        Ok(Value::Object(error.metadata.clone()).to_string())
    }
}

/// L136.
#[tokio::test]
async fn l136_a_replacement_that_cannot_be_encoded_halts() {
    let list_keys = std::collections::BTreeMap::from([(vec![1], 1)]);
    let (policy, asked) = always(ErrorDecision::continue_with(list_keys));
    let batch = run(&[failing("a")], with(policy)).await;
    assert_eq!(reasons(&batch), ["encoding_failed"]);
    assert_eq!(
        metadata(&batch),
        json!({"halted_reason": "tool_error", "halt_tool_call_id": "c0"})
    );
    assert_eq!(asked.get(), 1);
    let (policy, asked) = always(ErrorDecision::continue_with("bad"));
    let failures = Count::default();
    let options = with(policy).encoder(Refuses("bad", failures.clone()));
    let batch = run(&[failing("a")], options).await;
    assert_eq!(reasons(&batch), ["encoding_failed"]);
    assert!(batch.halt.is_some());
    assert_eq!((asked.get(), failures.get()), (1, 0));
}

/// §9: the error of a closure that misbehaved is marked for encoders.
#[tokio::test]
async fn a_broken_closure_is_marked_in_the_error() {
    let policy = OnToolError::decide(|_, _| panic!("broken"));
    let options = with(policy).encoder(Refuses("", Count::default()));
    let batch = run(&[failing("a")], options).await;
    assert_eq!(texts(&batch), [r#"{"on_tool_error_raised":true}"#]);
}

/// L137 after a time-out.
#[tokio::test(start_paused = true)]
async fn l137_a_time_out_is_asked_about_once() {
    let (policy, asked) = always(ErrorDecision::continue_with("instead"));
    let batch = run(&[hanging("a")], with(policy)).await;
    assert_eq!(
        (texts(&batch), asked.get()),
        (vec!["instead".to_owned()], 1)
    );
}

/// L138.
#[tokio::test]
async fn l138_the_closure_is_asked_about_failures_only() {
    let policy = OnToolError::decide(|_, failure| panic!("asked about {failure:?}"));
    let cancel = CancelToken::new();
    let tools = [
        giving("ok", json!(1)),
        tool("asks").handler(|_: Value| async move { ToolReply::ask("why?") }),
        tool("halts").handler(|_: Value| async move { ToolReply::halt("enough", &1) }),
        tool("cancels").handler({
            let cancel = cancel.clone();
            move |_: Value| {
                let cancel = cancel.clone();
                async move {
                    cancel.cancel();
                    std::future::pending::<()>().await;
                    Fine::Ok(1)
                }
            }
        }),
        giving("closed", json!(1)),
    ];
    let options = with(policy).cancel(cancel).max_concurrency(1);
    let batch = run(&tools, options).await;
    let texts = texts(&batch);
    assert_eq!(texts[..3], ["1", allm::AWAITING_USER, "1"]);
    assert_eq!(error(&texts[3])["reason"], "handler_exit");
    assert_eq!(error(&texts[4])["reason"], "cancelled");
}

/// L140: also on a runtime with one thread.
#[tokio::test(flavor = "current_thread")]
async fn l140_several_calls_may_be_in_the_closure_at_once() {
    let barrier = Barrier::new(3);
    let policy = OnToolError::decide(move |_, _| {
        barrier.wait();
        ErrorDecision::Continue
    });
    let tools = [failing("a"), failing("b"), failing("c")];
    let batch = run(&tools, with(policy).max_concurrency(3)).await;
    assert_eq!(reasons(&batch), vec!["reported"; 3]);
}

/// L141.
#[tokio::test]
async fn l141_queued_siblings_of_a_halting_call_run() {
    let tools = [failing("a"), giving("b", json!(2)), giving("c", json!(3))];
    let batch = run(&tools, with(OnToolError::Halt).max_concurrency(1)).await;
    assert_eq!(texts(&batch)[1..], ["2", "3"]);
    assert!(matches!(batch.halt, Some(BatchHalt::Call(_))));
}

/// L142 at the runner: the last one set counts.
#[tokio::test]
async fn l142_the_policy_of_the_call_counts() {
    let options = with(OnToolError::Halt).on_tool_error(OnToolError::Continue);
    assert_eq!(run(&[failing("a")], options).await.halt, None);
}

/// L22, L23 at the runner.
#[tokio::test]
async fn l23_details_are_told() {
    let reply = ToolReply::Error(ReportedError::new("no").details(json!({"a": [1]})));
    let tools = [tool("a").handler(move |_: Value| {
        let reply = reply.clone();
        async move { reply }
    })];
    let batch = run(&tools, ToolRunOptions::new()).await;
    assert_eq!(error(&texts(&batch)[0])["details"], json!({"a": [1]}));
}
