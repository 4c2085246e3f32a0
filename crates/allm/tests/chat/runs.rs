//! The loop end to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allm::{
    AdapterReason, Engine, Error, ErrorDecision, Fake, HaltReason, Map, Message, Mode, OnToolError,
    ResponseFormat, Script, Thread, Tool, ToolContext, ToolContextExt, ToolReply,
};
use serde_json::json;

use super::{builder, call, echo, engine, folded, tags, text};

#[tokio::test]
async fn l161_a_text_answer_completes() {
    let fake = Fake::new().reply(text("hello"));
    let result = engine(&fake).chat("hi").await.expect("a result");
    assert_eq!(
        (result.halted_reason.as_str(), result.text().as_str()),
        ("completed", "hello")
    );
    assert_eq!(result.thread.len(), 2);
    fake.assert_calls(1);
    fake.assert_exhausted();
}

#[tokio::test]
async fn l162_a_tool_turn_then_text() {
    let fake = Fake::new()
        .reply(
            Script::new()
                .text("Let me look.")
                .call("a", json!({"x": 1})),
        )
        .reply(text("Sunny."));
    let result = engine(&fake).chat("Weather?").await.expect("a result");
    assert_eq!(result.text(), "Sunny.");
    assert_eq!(result.steps.len(), 2);
    fake.assert_calls(2);
    fake.assert_tool_result("call_1", |content| content == "{\"x\":1}");
}

#[tokio::test]
async fn l164_endless_calls_end_by_max_turns() {
    let fake = Fake::new().always(call("a"));
    let result = engine(&fake)
        .chat("hi")
        .max_turns(2)
        .await
        .expect("a result");
    assert_eq!(result.halted_reason, HaltReason::MaxTurns);
    fake.assert_calls(2);
}

#[tokio::test]
async fn l166_l191_settings_are_checked_before_anything_else() {
    let fake = Fake::new();
    let chat = || engine(&fake).chat("hi").max_turns(0).max_concurrency(0);
    let error = chat().await.expect_err("refused");
    let Error::Validation(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.faults.len(), 2);
    let events = chat().stream().collect().await;
    assert_eq!(tags(&events), ["error"]);
    fake.assert_calls(0);
}

#[tokio::test]
async fn l172_a_first_turn_that_is_refused() {
    let fake = Fake::new().reply(Script::new().fail(AdapterReason::AuthenticationFailed));
    let error = engine(&fake).chat("hi").await.expect_err("refused");
    assert_eq!(error.reason(), "authentication_failed");
    let fake = Fake::new().reply(Script::new().fail(AdapterReason::AuthenticationFailed));
    let events = engine(&fake).chat("hi").stream().collect().await;
    assert_eq!(tags(&events), ["error"]);
}

#[tokio::test(start_paused = true)]
async fn c112_c179_a_failure_that_passes_is_retried() {
    let fake = Fake::new()
        .reply(Script::new().fail(AdapterReason::ProviderUnavailable))
        .reply(Script::new().fail(AdapterReason::RateLimited))
        .reply(text("at last"));
    let result = engine(&fake).chat("hi").await.expect("a result");
    assert_eq!(result.text(), "at last");
    fake.assert_calls(3);
    let attempts: Vec<u32> = fake.calls().iter().map(|call| call.attempt).collect();
    assert_eq!(attempts, [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn c113_the_third_failure_is_the_last() {
    let fake = Fake::new().always(Script::new().fail(AdapterReason::ProviderUnavailable));
    let error = engine(&fake).generate("hi").await.expect_err("refused");
    let Error::Adapter(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.attempts, Some(3));
    fake.assert_calls(3);
}

#[tokio::test]
async fn c123_after_the_first_event_nothing_is_retried() {
    let fake = Fake::new().reply(text("half").fail(AdapterReason::NetworkError));
    let result = engine(&fake).chat("hi").await.expect("a result");
    assert_eq!(
        (result.halted_reason.as_str(), result.text().as_str()),
        ("error", "half")
    );
    let error = result.into_result().expect_err("failed");
    assert!(matches!(error, Error::Interrupted(_)) && error.is_retryable());
    fake.assert_calls(1);
}

#[tokio::test]
async fn l193_l194_manual_runs_run_nothing() {
    let fake = Fake::new().always(call("a"));
    let step = engine(&fake)
        .step("hi")
        .mode(Mode::Manual)
        .await
        .expect("a step");
    assert!(step.tool_results.is_empty() && !step.done);
    let result = engine(&fake)
        .chat("hi")
        .mode(Mode::Manual)
        .await
        .expect("a result");
    assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
}

#[tokio::test]
async fn l196_l198_answering_a_manual_call_goes_on() {
    let fake = Fake::new()
        .reply(Script::new().call("m", json!({})).call("a", json!({})))
        .reply(text("done"));
    let first = engine(&fake).chat("hi").await.expect("a result");
    assert_eq!(first.halted_reason, HaltReason::ManualToolCalls);
    let mut thread = first.thread.clone();
    let refused = engine(&fake).chat(&thread).await.expect_err("unanswered");
    assert_eq!(refused.reason(), "invalid_thread");
    thread.push(Message::tool_result("call_1", "by hand"));
    let last = engine(&fake).chat(thread).await.expect("a result");
    assert_eq!(last.text(), "done");
}

#[tokio::test]
async fn l152_l155_a_question_and_its_answer() {
    let ask = Tool::new("ask", "", json!({})).handler(|_: Map| async { ToolReply::ask("Really?") });
    let fake = Fake::new().reply(call("ask")).reply(text("ok"));
    let engine = builder(&fake).tool(ask).build().expect("valid");
    let asked = engine.chat("cancel it").await.expect("a result");
    assert_eq!(asked.pending_question.as_deref(), Some("Really?"));
    let answered = engine
        .chat(asked.thread.with_user("yes"))
        .await
        .expect("a result");
    assert_eq!(answered.text(), "ok");
}

#[tokio::test]
async fn l129_l131_l132_the_error_policy_decides() {
    let failing =
        || Tool::new("f", "", json!({})).handler(|_: Map| async { Err::<(), _>("broken") });
    let run = |policy: OnToolError| async {
        let fake = Fake::new().reply(call("f")).reply(text("done"));
        let engine = builder(&fake).tool(failing()).build().expect("valid");
        engine
            .chat("hi")
            .on_tool_error(policy)
            .await
            .expect("a result")
    };
    assert_eq!(run(OnToolError::Continue).await.text(), "done");
    assert_eq!(
        run(OnToolError::Halt).await.halted_reason,
        HaltReason::ToolError
    );
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let decide = OnToolError::decide(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        ErrorDecision::continue_with("instead")
    });
    let replaced = run(decide).await;
    assert_eq!(
        replaced.steps[0].tool_results.get(0).expect("one").text(),
        "instead"
    );
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn l167_halt_when_sees_the_results() {
    let fake = Fake::new().always(call("a"));
    let chat = engine(&fake)
        .chat("hi")
        .halt_when(|step| step.tool_results.len() == 1);
    let result = chat.await.expect("a result");
    assert_eq!(result.halted_reason, HaltReason::HaltWhen);
    fake.assert_calls(1);
}

#[tokio::test]
async fn l226_structured_finalize_asks_once_more() {
    let fake = Fake::new()
        .reply(call("a"))
        .reply(text("so"))
        .reply(text("{\"ok\":true}"));
    let format = ResponseFormat::json_schema("out", json!({"type": "object"}));
    let chat = engine(&fake)
        .chat("hi")
        .structured_finalize()
        .response_format(format);
    let result = chat.await.expect("a result");
    assert_eq!(
        (result.text().as_str(), result.steps.len()),
        ("{\"ok\":true}", 3)
    );
    let requests: Vec<bool> = fake
        .calls()
        .iter()
        .map(|call| call.request.response_format.is_some())
        .collect();
    assert_eq!(requests, [false, false, true]);
}

#[tokio::test]
async fn l62_refused_arguments_are_fed_back_and_the_corrected_call_runs_once() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let tool = Tool::new("w", "", schema).handler(move |_: Map| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, String>("sunny") }
    });
    let fake = Fake::new()
        .reply(Script::new().call("w", json!({"city": 5})))
        .reply(Script::new().call("w", json!({"city": "Rome"})))
        .reply(text("done"));
    let engine = builder(&fake).tool(tool).build().expect("valid");
    let result = engine.chat("hi").await.expect("a result");
    assert_eq!(result.text(), "done");
    let fed_back = result.steps[0].tool_results.get(0).expect("one").text();
    assert!(
        fed_back.contains("invalid_arguments") && fed_back.contains("/city"),
        "{fed_back}"
    );
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn l29_l33_l34_l35_what_a_handler_is_told() {
    let tool = Tool::new("t", "", json!({})).handler(|_: Map, context: ToolContext| async move {
        let inner = context.driving_engine().expect("an engine");
        let answer = inner
            .generate("inside")
            .text()
            .await
            .map_err(|error| error.to_string())?;
        let tenant = context.get::<String>().cloned().unwrap_or_default();
        let id = context
            .request_id
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        Ok::<_, String>(json!([answer, tenant, id, context.tool_call.id.as_str()]))
    });
    let fake = Fake::new()
        .reply(call("t"))
        .reply(text("inner"))
        .reply(text("done"));
    let engine = builder(&fake)
        .tool(tool)
        .context("engine's".to_owned())
        .build()
        .expect("valid");
    let chat = engine
        .chat("hi")
        .context("acme".to_owned())
        .request_id("r1");
    let result = chat.await.expect("a result");
    assert_eq!(result.text(), "done");
    let told = result.steps[0].tool_results.get(0).expect("one").text();
    assert_eq!(told, "[\"inner\",\"acme\",\"r1\",\"call_1\"]");
    assert_eq!(result.steps[1].response.request_id, Some("r1".into()));
}

#[tokio::test]
async fn l178_what_a_chat_can_be_about() {
    let fake = Fake::new().always(text("x"));
    let engine: Engine = engine(&fake);
    assert!(engine.chat(Thread::new()).await.is_err());
    for thread in [Thread::from("text"), Thread::from(Message::user("m"))] {
        assert_eq!(engine.chat(thread).await.expect("a result").text(), "x");
    }
    let request = allm::Request::new("hi");
    assert_eq!(engine.chat(request).await.expect("a result").text(), "x");
    assert_eq!(
        engine
            .chat(vec![Message::user("a")])
            .text()
            .await
            .expect("text"),
        "x"
    );
    let _ = echo();
}

#[tokio::test]
async fn l192_generate_never_runs_a_tool_and_sends_full_schemas() {
    let fake = Fake::new().reply(call("x"));
    let compact = Tool::new(
        "x",
        "Does x.",
        json!({"type": "object", "properties": {"n": {}}}),
    )
    .compact()
    .handler(|_: Map| async { Err::<(), _>("it ran") });
    let engine = builder(&fake).tool(compact).build().expect("valid");
    let response = engine.generate("hi").await.expect("an answer");
    assert_eq!(response.tool_calls().len(), 1);
    let request = fake.last_request().expect("a request");
    let names: Vec<_> = request
        .tools
        .iter()
        .filter_map(|spec| spec.name())
        .collect();
    assert_eq!(names.len(), 3, "no tool_help: {names:?}");
}

#[tokio::test]
async fn l190_a_calls_mode_beats_the_engines() {
    let fake = Fake::new()
        .reply(call("a"))
        .reply(call("a"))
        .reply(text("done"));
    let engine = builder(&fake).mode(Mode::Manual).build().expect("valid");
    let manual = engine.chat("hi").await.expect("a result");
    assert_eq!(manual.halted_reason, HaltReason::ManualToolCalls);
    let auto = engine.chat("hi").mode(Mode::Auto).await.expect("a result");
    assert_eq!(auto.text(), "done");
}

#[tokio::test]
async fn l213_the_next_call_is_made_only_when_step_completed_was_taken() {
    let fake = Fake::new().always(call("a"));
    let mut events = engine(&fake).chat("hi").stream();
    fake.assert_calls(0);
    while let Some(event) = events.next().await {
        if event.tag() == "step_completed" {
            break;
        }
    }
    fake.assert_calls(1);
}

#[tokio::test]
async fn l214_the_observer_sees_what_the_provider_said_filtered_or_not() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let fake = Fake::new()
        .reply(Script::new().text("t").call("a", json!({})))
        .reply(text("x"));
    let chat = engine(&fake)
        .chat("hi")
        .without_text_deltas()
        .on_event(move |event| sink.lock().expect("not poisoned").push(event.tag()));
    let events = chat.stream().collect().await;
    let seen = seen.lock().expect("not poisoned");
    assert!(seen.contains(&"text_delta") && !tags(&events).contains(&"text_delta"));
    let own = [
        "tool_execution_started",
        "tool_result_encoded",
        "step_completed",
        "chat_completed",
    ];
    assert!(own.iter().all(|tag| !seen.contains(tag)));
}

#[tokio::test]
async fn l208_progress_arrives_between_started_and_completed() {
    let reporting =
        Tool::new("p", "", json!({})).handler(|_: Map, context: ToolContext| async move {
            context.progress(allm::Progress {
                progress: Some(1.0),
                total: Some(4.0),
                message: Some("asking".to_owned()),
            });
            tokio::task::yield_now().await;
            Ok::<_, String>("done")
        });
    let fake = Fake::new().reply(call("p")).reply(text("x"));
    let engine = builder(&fake).tool(reporting).build().expect("valid");
    let events = engine.chat("hi").stream().collect().await;
    let tags = tags(&events);
    let place = |tag: &str| tags.iter().position(|found| *found == tag).expect(tag);
    assert!(place("tool_execution_started") < place("tool_progress"));
    assert!(place("tool_progress") < place("tool_execution_completed"));
}

/// A gated tool waits like a manual one, awaited and streamed; the runner runs it once somebody has agreed.
#[tokio::test]
async fn l285_a_tool_that_needs_approval() {
    let gated = || {
        Tool::new("pay", "", json!({}))
            .handler(|_: allm::Map| async { Ok::<_, String>("paid") })
            .approval(allm::ApprovalRule::Always)
    };
    let script = || Script::new().call("pay", json!({})).call("a", json!({}));
    let fake = Fake::new().reply(script()).reply(script());
    let engine = builder(&fake).tool(gated()).build().expect("valid");
    let result = engine.chat("hi").request_id("q").await.expect("a result");
    assert_eq!(result.halted_reason, allm::HaltReason::ManualToolCalls);
    let step = &result.steps[0];
    assert_eq!(step.tool_results.len(), 1, "the sibling ran");
    let pending = step.manual_tool_calls.clone();
    assert_eq!(pending.len(), 1);
    let (streamed, events) = folded("hi", engine.chat("hi").request_id("q")).await;
    assert_eq!(streamed.halted_reason, result.halted_reason);
    let started = tags(&events)
        .iter()
        .filter(|tag| **tag == "tool_execution_started")
        .count();
    assert_eq!(started, 1);
    let batch = allm::run_tool_calls(pending, &[gated()], allm::ToolRunOptions::default())
        .await
        .expect("run");
    assert_eq!(batch.messages[0].text(), "paid");
}

/// The engine's part of L283: whatever a provider makes of it, the call reaches its adapter whole.
#[tokio::test]
async fn l283_a_malformed_call_in_history_is_not_dropped() {
    let fake = Fake::new().reply(text("I see."));
    let broken = allm::ToolCall::new("1", "a", "{\"city\": Bos");
    assert_eq!(broken.arguments, None);
    let thread: Thread = vec![
        Message::user("hi"),
        Message::assistant("").with_tool_calls(vec![broken.clone()]),
        Message::tool_result("1", "the arguments are not JSON"),
    ]
    .into();
    let result = engine(&fake).chat(thread).await.expect("a result");
    assert_eq!(result.text(), "I see.");
    let request = fake.last_request().expect("a request");
    let sent: Vec<_> = request
        .messages
        .iter()
        .flat_map(|message| &message.tool_calls)
        .collect();
    assert_eq!(sent, [&broken]);
}
