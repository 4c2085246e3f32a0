//! Halts, questions and unknown tools: L113, L114, L121, L122, L143–L148, L150, L156 at the runner.

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

use allm::run::UnknownTools;
use allm::{
    AnswerTo, EncodeError, ErrorDecision, Event, Map, OnToolError, Tool, ToolBatch, ToolFailure,
    ToolReply, ToolResultEncoder, ToolRunOptions, is_reserved, run_tool_calls, stream_tool_calls,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use runner_support::*;

fn replying(name: &str, reply: ToolReply) -> Tool {
    tool(name).handler(move |_: Value| {
        let reply = reply.clone();
        async move { reply }
    })
}

fn metadata(batch: &ToolBatch) -> Value {
    Value::Object(batch.halt.clone().expect("it halted").into_metadata())
}

/// L143, L148.
#[tokio::test]
async fn l143_l148_a_handler_halts_and_its_siblings_finish() {
    let halts = replying("h", ToolReply::halt("plan_submitted", &json!({"ok": 1})));
    let tools = [giving("a", json!(1)), halts, giving("b", json!(2))];
    let batch = run(&tools, ToolRunOptions::new().max_concurrency(1)).await;
    assert_eq!(texts(&batch), ["1", r#"{"ok":1}"#, "2"]);
    assert!(!batch.messages[1].is_error);
    let expected = json!({
        "halted_reason": "plan_submitted",
        "halt_tool_call_id": "c1",
        "halt_result": {"ok": 1},
    });
    assert_eq!(metadata(&batch), expected);
}

/// L144.
#[tokio::test]
async fn l144_a_reserved_reason_is_a_failure() {
    for reason in ["completed", "max_turns", "tool_error", "budget_exhausted"] {
        assert!(is_reserved(reason));
        let tools = [replying("h", ToolReply::halt(reason, &1))];
        let batch = run(&tools, ToolRunOptions::new()).await;
        assert_eq!(
            (reasons(&batch), batch.halt),
            (vec!["invalid_return".to_owned()], None)
        );
        let options = ToolRunOptions::new().on_tool_error(OnToolError::Halt);
        assert_eq!(
            metadata(&run(&tools, options).await)["halted_reason"],
            "tool_error"
        );
        let policy = OnToolError::decide(|_, failure| {
            let ToolFailure::Crashed(error) = failure else {
                panic!("{failure:?}")
            };
            ErrorDecision::continue_with(&error.metadata["reserved_halt_atom"])
        });
        let batch = run(&tools, ToolRunOptions::new().on_tool_error(policy)).await;
        assert_eq!(texts(&batch), [reason]);
    }
}

/// L145.
#[tokio::test]
async fn l145_a_halt_whose_value_does_not_encode_is_lost() {
    let value = std::collections::BTreeMap::from([(vec![1], 1)]);
    let tools = [replying("h", ToolReply::halt("done", &value))];
    let batch = run(&tools, ToolRunOptions::new()).await;
    assert_eq!(
        (reasons(&batch), batch.halt),
        (vec!["encoding_failed".to_owned()], None)
    );
    let options = ToolRunOptions::new().on_tool_error(OnToolError::Halt);
    assert_eq!(
        metadata(&run(&tools, options).await)["halted_reason"],
        "tool_error"
    );
}

/// Two tools of which the second ends first.
fn reversed(first: ToolReply, second: ToolReply) -> [Tool; 2] {
    let ended = Arc::new(Notify::new());
    let waits = {
        let ended = Arc::clone(&ended);
        tool("first").handler(move |_: Value| {
            let (ended, reply) = (Arc::clone(&ended), first.clone());
            async move {
                ended.notified().await;
                reply
            }
        })
    };
    let goes = tool("second").handler(move |_: Value| {
        ended.notify_one();
        let reply = second.clone();
        async move { reply }
    });
    [waits, goes]
}

/// L146.
#[tokio::test]
async fn l146_of_two_halts_the_lower_index_counts() {
    let tools = || reversed(ToolReply::halt("low", &1), ToolReply::halt("high", &2));
    let options = ToolRunOptions::new().max_concurrency(2);
    let batch = run(&tools(), options.clone()).await;
    let expected = json!({"halted_reason": "low", "halt_tool_call_id": "c0", "halt_result": 1});
    assert_eq!(metadata(&batch), expected);
    assert_eq!(texts(&batch), ["1", "2"]);
    let events = stream(&tools(), options).await;
    let halts = events.iter().filter_map(|event| match event {
        Event::ToolHalt(halt) => Some((halt.index, &*halt.reason)),
        _ => None,
    });
    assert_eq!(halts.collect::<Vec<_>>(), [(1, "high"), (0, "low")]);
}

/// L147.
#[tokio::test]
async fn l147_what_the_lower_index_says_counts_whatever_it_is() {
    let options = ToolRunOptions::new().max_concurrency(2);
    let ask = || ToolReply::ask("which?");
    let halt = || ToolReply::halt("mine", &1);
    let batch = run(&reversed(ask(), halt()), options.clone()).await;
    let expected = json!({
        "halted_reason": "ask_user",
        "pending_question": "which?",
        "pending_tool_call_id": "c0",
        "ask_user_opts": {},
    });
    assert_eq!(metadata(&batch), expected);
    let batch = run(&reversed(halt(), ask()), options.clone()).await;
    assert_eq!(metadata(&batch)["halted_reason"], "mine");
    let failed = ToolReply::Error(allm::ReportedError::new("no"));
    let options = options.on_tool_error(OnToolError::Halt);
    let batch = run(&reversed(failed, halt()), options).await;
    assert_eq!(metadata(&batch)["halted_reason"], "tool_error");
}

struct Shouts;

impl ToolResultEncoder for Shouts {
    fn encode(&self, value: &Value) -> Result<String, EncodeError> {
        Ok(value.to_string().to_uppercase())
    }
}

/// L150, L156, L160.
#[tokio::test]
async fn l150_l156_askers() {
    let opts = Map::from_iter([("choices".to_owned(), json!([{"a": {"b": 1}}]))]);
    let tools = reversed(
        ToolReply::ask("first?"),
        ToolReply::ask_with("second?", opts.clone()),
    );
    let options = ToolRunOptions::new().max_concurrency(2).encoder(Shouts);
    let batch = run(&tools, options.clone()).await;
    assert_eq!(texts(&batch), [allm::AWAITING_USER, allm::AWAITING_USER]);
    assert!(!batch.messages[0].is_error);
    assert_eq!(metadata(&batch)["pending_question"], "first?");
    let tools = reversed(
        ToolReply::ask("first?"),
        ToolReply::ask_with("second?", opts.clone()),
    );
    let events = stream(&tools, options).await;
    let asked = events.iter().filter_map(|event| match event {
        Event::AskUserRequested(asked) => Some((&*asked.question, asked.opts.clone())),
        _ => None,
    });
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [("second?", opts), ("first?", Map::new())]
    );
}

/// L113, L114.
#[tokio::test]
async fn l113_l114_an_unknown_name_refuses_the_whole_batch() {
    let ran = Count::default();
    let tools = [tool("known").handler({
        let ran = ran.clone();
        move |_: Value| {
            ran.add();
            async move { Fine::Ok(1) }
        }
    })];
    let calls = || vec![call(0, "known"), call(1, "nope")];
    let error = run_tool_calls(calls(), &tools, ToolRunOptions::new())
        .await
        .unwrap_err();
    let allm::Error::Engine(engine) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(engine.metadata["tool_name"], "nope");
    assert_eq!(error.reason(), "unknown_tool");
    let events = all(stream_tool_calls(calls(), &tools, ToolRunOptions::new())).await;
    assert_eq!(events, [Event::error(error)]);
    assert_eq!(ran.get(), 0);
}

/// L121, L122 at the runner.
#[tokio::test]
async fn l121_l122_tell_model() {
    let tools = [giving("known", json!(1))];
    let calls = || vec![call(0, "nope"), call(1, "known"), call(2, "neither")];
    for policy in [
        OnToolError::Halt,
        OnToolError::decide(|_, _| panic!("the policy was asked")),
    ] {
        let options = ToolRunOptions::new()
            .unknown_tools(UnknownTools::TellModel)
            .on_tool_error(policy)
            .encoder(Shouts);
        let batch = run_tool_calls(calls(), &tools, options.clone())
            .await
            .unwrap();
        assert_eq!(batch.halt, None);
        let texts = texts(&batch);
        assert_eq!(texts[1], "1");
        for text in [&texts[0], &texts[2]] {
            let error = error(text);
            assert_eq!(error["reason"], "unknown_tool");
            assert!(error["message"].as_str().unwrap().contains("known"));
        }
        let events = all(stream_tool_calls(calls(), &tools, options)).await;
        // Closed calls come last, in call order, without execution events.
        let expected = [
            (1, "started"),
            (1, "completed"),
            (1, "encoded"),
            (0, "encoded"),
            (2, "encoded"),
        ];
        assert_eq!(tags(&events), expected);
    }
}

/// L125 at the runner: looked up as the model wrote it.
#[tokio::test]
async fn l125_a_repaired_name_is_looked_up_as_written() {
    let mut repaired = call(0, "get_weather");
    repaired
        .metadata
        .insert(allm::ORIGINAL_NAME.to_owned(), "get.weather".into());
    let tools = [giving("get_weather", json!(1))];
    let error = run_tool_calls(vec![repaired], &tools, ToolRunOptions::new())
        .await
        .unwrap_err();
    assert_eq!(error.reason(), "unknown_tool");
}

/// L296: no message for the call, its two events, and the question as the halt.
#[tokio::test]
async fn l296_a_call_that_asks_to_go_on_has_no_message() {
    let state = json!({"secret": 7});
    let asks = ToolReply::ask_and_go_on_with("Which?", Map::new(), state);
    let tools = || {
        [
            giving("a", json!(1)),
            replying("go", asks.clone()),
            giving("b", json!(2)),
        ]
    };
    let batch = run(&tools(), ToolRunOptions::new()).await;
    assert_eq!(texts(&batch), ["1", "2"]);
    let expected = json!({
        "halted_reason": "ask_user", "pending_question": "Which?",
        "pending_tool_call_id": "c1", "ask_user_opts": {},
    });
    assert_eq!(metadata(&batch), expected);

    let events = stream(&tools(), ToolRunOptions::new()).await;
    let of_call = events.iter().filter_map(|event| match event {
        Event::ToolExecutionStarted(event) if event.index == 1 => Some("started"),
        Event::ToolExecutionCompleted(event) if event.index == 1 => Some("completed"),
        Event::AskUserRequested(event) if event.answer_to == AnswerTo::Tool => Some("asked"),
        Event::ToolResultEncoded(event) if event.index == 1 => Some("encoded"),
        _ => None,
    });
    assert_eq!(
        of_call.collect::<Vec<_>>(),
        ["started", "completed", "asked"]
    );
    assert!(!serde_json::to_string(&events).unwrap().contains("secret"));
}

/// L297: nobody has answered outside of a session.
#[tokio::test]
async fn l297_the_runner_has_no_answer() {
    let tool = tool("t").handler(|_: Value, context: allm::ToolContext| async move {
        Ok::<_, std::fmt::Error>(context.answer.is_none())
    });
    assert_eq!(texts(&run(&[tool], ToolRunOptions::new()).await), ["true"]);
}
