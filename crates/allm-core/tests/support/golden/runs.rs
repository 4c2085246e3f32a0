//! Runs in every phase.

use std::time::Duration;

use allm_core::run::{
    Budgets, Deadlines, Finalize, HaltWhen, Input, Planning, PolicyDecision, RunKind, RunOptions,
    RunSetup, ToolOutcome, UnknownTools,
};
use allm_core::{
    CallFailure, CustomHalt, Effect, FailureReason, FinishReason, Map, Message, Mode, Request,
    Response, ResponseFormat, Run, Thread, Tool, ToolCall,
};
use serde_json::json;

use super::Named;
use super::responses::{failure, stopped, usage};
use crate::support::map;

fn setup() -> RunSetup {
    RunSetup {
        tools: vec![
            Tool::new("get_weather", "The weather.", json!({"type": "object"}))
                .effect(Effect::Pure),
            Tool::new("approve", "Asks the boss.", json!({})).manual(),
        ],
        request_id: Some("r1".into()),
        ..RunSetup::new(
            Thread::new()
                .with(Message::system("Be brief."))
                .with(Message::user("Weather?")),
        )
    }
}

fn with_options(options: RunOptions) -> RunSetup {
    RunSetup { options, ..setup() }
}

/// A run that has taken these inputs.
fn after(setup: RunSetup, inputs: impl IntoIterator<Item = Input>) -> Run {
    let mut run = Run::start(setup).expect("the settings are right").run;
    for input in inputs {
        run.apply(input).expect("the input is expected");
    }
    run
}

fn calls(names: &[&str]) -> Response {
    let call = |(number, name): (usize, &&str)| ToolCall::new(format!("c{number}"), *name, "{}");
    let calls = names.iter().enumerate().map(call).collect();
    let message = Message::assistant("Let me look.").with_tool_calls(calls);
    Response {
        finish_reason: Some(FinishReason::ToolCalls),
        usage: usage(),
        ..Response::new(message)
    }
}

fn responded(names: &[&str]) -> Input {
    Input::responded(calls(names))
}

fn replied(index: u32) -> Input {
    Input::tool_done(
        index,
        ToolOutcome::replied(json!({"temp": 72}), r#"{"temp":72}"#),
    )
}

fn to_go_on(index: u32) -> Input {
    Input::tool_done(
        index,
        ToolOutcome::AskedToGoOn {
            question: "Which Boston?".to_owned(),
            opts: map(json!({"choices": ["MA", "UK"]})),
            state: Some(json!({"page": 2})),
        },
    )
}

pub(super) fn runs() -> Vec<Named<Run>> {
    let weather = &["get_weather"];
    let halt_when = || {
        with_options(RunOptions {
            halt_when: HaltWhen::Set,
            ..RunOptions::default()
        })
    };
    let step = || {
        with_options(RunOptions {
            kind: RunKind::Step,
            ..RunOptions::default()
        })
    };
    let manual = || {
        with_options(RunOptions {
            mode: Mode::Manual,
            ..RunOptions::default()
        })
    };
    let deadline = Deadlines {
        turn: Some(Duration::from_secs(5)),
        run: None,
    };
    let timed = || {
        with_options(RunOptions {
            deadlines: deadline,
            ..RunOptions::default()
        })
    };
    let passed = || Input::DeadlinePassed(allm_core::run::DeadlineScope::Turn);
    let stopped = |text: &str| Input::responded(stopped(text));
    vec![
        ("model", after(full_setup(), [])),
        (
            "model_second_turn",
            after(setup(), [responded(weather), replied(0)]),
        ),
        ("model_stopping", after(setup(), [Input::Cancel])),
        ("tools", tools()),
        ("tools_halting", tools_halting()),
        (
            "tools_stopping",
            after(
                timed(),
                [
                    responded(&["get_weather", "get_weather"]),
                    passed(),
                    Input::tool_done(1, ToolOutcome::NotStarted),
                ],
            ),
        ),
        (
            "halt_when",
            after(halt_when(), [responded(weather), replied(0)]),
        ),
        (
            "ended",
            after(setup(), [responded(weather), replied(0), stopped("72 °F")]),
        ),
        ("ended_manual", after(manual(), [responded(weather)])),
        (
            "ended_asked",
            after(
                setup(),
                [
                    responded(&["get_weather", "approve"]),
                    Input::tool_done(
                        0,
                        ToolOutcome::Asked {
                            question: "Which Boston?".to_owned(),
                            opts: map(json!({"choices": ["MA", "UK"]})),
                        },
                    ),
                ],
            ),
        ),
        (
            "tools_asking_to_go_on",
            after(
                setup(),
                [responded(&["get_weather", "get_weather"]), to_go_on(0)],
            ),
        ),
        (
            "ended_asked_to_go_on",
            after(setup(), [responded(weather), to_go_on(0)]),
        ),
        (
            "ended_failed",
            after(
                setup(),
                [responded(weather), replied(0), Input::refused(failure())],
            ),
        ),
        ("stepped", after(step(), [responded(weather), replied(0)])),
        ("refused", after(setup(), [Input::refused(failure())])),
        ("second_pass", after(finalizing(), [stopped("72 °F")])),
        (
            "second_pass_ended",
            after(finalizing(), [stopped("72 °F"), stopped("{\"temp\":72}")]),
        ),
    ]
}

/// Every setting.
fn full_setup() -> RunSetup {
    RunSetup {
        request: Request {
            model: Some("openai:gpt-4.1-mini".parse().expect("a model")),
            temperature: Some(0.5),
            response_format: Some(ResponseFormat::JsonObject),
            ..Request::default()
        },
        ..with_options(RunOptions {
            kind: RunKind::Chat,
            mode: Mode::Auto,
            max_turns: 3,
            unknown_tools: UnknownTools::TellModel,
            halt_when: HaltWhen::Set,
            planning: Planning::Machine,
            structured_finalize: Some(Finalize {
                nudge: "Now JSON.".to_owned(),
            }),
            deadlines: Deadlines {
                turn: Some(Duration::from_millis(1_500)),
                run: Some(Duration::MAX),
            },
            budgets: Budgets {
                tool_calls: Some(10),
                tokens: Some(100_000),
                cost: Some(0.5),
            },
        })
    }
}

/// A turn with a call in each state: done, failed and done, closing, manual, running.
fn tools() -> Run {
    let options = RunOptions {
        unknown_tools: UnknownTools::TellModel,
        ..RunOptions::default()
    };
    let failed = CallFailure::new(
        FailureReason::Timeout,
        "the tool `get_weather` did not finish in time",
    );
    after(
        with_options(options),
        [
            responded(&[
                "get_weather",
                "get_weather",
                "nope",
                "approve",
                "get_weather",
            ]),
            replied(0),
            Input::tool_done(1, ToolOutcome::failed(failed)),
        ],
    )
}

/// A turn in which three calls halt, each in its own way, while a fourth runs.
fn tools_halting() -> Run {
    let failure = CallFailure::new(
        FailureReason::HandlerRaised,
        "the tool `get_weather` crashed",
    );
    after(
        setup(),
        [
            responded(&["get_weather", "get_weather", "get_weather", "get_weather"]),
            Input::tool_done(
                0,
                ToolOutcome::Failed {
                    content: failure.to_content(),
                    failure,
                    decision: PolicyDecision::Halt {
                        exception: Some("the policy hung".to_owned()),
                    },
                },
            ),
            Input::tool_done(
                1,
                ToolOutcome::Halted {
                    reason: CustomHalt::new("plan_submitted").expect("a reason"),
                    value: json!({"ok": 1}),
                    content: "{\"ok\":1}".to_owned(),
                },
            ),
            Input::tool_done(
                2,
                ToolOutcome::Asked {
                    question: "Which Boston?".to_owned(),
                    opts: Map::new(),
                },
            ),
        ],
    )
}

fn finalizing() -> RunSetup {
    RunSetup {
        request: Request {
            response_format: Some(ResponseFormat::json_schema(
                "weather",
                json!({"type": "object"}),
            )),
            ..Request::default()
        },
        ..with_options(RunOptions {
            structured_finalize: Some(Finalize::default()),
            ..RunOptions::default()
        })
    }
}
