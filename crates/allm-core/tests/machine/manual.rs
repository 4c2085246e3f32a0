//! Manual runs and manual tools: L193–L202.

use allm_core::run::{HaltWhen, RunKind, RunOptions, RunSetup};
use allm_core::{FinishReason, Message, Mode};
use serde_json::json;

use super::check::unanswered;
use super::script::*;
use super::sim::*;

fn manual(kind: RunKind) -> RunSetup {
    let options = RunOptions {
        kind,
        mode: Mode::Manual,
        max_turns: 1,
        halt_when: HaltWhen::Set,
        ..RunOptions::default()
    };
    super::sim::options(options, tools(&["a", "m"]))
}

#[test]
fn l193_a_manual_step() {
    let sim = Sim::new(manual(RunKind::Step), [calls(&["a", "m"])]);
    let ran = sim.tools(|_| panic!("no handler")).ran();
    let step = ran.step(0);
    assert!(step.tool_results.is_empty() && !step.done);
    assert_eq!(step.metadata, object(json!({"mode": "manual"})));
    assert_eq!(step.response.tool_calls().len(), 2);
    assert_eq!(step.open_calls(), step.response.tool_calls());
    assert_eq!(step.mode, Mode::Manual);
}

/// L193: the calls of a turn that is closed are not the caller's.
#[test]
fn l193_a_manual_step_that_was_cut_off_leaves_no_call_open() {
    let cut = Answer::Message(Reply {
        calls: call_list(&["a"]),
        finish: Some(FinishReason::Length),
        ..Reply::default()
    });
    let ran = Sim::new(manual(RunKind::Step), [cut]).ran();
    let step = ran.step(0);
    assert_eq!(step.response.tool_calls().len(), 1);
    assert!(step.open_calls().is_empty() && step.tool_results.len() == 1);
}

#[test]
fn l194_a_manual_chat() {
    let ran = Sim::new(manual(RunKind::Chat), [calls(&["a", "m"])])
        .halting()
        .ran();
    assert_eq!(ran.reason(), "manual_tool_calls");
    assert_eq!(
        ran.result().metadata,
        object(json!({"manual_turn_index": 0}))
    );
    assert_eq!(ran.result().steps.len(), 1);
    assert!(ran.step(0).manual_tool_calls.is_empty());
    assert_eq!(ran.result().open_calls(), ran.step(0).response.tool_calls());
    let tags = ran.tags();
    assert!(
        !tags
            .iter()
            .any(|tag| tag.starts_with("tool_ex") || tag.starts_with("tool_res"))
    );
    assert_eq!(unanswered(&ran.result().thread.messages), ["c0", "c1"]);
}

#[test]
fn l195_a_text_turn_in_manual_mode_completes() {
    assert_eq!(
        ran(manual(RunKind::Chat), [text("x")]).reason(),
        "completed"
    );
}

#[test]
fn l196_pushing_all_results_makes_the_thread_whole() {
    let ran = Sim::new(manual(RunKind::Chat), [calls(&["a", "m"])]).ran();
    let mut thread = ran.result().thread.clone();
    thread.push(Message::tool_result("c1", "1"));
    assert_eq!(unanswered(&thread.messages), ["c0"]);
    thread.push(Message::tool_result("c0", "0"));
    assert_eq!(unanswered(&thread.messages), Vec::<String>::new());
}

#[test]
fn l197_auto_turns_show_no_trace_of_manual_tools() {
    let ran = ran(setup(tools(&["a", "m"])), [calls(&["a"]), text("x")]);
    assert!(ran.result().metadata.is_empty());
    for step in &ran.result().steps {
        assert!(step.metadata.is_empty() && step.manual_tool_calls.is_empty());
    }
}

#[test]
fn l198_an_auto_and_a_manual_call() {
    let ran = ran(setup(tools(&["a", "m"])), [calls(&["m", "a"])]);
    assert_eq!(ran.reason(), "manual_tool_calls");
    let step = ran.step(0);
    let call = serde_json::to_value(&step.response.tool_calls()[0]).expect("JSON");
    let expected = json!({"manual_turn_index": 0, "manual_tool_calls": [call]});
    assert_eq!(ran.result().metadata, object(expected.clone()));
    assert_eq!(
        step.metadata,
        object(json!({"manual_tool_calls": expected["manual_tool_calls"]}))
    );
    assert_eq!(
        step.manual_tool_calls,
        [step.response.tool_calls()[0].clone()]
    );
    assert_eq!(step.open_calls(), step.manual_tool_calls);
    assert_eq!(ran.result().open_calls(), step.manual_tool_calls);
    assert!(!step.done);
    let ids: Vec<_> = step
        .tool_results
        .iter()
        .map(|m| m.tool_call_id.clone())
        .collect();
    assert_eq!(ids, [Some("c1".into())]);
    let started: Vec<u32> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            allm_core::Event::ToolExecutionStarted(started) => Some(started.index),
            _ => None,
        })
        .collect();
    assert_eq!(started, [1], "the index in the response");
}

#[test]
fn l199_results_pushed_in_any_order_take_their_places() {
    let ran = ran(
        setup(tools(&["m1", "a", "m2"])),
        [calls(&["m1", "a", "m2"])],
    );
    assert_eq!(unanswered(&ran.result().thread.messages), ["c0", "c2"]);
    let mut thread = ran.result().thread.clone();
    thread.push(Message::tool_result("c2", "two"));
    thread.push(Message::tool_result("c0", "zero"));
    assert_eq!(
        shown(&thread)[2..],
        ["tool c0: zero", "tool c1: done", "tool c2: two"]
    );
}

#[test]
fn l200_only_manual_calls() {
    let ran = ran(setup(tools(&["m"])), [calls(&["m"])]);
    assert!(!ran.step(0).done && ran.step(0).tool_results.is_empty());
    assert!(ran.tags().iter().all(|tag| !tag.starts_with("tool_ex")));
    let last = ran.result().thread.last().expect("one");
    assert_eq!(last.role, allm_core::Role::Assistant);
}

#[test]
fn l202_a_failing_auto_call_beside_a_manual_one() {
    let ran = Sim::new(setup(tools(&["a", "m"])), [calls(&["a", "m"])])
        .tools(|_| fails())
        .ran();
    assert_eq!(ran.reason(), "manual_tool_calls");
    assert!(ran.step(0).tool_results.get(0).expect("one").is_error);
}

#[test]
fn l66_manual_calls_are_surfaced_unchecked() {
    let malformed = || {
        let mut list = call_list(&["m"]);
        list[0].raw = "{\"x\": ".into();
        Answer::Message(Reply {
            calls: list,
            ..Reply::default()
        })
    };
    for setup in [setup(tools(&["m"])), manual(RunKind::Chat)] {
        let ran = ran(setup, [malformed()]);
        assert_eq!(ran.reason(), "manual_tool_calls");
        let call = &ran.step(0).response.tool_calls()[0];
        assert_eq!((&call.arguments, &*call.raw_arguments), (&None, "{\"x\": "));
    }
}

#[test]
fn l201_a_manual_tool_is_never_given_out_to_be_run() {
    let mut sim = Sim::new(setup(tools(&["a", "m"])), [calls(&["m", "a", "m"])]);
    sim.step();
    let allm_core::run::Command::RunTools(given) = sim.run.command() else {
        panic!("tools to run")
    };
    let names: Vec<&str> = given.iter().map(|call| call.call.name.as_str()).collect();
    assert_eq!(names, ["a"]);
}

#[test]
fn l241_tool_help_beside_manual_and_failing_calls_and_in_manual_mode() {
    let with_compact = |mut setup: RunSetup| {
        setup.tools[0].compact = true;
        setup
    };
    let names = ["tool_help", "m", "a"];
    let mixed = Sim::new(with_compact(setup(tools(&["a", "m"]))), [calls(&names)])
        .tools(|call| {
            if call.call.name == "a" {
                fails()
            } else {
                ok("help")
            }
        })
        .ran();
    assert_eq!(mixed.reason(), "manual_tool_calls");
    assert_eq!(mixed.step(0).tool_results.len(), 2);
    let by_hand = ran(with_compact(manual(RunKind::Chat)), [calls(&names)]);
    assert_eq!(
        unanswered(&by_hand.result().thread.messages),
        ["c0", "c1", "c2"]
    );
}
