//! Executors: L7, L27, L39–L47, L49–L52.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod runner_support;

use std::fmt;
use std::panic::panic_any;
use std::sync::{Arc, Mutex};

use allm::{
    BoxFuture, DefaultExecutor, ErrorDecision, HandlerStyle, Map, OnToolError, ReportedError, Tool,
    ToolCall, ToolContext, ToolError, ToolExecutor, ToolFailure, ToolHandler, ToolReason,
    ToolReply, ToolRunOptions, run_tool_calls,
};
use serde_json::{Value, json};

use runner_support::*;

const RESERVED: [&str; 11] = [
    "completed",
    "max_turns",
    "halt_when",
    "ask_user",
    "tool_error",
    "cancelled",
    "manual_tool_calls",
    "error",
    "truncated",
    "deadline_exceeded",
    "budget_exhausted",
];

async fn execute(tool: &Tool) -> Result<ToolReply, ToolError> {
    let context = ToolContext::new(call(0, tool.name.as_str()));
    DefaultExecutor::new()
        .execute(tool, Arc::default(), &context)
        .await
}

fn replying(reply: ToolReply) -> Tool {
    tool("t").handler(move |_: Value| {
        let reply = reply.clone();
        async move { reply }
    })
}

/// What the policy is told of the one call of this tool.
async fn failure_of(tool: Tool, options: ToolRunOptions) -> ToolFailure {
    let (seen, policy) = watching();
    run(&[tool], options.on_tool_error(policy)).await;
    let mut seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1, "the policy is asked once");
    seen.remove(0).1
}

type Seen = Arc<Mutex<Vec<(ToolCall, ToolFailure)>>>;

/// A policy that goes on and remembers what it was told.
fn watching() -> (Seen, OnToolError) {
    let seen = Seen::default();
    let policy = OnToolError::decide({
        let seen = Arc::clone(&seen);
        move |call, failure| {
            seen.lock().unwrap().push((call.clone(), failure.clone()));
            ErrorDecision::Continue
        }
    });
    (seen, policy)
}

fn crash(failure: ToolFailure) -> ToolError {
    match failure {
        ToolFailure::Crashed(error) => error,
        other => panic!("not a crash: {other:?}"),
    }
}

/// L27.
#[tokio::test]
async fn l27_reserved_reasons_pass_the_executor_and_are_refused_by_the_runner() {
    for reason in RESERVED {
        let tool = replying(ToolReply::halt(reason, &1));
        assert_eq!(execute(&tool).await.unwrap(), ToolReply::halt(reason, &1));
        let error = crash(failure_of(tool, ToolRunOptions::new()).await);
        assert_eq!(error.reason, ToolReason::InvalidReturn);
        assert_eq!(error.metadata["reserved_halt_atom"], reason);
    }
    let batch = run(
        &[replying(ToolReply::halt("Completed", &1))],
        ToolRunOptions::new(),
    )
    .await;
    assert_eq!(batch.halt.unwrap().reason().as_str(), "Completed");
}

/// L25, L26 at the runner.
#[tokio::test]
async fn l25_l26_empty_questions_and_reasons_are_invalid() {
    for reply in [
        ToolReply::ask(""),
        ToolReply::ask("  "),
        ToolReply::halt("", &1),
    ] {
        let batch = run(&[replying(reply)], ToolRunOptions::new()).await;
        assert_eq!(reasons(&batch), ["invalid_return"]);
        assert_eq!(batch.halt, None);
    }
}

/// L39.
#[tokio::test]
async fn l39_replies_and_context_pass_unchanged() {
    let opts = Map::from_iter([("a".to_owned(), json!([1]))]);
    let replies = [
        ToolReply::ok(&json!({"x": null})),
        ToolReply::Error(ReportedError::new("no").details(json!(1))),
        ToolReply::ask("why?"),
        ToolReply::ask_with("why?", opts),
        ToolReply::halt("done", &2),
    ];
    for reply in replies {
        assert_eq!(execute(&replying(reply.clone())).await.unwrap(), reply);
    }
    let seeing = tool("t").handler(|_: Value, context: ToolContext| async move {
        let nothing = context.context.is_none()
            && context.session_id.is_none()
            && context.request_id.is_none()
            && context.engine.is_none()
            && context.progress.is_none()
            && context.idempotency_key.is_empty();
        Fine::Ok(nothing)
    });
    assert_eq!(execute(&seeing).await.unwrap(), ToolReply::ok(&true));
}

fn panics(with: fn()) -> [Tool; 4] {
    struct First(fn());
    impl ToolHandler for First {
        fn call(&self, _: Arc<Map>, _: ToolContext) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
            (self.0)();
            Box::pin(async { Ok(ToolReply::ok(&1)) })
        }
    }
    [
        tool("before_its_future").with_handler(Arc::new(First(with))),
        tool("before_an_await").handler(move |_: Value| async move {
            with();
            Fine::Ok(1)
        }),
        tool("after_an_await").handler(move |_: Value| async move {
            tokio::task::yield_now().await;
            with();
            Fine::Ok(1)
        }),
        tool("blocking").blocking(move |_: Value| {
            with();
            Fine::Ok(1)
        }),
    ]
}

/// L40, L42.
#[tokio::test]
async fn l40_l42_a_panic_is_told_by_its_text() {
    for with in [
        (|| panic!("boom")) as fn(),
        || panic_any("boom".to_owned()),
        || panic_any("boom"),
    ] {
        for tool in panics(with) {
            let error = execute(&tool).await.unwrap_err();
            assert_eq!(error.reason, ToolReason::HandlerRaised);
            assert_eq!(error.cause.unwrap().message, "boom");
            assert_eq!(error.tool_name.unwrap(), tool.name);
        }
    }
    for tool in panics(|| panic!("{}", "ä".repeat(10_000))) {
        let cause = execute(&tool).await.unwrap_err().cause.unwrap();
        assert_eq!(cause.message.len(), 4_096);
    }
}

/// L41.
#[tokio::test]
async fn l41_a_panic_without_text_is_told_by_a_fixed_one() {
    struct Worse;
    impl Drop for Worse {
        fn drop(&mut self) {
            panic_any(5);
        }
    }
    let mut causes = Vec::new();
    for with in [(|| panic_any(5)) as fn(), || panic_any(Worse)] {
        for tool in panics(with) {
            let error = execute(&tool).await.unwrap_err();
            assert_eq!(error.reason, ToolReason::HandlerRaised);
            causes.push(error.cause.unwrap().message);
        }
    }
    causes.dedup();
    assert_eq!(causes.len(), 1);
}

/// L43 for blocking handlers whose turn comes after the cancellation.
#[tokio::test]
async fn l43_a_blocking_handler_that_was_cancelled_does_not_begin() {
    let blocking = tool("t").blocking(|_: Value| -> Fine<u8> { panic!("it began") });
    let context = ToolContext::new(call(0, "t"));
    context.cancel.cancel();
    let error = DefaultExecutor::new()
        .execute(&blocking, Arc::default(), &context)
        .await
        .unwrap_err();
    assert_eq!(error.reason, ToolReason::HandlerExit);
    assert!(error.cause.unwrap().message.contains("cancelled"));
}

/// L44.
#[tokio::test]
async fn l44_no_handler() {
    let error = execute(&tool("t")).await.unwrap_err();
    assert_eq!(error.reason, ToolReason::NotFound);
    assert_eq!(error.tool_name.unwrap(), "t");
    assert_eq!(error.cause, None);
}

struct Fixed(Value);

impl ToolHandler for Fixed {
    fn call(&self, _: Arc<Map>, _: ToolContext) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        Box::pin(async { Ok(ToolReply::ok(&self.0)) })
    }
}

/// L7, L45.
#[tokio::test]
async fn l7_l45_handlers_by_name() {
    let named: Arc<dyn ToolHandler> = Arc::new(Fixed(json!("named")));
    let executor = DefaultExecutor::with_handlers([("a", Arc::clone(&named)), ("b", named)])
        .handler("c", |_: Value| async move { Fine::Ok("closure") })
        .blocking("d", |_: Value| Fine::Ok("blocking"));
    let own = tool("b").with_handler(Arc::new(Fixed(json!("own"))));
    let tools = [tool("a"), own, tool("c"), tool("d"), tool("unknown")];
    let batch = run(&tools, ToolRunOptions::new().executor(executor)).await;
    let texts = texts(&batch);
    assert_eq!(texts[..4], ["named", "own", "closure", "blocking"]);
    assert_eq!(error(&texts[4])["reason"], "not_found");

    let json = serde_json::to_string(&giving("a", json!("again"))).unwrap();
    let read: Tool = serde_json::from_str(&json).unwrap();
    assert_eq!(
        execute(&read).await.unwrap_err().reason,
        ToolReason::NotFound
    );
    let attached = read.with_handler(Arc::new(Fixed(json!("again"))));
    assert_eq!(execute(&attached).await.unwrap(), ToolReply::ok("again"));
}

/// L46.
#[tokio::test(start_paused = true)]
async fn l46_the_executor_has_no_limit() {
    let hanging = hanging("t");
    let execution = execute(&hanging);
    let a_year = std::time::Duration::from_secs(365 * 24 * 60 * 60);
    assert!(tokio::time::timeout(a_year, execution).await.is_err());
}

#[derive(Clone)]
struct Custom {
    count: Count,
    act: fn() -> Result<ToolReply, ToolError>,
}

impl ToolExecutor for Custom {
    fn execute<'a>(
        &'a self,
        _: &'a Tool,
        _: Arc<Map>,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
        self.count.add();
        Box::pin(async { (self.act)() })
    }
}

/// L47, L49 at the runner, L51.
#[tokio::test]
async fn l47_l49_l51_a_custom_executor_is_asked_once_and_named() {
    let custom = Custom {
        count: Count::default(),
        act: || Err(ToolError::new(ToolReason::HandlerExit, "gone")),
    };
    let options = ToolRunOptions::new()
        .executor(DefaultExecutor::new())
        .executor(custom.clone());
    let error = crash(failure_of(giving("t", json!(1)), options).await);
    assert_eq!(custom.count.get(), 1);
    assert_eq!(error.reason, ToolReason::HandlerExit);
    assert_eq!(error.tool_name.unwrap(), "t");
    assert_eq!(error.tool_call_id.unwrap(), "c0");
}

/// L50.
#[tokio::test]
async fn l50_a_panic_of_an_executor() {
    struct Early;
    impl ToolExecutor for Early {
        fn execute<'a>(
            &'a self,
            tool: &'a Tool,
            _: Arc<Map>,
            _: &'a ToolContext,
        ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
            assert_ne!(tool.name.as_str(), "bad", "early");
            Box::pin(async { Ok(ToolReply::ok(&1)) })
        }
    }
    let tools = [tool("bad"), tool("good")];
    let batch = run(&tools, ToolRunOptions::new().executor(Early)).await;
    assert_eq!(error(&texts(&batch)[0])["reason"], "handler_raised");
    assert_eq!(texts(&batch)[1], "1");
    let late = Custom {
        count: Count::default(),
        act: || panic!("late"),
    };
    let error = crash(failure_of(tool("t"), ToolRunOptions::new().executor(late)).await);
    assert_eq!(error.cause.unwrap().message, "late");
}

/// L52.
#[tokio::test]
async fn l52_an_error_whose_display_panics() {
    struct Bad;
    impl fmt::Display for Bad {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("no words")
        }
    }
    let tool = tool("t").handler(|_: Value| async move { Err::<u8, _>(Bad) });
    let error = execute(&tool).await.unwrap_err();
    assert_eq!(error.reason, ToolReason::HandlerRaised);
    assert_eq!(error.cause.unwrap().message, "no words");
}

/// A handler that says it blocks and then waits.
#[tokio::test]
async fn a_blocking_handler_that_waits_breaks_its_word() {
    struct Waits;
    impl ToolHandler for Waits {
        fn style(&self) -> HandlerStyle {
            HandlerStyle::Blocking
        }

        fn call(&self, _: Arc<Map>, _: ToolContext) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
            Box::pin(std::future::pending())
        }
    }
    let error = execute(&tool("t").with_handler(Arc::new(Waits)))
        .await
        .unwrap_err();
    assert_eq!(error.reason, ToolReason::InvalidReturn);
}

/// A runtime that goes away leaves no call without an end, and no consumer waiting.
#[test]
fn a_runtime_that_shuts_down_ends_the_calls() {
    let tools = [hanging("a"), hanging("b"), hanging("c")];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let options = ToolRunOptions::new().max_concurrency(1);
    let mut batch = Box::pin(run_tool_calls(calls(&tools), &tools, options));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    {
        let _inside = runtime.enter();
        assert!(batch.as_mut().poll(&mut cx).is_pending());
    }
    drop(runtime);
    let std::task::Poll::Ready(batch) = batch.as_mut().poll(&mut cx) else {
        panic!("it waits for a runtime that is gone")
    };
    assert_eq!(reasons(&batch.unwrap()), vec!["handler_exit"; 3]);
}
