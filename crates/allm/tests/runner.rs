//! Batches in which nothing goes wrong: L18, L29, L30, L32–L36, L83–L97.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod runner_support;

use std::sync::Arc;
use std::time::Duration;

use allm::run::UnknownTools;
use allm::{
    Engine, Error, Fake, Message, RequestId, Role, SessionId, Tool, ToolCall, ToolContext,
    ToolContextExt, ToolRunOptions, run_tool_calls, stream_tool_calls,
};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify, oneshot};
use tokio::time::{Instant, sleep};

use runner_support::*;

/// L18.
#[tokio::test(flavor = "current_thread")]
async fn l18_a_blocking_handler_delays_neither_sibling_nor_timer() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let blocking = tool("blocking").blocking(move |_: Value| {
        wait.lock().unwrap().recv().unwrap();
        Fine::Ok("late")
    });
    // Only the sibling, after a timer on the one async thread, lets the blocking handler end.
    let release = std::sync::Mutex::new(Some(release));
    let sibling = tool("sibling").handler(move |_: Value| {
        let release = release.lock().unwrap().take().unwrap();
        async move {
            sleep(Duration::from_millis(1)).await;
            release.send(()).unwrap();
            Fine::Ok("early")
        }
    });
    let batch = run(
        &[blocking, sibling],
        ToolRunOptions::new().max_concurrency(2),
    )
    .await;
    assert_eq!(texts(&batch), ["late", "early"]);
}

fn seeing<T: Send + 'static>(
    see: impl Fn(&ToolContext) -> T + Send + Sync + 'static,
) -> (Tool, oneshot::Receiver<T>) {
    let (send, seen) = oneshot::channel();
    let send = std::sync::Mutex::new(Some(send));
    let tool = tool("see").handler(move |_: Value, context: ToolContext| {
        let _ = send.lock().unwrap().take().unwrap().send(see(&context));
        async move { Fine::Ok(()) }
    });
    (tool, seen)
}

/// L29, L30 at the runner.
#[tokio::test]
async fn l29_a_handler_sees_the_context_by_its_type() {
    let (tool, seen) = seeing(|context| context.get::<String>().cloned());
    run(
        &[tool],
        ToolRunOptions::new()
            .context("old".to_owned())
            .context("mine".to_owned()),
    )
    .await;
    assert_eq!(seen.await.unwrap().as_deref(), Some("mine"));

    let (tool, seen) = seeing(|context| context.get::<String>().cloned());
    run(&[tool], ToolRunOptions::new().context(5_u32)).await;
    assert_eq!(seen.await.unwrap(), None);

    let (tool, seen) = seeing(|context| context.context.is_none());
    run(&[tool], ToolRunOptions::new()).await;
    assert!(seen.await.unwrap());
}

/// L32, L33, L35 at the runner.
#[tokio::test]
async fn l32_l33_l35_a_handler_sees_ids_and_engine_as_given() {
    let (tool, seen) = seeing(|context| {
        (
            context.session_id.clone(),
            context.request_id.clone(),
            context.driving_engine().map(|engine| format!("{engine:?}")),
        )
    });
    let session = SessionId::new("s-1").unwrap();
    let engine = Engine::builder()
        .provider(Fake::new())
        .model("fake:x")
        .build()
        .unwrap();
    let options = ToolRunOptions::new()
        .session_id(session.clone())
        .request_id("r-1")
        .engine(engine.clone());
    run(&[tool], options).await;
    let engine = format!("{engine:?}");
    assert_eq!(
        seen.await.unwrap(),
        (Some(session), Some(RequestId::from("r-1")), Some(engine))
    );
}

/// L34.
#[tokio::test]
async fn l34_a_handler_sees_the_call_as_it_stands() {
    let (tool, seen) = seeing(|context| ToolCall::clone(&context.tool_call));
    let mut call = call_with(0, "see", r#" {"a" : 1} "#);
    call.metadata.insert("original_id".to_owned(), "".into());
    run_tool_calls(vec![call.clone()], &[tool], ToolRunOptions::new())
        .await
        .unwrap();
    assert_eq!(seen.await.unwrap(), call);
}

/// L36.
#[tokio::test]
async fn l36_without_options_nothing_is_made_up() {
    let (tool, seen) = seeing(|context| {
        let none = context.engine.is_none() && context.session_id.is_none();
        (
            none && context.request_id.is_none(),
            context.idempotency_key.to_string(),
        )
    });
    run(std::slice::from_ref(&tool), ToolRunOptions::new()).await;
    let (none, key) = seen.await.unwrap();
    assert!(none);
    // Calls of unrelated runs are not mistaken for repetitions.
    let (tool, seen) = seeing(|context| context.idempotency_key.to_string());
    run(&[tool], ToolRunOptions::new()).await;
    assert_ne!(seen.await.unwrap(), key);
}

#[tokio::test]
async fn the_idempotency_key_is_that_of_the_request() {
    let mut keys = Vec::new();
    for _ in 0..2 {
        let (tool, seen) = seeing(|context| context.idempotency_key.to_string());
        run(&[tool], ToolRunOptions::new().request_id("r-1")).await;
        keys.push(seen.await.unwrap());
    }
    let expected = allm::idempotency_key(b"r-1", 0, 0, "see", &allm::Map::new());
    assert_eq!(keys, [expected.clone(), expected]);
}

/// L83.
#[tokio::test]
async fn l83_no_calls_make_an_empty_batch() {
    let batch = run(&[], ToolRunOptions::new()).await;
    assert_eq!((batch.messages, batch.halt), (vec![], None));
    assert!(stream(&[], ToolRunOptions::new()).await.is_empty());
}

/// L84.
#[tokio::test]
async fn l84_a_call_has_one_plain_message() {
    let batch = run(&[giving("a", json!(1))], ToolRunOptions::new()).await;
    assert_eq!(batch.messages, [Message::tool_result("c0", "1")]);
    assert_eq!(batch.messages[0].role, Role::Tool);
    assert!(batch.messages[0].metadata.is_empty());
}

/// L85.
#[tokio::test]
async fn l85_echo() {
    let echo = tool("echo").handler(|value: Value| async move { Fine::Ok(value) });
    let calls = || vec![call_with(0, "echo", r#"{"x": 1}"#)];
    let tools = [echo];
    let batch = run_tool_calls(calls(), &tools, ToolRunOptions::new())
        .await
        .unwrap();
    let content: Value = serde_json::from_str(&texts(&batch)[0]).unwrap();
    assert_eq!(content, json!({"x": 1}));
    let events = all(stream_tool_calls(calls(), &tools, ToolRunOptions::new())).await;
    assert_eq!(
        tags(&events),
        [(0, "started"), (0, "completed"), (0, "encoded")]
    );
}

fn slow(name: &str, seconds: u64) -> Tool {
    tool(name).handler(move |_: Value| async move {
        sleep(Duration::from_secs(seconds)).await;
        Fine::Ok(seconds)
    })
}

/// L86, L87, L93.
#[tokio::test(start_paused = true)]
async fn l86_l87_messages_in_call_order_closing_events_as_they_come() {
    let tools = [slow("slow", 2), slow("fast", 1)];
    let batch = run(&tools, ToolRunOptions::new().max_concurrency(2)).await;
    assert_eq!(texts(&batch), ["2", "1"]);
    assert_eq!(batch.halt, None);
    let events = stream(&tools, ToolRunOptions::new().max_concurrency(2)).await;
    assert_eq!(closed(&events), [1, 0]);
    let normal = ["started", "completed", "encoded"];
    assert!(tags(&events).iter().all(|(_, tag)| normal.contains(tag)));
}

/// L88, L90.
#[tokio::test(start_paused = true)]
async fn l88_l90_no_more_than_the_limit_at_once_and_in_order() {
    let (now, order) = (
        Count::default(),
        Arc::new(std::sync::Mutex::new(Vec::new())),
    );
    let tools = [tool("work").handler({
        let order = Arc::clone(&order);
        move |_: Value, context: ToolContext| {
            let (now, order) = (now.clone(), Arc::clone(&order));
            async move {
                assert!(now.add() <= 2);
                order.lock().unwrap().push(context.tool_call.id.to_string());
                sleep(Duration::from_secs(1)).await;
                now.less();
                Fine::Ok(1)
            }
        }
    })];
    let calls: Vec<ToolCall> = (0..20).map(|place| call(place, "work")).collect();
    let ids: Vec<String> = calls.iter().map(|call| call.id.to_string()).collect();
    let begin = Instant::now();
    let batch = run_tool_calls(calls, &tools, ToolRunOptions::new().max_concurrency(2))
        .await
        .unwrap();
    assert_eq!(texts(&batch), vec!["1"; 20]);
    assert_eq!(*order.lock().unwrap(), ids);
    assert_eq!(begin.elapsed(), Duration::from_secs(10));
}

/// L91.
#[tokio::test(start_paused = true)]
async fn l91_a_queued_call_has_all_of_its_time() {
    let tools = [slow("a", 20), slow("b", 20)];
    let batch = run(&tools, ToolRunOptions::new().max_concurrency(1)).await;
    assert_eq!(texts(&batch), ["20", "20"]);
}

/// L92, L264.
#[tokio::test(start_paused = true)]
async fn l92_calls_go_on_while_nobody_polls() {
    let finished = Arc::new(Notify::new());
    let tools = [
        tool("a").handler({
            let finished = Arc::clone(&finished);
            move |_: Value| {
                let finished = Arc::clone(&finished);
                async move {
                    sleep(Duration::from_secs(1)).await;
                    finished.notify_one();
                    Fine::Ok(1)
                }
            }
        }),
        hanging("h"),
    ];
    let mut events = stream_tool_calls(
        calls(&tools),
        &tools,
        ToolRunOptions::new().max_concurrency(2),
    );
    let first = next(&mut events).await.unwrap();
    finished.notified().await;
    // The time of the hanging call runs out unobserved, too.
    sleep(Duration::from_secs(60)).await;
    let begin = Instant::now();
    let mut got = vec![first];
    got.extend(all(events).await);
    assert_eq!(begin.elapsed(), Duration::ZERO);
    assert_eq!(closed(&got), [0, 1]);
    assert_eq!(failed(&got, 1), "timeout");
}

/// L94.
#[tokio::test]
async fn l94_the_manual_flag_is_not_looked_at() {
    let batch = run(&[giving("a", json!(1)).manual()], ToolRunOptions::new()).await;
    assert_eq!(texts(&batch), ["1"]);
    let batch = run(&[tool("b").manual()], ToolRunOptions::new()).await;
    assert_eq!(reasons(&batch), ["not_found"]);
}

/// L95.
#[tokio::test]
async fn l95_zero_is_refused_before_anything_runs() {
    let ran = Count::default();
    let tools = [tool("a").handler({
        let ran = ran.clone();
        move |_: Value| {
            ran.add();
            async move { Fine::Ok(1) }
        }
    })];
    let zero = ToolRunOptions::new()
        .max_concurrency(0)
        .tool_timeout(Duration::ZERO)
        .max_tool_output(0)
        .max_tool_arguments(0)
        .deadline(Duration::ZERO);
    let error = run_tool_calls(calls(&tools), &tools, zero.clone())
        .await
        .unwrap_err();
    let Error::Validation(faults) = &error else {
        panic!("not a validation error: {error:?}")
    };
    let paths: Vec<String> = faults
        .faults
        .iter()
        .map(|fault| fault.path.to_string())
        .collect();
    let all_of_them = [
        "tool_timeout",
        "max_concurrency",
        "max_tool_output",
        "max_tool_arguments",
        "deadline",
    ];
    assert_eq!(paths, all_of_them);
    let events = stream(&tools, zero).await;
    assert_eq!(events, [allm::Event::error(error)]);
    let wrong = [tool("a").timeout(Duration::ZERO)];
    assert!(
        run_tool_calls(calls(&wrong), &wrong, ToolRunOptions::new())
            .await
            .is_err()
    );
    assert_eq!(ran.get(), 0);
}

/// L96.
#[tokio::test]
async fn l96_started_is_told_while_the_handler_runs() {
    let barrier = Arc::new(Barrier::new(2));
    let tools = [tool("a").handler({
        let barrier = Arc::clone(&barrier);
        move |_: Value| {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
                Fine::Ok(1)
            }
        }
    })];
    let mut events = stream_tool_calls(calls(&tools), &tools, ToolRunOptions::new());
    let first = next(&mut events).await.unwrap();
    assert_eq!(tags(&[first]), [(0, "started")]);
    barrier.wait().await;
    assert_eq!(tags(&all(events).await), [(0, "completed"), (0, "encoded")]);
}

/// L97, and `Duration::MAX` as no limit.
#[tokio::test(start_paused = true)]
async fn l97_the_limit_of_a_tool_beats_that_of_the_call() {
    let second = Duration::from_secs(1);
    let tools = [
        slow("longer", 100).timeout(second * 200),
        slow("shorter", 20).timeout(second * 10),
        slow("plain", 20),
        slow("unlimited", 100_000).timeout(Duration::MAX),
    ];
    let options = ToolRunOptions::new()
        .tool_timeout(second * 50)
        .max_concurrency(4);
    let events = stream(&tools, options).await;
    assert_eq!(closed(&events), [1, 2, 0, 3]);
    assert_eq!(failed(&events, 1), "timeout");
    let batch = run(
        &[slow("plain", 100_000)],
        ToolRunOptions::new().tool_timeout(Duration::MAX),
    )
    .await;
    assert_eq!(texts(&batch), ["100000"]);
}

/// L274 at the runner: nothing happens before the first poll, and there need be no runtime until then.
#[test]
fn nothing_happens_before_the_first_poll() {
    let tools = [tool("a").handler(|_: Value| async move {
        panic!("it ran");
        #[expect(unreachable_code, reason = "gives the type")]
        Fine::Ok(1)
    })];
    drop(stream_tool_calls(
        calls(&tools),
        &tools,
        ToolRunOptions::new(),
    ));
    drop(run_tool_calls(calls(&tools), &tools, ToolRunOptions::new()));
}

/// A batch without a runtime comes to an end all the same.
#[test]
fn without_a_runtime_every_call_ends() {
    let tools = [giving("a", json!(1)), giving("b", json!(1))];
    let mut batch = Box::pin(run_tool_calls(calls(&tools), &tools, ToolRunOptions::new()));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(batch) = batch.as_mut().poll(&mut cx) else {
        panic!("it waits for nobody")
    };
    assert_eq!(reasons(&batch.unwrap()), ["handler_exit", "handler_exit"]);
}

/// L240, L243 at the runner.
#[tokio::test]
async fn l240_l243_tool_help_is_answered_by_the_runner_if_there_is_a_compact_tool() {
    let tools = [giving("x", json!(1)).compact()];
    let help = call_with(0, "tool_help", r#"{"names": ["x"]}"#);
    for call in [
        help.clone(),
        call_with(0, "tool_help", "{}"),
        call_with(0, "tool_help", "[]"),
    ] {
        let events = all(stream_tool_calls(
            vec![call.clone()],
            &tools,
            ToolRunOptions::new()
                .executor(NeverAsked)
                .encoder(NeverAsked)
                .on_tool_error(allm::OnToolError::decide(|_, _| {
                    panic!("the policy was asked")
                })),
        ))
        .await;
        assert_eq!(
            tags(&events),
            [(0, "started"), (0, "completed"), (0, "encoded")]
        );
        let answer = allm::tool_help_answer(&tools, &call);
        assert_eq!(result(&events, 0), allm::ExecutionResult::Ok(answer.into()));
    }
    let options = ToolRunOptions::new().unknown_tools(UnknownTools::Refuse);
    let error = run_tool_calls(vec![help], &[giving("x", json!(1))], options)
        .await
        .unwrap_err();
    assert_eq!(error.reason(), "unknown_tool");
}

struct NeverAsked;

impl allm::ToolExecutor for NeverAsked {
    fn execute<'a>(
        &'a self,
        _: &'a Tool,
        _: Arc<allm::Map>,
        _: &'a ToolContext,
    ) -> allm::BoxFuture<'a, Result<allm::ToolReply, allm::ToolError>> {
        panic!("the executor was asked")
    }
}

impl allm::ToolResultEncoder for NeverAsked {
    fn encode(&self, _: &Value) -> Result<String, allm::EncodeError> {
        panic!("the encoder was asked")
    }
}

/// L239: a tool of the caller's own with that name is an ordinary one.
#[tokio::test]
async fn l239_a_tool_help_of_the_callers_own_is_run() {
    let batch = run(&[giving("tool_help", json!("mine"))], ToolRunOptions::new()).await;
    assert_eq!(texts(&batch), ["mine"]);
}
