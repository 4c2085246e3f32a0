//! Ids, indexes and names as providers send them: L276–L280, C15.

use std::sync::Arc;

use allm_core::run::Repair;
use allm_core::{
    ArgumentLimits, Event, FinishReason, Fold, MalformedArguments, Message, MessageCompleted,
    Response, ToolCall, ToolCallCompleted, ToolCallDelta, ToolCallStarted, validate,
};
use serde_json::json;

use super::script::*;
use super::sim::*;

fn reply(ids: &[&str]) -> Answer {
    let calls = ids.iter().map(|id| called(id, "a")).collect();
    Answer::Message(Reply {
        calls,
        ..Reply::default()
    })
}

/// A call whose text nobody has read.
fn unread(id: &str, raw: &str) -> ToolCall {
    ToolCall {
        arguments: None,
        raw_arguments: raw.into(),
        ..ToolCall::new(id, "a", "{}")
    }
}

fn ids_of(ran: &Ran) -> Vec<String> {
    let calls = ran.step(0).response.tool_calls().iter();
    calls.map(|call| call.id.to_string()).collect()
}

#[test]
fn l276_two_calls_with_one_id() {
    let ran = ran(setup(tools(&["a"])), [reply(&["x", "x"]), text("end")]);
    assert_eq!(ids_of(&ran), ["x", "allm-0-1"]);
    let second = &ran.step(0).response.tool_calls()[1];
    assert_eq!(second.metadata, object(json!({"original_id": "x"})));
    assert_eq!(ran.step(0).tool_results.len(), 2);
    assert_eq!(ran.reason(), "completed");
}

#[test]
fn l277_c15_empty_ids_become_different_ones_everywhere() {
    let ran = ran(setup(tools(&["a"])), [reply(&["", "", ""]), text("end")]);
    let expected = ["allm-0-0", "allm-0-1", "allm-0-2"];
    assert_eq!(ids_of(&ran), expected);
    let in_events: Vec<String> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ToolCallStarted(event) => Some(event.id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(in_events, expected);
    let results = ran.step(0).tool_results.iter();
    let answered: Vec<String> = results
        .filter_map(|m| m.tool_call_id.clone())
        .map(|id| id.to_string())
        .collect();
    assert_eq!(answered, expected);
    assert!(
        ran.step(0)
            .response
            .tool_calls()
            .iter()
            .all(|call| call.metadata.is_empty())
    );
}

#[test]
fn l278_a_repaired_id_that_is_taken_gets_a_suffix_and_is_always_the_same() {
    let once = || {
        ran(
            setup(tools(&["a"])),
            [
                reply(&["allm-0-1", "", "allm-0-1", "allm-0-2"]),
                text("end"),
            ],
        )
    };
    let first = ids_of(&once());
    assert_eq!(first, ["allm-0-1", "allm-0-1-2", "allm-0-2", "allm-0-3"]);
    assert_eq!(ids_of(&once()), first);
}

#[test]
fn l279_equal_ids_in_different_turns_are_left_alone() {
    let ran = ran(
        setup(tools(&["a"])),
        [reply(&["x"]), reply(&["x"]), text("end")],
    );
    assert_eq!(ran.reason(), "completed");
    for step in &ran.result().steps[..2] {
        assert_eq!(step.response.tool_calls()[0].id, "x");
        assert!(step.response.tool_calls()[0].metadata.is_empty());
    }
}

#[test]
fn l280_sparse_and_huge_indexes_are_numbered_in_the_order_seen() {
    let mut repair = Repair::new(0);
    let indexes = [u32::MAX, 7, u32::MAX, 0];
    let shown: Vec<u32> = indexes
        .iter()
        .map(|index| {
            let event = Event::ToolCallDelta(ToolCallDelta {
                index: *index,
                id: format!("id{index}").into(),
                arguments_delta: "".into(),
            });
            match repair.event(event) {
                Event::ToolCallDelta(delta) => delta.index,
                event => panic!("{event:?}"),
            }
        })
        .collect();
    assert_eq!(shown, [0, 1, 0, 2]);
}

#[test]
fn a_delta_before_the_start_keeps_its_call() {
    let mut repair = Repair::new(3);
    let delta = repair.event(Event::ToolCallDelta(ToolCallDelta {
        index: 4,
        id: "".into(),
        arguments_delta: "{".into(),
    }));
    let started = repair.event(Event::ToolCallStarted(ToolCallStarted {
        index: 4,
        id: "late".into(),
        name: "a b".into(),
    }));
    let completed = repair.event(Event::ToolCallCompleted(Arc::new(ToolCallCompleted {
        index: 4,
        id: "late".into(),
        name: "a b".into(),
        arguments: None,
        raw_arguments: " ".into(),
        metadata: Default::default(),
    })));
    let (Event::ToolCallDelta(delta), Event::ToolCallStarted(started)) = (delta, started) else {
        panic!()
    };
    assert_eq!((delta.index, delta.id.as_str()), (0, "allm-3-0"));
    assert_eq!(
        (started.id.as_str(), started.name.as_str()),
        ("allm-3-0", "a_b")
    );
    let Event::ToolCallCompleted(completed) = completed else {
        panic!()
    };
    assert_eq!(completed.raw_arguments, "{}");
    assert_eq!(completed.arguments, Some(Default::default()));
    let expected = json!({"original_id": "late", "original_name": "a b"});
    assert_eq!(completed.metadata, object(expected));
}

#[test]
fn c12_an_empty_last_call_of_a_cut_answer_never_came() {
    for (finish, whole) in [("length", false), ("stop", true)] {
        let finish = serde_json::from_value(json!(finish)).expect("a reason");
        let mut list = call_list(&["a", "a"]);
        list[1].raw = String::new();
        let answer = Answer::Message(Reply {
            calls: list,
            finish: Some(finish),
            ..Reply::default()
        });
        let ran = ran(setup(tools(&["a"])), [answer, text("end")]);
        let last = &ran.step(0).response.tool_calls()[1];
        assert_eq!(last.arguments.is_some(), whole);
        assert_eq!(last.incomplete, !whole);
        assert_eq!(last.raw_arguments, if whole { "{}" } else { "" });
    }
}

#[test]
fn c12_also_when_an_error_cut_the_answer_and_it_is_given_whole() {
    let mut sim = Sim::new(setup(tools(&["a"])), []);
    let calls = vec![ToolCall::new("x", "a", "{}"), unread("y", "")];
    let mut response = Response::new(Message::assistant("").with_tool_calls(calls));
    response.error = Some(refusal());
    let input = allm_core::run::Input::responded(response);
    sim.run.apply(input).expect("taken");
    let calls = sim.run.steps()[0].response.tool_calls();
    assert_eq!(
        calls,
        [
            ToolCall::new("x", "a", "{}"),
            ToolCall::cut_off("y", "a", "")
        ]
    );
}

#[test]
fn c14_arguments_that_came_survive_a_cut() {
    let answer = calls_with(&["a"], Some(FinishReason::Length));
    let ran = ran(setup(tools(&["a"])), [answer]);
    assert_eq!(
        ran.step(0).response.tool_calls(),
        [ToolCall::new("c0", "a", "{}")]
    );
}

#[test]
fn l59_text_over_the_limit_of_the_driver_stays_unread() {
    let raw = r#"{"x":1}"#;
    for call in [ToolCall::new("c0", "a", raw), unread("c0", raw)] {
        let mut repair = Repair::with_limits(
            0,
            ArgumentLimits {
                max_bytes: raw.len() - 1,
                ..ArgumentLimits::default()
            },
        );
        let message = Message::assistant("").with_tool_calls(vec![call]);
        let mut fold = Fold::new();
        fold.push(
            &repair.event(Event::MessageCompleted(Arc::new(MessageCompleted::new(
                message,
            )))),
        );
        assert_eq!(fold.response().tool_calls(), [unread("c0", raw)]);
        let mut sim = Sim::new(setup(tools(&["a"])), []);
        let input = allm_core::run::Input::responded(fold.response());
        sim.run.apply(input).expect("taken");
        let open = sim.run.open_response().expect("an open turn");
        assert_eq!(open.tool_calls(), [unread("c0", raw)]);
        let bytes = raw.len();
        assert_eq!(
            open.tool_calls()[0].fault(),
            Some(MalformedArguments::TooLong { bytes })
        );
    }
}

#[test]
fn a_whole_answer_is_repaired_like_a_streamed_one() {
    let mut sim = Sim::new(setup(tools(&["a"])), []);
    let call = || ToolCall::new("x", "a", "{}");
    let message = Message::assistant("").with_tool_calls(vec![call(), call()]);
    let input = allm_core::run::Input::responded(allm_core::Response::new(message));
    sim.run.apply(input).expect("taken");
    let ids: Vec<String> = sim
        .run
        .open_calls()
        .iter()
        .map(|call| call.id.to_string())
        .collect();
    assert_eq!(ids, ["x", "allm-0-1"]);
}

#[test]
fn l281_calls_beside_a_nameless_one_are_repaired_too() {
    let mut sim = Sim::new(setup(tools(&["a"])), []);
    let calls = [("n", ""), ("x", "a"), ("x", "a"), ("", "a b")];
    let calls = calls.map(|(id, name)| ToolCall::new(id, name, "{}"));
    let message = Message::assistant("").with_tool_calls(calls.into());
    let input = allm_core::run::Input::responded(allm_core::Response::new(message));
    sim.run.apply(input).expect("taken");
    let result = sim.run.result().expect("a result");
    assert_eq!(result.metadata["error"]["reason"], "malformed_event");
    let called = result.thread.messages.get(1).expect("the assistant's");
    let ids: Vec<&str> = called
        .tool_calls
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(ids, ["x", "allm-0-2", "allm-0-3"]);
    assert_eq!(called.tool_calls[2].name, "a_b");
    assert_eq!(validate::sendable(&result.thread.messages), Ok(()));
}
