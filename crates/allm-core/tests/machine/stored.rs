//! A run as a document: what is refused when it is read back.

use allm_core::json;
use allm_core::run::{Input, Run};
use allm_core::{JsonError, JsonReason, Message, Response, ToolCall};
use serde_json::{Value, json};

use super::script::*;
use super::sim::*;

fn running() -> Sim {
    let mut sim = Sim::new(
        setup(tools(&["a", "m"])),
        [calls(&["a"]), calls(&["a", "m", "a"])],
    );
    for _ in 0..3 {
        sim.step();
    }
    sim.apply(Input::tool_done(0, ok("x")));
    sim
}

fn changed(change: impl Fn(&mut Value)) -> JsonError {
    let mut value: Value = serde_json::from_slice(&bytes(&running().run)).expect("JSON");
    change(&mut value);
    let text = serde_json::to_string(&value).expect("text");
    json::from_str::<Run>(&text).expect_err("refused")
}

#[test]
fn a_state_that_does_not_match_its_hash_is_refused() {
    let error = changed(|value| value["data"]["counters"]["turns"] = json!(1));
    assert_eq!(error.reason, JsonReason::InvalidValue);
    assert!(error.to_string().contains("state_hash"), "{error}");
    let error = changed(|value| {
        value["data"]["thread"]["messages"][0]["content"][0]["text"] = json!("other")
    });
    assert!(error.to_string().contains("state_hash"), "{error}");
    let error = changed(|value| value["data"]["thread"]["metadata"] = json!({"tenant": "other"}));
    assert!(error.to_string().contains("state_hash"), "{error}");
}

#[test]
fn another_machine_is_refused_by_number() {
    let error = changed(|value| value["data"]["machine"] = json!(2));
    assert!(
        error.to_string().contains("machine 2 is not supported"),
        "{error}"
    );
}

#[test]
fn a_run_that_could_not_go_on_is_refused() {
    let error = changed(|value| {
        value["data"]["phase"]["calls"]
            .as_array_mut()
            .expect("a list")
            .pop();
    });
    assert!(error.to_string().contains("differ in number"), "{error}");
    let error = changed(|value| {
        for call in value["data"]["phase"]["calls"]
            .as_array_mut()
            .expect("a list")
        {
            *call = json!({"type": "manual"});
        }
    });
    assert!(
        error
            .to_string()
            .contains("no call of the open turn is running"),
        "{error}"
    );
    let error = changed(|value| value["data"]["steps"][0]["thread_length"] = json!(99));
    assert!(error.to_string().contains("thread_length"), "{error}");
    let error = changed(|value| value["data"]["given"] = json!(99));
    assert!(error.to_string().contains("given"), "{error}");
}

#[test]
fn unknown_fields_and_phases_are_refused_with_their_path() {
    let error = changed(|value| value["data"]["phase"]["calls"][1]["nope"] = json!(1));
    assert_eq!(
        (error.reason, error.path.to_string().as_str()),
        (JsonReason::UnknownField, "data.phase.calls[1].nope")
    );
    let error = changed(|value| value["data"]["phase"]["type"] = json!("elsewhere"));
    assert_eq!(
        (error.reason, error.path.to_string().as_str()),
        (JsonReason::InvalidValue, "data.phase.type")
    );
}

#[test]
fn the_text_grows_with_the_history_and_not_with_its_square() {
    let size = |turns: u32| {
        let options = allm_core::run::RunOptions {
            max_turns: turns + 1,
            ..Default::default()
        };
        let answers: Vec<Answer> = (0..turns).map(|_| calls(&["a"])).collect();
        let mut sim = Sim::new(super::sim::options(options, tools(&["a"])), answers);
        for _ in 0..turns * 2 {
            sim.step();
        }
        bytes(&sim.run).len()
    };
    let (ten, twenty) = (size(10), size(20));
    assert!(twenty < ten * 2 + 200, "{ten} {twenty}");
}

#[test]
fn the_hash_of_a_state_does_not_depend_on_when_it_was_asked_for() {
    let mut asked_often = Sim::new(
        setup(tools(&["a"])),
        [calls(&["a"]), calls(&["a"]), text("x")],
    );
    let mut asked_once = Sim::new(
        setup(tools(&["a"])),
        [calls(&["a"]), calls(&["a"]), text("x")],
    );
    while asked_often.run.end().is_none() {
        asked_often.step();
        asked_often.run.state_hash().expect("a hash");
        asked_once.step();
    }
    assert_eq!(asked_often.run.state_hash(), asked_once.run.state_hash());
}

/// What has been hashed of an open turn is no part of the state, and is forgotten with the turn.
#[test]
fn the_hash_is_that_of_a_fresh_copy_however_often_it_was_asked() {
    let started = Run::start(setup(tools(&["a"])));
    let mut run = started.expect("settings").run;
    let answer = || {
        let calls = ["c0", "c1", "c2"].map(|id| ToolCall::new(id, "a", "{}"));
        let message = Message::assistant("").with_tool_calls(calls.into());
        Input::responded(Response::new(message))
    };
    let done = |index, text| Input::tool_done(index, ok(text));
    let apply = |run: &mut Run, input| drop(run.apply(input).expect("it waits for that"));
    let ask = |run: &mut Run| {
        let mut fresh: Run = json::from_slice(&bytes(run)).expect("a run");
        let expected = fresh.state_hash().expect("a hash");
        assert_eq!(run.state_hash().expect("a hash"), expected);
    };
    apply(&mut run, answer());
    ask(&mut run);
    apply(&mut run, done(2, "x"));
    ask(&mut run);
    // Not asked until the next turn is open, in which another call has ended.
    for input in [done(0, "y"), done(1, "y"), answer(), done(1, "z")] {
        apply(&mut run, input);
    }
    ask(&mut run);
    apply(&mut run, done(0, "z"));
    ask(&mut run);
}
