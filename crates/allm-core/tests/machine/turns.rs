//! One turn and the chat loop: L161–L186, L192-like requests, L209–L216.

use allm_core::run::{Command, RunKind, RunOptions, RunSetup};
use allm_core::{
    FinishReason, HaltReason, Message, Mode, Opaque, Part, RawJson, Request, Thread, ToolChoice,
    Usage,
};
use serde_json::json;

use super::script::*;
use super::sim::*;

fn max_turns(turns: u32, names: &[&str]) -> RunSetup {
    options(
        RunOptions {
            max_turns: turns,
            ..RunOptions::default()
        },
        tools(names),
    )
}

fn endless(names: &[&str], turns: u32) -> Ran {
    let answers: Vec<Answer> = (0..20).map(|_| calls(names)).collect();
    ran(max_turns(turns, names), answers)
}

#[test]
fn l161_a_text_answer_completes() {
    let ran = ran(setup(vec![]), [text("hello")]);
    assert_eq!(ran.reason(), "completed");
    assert_eq!(ran.result().metadata, object(json!({})));
    assert_eq!(ran.result().steps.len(), 1);
    assert_eq!(
        ran.result().final_response.as_ref(),
        Some(&ran.step(0).response)
    );
    assert!(ran.step(0).done && ran.step(0).metadata.is_empty());
    assert_eq!(ran.thread(), ["user: hi", "assistant: hello"]);
    assert!(!ran.result().is_halted());
}

#[test]
fn l162_a_tool_turn_then_text() {
    let ran = ran(setup(tools(&["a"])), [calls(&["a"]), text("fine")]);
    assert_eq!(ran.reason(), "completed");
    assert_eq!(ran.requests.len(), 2);
    assert_eq!(
        ran.thread(),
        [
            "user: hi",
            "assistant [c0]: ",
            "tool c0: done",
            "assistant: fine"
        ]
    );
    assert_eq!(ran.step(0).tool_results.len(), 1);
    assert!(!ran.step(0).done);
}

#[test]
fn l163_three_tool_turns_and_an_answer_are_four_calls() {
    let turn = || calls(&["a"]);
    let ran = ran(setup(tools(&["a"])), [turn(), turn(), turn(), text("x")]);
    assert_eq!((ran.requests.len(), ran.result().steps.len()), (4, 4));
    let indexes: Vec<u32> = ran
        .result()
        .steps
        .iter()
        .map(|step| step.step_index)
        .collect();
    assert_eq!(indexes, [0, 1, 2, 3]);
}

#[test]
fn l164_endless_calls_end_by_max_turns() {
    let two = endless(&["a"], 2);
    assert_eq!(two.reason(), "max_turns");
    assert_eq!(two.result().metadata, object(json!({"max_turns": 2})));
    assert_eq!(two.result().steps.len(), 2);
    let default = endless(&["a"], RunOptions::default().max_turns);
    assert_eq!(
        (default.result().steps.len(), default.requests.len()),
        (8, 8)
    );
}

#[test]
fn l165_max_turns_of_one() {
    assert_eq!(ran(max_turns(1, &["a"]), [text("x")]).reason(), "completed");
    let tool_turn = endless(&["a"], 1);
    assert_eq!(
        (tool_turn.reason(), tool_turn.requests.len()),
        ("max_turns", 1)
    );
    assert_eq!(tool_turn.step(0).tool_results.len(), 1);
}

#[test]
fn l166_max_turns_of_zero_is_refused_by_name() {
    let error = allm_core::Run::start(max_turns(0, &[])).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "invalid_request: max_turns: must_be_positive"
    );
}

#[test]
fn l191_two_wrong_settings_give_one_error_with_two_entries() {
    let setup = options(
        RunOptions {
            max_turns: 0,
            structured_finalize: Some(Default::default()),
            ..RunOptions::default()
        },
        vec![],
    );
    let error = allm_core::Run::start(setup).expect_err("refused");
    let faults: Vec<String> = error.faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            "max_turns: must_be_positive",
            "structured_finalize: requires_json_schema"
        ]
    );
}

#[test]
fn l170_a_mid_stream_error_on_a_later_turn() {
    let broken = Answer::Breaks(Reply {
        text: "half".into(),
        ..Reply::default()
    });
    let ran = ran(setup(tools(&["a"])), [calls(&["a"]), broken]);
    assert_eq!(ran.reason(), "error");
    assert_eq!(ran.result().steps.len(), 2);
    assert_eq!(
        ran.step(1).response.finish_reason,
        Some(FinishReason::Error)
    );
    assert_eq!(
        ran.thread().last().map(String::as_str),
        Some("assistant: half")
    );
    assert_eq!(ran.result().metadata["error"]["reason"], "rate_limited");
    assert_eq!(ran.step(1).metadata["halted_reason"], "error");
    let error = ran.result().clone().into_result().expect_err("failed");
    assert!(matches!(error, allm_core::Error::Interrupted(_)));
    assert_eq!(error.reason(), "rate_limited");
    assert!(error.is_retryable());
}

#[test]
fn l171_a_later_turn_that_cannot_be_opened() {
    let ran = ran(setup(tools(&["a"])), [calls(&["a"]), Answer::Refused]);
    assert_eq!(ran.reason(), "error");
    assert_eq!(ran.result().steps.len(), 1);
    assert_eq!(ran.result().thread, ran.step(0).thread);
    assert_eq!(
        ran.tags()[ran.tags().len() - 2..],
        ["error", "chat_completed"]
    );
    let error = ran.result().clone().into_result().expect_err("failed");
    assert_eq!(error.reason(), "rate_limited");
}

#[test]
fn l172_a_first_turn_that_cannot_be_opened() {
    let ran = ran(setup(vec![]), [Answer::Refused]);
    assert_eq!(ran.refused(), &refusal());
    assert_eq!(ran.tags(), ["error"]);
    assert!(ran.run.steps().is_empty());
}

#[test]
fn l173_a_stream_that_just_ends_is_interrupted() {
    let ends = Answer::JustEnds(Reply {
        text: "half".into(),
        ..Reply::default()
    });
    let ran = ran(setup(vec![]), [ends]);
    assert_eq!(ran.reason(), "error");
    assert_eq!(last_finish(&ran), Some(FinishReason::Error));
    assert_eq!(ran.result().metadata["error"]["reason"], "interrupted");
    assert_eq!(ran.thread(), ["user: hi", "assistant: half"]);
}

#[test]
fn l174_an_error_followed_by_a_completion_stays_an_error() {
    let mut sim = Sim::new(setup(vec![]), []);
    let reply = Reply {
        text: "x".into(),
        finish: Some(FinishReason::Stop),
        ..Reply::default()
    };
    let mut fold = allm_core::Fold::new();
    let events = vec![allm_core::Event::error(refusal()), completed(&reply)];
    events.iter().for_each(|event| fold.push(event));
    sim.emit(events);
    sim.apply(allm_core::run::Input::responded(fold.response()));
    let result = sim.run.result().expect("a result");
    assert_eq!(result.halted_reason, HaltReason::Error);
}

#[test]
fn l175_a_failed_turn_with_neither_text_nor_calls_adds_no_message() {
    let ran = ran(setup(vec![]), [Answer::Breaks(Reply::default())]);
    assert_eq!(ran.reason(), "error");
    assert_eq!(ran.thread(), ["user: hi"]);
    assert_eq!(ran.result().steps.len(), 1);
}

#[test]
fn l176_assistant_messages_carry_calls_and_reason_as_fields() {
    let ran = ran(setup(tools(&["a"])), [calls(&["a"]), text("x")]);
    let message = ran
        .result()
        .thread
        .messages
        .get(1)
        .expect("the assistant's");
    assert!(message.metadata.is_empty() && message.content.is_empty());
    assert_eq!(message.text(), "");
    assert_eq!(message.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(message.tool_calls.len(), 1);
}

#[test]
fn l177_opaque_parts_are_in_the_next_request_byte_for_byte() {
    let raw = r#"{"z": 1.0, "a":"é", "n": 1e2}"#;
    let part = Part::opaque(Opaque {
        provider: "p".into(),
        wire: "w".into(),
        kind: "thinking".into(),
        data: RawJson::new(raw).unwrap(),
    });
    let mut sim = Sim::new(setup(tools(&["a"])), []);
    let message = Message::assistant(vec![part.clone()])
        .with_tool_calls(vec![allm_core::ToolCall::new("c0", "a", "{}")]);
    let mut response = allm_core::Response::new(message);
    response.finish_reason = Some(FinishReason::ToolCalls);
    // Given as a whole answer, without the events before it.
    let events = sim.run.apply(allm_core::run::Input::responded(response));
    assert_eq!(events, Ok(vec![]));
    let Command::RunTools(calls) = sim.run.command() else {
        panic!()
    };
    let _ = sim
        .run
        .apply(allm_core::run::Input::tool_done(calls[0].index, ok("x")));
    let Command::CallModel(next) = sim.run.command() else {
        panic!()
    };
    let sent = next.request.messages.get(1).expect("the assistant's");
    assert_eq!(sent.content, [part]);
    assert_eq!(
        sent.content[0]
            .attached()
            .map(|opaque| opaque.data.as_str()),
        Some(raw)
    );
}

#[test]
fn l180_usage_is_the_sum_over_the_steps() {
    let with = |answer: Answer, usage: Usage| match answer {
        Answer::Message(reply) => Answer::Message(Reply { usage, ..reply }),
        answer => answer,
    };
    let ran = ran(
        setup(tools(&["a"])),
        [
            with(calls(&["a"]), Usage::io(10, 1)),
            calls(&["a"]),
            with(text("x"), Usage::io(20, 2)),
        ],
    );
    assert_eq!(ran.result().usage(), Usage::io(30, 3));
    assert!(
        ran.step(1).response.usage.is_empty(),
        "not that of the turn before"
    );
}

#[test]
fn l181_cut_without_calls_completes() {
    for finish in [FinishReason::Length, FinishReason::ContentFilter] {
        let answer = Answer::Message(Reply {
            text: "cut".into(),
            finish: Some(finish),
            ..Reply::default()
        });
        let ran = ran(setup(vec![]), [answer]);
        assert_eq!(ran.reason(), "completed");
        assert_eq!(last_finish(&ran), Some(finish));
    }
}

#[test]
fn l182_l183_cut_with_calls_is_truncated_and_closed() {
    for finish in [FinishReason::Length, FinishReason::ContentFilter] {
        let mut list = call_list(&["a", "m", "a"]);
        list[2].raw = "{\"x\": ".into();
        let answer = Answer::Message(Reply {
            calls: list,
            finish: Some(finish),
            ..Reply::default()
        });
        let sim = Sim::new(setup(tools(&["a", "m"])), [answer]);
        let ran = sim.tools(|call| panic!("{call:?} must not run")).ran();
        assert_eq!(ran.reason(), "truncated");
        let expected = json!({"truncated_turn_index": 0, "finish_reason": finish.as_str()});
        assert_eq!(ran.result().metadata, object(expected));
        assert_eq!(
            ran.step(0).metadata,
            object(json!({"halted_reason": "truncated"}))
        );
        assert!(ran.step(0).done);
        for message in &ran.step(0).tool_results {
            assert!(message.is_error && message.text().contains("\"truncated\""));
        }
        assert_eq!(ran.step(0).tool_results.len(), 3);
        super::check::can_go_on(&ran.result().thread);
        assert_eq!(ran.step(0).response.tool_calls()[2].arguments, None);
    }
}

#[test]
fn l184_other_none_and_tool_calls_without_calls_complete() {
    let reasons = [
        Some(FinishReason::Other),
        None,
        Some(FinishReason::ToolCalls),
    ];
    for finish in reasons {
        let answer = Answer::Message(Reply {
            text: "x".into(),
            finish,
            raw_finish: Some("odd".into()),
            ..Reply::default()
        });
        let ran = ran(setup(tools(&["a"])), [answer]);
        assert_eq!((ran.reason(), ran.requests.len()), ("completed", 1));
        let response = ran.result().final_response.as_ref().expect("a response");
        assert_eq!(response.raw_finish_reason.as_deref(), Some("odd"));
    }
}

#[test]
fn l185_stop_other_or_none_with_calls_runs_them() {
    for finish in [Some(FinishReason::Stop), Some(FinishReason::Other), None] {
        let ran = ran(
            setup(tools(&["a"])),
            [calls_with(&["a"], finish), text("x")],
        );
        assert_eq!((ran.reason(), ran.requests.len()), ("completed", 2));
        assert_eq!(
            ran.step(0).response.finish_reason,
            Some(FinishReason::ToolCalls)
        );
    }
}

#[test]
fn l186_error_with_calls_runs_none() {
    let mut list = call_list(&["a", "m"]);
    list.push(called("c2", ""));
    let reply = Reply {
        calls: list,
        ..Reply::default()
    };
    // The nameless call breaks the answer by itself.
    let ran = Sim::new(setup(tools(&["a", "m"])), [Answer::Breaks(reply)])
        .tools(|_| panic!("must not run"))
        .ran();
    assert_eq!(ran.reason(), "error");
    let results: Vec<String> = ran.step(0).tool_results.iter().map(|m| m.text()).collect();
    assert_eq!(results.len(), 2, "one for each named call");
    assert!(results.iter().all(|text| text.contains("not_executed")));
    super::check::can_go_on(&ran.result().thread);
}

#[test]
fn l189_tool_choice_is_sent_on_every_turn() {
    let mut setup = max_turns(3, &["a"]);
    setup.request.tool_choice = Some(ToolChoice::Required);
    let answers: Vec<Answer> = (0..3).map(|_| calls(&["a"])).collect();
    let ran = ran(setup, answers);
    assert_eq!(ran.reason(), "max_turns");
    let sent = |request: &Request| request.tool_choice == Some(ToolChoice::Required);
    assert!(ran.requests.iter().all(sent));
}

#[test]
fn l209_l210_l211_l212_order_of_a_tool_turn() {
    let ran = Sim::new(setup(tools(&["a", "b"])), [calls(&["a", "b"]), text("x")])
        .order(&[1, 0])
        .ran();
    let tool_events: Vec<&str> = ran
        .tags()
        .into_iter()
        .filter(|tag| {
            tag.starts_with("tool_exec")
                || tag.starts_with("tool_res")
                || tag.ends_with("completed")
        })
        .collect();
    assert_eq!(
        tool_events,
        [
            "tool_call_completed",
            "tool_call_completed",
            "message_completed",
            "tool_execution_started",
            "tool_execution_started",
            "tool_execution_completed",
            "tool_result_encoded",
            "tool_execution_completed",
            "tool_result_encoded",
            "step_completed",
            "message_completed",
            "step_completed",
            "chat_completed",
        ]
    );
    // Completion order in the events, call order in the thread.
    let ids: Vec<_> = ran
        .step(0)
        .tool_results
        .iter()
        .map(|m| m.tool_call_id.clone())
        .collect();
    assert_eq!(ids, [Some("c0".into()), Some("c1".into())]);
}

#[test]
fn l216_a_step_has_no_chat_completed() {
    let setup = options(
        RunOptions {
            kind: RunKind::Step,
            ..RunOptions::default()
        },
        tools(&["a"]),
    );
    let ran = ran(setup, [calls(&["a"])]);
    assert_eq!(ran.tags().last(), Some(&"step_completed"));
    assert_eq!(ran.requests.len(), 1);
    assert_eq!(ran.run.result(), None);
    assert_eq!(ran.step(0).mode, Mode::Auto);
}

#[test]
fn the_machine_takes_a_thread_of_any_length_and_does_not_change_it() {
    let thread: Thread = (0..100).fold(Thread::new(), |thread, n| thread.with_user(n.to_string()));
    let ran = ran(RunSetup::new(thread.clone()), [text("x")]);
    assert!(thread.messages.is_prefix_of(&ran.result().thread.messages));
}
