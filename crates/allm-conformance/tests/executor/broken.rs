//! Executors with one thing wrong.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::DefaultExecutor;
use allm_conformance::executor::CRASH_TEXT;
use allm_core::{
    ArgumentFault, BoxFuture, HandlerStyle, Map, ReplyValue, ReportedError, Tool, ToolContext,
    ToolError, ToolExecutor, ToolName, ToolReason, ToolReply,
};
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::{Paused, failed};

type Outcome = Result<ToolReply, ToolError>;

/// The default executor with a change before and after.
#[derive(Clone, Default)]
struct Changed {
    before: Option<fn(&Tool, &mut Map, &mut ToolContext)>,
    after: Option<fn(&Tool, Outcome) -> Outcome>,
}

impl ToolExecutor for Changed {
    fn execute<'a>(
        &'a self,
        tool: &'a Tool,
        mut arguments: Arc<Map>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let mut context = context.clone();
            if let Some(before) = self.before {
                before(tool, Arc::make_mut(&mut arguments), &mut context);
            }
            let executor = DefaultExecutor::new();
            let outcome = executor.execute(tool, arguments, &context).await;
            self.after
                .map_or(outcome.clone(), |after| after(tool, outcome))
        })
    }
}

async fn before(change: fn(&Tool, &mut Map, &mut ToolContext)) -> Vec<String> {
    let executor = Changed {
        before: Some(change),
        after: None,
    };
    names(executor).await
}

async fn after(change: fn(&Tool, Outcome) -> Outcome) -> Vec<String> {
    let executor = Changed {
        before: None,
        after: Some(change),
    };
    names(executor).await
}

/// What failed.
async fn names(executor: impl ToolExecutor + 'static) -> Vec<String> {
    let report = Paused::check(executor).await;
    failed(&report).into_iter().map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn l20_l21_l24_l26_l27_replies_that_are_changed() {
    let trimmed = after(|_, outcome| match outcome {
        Ok(ToolReply::Ok(value)) if value.get().is_ok_and(Value::is_string) => {
            Ok(ToolReply::ok("trimmed"))
        }
        other => other,
    });
    // Whoever replies with the same text is hit as well.
    assert_eq!(
        trimmed.await,
        [
            "text_reply",
            "progress",
            "large_reply",
            "cancel_reaches_the_tool",
            "cancelled_before",
            "blocking"
        ]
    );
    let rewritten = after(|_, outcome| match outcome {
        Ok(ToolReply::Error(error)) => {
            Err(ToolError::new(ToolReason::HandlerRaised, error.message))
        }
        other => other,
    });
    assert_eq!(rewritten.await, ["reported_error"]);
    let bare = after(|_, outcome| match outcome {
        Ok(ToolReply::Error(error)) => Ok(ToolReply::Error(ReportedError::new(error.message))),
        other => other,
    });
    assert_eq!(bare.await, ["reported_error"]);
    let asked = after(|_, outcome| match outcome {
        Ok(ToolReply::AskUser { question, .. }) => Ok(ToolReply::ask(question)),
        other => other,
    });
    assert_eq!(asked.await, ["question"]);
    let forgetful = after(|_, outcome| match outcome {
        Ok(ToolReply::AskAndGoOn { question, opts, .. }) => {
            Ok(ToolReply::ask_and_go_on_with(question, opts, None))
        }
        other => other,
    });
    assert_eq!(forgetful.await, ["question_to_go_on"]);
    let halted = after(|_, outcome| match outcome {
        Ok(ToolReply::Halt { reason, .. }) if reason == "plan_submitted" => {
            Ok(ToolReply::halt(reason, &()))
        }
        other => other,
    });
    assert_eq!(halted.await, ["halt"]);
    let judged = after(|_, outcome| outcome.and_then(ToolReply::checked));
    assert_eq!(judged.await, ["reserved_halt"]);
}

#[tokio::test(start_paused = true)]
async fn l53_l59_l60_arguments_that_are_changed() {
    let ascii = before(|_, arguments, _| {
        for value in arguments.values_mut() {
            if let Value::String(text) = value
                && text.len() < 100
            {
                text.retain(|character| character.is_ascii());
            }
        }
    });
    assert_eq!(ascii.await, ["arguments"]);
    let cut = before(|_, arguments, _| {
        if let Some(Value::String(text)) = arguments.get_mut("text") {
            text.truncate(1_000);
        }
    });
    assert_eq!(cut.await, ["large_arguments"]);
    let shallow = before(|_, arguments, _| {
        if arguments.contains_key("deep") {
            arguments.clear();
        }
    });
    assert_eq!(shallow.await, ["deep_arguments"]);
}

#[tokio::test(start_paused = true)]
async fn l29_l36_l39_a_context_that_is_changed() {
    let forgotten = before(|_, _, context| context.request_id = None);
    assert_eq!(forgotten.await, ["context"]);
    let invented = before(|_, _, context| {
        context.request_id.get_or_insert_with(|| "made-up".into());
    });
    assert_eq!(invented.await, ["nothing_made_up"]);
    let unheard = before(|_, _, context| context.answer = None);
    assert_eq!(unheard.await, ["answer"]);
    let valueless = before(|_, _, context| context.context = None);
    assert_eq!(valueless.await, ["callers_value"]);
    let silent = before(|_, _, context| context.progress = None);
    assert_eq!(silent.await, ["progress"]);
    let alone = before(|_, _, context| context.cancel = allm_core::CancelToken::new());
    assert_eq!(alone.await, ["cancel_reaches_the_tool"]);
}

#[tokio::test(start_paused = true)]
async fn l80_a_reply_that_is_cut() {
    let cut = after(|_, outcome| match outcome {
        Ok(ToolReply::Ok(value)) => Ok(ToolReply::Ok(cut(value))),
        other => other,
    });
    assert_eq!(cut.await, ["large_reply"]);
}

fn cut(value: ReplyValue) -> ReplyValue {
    match value.into_inner() {
        Ok(Value::String(text)) if text.len() > 262_144 => json!(&text[..262_144]).into(),
        Ok(value) => value.into(),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn l28_l40_l41_l42_l44_l51_l76_errors_that_are_changed() {
    let as_exit = after(|tool, outcome| {
        outcome.map_err(|mut error| {
            if tool.name == "panic" {
                error.reason = ToolReason::HandlerExit;
            }
            error
        })
    });
    assert_eq!(as_exit.await, ["panic"]);
    let late = after(|tool, outcome| {
        outcome.map_err(|mut error| {
            if tool.name == "panic_later" {
                error.cause = None;
            }
            error
        })
    });
    assert_eq!(late.await, ["panic_later"]);
    let odd = after(|tool, outcome| {
        outcome.map_err(|mut error| {
            if tool.name == "panic_without_text" {
                error.cause = None;
            }
            error
        })
    });
    assert_eq!(odd.await, ["panic_without_text"]);
    let forgiving = after(|tool, outcome| match outcome {
        Err(_) if tool.name == "invalid_return" => Ok(ToolReply::ok(&42)),
        other => other,
    });
    assert_eq!(forgiving.await, ["invalid_return"]);
    let raised = after(|tool, outcome| {
        outcome.map_err(|mut error| {
            if tool.name == "no_handler" {
                error.reason = ToolReason::HandlerRaised;
            }
            error
        })
    });
    assert_eq!(raised.await, ["not_found"]);
    let leaking = after(|_, outcome| {
        outcome.map_err(|mut error| {
            if let Some(cause) = &error.cause {
                error.message.push_str(&cause.message);
            }
            error
        })
    });
    assert_eq!(leaking.await, ["crash_text_stays_in_the_cause"]);
    let misnamed = after(|_, outcome| {
        outcome.map_err(|mut error| {
            error.tool_name = Some(ToolName::new("other"));
            error
        })
    });
    assert_eq!(misnamed.await, ["errors_name_their_call"]);
}

/// An executor that is a closure which gives the future.
struct Of<F>(F);

impl<F> ToolExecutor for Of<F>
where
    F: for<'a> Fn(&'a Tool, Arc<Map>, &'a ToolContext) -> BoxFuture<'a, Outcome> + Send + Sync,
{
    fn execute<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Arc<Map>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Outcome> {
        (self.0)(tool, arguments, context)
    }
}

fn of<F>(execute: F) -> Of<F>
where
    F: for<'a> Fn(&'a Tool, Arc<Map>, &'a ToolContext) -> BoxFuture<'a, Outcome> + Send + Sync,
{
    Of(execute)
}

async fn default(tool: &Tool, arguments: Arc<Map>, context: &ToolContext) -> Outcome {
    let executor = DefaultExecutor::new();
    executor.execute(tool, arguments, context).await
}

/// A panic that leaves the executor fails what needs an outcome, and nothing else.
#[tokio::test(start_paused = true)]
async fn l40_l41_l42_l98_panics_that_are_not_contained() {
    let executor = of(|tool, arguments, context| {
        Box::pin(async move {
            match &tool.handler {
                Some(handler) if handler.style() == HandlerStyle::Async => {
                    handler.call(arguments, context.clone()).await
                }
                _ => default(tool, arguments, context).await,
            }
        })
    });
    assert_eq!(
        names(executor).await,
        ["panic", "panic_later", "panic_without_text"]
    );
}

/// L47.
#[tokio::test(start_paused = true)]
async fn l47_a_call_that_is_tried_again() {
    let executor = of(|tool, arguments, context| {
        Box::pin(async move {
            let outcome = default(tool, arguments.clone(), context).await;
            match outcome {
                Err(_) => default(tool, arguments, context).await,
                outcome => outcome,
            }
        })
    });
    assert_eq!(names(executor).await, ["runs_once"]);
}

/// L39, L86.
#[tokio::test(start_paused = true)]
async fn l39_l86_calls_that_mix() {
    let latest = Arc::new(Mutex::new(Arc::new(Map::new())));
    let executor = of(move |tool, arguments, context| {
        let latest = Arc::clone(&latest);
        Box::pin(async move {
            *latest.lock().unwrap() = arguments;
            // Whoever comes here meanwhile leaves arguments of its own.
            tokio::task::yield_now().await;
            let arguments = latest.lock().unwrap().clone();
            default(tool, arguments, context).await
        })
    });
    assert_eq!(names(executor).await, ["parallel_calls"]);
}

/// L98, L103: a lock that a crash leaves poisoned or held.
#[tokio::test(start_paused = true)]
async fn l98_l103_a_crash_that_breaks_the_executor() {
    let is_broken = Arc::new(Mutex::new(false));
    let executor = of(move |tool, arguments, context| {
        let is_broken = Arc::clone(&is_broken);
        Box::pin(async move {
            let is_second = context.idempotency_key == "key-1";
            if *is_broken.lock().unwrap() && is_second {
                return Err(ToolError::new(ToolReason::HandlerExit, "broken"));
            }
            let outcome = default(tool, arguments, context).await;
            *is_broken.lock().unwrap() = outcome.is_err();
            outcome
        })
    });
    assert_eq!(
        names(executor).await,
        ["crash_beside_a_call", "call_after_a_crash"]
    );
    let is_broken = Arc::new(AsyncMutex::new(false));
    let executor = of(move |tool, arguments, context| {
        let is_broken = Arc::clone(&is_broken);
        Box::pin(async move {
            let was_broken = *is_broken.lock().await;
            tokio::task::yield_now().await;
            let outcome = default(tool, arguments, context).await;
            *is_broken.lock().await = outcome.is_err() && context.idempotency_key == "key-0";
            if was_broken {
                return Err(ToolError::new(ToolReason::HandlerExit, "broken"));
            }
            outcome
        })
    });
    assert_eq!(names(executor).await, ["call_after_a_crash"]);
}

/// L46.
#[tokio::test(start_paused = true)]
async fn l46_a_time_limit() {
    let executor = of(|tool, arguments, context| {
        Box::pin(async move {
            let run = default(tool, arguments, context);
            let limit = Duration::from_millis(10);
            let late = |_| Err(ToolError::new(ToolReason::Timeout, "too slow"));
            tokio::time::timeout(limit, run).await.unwrap_or_else(late)
        })
    });
    assert_eq!(names(executor).await, ["no_time_limit"]);
}

/// L43.
#[tokio::test(start_paused = true)]
async fn l43_a_cancelled_call_that_crashes() {
    let executor = of(|tool, arguments, context| {
        Box::pin(async move {
            if context.cancel.is_cancelled() {
                return Err(ToolError::new(ToolReason::HandlerRaised, "cancelled"));
            }
            default(tool, arguments, context).await
        })
    });
    assert_eq!(names(executor).await, ["cancelled_before"]);
}

/// Runs a call in a task that nobody stops.
async fn detached(tool: &Tool, arguments: Arc<Map>, context: &ToolContext) -> Outcome {
    let (tool, context) = (tool.clone(), context.clone());
    let task = tokio::spawn(async move { default(&tool, arguments, &context).await });
    task.await.unwrap()
}

/// L271.
#[tokio::test(start_paused = true)]
async fn l101_l271_work_that_goes_on_after_the_drop() {
    let executor = of(|tool, arguments, context| {
        Box::pin(async move {
            match tool.name.as_str() {
                "never_return" => detached(tool, arguments, context).await,
                _ => default(tool, arguments, context).await,
            }
        })
    });
    assert_eq!(names(executor).await, ["dropped"]);
    let executor = of(|tool, arguments, context| {
        Box::pin(async move {
            match tool.name.as_str() {
                "ignore_cancel" => detached(tool, arguments, context).await,
                _ => default(tool, arguments, context).await,
            }
        })
    });
    assert_eq!(names(executor).await, ["dropped_though_deaf"]);
}

/// L274.
#[tokio::test(start_paused = true)]
async fn l274_work_that_begins_before_the_first_poll() {
    let executor = of(|tool, arguments, context| {
        let (tool, context) = (tool.clone(), context.clone());
        let mut run = Box::pin(async move { default(&tool, arguments, &context).await });
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        if let std::task::Poll::Ready(outcome) = run.as_mut().poll(&mut cx) {
            return Box::pin(std::future::ready(outcome));
        }
        run
    });
    assert_eq!(names(executor).await, ["dropped_unpolled"]);
}

/// L18.
#[tokio::test(start_paused = true)]
async fn l18_a_blocking_tool_in_place() {
    let executor = of(|tool, arguments, context| {
        Box::pin(async move {
            match &tool.handler {
                Some(handler) if handler.style() == HandlerStyle::Blocking => {
                    handler.call(arguments, context.clone()).await
                }
                _ => default(tool, arguments, context).await,
            }
        })
    });
    assert_eq!(names(executor).await, ["blocking"]);
}

/// L61, L65.
#[tokio::test(start_paused = true)]
async fn l61_l65_a_check_that_does_not_ask() {
    struct Careless(fn(&Tool) -> Result<(), Vec<ArgumentFault>>);
    impl ToolExecutor for Careless {
        fn check(&self, tool: &Tool, _: &Map) -> Result<(), Vec<ArgumentFault>> {
            (self.0)(tool)
        }
        fn execute<'a>(
            &'a self,
            tool: &'a Tool,
            arguments: Arc<Map>,
            context: &'a ToolContext,
        ) -> BoxFuture<'a, Outcome> {
            Box::pin(default(tool, arguments, context))
        }
    }
    let never = Careless(|_| Ok(()));
    assert_eq!(names(never).await, ["check_asks_the_handler"]);
    let runs = Careless(|tool| {
        let handler = tool.handler.as_ref().unwrap();
        let context = ToolContext::new(allm_core::ToolCall::new("1", "x", "{}"));
        let mut run = handler.call(Map::new().into(), context);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = run.as_mut().poll(&mut cx);
        handler.check(&Map::new())
    });
    assert_eq!(names(runs).await, ["check_runs_nothing"]);
}

/// The kit itself survives whatever an executor does.
#[tokio::test(start_paused = true)]
async fn an_executor_that_only_panics_fails_everywhere_and_harms_nobody() {
    let executor = of(|_, _, _| resume_unwind(Box::new(CRASH_TEXT)));
    let report = Paused::check(executor).await;
    let passed: Vec<_> = report
        .checks()
        .iter()
        .filter(|c| c.outcome.is_passed())
        .collect();
    let passed: Vec<_> = passed.into_iter().map(|check| check.name).collect();
    assert_eq!(passed, ["check_asks_the_handler", "check_runs_nothing"]);
    assert!(catch_unwind(AssertUnwindSafe(|| report.assert())).is_err());
}
