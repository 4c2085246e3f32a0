//! structured_finalize: L226–L233.

use allm_core::run::{DeadlineScope, Deadlines, Finalize, HaltWhen, Input, RunOptions, RunSetup};
use allm_core::{FinishReason, ResponseFormat, ToolChoice};
use serde_json::json;

use super::script::*;
use super::sim::*;

fn finalizing(names: &[&str]) -> RunSetup {
    let mut setup = options(
        RunOptions {
            structured_finalize: Some(Finalize::default()),
            ..RunOptions::default()
        },
        tools(names),
    );
    setup.request.response_format = Some(ResponseFormat::json_schema(
        "out",
        json!({"type": "object"}),
    ));
    setup.request.tool_choice = Some(ToolChoice::Auto);
    setup
}

fn marker(ran: &Ran) -> serde_json::Value {
    ran.result().metadata["structured_finalize"].clone()
}

#[test]
fn l226_tool_turn_text_and_json() {
    let ran = ran(finalizing(&["a"]), [calls(&["a"]), text("so"), text("{}")]);
    assert_eq!(ran.reason(), "completed");
    assert_eq!(ran.result().text(), "{}");
    assert_eq!((ran.result().steps.len(), ran.requests.len()), (3, 3));
    assert_eq!(marker(&ran)["pass_1_halted"], "completed");
    let first = serde_json::to_value(&ran.step(1).response).expect("JSON");
    assert_eq!(marker(&ran)["pass_1_response"], first);
    assert_eq!(
        ran.thread()[3..],
        [
            "assistant: so",
            "user: Now provide your final structured response.",
            "assistant: {}"
        ]
    );
}

#[test]
fn l227_other_ends_of_pass_one_have_no_pass_two() {
    let cases: Vec<(Answer, &str)> = vec![
        (calls(&["ask"]), "ask_user"),
        (calls(&["fail"]), "tool_error"),
        (calls(&["m"]), "manual_tool_calls"),
        (calls(&["halt"]), "custom"),
        (calls_with(&["a"], Some(FinishReason::Length)), "truncated"),
        (
            Answer::Breaks(Reply {
                text: "x".into(),
                ..Reply::default()
            }),
            "error",
        ),
    ];
    for (answer, reason) in cases {
        let ran = Sim::new(finalizing(&["ask", "fail", "m", "halt", "a"]), [answer])
            .tools(|call| match call.call.name.as_str() {
                "ask" => asks("q"),
                "fail" => fails_and_halts(None),
                "halt" => halts("custom", json!(1)),
                _ => ok("x"),
            })
            .ran();
        assert_eq!((ran.reason(), ran.requests.len()), (reason, 1));
        assert_eq!(marker(&ran)["pass_1_halted"], reason);
        assert!(marker(&ran)["pass_1_response"].is_object());
    }
}

#[test]
fn l228_max_turns_and_halt_when_go_on_to_pass_two() {
    let mut setup = finalizing(&["a"]);
    setup.options.max_turns = 1;
    let by_turns = ran(setup.clone(), [calls(&["a"]), text("{}")]);
    assert_eq!(by_turns.reason(), "completed");
    assert_eq!(marker(&by_turns)["pass_1_halted"], "max_turns");
    assert_eq!(
        by_turns.result().metadata.len(),
        1,
        "the rest is from pass 2"
    );
    setup.options.halt_when = HaltWhen::Set;
    let by_closure = Sim::new(setup, [calls(&["a"]), text("{}")]).halting().ran();
    assert_eq!(by_closure.reason(), "completed");
    assert_eq!(marker(&by_closure)["pass_1_halted"], "halt_when");
}

#[test]
fn l229_the_nudge_and_an_empty_one() {
    let mut setup = finalizing(&[]);
    setup.options.structured_finalize = Some(Finalize {
        nudge: "As JSON.".into(),
    });
    let own = ran(setup.clone(), [text("x"), text("{}")]);
    assert_eq!(own.thread()[2], "user: As JSON.");
    setup.options.structured_finalize = Some(Finalize {
        nudge: String::new(),
    });
    let none = ran(setup, [text("x"), text("{}")]);
    assert_eq!(none.thread(), ["user: hi", "assistant: x", "assistant: {}"]);
}

#[test]
fn l230_what_each_pass_sends() {
    let mut setup = finalizing(&["a"]);
    setup.tools[0].compact = true;
    let ran = ran(setup, [calls(&["a"]), text("x"), text("{}")]);
    for first in &ran.requests[..2] {
        assert_eq!(first.response_format, None);
        assert_eq!(first.tools.len(), 2, "the tool and tool_help");
        assert_eq!(first.tool_choice, Some(ToolChoice::Auto));
    }
    let second = &ran.requests[2];
    assert!(second.response_format.is_some());
    assert!(second.tools.is_empty() && second.tool_choice.is_none());
}

#[test]
fn l231_a_format_without_the_flag_is_one_pass() {
    let mut setup = finalizing(&[]);
    setup.options.structured_finalize = None;
    let one = ran(setup, [text("{}")]);
    assert!(one.requests[0].response_format.is_some());
    assert!(one.result().metadata.is_empty());
    let mut setup = finalizing(&[]);
    for format in [None, Some(ResponseFormat::Text)] {
        setup.request.response_format = format;
        let error = allm_core::Run::start(setup.clone()).expect_err("refused");
        assert_eq!(
            error.to_string(),
            "invalid_request: structured_finalize: requires_json_schema"
        );
    }
}

#[test]
fn l232_pass_two_refused() {
    let ran = ran(finalizing(&[]), [text("x"), Answer::Refused]);
    assert_eq!(ran.reason(), "error");
    assert_eq!(ran.result().metadata["error"]["reason"], "rate_limited");
    assert_eq!(marker(&ran)["pass_2_error"]["reason"], "rate_limited");
    assert_eq!(
        ran.thread(),
        ["user: hi", "assistant: x"],
        "without the nudge"
    );
    assert_eq!(
        ran.result().final_response.as_ref(),
        Some(&ran.step(0).response)
    );
}

#[test]
fn l232_calls_in_pass_two_run_nothing() {
    let mut setup = finalizing(&["a"]);
    setup.options.unknown_tools = allm_core::run::UnknownTools::TellModel;
    setup.options.mode = allm_core::Mode::Manual;
    let ran = Sim::new(setup, [text("x"), calls(&["a"])])
        .tools(|_| panic!("nothing runs"))
        .ran();
    assert_eq!(ran.reason(), "error");
    assert_eq!(ran.result().metadata["error"]["reason"], "unknown_tool");
    assert_eq!(ran.step(1).mode, allm_core::Mode::Auto);
    super::check::can_go_on(&ran.result().thread);
}

#[test]
fn l233_one_chat_completed_and_indexes_that_run_on() {
    let ran = ran(finalizing(&["a"]), [calls(&["a"]), text("x"), text("{}")]);
    let ends = ran
        .tags()
        .iter()
        .filter(|tag| **tag == "chat_completed")
        .count();
    assert_eq!(ends, 1);
    let indexes: Vec<u32> = ran
        .result()
        .steps
        .iter()
        .map(|step| step.step_index)
        .collect();
    assert_eq!(indexes, [0, 1, 2]);
}

#[test]
fn l252_cancelled_in_pass_one_between_and_in_pass_two() {
    let mut first = Sim::new(finalizing(&["a"]), [calls(&["a"])]);
    first.step();
    first.apply(Input::Cancel);
    let first = first.ran();
    assert_eq!(
        (first.reason(), marker(&first)["pass_1_halted"].as_str()),
        ("cancelled", Some("cancelled"))
    );

    let mut between = Sim::new(finalizing(&[]), [text("x")]);
    between.step();
    between.apply(Input::Cancel);
    let between = between.ran();
    assert_eq!(
        (between.reason(), marker(&between)["pass_1_halted"].as_str()),
        ("cancelled", Some("completed"))
    );
    assert_eq!(between.thread(), ["user: hi", "assistant: x"]);

    let mut second = Sim::new(finalizing(&[]), [text("x")]);
    second.step();
    let partial = second.play(pieces(&Reply {
        text: "{".into(),
        ..Reply::default()
    }));
    second.apply(Input::Cancel);
    second.apply(Input::stopped(Some(partial)));
    let second = second.ran();
    assert_eq!(
        (second.reason(), marker(&second)["pass_1_halted"].as_str()),
        ("cancelled", Some("completed"))
    );
    assert_eq!(
        second.thread().last().map(String::as_str),
        Some("assistant: {")
    );
}

#[test]
fn l261_the_turn_deadline_of_pass_one_does_not_stop_pass_two() {
    let second = Some(std::time::Duration::from_secs(1));
    let mut setup = finalizing(&[]);
    setup.options.deadlines = Deadlines {
        turn: second,
        run: second,
    };
    let passed = |scopes: &[DeadlineScope]| {
        let mut sim = Sim::new(setup.clone(), [text("x"), text("{}")]);
        for scope in scopes {
            sim.apply(Input::DeadlinePassed(*scope));
        }
        // The answer had come whole before the driver could stop it.
        sim.answer_now();
        sim.ran()
    };
    let turn = passed(&[DeadlineScope::Turn]);
    assert_eq!((turn.reason(), turn.result().steps.len()), ("completed", 2));
    for both in [
        [DeadlineScope::Turn, DeadlineScope::Run],
        [DeadlineScope::Run, DeadlineScope::Turn],
    ] {
        let run = passed(&both);
        assert_eq!(run.reason(), "deadline_exceeded");
        assert_eq!(run.result().metadata["scope"], "run");
        assert_eq!(marker(&run)["pass_1_halted"], "completed");
    }
}
