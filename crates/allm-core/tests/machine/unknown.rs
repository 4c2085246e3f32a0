//! Unknown tools: L115–L126.

use allm_core::run::{RunKind, RunOptions, UnknownTools};
use allm_core::{Event, Mode};
use serde_json::json;

use super::script::*;
use super::sim::*;

fn telling(names: &[&str]) -> allm_core::run::RunSetup {
    options(
        RunOptions {
            unknown_tools: UnknownTools::TellModel,
            ..RunOptions::default()
        },
        tools(names),
    )
}

#[test]
fn l115_a_step_with_an_unknown_tool() {
    let setup = options(
        RunOptions {
            kind: RunKind::Step,
            ..RunOptions::default()
        },
        tools(&["a"]),
    );
    let ran = ran(setup, [calls(&["nope"])]);
    let step = ran.step(0);
    assert!(step.done);
    assert_eq!(step.metadata["halted_reason"], "error");
    assert_eq!(step.metadata["error"]["reason"], "unknown_tool");
    let error = (**step).clone().into_result().expect_err("failed");
    assert_eq!(error.reason(), "unknown_tool");
}

#[test]
fn l116_l118_a_chat_with_an_unknown_tool() {
    let sim = Sim::new(setup(tools(&["a"])), [calls(&["a", "nope"])]);
    let ran = sim.tools(|_| panic!("nothing in the batch runs")).ran();
    assert_eq!((ran.reason(), ran.requests.len()), ("error", 1));
    assert_eq!(ran.result().steps.len(), 1);
    assert_eq!(
        ran.result().metadata["error"]["metadata"]["tool_name"],
        "nope"
    );
    let error = ran.result().clone().into_result().expect_err("failed");
    assert_eq!(
        (error.kind(), error.reason()),
        (allm_core::ErrorKind::Engine, "unknown_tool")
    );
    let after = ran
        .events
        .iter()
        .position(|event| event.tag() == "message_completed");
    let tags: Vec<&str> = ran.tags().split_off(after.expect("completed") + 1);
    assert_eq!(
        tags,
        [
            "error",
            "tool_result_encoded",
            "tool_result_encoded",
            "step_completed",
            "chat_completed"
        ]
    );
}

#[test]
fn l117_on_a_later_turn_the_steps_before_it_are_kept() {
    let ran = ran(setup(tools(&["a"])), [calls(&["a"]), calls(&["nope"])]);
    assert_eq!((ran.reason(), ran.result().steps.len()), ("error", 2));
}

#[test]
fn l119_unknown_calls_and_their_siblings_are_closed() {
    let ran = ran(setup(tools(&["a"])), [calls(&["nope", "a"])]);
    let results: Vec<String> = ran.step(0).tool_results.iter().map(|m| m.text()).collect();
    assert!(results[0].contains("unknown_tool") && results[1].contains("not_executed"));
    super::check::can_go_on(&ran.result().thread);
}

#[test]
fn l120_unknown_and_manual_leaves_nothing_pending() {
    let ran = ran(setup(tools(&["m"])), [calls(&["nope", "m"])]);
    assert_eq!(ran.reason(), "error");
    assert!(ran.run.open_calls().is_empty());
    assert!(ran.step(0).manual_tool_calls.is_empty());
}

#[test]
fn l121_tell_model_answers_and_goes_on() {
    let ran = ran(telling(&["a", "b"]), [calls(&["nope", "a"]), text("x")]);
    assert_eq!((ran.reason(), ran.requests.len()), ("completed", 2));
    let results: Vec<String> = ran.step(0).tool_results.iter().map(|m| m.text()).collect();
    assert!(results[0].contains("unknown_tool"), "{}", results[0]);
    assert!(
        results[0].contains("a, b"),
        "it names the tools there are: {}",
        results[0]
    );
    assert_eq!(results[1], "done");
    // Events of closed calls come after those of the batch.
    let closing = ran.events.iter().filter_map(|event| match event {
        Event::ToolResultEncoded(event) => Some(event.index),
        _ => None,
    });
    assert_eq!(closing.collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn l122_tell_model_does_not_halt_and_asks_no_policy() {
    // The machine is never given a decision for a call that did not run.
    let ran = Sim::new(telling(&["a"]), [calls(&["nope"]), text("x")])
        .tools(|_| panic!("nothing runs"))
        .ran();
    assert_eq!(ran.reason(), "completed");
    assert!(ran.step(0).metadata.is_empty() && !ran.step(0).done);
}

#[test]
fn l123_tell_model_for_ever_ends_by_max_turns() {
    let answers: Vec<Answer> = (0..10).map(|_| calls(&["nope"])).collect();
    let ran = ran(telling(&["a"]), answers);
    assert_eq!((ran.reason(), ran.requests.len()), ("max_turns", 8));
}

#[test]
fn l124_manual_mode_surfaces_unknown_names() {
    let setup = options(
        RunOptions {
            mode: Mode::Manual,
            ..RunOptions::default()
        },
        tools(&["a"]),
    );
    let ran = ran(setup, [calls(&["nope", "a"])]);
    assert_eq!(ran.reason(), "manual_tool_calls");
    assert_eq!(ran.run.open_calls().len(), 2);
}

#[test]
fn l125_a_name_outside_the_rule_is_looked_up_as_sent_and_stored_repaired() {
    let ran = ran(setup(tools(&["get_weather"])), [calls(&["get.weather"])]);
    assert_eq!(ran.reason(), "error");
    assert_eq!(
        ran.result().metadata["error"]["metadata"]["tool_name"],
        "get.weather"
    );
    let call = &ran
        .result()
        .thread
        .messages
        .get(1)
        .expect("the assistant's")
        .tool_calls[0];
    assert_eq!(call.name, "get_weather");
    assert_eq!(
        call.metadata,
        object(json!({"original_name": "get.weather"}))
    );
}

#[test]
fn l126_the_empty_name_makes_the_turn_fail() {
    let ran = ran(setup(tools(&["a"])), [calls(&["a", ""])]);
    assert_eq!(ran.reason(), "error");
    assert_eq!(ran.result().metadata["error"]["reason"], "malformed_event");
}

#[test]
fn l126_also_when_the_answer_is_given_whole() {
    let mut sim = Sim::new(setup(tools(&["a"])), []);
    let call = allm_core::ToolCall::new("c0", "", "{}");
    let message = allm_core::Message::assistant("x").with_tool_calls(vec![call]);
    let input = allm_core::run::Input::responded(allm_core::Response::new(message));
    let events = sim.run.apply(input).expect("taken");
    assert_eq!(failure_of(&events[0]).reason, "malformed_event");
    let result = sim.run.result().expect("a result");
    assert_eq!(shown(&result.thread), ["user: hi", "assistant: x"]);
}
