//! Batches in which handlers misbehave: L98–L110.

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

use allm::{
    AnyValue, EncodeError, Event, Progress, ToolContext, ToolResultEncoder, ToolRunOptions,
    run_tool_calls, stream_tool_calls,
};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep;

use runner_support::*;

fn panicking(name: &str) -> allm::Tool {
    tool(name).handler(|_: Value| async move {
        tokio::task::yield_now().await;
        panic!("secret-123");
        #[expect(unreachable_code, reason = "gives the type")]
        Fine::Ok(1)
    })
}

/// L98, L103.
#[tokio::test]
async fn l98_l103_a_panic_harms_no_sibling() {
    let tools = [giving("a", json!(1)), panicking("b"), giving("c", json!(3))];
    let batch = run(&tools, ToolRunOptions::new()).await;
    let texts = texts(&batch);
    assert_eq!((&*texts[0], &*texts[2]), ("1", "3"));
    assert_eq!(error(&texts[1])["reason"], "handler_raised");
    assert!(batch.messages[1].is_error && !batch.messages[0].is_error);

    let tools = [panicking("p")];
    let calls = (0..100).map(|place| call(place, "p")).collect();
    let batch = run_tool_calls(calls, &tools, ToolRunOptions::new())
        .await
        .unwrap();
    assert_eq!(reasons(&batch), vec!["handler_raised"; 100]);
}

/// L99, L38 for a time-out.
#[tokio::test(start_paused = true)]
async fn l99_a_hanging_handler_ends_at_its_limit_and_is_dropped() {
    let (send, dropped) = oneshot::channel();
    let send = Mutex::new(Some(send));
    let hanging = tool("hanging").handler(move |_: Value, context: ToolContext| {
        let mut send = send.lock().unwrap().take();
        let guard = OnDrop(move || {
            let fired = context.cancel.is_cancelled();
            let _ = send.take().unwrap().send(fired);
        });
        async move {
            let _guard = guard;
            std::future::pending::<()>().await;
            Fine::Ok(())
        }
    });
    let tools = [hanging, giving("b", json!(2))];
    let begin = tokio::time::Instant::now();
    let events = stream(&tools, ToolRunOptions::new().max_concurrency(2)).await;
    assert_eq!(begin.elapsed(), Duration::from_secs(30));
    assert_eq!(closed(&events), [1, 0]);
    assert_eq!(failed(&events, 0), "timeout");
    assert!(dropped.await.unwrap(), "its token had fired");
}

/// L258.
#[tokio::test(start_paused = true)]
async fn l258_the_limit_is_exact() {
    let taking = |name: &str, millis: u64| {
        tool(name).handler(move |_: Value| async move {
            sleep(Duration::from_millis(millis)).await;
            Fine::Ok(1)
        })
    };
    let tools = [taking("in", 29_900), taking("out", 30_100)];
    let batch = run(&tools, ToolRunOptions::new().max_concurrency(2)).await;
    assert_eq!(texts(&batch)[0], "1");
    assert_eq!(error(&texts(&batch)[1])["reason"], "timeout");
}

/// L100.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l100_a_hanging_blocking_handler_is_abandoned() {
    let (release, wait) = mpsc::channel::<()>();
    let (ended, at_end) = mpsc::channel();
    let (wait, ended) = (Mutex::new(wait), Mutex::new(ended));
    let tools = [tool("b").blocking(move |_: Value, context: ToolContext| {
        let _ = wait.lock().unwrap().recv();
        context.progress(Progress::default());
        ended
            .lock()
            .unwrap()
            .send(context.cancel.is_cancelled())
            .unwrap();
        Fine::Ok("late")
    })];
    let limit = Duration::from_millis(20);
    let mut events = stream_tool_calls(
        calls(&tools),
        &tools,
        ToolRunOptions::new().tool_timeout(limit),
    );
    let mut got = Vec::new();
    while got.len() < 3 {
        got.extend(next(&mut events).await);
    }
    release.send(()).unwrap();
    let saw_it_fire = tokio::task::spawn_blocking(move || at_end.recv().unwrap())
        .await
        .unwrap();
    assert!(saw_it_fire);
    assert!(next(&mut events).await.is_none());
    assert_eq!(
        tags(&got),
        [(0, "started"), (0, "completed"), (0, "encoded")]
    );
    assert_eq!(failed(&got, 0), "timeout");
}

/// L101.
#[tokio::test(start_paused = true)]
async fn l101_a_result_after_the_time_out_changes_nothing() {
    let (release, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    // The work is done in a task that nobody aborts.
    let tools = [tool("late").handler({
        let (release, done) = (Arc::clone(&release), Arc::clone(&done));
        move |_: Value, context: ToolContext| {
            let (release, done) = (Arc::clone(&release), Arc::clone(&done));
            let task = tokio::spawn(async move {
                release.notified().await;
                context.progress(Progress::default());
                done.notify_one();
                "late"
            });
            async move { Fine::Ok(task.await.unwrap()) }
        }
    })];
    let mut events = stream_tool_calls(calls(&tools), &tools, ToolRunOptions::new());
    let mut got = vec![next(&mut events).await.unwrap()];
    got.push(next(&mut events).await.unwrap());
    release.notify_one();
    done.notified().await;
    got.extend(all(events).await);
    assert_eq!(
        tags(&got),
        [(0, "started"), (0, "completed"), (0, "encoded")]
    );
    assert_eq!(failed(&got, 0), "timeout");
}

/// L102.
#[tokio::test(start_paused = true)]
async fn l102_a_destructor_that_panics_on_abort_harms_nobody() {
    let (send, dropped) = oneshot::channel();
    let send = Mutex::new(Some(send));
    let bad = tool("bad").handler(move |_: Value| {
        let mut send = send.lock().unwrap().take();
        let guard = OnDrop(move || {
            let _ = send.take().unwrap().send(());
            panic!("in a destructor");
        });
        async move {
            let _guard = guard;
            std::future::pending::<()>().await;
            Fine::Ok(())
        }
    });
    let batch = run(&[bad, giving("b", json!(2))], ToolRunOptions::new()).await;
    assert_eq!(error(&texts(&batch)[0])["reason"], "timeout");
    assert_eq!(texts(&batch)[1], "2");
    dropped.await.unwrap();
}

fn at(progress: f64) -> Progress {
    Progress {
        progress: Some(progress),
        ..Progress::default()
    }
}

/// L104: a thousand reports leave one, the last.
#[tokio::test]
async fn l104_a_newer_report_replaces_one_that_was_not_delivered() {
    let tools = [
        tool("busy").handler(|_: Value, context: ToolContext| async move {
            for step in 0..1_000_000 {
                context.progress(at(f64::from(step)));
            }
            context.progress(at(f64::NAN));
            context.progress(at(7.0));
            Fine::Ok(1)
        }),
    ];
    let events = stream(&tools, ToolRunOptions::new()).await;
    let expected = [
        (0, "started"),
        (0, "progress"),
        (0, "completed"),
        (0, "encoded"),
    ];
    assert_eq!(tags(&events), expected);
    let Event::ToolProgress(last) = &events[1] else {
        panic!("no progress")
    };
    assert_eq!(
        (last.progress, last.total, &last.message),
        (Some(7.0), None, &None)
    );
}

/// L104: a delivered report makes room for the next.
#[tokio::test]
async fn progress_is_told_while_the_handler_runs() {
    let go = Arc::new(Notify::new());
    let tools = [tool("busy").handler({
        let go = Arc::clone(&go);
        move |_: Value, context: ToolContext| {
            let go = Arc::clone(&go);
            async move {
                for step in 0..3 {
                    context.progress(at(f64::from(step)));
                    go.notified().await;
                }
                Fine::Ok(1)
            }
        }
    })];
    let mut events = stream_tool_calls(calls(&tools), &tools, ToolRunOptions::new());
    let mut got = Vec::new();
    while let Some(event) = next(&mut events).await {
        if let Event::ToolProgress(progress) = &event {
            got.push(progress.progress.unwrap());
            go.notify_one();
        }
    }
    assert_eq!(got, [0.0, 1.0, 2.0]);
}

/// L105.
#[tokio::test]
async fn l105_late_progress_is_dropped_and_a_long_message_cut() {
    let kept = Arc::new(Mutex::new(None));
    let tools = [tool("talker").handler({
        let kept = Arc::clone(&kept);
        move |_: Value, context: ToolContext| {
            let message = "a".to_owned() + &"ä".repeat(512 * 1024);
            context.progress(Progress {
                message: Some(message),
                ..Progress::default()
            });
            *kept.lock().unwrap() = Some(context);
            async move { Fine::Ok(1) }
        }
    })];
    let mut events = stream_tool_calls(calls(&tools), &tools, ToolRunOptions::new());
    let mut got = Vec::new();
    while let Some(event) = next(&mut events).await {
        // Before the end is told, the handler has ended: nobody hears of this.
        if tags(std::slice::from_ref(&event)) == [(0, "completed")] {
            kept.lock().unwrap().as_ref().unwrap().progress(at(1.0));
        }
        got.push(event);
    }
    kept.lock().unwrap().as_ref().unwrap().progress(at(1.0));
    let Event::ToolProgress(progress) = &got[1] else {
        panic!("no progress")
    };
    let message = progress.message.as_ref().unwrap();
    assert_eq!(message.len(), 4_095, "cut between characters");
    assert_eq!(got.len(), 4);
}

/// L105: the handler has ended, also while the policy still thinks about it.
#[tokio::test]
async fn l105_progress_from_behind_a_handler_that_has_ended() {
    let kept = Arc::new(Mutex::new(None));
    let tools = [tool("talker").handler({
        let kept = Arc::clone(&kept);
        move |_: Value, context: ToolContext| {
            *kept.lock().unwrap() = Some(context);
            async move { Err::<u8, _>("no") }
        }
    })];
    let policy = allm::OnToolError::decide(move |_, _| {
        kept.lock().unwrap().take().unwrap().progress(at(1.0));
        allm::ErrorDecision::Continue
    });
    let options = ToolRunOptions::new().on_tool_error(policy);
    let mut events = stream_tool_calls(calls(&tools), &tools, options);
    let mut got = Vec::new();
    while let Some(event) = next(&mut events).await {
        got.push(event);
    }
    let expected = [(0, "started"), (0, "completed"), (0, "encoded")];
    assert_eq!(tags(&got), expected);
}

/// L106, L107.
#[tokio::test]
async fn l106_l107_ids_are_left_alone() {
    let tools = [tool("who").handler(|value: Value| async move { Fine::Ok(value["n"].clone()) })];
    let with_id = |id: &str, n: u32| allm::ToolCall::new(id, "who", format!("{{\"n\":{n}}}"));
    let calls = || vec![with_id("same", 1), with_id("same", 2), with_id("", 3)];
    let batch = run_tool_calls(calls(), &tools, ToolRunOptions::new())
        .await
        .unwrap();
    assert_eq!(texts(&batch), ["1", "2", "3"]);
    let ids: Vec<_> = batch
        .messages
        .iter()
        .map(|m| m.tool_call_id.clone().unwrap())
        .collect();
    assert_eq!(ids, ["same", "same", ""]);
    let events = all(stream_tool_calls(calls(), &tools, ToolRunOptions::new())).await;
    let mut closed = closed(&events);
    closed.sort_unstable();
    assert_eq!(closed, [0, 1, 2]);
}

/// L108.
#[tokio::test]
async fn l108_a_task_of_the_handlers_own_does_not_hold_up_the_call() {
    let (release, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let tools = [tool("spawns").handler({
        let (release, done) = (Arc::clone(&release), Arc::clone(&done));
        move |_: Value, context: ToolContext| {
            let (release, done) = (Arc::clone(&release), Arc::clone(&done));
            tokio::spawn(async move {
                release.notified().await;
                context.progress(at(1.0));
                assert!(
                    !context.cancel.is_cancelled(),
                    "nothing disturbed the handler"
                );
                done.notify_one();
            });
            async move { Fine::Ok("now") }
        }
    })];
    let mut events = stream_tool_calls(calls(&tools), &tools, ToolRunOptions::new());
    let mut got = Vec::new();
    while let Some(event) = next(&mut events).await {
        got.push(event);
    }
    release.notify_one();
    done.notified().await;
    assert!(next(&mut events).await.is_none());
    assert_eq!(
        tags(&got),
        [(0, "started"), (0, "completed"), (0, "encoded")]
    );
}

/// L109 at the runner: the gate is that of one batch.
#[tokio::test]
async fn l109_a_handler_can_run_calls_of_the_same_tool() {
    #[derive(Clone)]
    struct Tools(Arc<Mutex<Option<allm::Tool>>>);
    let known = Tools(Arc::new(Mutex::new(None)));
    let nested = tool("nested").handler(|value: Value, context: ToolContext| async move {
        let depth = value["depth"].as_u64().unwrap_or(0);
        if depth == 3 {
            return Fine::Ok(json!("bottom"));
        }
        let tools = context.get::<Tools>().unwrap().clone();
        let tool = tools.0.lock().unwrap().clone().unwrap();
        let call = call_with(0, "nested", &format!("{{\"depth\":{}}}", depth + 1));
        let options = ToolRunOptions::new().max_concurrency(1).context(tools);
        let batch = Box::pin(run_tool_calls(vec![call], &[tool], options))
            .await
            .unwrap();
        Fine::Ok(json!(batch.messages[0].text()))
    });
    *known.0.lock().unwrap() = Some(nested.clone());
    let _: AnyValue = Arc::new(known.clone());
    let batch = run(
        &[nested],
        ToolRunOptions::new()
            .max_concurrency(1)
            .context(known.clone()),
    )
    .await;
    known.0.lock().unwrap().take();
    assert_eq!(texts(&batch), ["bottom"]);
}

/// Hangs until it is let go, in whatever it is asked.
struct Hanging(Mutex<mpsc::Receiver<()>>);

impl ToolResultEncoder for Hanging {
    fn encode(&self, _: &Value) -> Result<String, EncodeError> {
        let _ = self.0.lock().unwrap().recv();
        Ok("late".to_owned())
    }
}

/// L110, also on one thread, and for the encoding of the failure itself.
#[tokio::test(flavor = "current_thread")]
async fn l110_a_hanging_encoder_ends_the_call() {
    let (release, wait) = mpsc::channel::<()>();
    let options = ToolRunOptions::new()
        .encoder(Hanging(Mutex::new(wait)))
        .tool_timeout(Duration::from_millis(20));
    let batch = run(&[giving("a", json!(1))], options).await;
    drop(release);
    assert_eq!(reasons(&batch), ["timeout"]);
}

/// Hangs only where a failure is to be shown.
struct HangsOnFailure(Mutex<mpsc::Receiver<()>>);

impl ToolResultEncoder for HangsOnFailure {
    fn encode(&self, _: &Value) -> Result<String, EncodeError> {
        Ok("fine".to_owned())
    }

    fn encode_failure(
        &self,
        _: &allm::ToolFailure,
        _: &allm::CallFailure,
    ) -> Result<String, EncodeError> {
        let _ = self.0.lock().unwrap().recv();
        Ok("late".to_owned())
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_encoder_that_hangs_on_a_failure_leaves_the_stable_form() {
    let (release, wait) = mpsc::channel::<()>();
    let options = ToolRunOptions::new()
        .encoder(HangsOnFailure(Mutex::new(wait)))
        .tool_timeout(Duration::from_millis(20));
    let batch = run(&[tool("bare")], options).await;
    drop(release);
    assert_eq!(reasons(&batch), ["not_found"]);
}
