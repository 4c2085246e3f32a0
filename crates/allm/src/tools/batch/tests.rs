use std::future::poll_fn;

use allm_core::run::DeadlineScope;
use allm_core::{ExecutionResult, FailureReason, Tool, ToolCall};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;

async fn next(run: &mut BatchRun) -> Option<BatchItem> {
    poll_fn(|cx| Pin::new(&mut *run).poll_next(cx)).await
}

/// Calls with the indexes 2, 4 and 6, one at a time, of a tool that says that it has begun and hangs.
fn hanging() -> (BatchRun, Arc<Notify>) {
    let begun = Arc::new(Notify::new());
    let tool = Tool::new("t", "", json!({})).handler({
        let begun = Arc::clone(&begun);
        move |_: Value| {
            begun.notify_one();
            std::future::pending::<Result<u8, std::fmt::Error>>()
        }
    });
    let calls = [2, 4, 6].map(|index| CallToRun {
        index,
        call: Arc::new(ToolCall::new(format!("c{index}"), "t", "{}")),
    });
    let settings = RunnerSettings {
        max_concurrency: Some(1),
        ..RunnerSettings::default()
    };
    let tools = ToolSet::new(&[tool]).unwrap();
    let run = BatchRun::start(
        calls.into(),
        tools,
        Arc::new(settings),
        0,
        Attempts::default(),
    );
    (run, begun)
}

/// L248, L260: without waiting for anybody, and with the indexes of the response.
#[tokio::test]
async fn stop_ends_the_running_call_and_leaves_the_others_unstarted() {
    let deadline = Stop::Deadline(DeadlineScope::Turn);
    for (stop, reason) in [
        (Stop::Cancelled, FailureReason::HandlerExit),
        (deadline, FailureReason::Timeout),
    ] {
        let (mut run, begun) = hanging();
        begun.notified().await;
        run.stop(stop);
        run.stop(Stop::Cancelled);
        assert_eq!(run.stopped(), Some(stop));
        let Some(BatchItem::Event(Event::ToolExecutionStarted(started))) = next(&mut run).await
        else {
            panic!("it had started")
        };
        assert_eq!(started.index, 2);
        let Some(BatchItem::Done { index, events, .. }) = next(&mut run).await else {
            panic!("it has an end")
        };
        let Some(Event::ToolExecutionCompleted(completed)) = events.first() else {
            panic!("{events:?}")
        };
        let ExecutionResult::Error(failure) = &completed.result else {
            panic!("{completed:?}")
        };
        assert_eq!((index, failure.reason, events.len()), (2, reason, 2));
        for expected in [4, 6] {
            let Some(BatchItem::Done {
                index,
                outcome,
                events,
            }) = next(&mut run).await
            else {
                panic!("it has an end")
            };
            assert_eq!((index, outcome), (expected, ToolOutcome::NotStarted));
            assert!(events.is_empty());
        }
        assert!(next(&mut run).await.is_none());
    }
}

/// A stop before anything could begin leaves everything unstarted.
#[tokio::test]
async fn stop_at_once() {
    let (mut run, _) = hanging();
    run.stop(Stop::Cancelled);
    let mut unstarted = 0;
    while let Some(item) = next(&mut run).await {
        assert!(matches!(
            item,
            BatchItem::Done {
                outcome: ToolOutcome::NotStarted,
                ..
            }
        ));
        unstarted += 1;
    }
    assert_eq!(unstarted, 3);
}

/// L248: a handler that heeds its token makes room before the driver has stopped the batch; nobody takes it.
#[tokio::test]
async fn what_waits_does_not_begin_once_the_token_fired() {
    let began = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let begun = Arc::new(Notify::new());
    let tool = Tool::new("t", "", json!({})).handler({
        let (began, begun) = (Arc::clone(&began), Arc::clone(&begun));
        move |_: Value, context: allm_core::ToolContext| {
            began.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            begun.notify_one();
            async move {
                context.cancel.cancelled().await;
                Ok::<_, std::fmt::Error>("heeded")
            }
        }
    });
    let calls = [0, 1].map(|index| CallToRun {
        index,
        call: Arc::new(ToolCall::new(format!("c{index}"), "t", "{}")),
    });
    let settings = RunnerSettings {
        max_concurrency: Some(1),
        ..RunnerSettings::default()
    };
    let cancel = settings.cancel.clone();
    let tools = ToolSet::new(&[tool]).unwrap();
    let mut run = BatchRun::start(
        calls.into(),
        tools,
        Arc::new(settings),
        0,
        Attempts::default(),
    );
    begun.notified().await;
    cancel.cancel();
    let mut outcomes = Vec::new();
    while outcomes.is_empty() {
        if let Some(BatchItem::Done { outcome, .. }) = next(&mut run).await {
            outcomes.push(outcome);
        }
    }
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    run.stop(Stop::Cancelled);
    while let Some(item) = next(&mut run).await {
        if let BatchItem::Done { outcome, .. } = item {
            outcomes.push(outcome);
        }
    }
    let heeded = ToolOutcome::replied("heeded", "heeded");
    assert_eq!(outcomes, [heeded, ToolOutcome::NotStarted]);
    assert_eq!(began.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// A batch that ended on its own was not stopped.
#[tokio::test]
async fn stop_after_the_end_changes_nothing() {
    let tools = ToolSet::new(&[]).unwrap();
    let mut run = BatchRun::start(vec![], tools, Arc::default(), 0, Attempts::default());
    run.stop(Stop::Cancelled);
    assert_eq!(run.stopped(), None);
    assert!(next(&mut run).await.is_none());
}

/// A call that names no tool gets its end here, too, should the driver let it through.
#[tokio::test]
async fn an_unknown_call_has_an_end() {
    let call = CallToRun {
        index: 0,
        call: Arc::new(ToolCall::new("c", "nope", "{}")),
    };
    let mut run = BatchRun::start(
        vec![call],
        ToolSet::default(),
        Arc::default(),
        0,
        Attempts::default(),
    );
    let Some(BatchItem::Done { outcome, .. }) = next(&mut run).await else {
        panic!("it has an end")
    };
    let ToolOutcome::Failed { failure, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(failure.reason, FailureReason::UnknownTool);
}
