//! Cancelling, deadlines and dropping: L38, L43, L248–L250, L253, L254, L260, L263, L271, L273, L274 at the runner.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod runner_support;

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use allm::run::{DeadlineScope, Stop};
use allm::{
    BatchHalt, CancelToken, ErrorDecision, OnToolError, Tool, ToolContext, ToolReply,
    ToolRunOptions, run_tool_calls, stream_tool_calls,
};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use runner_support::*;

/// A tool that hangs, tells that it has begun, and tells when its future is dropped whether its token had fired.
fn told(name: &str) -> (Tool, oneshot::Receiver<()>, oneshot::Receiver<bool>) {
    let (begun, has_begun) = oneshot::channel();
    let (dropped, was_dropped) = oneshot::channel();
    let senders = Mutex::new(Some((begun, dropped)));
    let tool = tool(name).handler(move |_: Value, context: ToolContext| {
        let (begun, dropped) = senders.lock().unwrap().take().unwrap();
        let mut dropped = Some(dropped);
        let guard = OnDrop(move || {
            let _ = dropped.take().unwrap().send(context.cancel.is_cancelled());
        });
        async move {
            let _guard = guard;
            let _ = begun.send(());
            std::future::pending::<()>().await;
            Fine::Ok(())
        }
    });
    (tool, has_begun, was_dropped)
}

fn counting(name: &str) -> (Tool, Count) {
    let ran = Count::default();
    let counted = ran.clone();
    let tool = tool(name).handler(move |_: Value| {
        counted.add();
        async move { Fine::Ok(1) }
    });
    (tool, ran)
}

fn never_asked() -> OnToolError {
    OnToolError::decide(|_, failure| panic!("asked about {failure:?}"))
}

/// L38, L43, L248.
#[tokio::test]
async fn l248_cancelling_ends_what_runs_and_closes_what_waits() {
    let (first, ran_first) = counting("first");
    let (running, begun, dropped) = told("running");
    let (queued, ran_queued) = counting("queued");
    let cancel = CancelToken::new();
    let tools = [first, running, queued];
    let options = ToolRunOptions::new()
        .max_concurrency(1)
        .cancel(cancel.clone())
        .on_tool_error(never_asked());
    let batch = tokio::spawn(run_tool_calls(calls(&tools), &tools, options));
    begun.await.unwrap();
    cancel.cancel();
    let batch = batch.await.unwrap().unwrap();
    let texts = texts(&batch);
    assert_eq!(texts[0], "1");
    assert_eq!(error(&texts[1])["reason"], "handler_exit");
    assert_eq!(error(&texts[2])["reason"], "cancelled");
    assert_eq!(batch.halt, Some(BatchHalt::Stopped(Stop::Cancelled)));
    let metadata = Value::Object(batch.halt.unwrap().into_metadata());
    assert_eq!(metadata, json!({"halted_reason": "cancelled"}));
    assert!(
        dropped.await.unwrap(),
        "the token fired before the future was dropped"
    );
    assert_eq!((ran_first.get(), ran_queued.get()), (1, 0));
}

/// L248 streamed: closed calls come last and have one event.
#[tokio::test]
async fn cancelling_a_stream() {
    let (running, begun, _dropped) = told("running");
    let (queued, _) = counting("queued");
    let cancel = CancelToken::new();
    let tools = [running, queued];
    let options = ToolRunOptions::new()
        .max_concurrency(1)
        .cancel(cancel.clone());
    let mut events = stream_tool_calls(calls(&tools), &tools, options);
    let mut got = vec![next(&mut events).await.unwrap()];
    begun.await.unwrap();
    cancel.cancel();
    cancel.cancel();
    got.extend(all(events).await);
    let expected = [
        (0, "started"),
        (0, "completed"),
        (0, "encoded"),
        (1, "encoded"),
    ];
    assert_eq!(tags(&got), expected);
}

/// L244 at the runner.
#[tokio::test]
async fn a_token_that_has_fired_lets_nothing_begin() {
    let (tool, ran) = counting("a");
    let cancel = CancelToken::new();
    cancel.cancel();
    let batch = run(&[tool], ToolRunOptions::new().cancel(cancel)).await;
    assert_eq!(reasons(&batch), ["cancelled"]);
    assert_eq!(batch.halt, Some(BatchHalt::Stopped(Stop::Cancelled)));
    assert_eq!(ran.get(), 0);
}

/// L256 at the runner: work that has finished keeps its result.
#[tokio::test]
async fn a_batch_that_has_ended_is_not_cancelled() {
    let cancel = CancelToken::new();
    let tools = [giving("a", json!(1))];
    let mut events = stream_tool_calls(
        calls(&tools),
        &tools,
        ToolRunOptions::new().cancel(cancel.clone()),
    );
    let mut got = Vec::new();
    while got.len() < 2 {
        got.extend(next(&mut events).await);
    }
    cancel.cancel();
    got.extend(all(events).await);
    assert_eq!(
        tags(&got),
        [(0, "started"), (0, "completed"), (0, "encoded")]
    );
}

/// L249.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn l249_cancelling_does_not_wait_for_a_blocking_handler() {
    let (release, wait) = mpsc::channel::<()>();
    let (begun, has_begun) = oneshot::channel();
    let inside = Mutex::new(Some((begun, wait)));
    let tools = [tool("b").blocking(move |_: Value| {
        let (begun, wait) = inside.lock().unwrap().take().unwrap();
        let _ = begun.send(());
        let _ = wait.recv();
        Fine::Ok("late")
    })];
    let cancel = CancelToken::new();
    let options = ToolRunOptions::new().cancel(cancel.clone());
    let batch = tokio::spawn(run_tool_calls(calls(&tools), &tools, options));
    has_begun.await.unwrap();
    cancel.cancel();
    assert_eq!(reasons(&batch.await.unwrap().unwrap()), ["handler_exit"]);
    drop(release);
}

/// L250.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn l250_cancelling_does_not_wait_for_a_closure() {
    let (release, wait) = mpsc::channel::<()>();
    let (begun, has_begun) = oneshot::channel();
    let inside = Mutex::new(Some((begun, wait)));
    let policy = OnToolError::decide(move |_, _| {
        let (begun, wait) = inside.lock().unwrap().take().unwrap();
        let _ = begun.send(());
        let _ = wait.recv();
        ErrorDecision::Halt
    });
    let tools = [tool("a").handler(|_: Value| async move { Err::<u8, _>("no") })];
    let cancel = CancelToken::new();
    let options = ToolRunOptions::new()
        .cancel(cancel.clone())
        .on_tool_error(policy);
    let batch = tokio::spawn(run_tool_calls(calls(&tools), &tools, options));
    has_begun.await.unwrap();
    cancel.cancel();
    assert_eq!(reasons(&batch.await.unwrap().unwrap()), ["handler_exit"]);
    drop(release);
}

/// L253: from inside a handler; L254: what a call asked is not the reason.
#[tokio::test]
async fn l253_l254_a_handler_may_cancel_its_own_run() {
    let cancel = CancelToken::new();
    let tools = [
        tool("asks").handler(|_: Value| async move { ToolReply::ask("why?") }),
        tool("cancels").handler({
            let cancel = cancel.clone();
            move |_: Value, context: ToolContext| {
                cancel.cancel();
                let fired = context.cancel.is_cancelled();
                async move { Fine::Ok(fired) }
            }
        }),
        hanging("hangs"),
    ];
    let options = ToolRunOptions::new().cancel(cancel).max_concurrency(1);
    let batch = run(&tools, options).await;
    assert_eq!(texts(&batch)[0], allm::AWAITING_USER);
    assert_eq!(error(&texts(&batch)[2])["reason"], "cancelled");
    assert_eq!(batch.halt.unwrap().reason().as_str(), "cancelled");
}

/// L260, L263, L38 for a deadline.
#[tokio::test(start_paused = true)]
async fn l260_l263_a_deadline_ends_running_calls_as_timeout() {
    let (running, _begun, dropped) = told("running");
    let (queued, ran) = counting("queued");
    let tools = [running, queued];
    let limit = Duration::from_secs(5);
    let options = ToolRunOptions::new()
        .tool_timeout(Duration::MAX)
        .max_concurrency(1)
        .deadline(limit)
        .on_tool_error(never_asked());
    let begin = Instant::now();
    let batch = run(&tools, options).await;
    assert_eq!(begin.elapsed(), limit);
    assert_eq!(reasons(&batch), ["timeout", "deadline_exceeded"]);
    assert_eq!(
        batch.halt,
        Some(BatchHalt::Stopped(Stop::Deadline(DeadlineScope::Run)))
    );
    assert!(dropped.await.unwrap());
    assert_eq!(ran.get(), 0);
}

/// A deadline passes also while nobody polls.
#[tokio::test(start_paused = true)]
async fn a_deadline_does_not_wait_for_the_consumer() {
    let (running, begun, dropped) = told("running");
    let tools = [running];
    let options = ToolRunOptions::new().deadline(Duration::from_secs(5));
    let mut events = stream_tool_calls(calls(&tools), &tools, options);
    next(&mut events).await.unwrap();
    begun.await.unwrap();
    assert!(dropped.await.unwrap());
    drop(events);
}

/// L271, L273, L38 for a drop.
#[tokio::test]
async fn l271_l273_dropping_stops_everything() {
    for awaited in [true, false] {
        let (running, begun, dropped) = told("running");
        let (queued, ran) = counting("queued");
        let tools = [running, queued];
        let options = ToolRunOptions::new().max_concurrency(1);
        if awaited {
            let mut batch = Box::pin(run_tool_calls(calls(&tools), &tools, options));
            tokio::select! {
                biased;
                _ = begun => {}
                _ = &mut batch => panic!("it ended"),
            }
            drop(batch);
        } else {
            let mut events = stream_tool_calls(calls(&tools), &tools, options);
            next(&mut events).await.unwrap();
            begun.await.unwrap();
            drop(events);
        }
        assert!(dropped.await.unwrap());
        tokio::task::yield_now().await;
        assert_eq!(ran.get(), 0);
    }
}

/// L274.
#[tokio::test]
async fn l274_a_thousand_dropped_runs_leave_no_task() {
    let tools = [hanging("a"), hanging("b")];
    for _ in 0..1_000 {
        let mut events = stream_tool_calls(calls(&tools), &tools, ToolRunOptions::new());
        next(&mut events).await.unwrap();
    }
    let metrics = tokio::runtime::Handle::current().metrics();
    // Every abort has been asked for; the runtime needs its turns to carry them out.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(metrics.num_alive_tasks(), 0);
}

/// A blocking handler that waits for a thread does not begin once its call was stopped.
#[test]
fn a_blocking_handler_in_the_queue_does_not_begin_after_the_drop() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (release, wait) = mpsc::channel::<()>();
        let occupied = tokio::task::spawn_blocking(move || wait.recv());
        let began = Count::default();
        let tools = [tool("b").blocking({
            let began = began.clone();
            move |_: Value| {
                began.add();
                Fine::Ok(1)
            }
        })];
        let mut events = stream_tool_calls(calls(&tools), &tools, ToolRunOptions::new());
        next(&mut events).await.unwrap();
        drop(events);
        release.send(()).unwrap();
        occupied.await.unwrap().unwrap();
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        assert_eq!(began.get(), 0);
    });
}

/// The token of a handler that ran undisturbed stays as it is.
#[tokio::test]
async fn l38_an_undisturbed_handler_sees_no_cancellation() {
    let kept = Arc::new(Mutex::new(None));
    let go = Arc::new(Notify::new());
    let tools = [tool("a").handler({
        let (kept, go) = (Arc::clone(&kept), Arc::clone(&go));
        move |_: Value, context: ToolContext| {
            *kept.lock().unwrap() = Some(context.cancel.clone());
            let go = Arc::clone(&go);
            async move {
                go.notified().await;
                Fine::Ok(context.cancel.is_cancelled())
            }
        }
    })];
    go.notify_one();
    let batch = run(&tools, ToolRunOptions::new()).await;
    assert_eq!(texts(&batch), ["false"]);
    assert!(!kept.lock().unwrap().as_ref().unwrap().is_cancelled());
}
