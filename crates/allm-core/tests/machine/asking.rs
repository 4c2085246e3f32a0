//! Asking the user: L150–L160.

use allm_core::run::{HaltWhen, RunKind, RunOptions, RunSetup, ToolOutcome};
use allm_core::{AWAITING_USER, Message, Thread};
use serde_json::json;

use super::check::unanswered;
use super::script::*;
use super::sim::*;

fn asking(setup: RunSetup, names: &[&str]) -> Ran {
    Sim::new(setup, [calls(names), text("x")])
        .tools(|call| match call.call.name.as_str() {
            "ask" => asks_with("really?", json!({"choices": {"yes": [1, 2]}})),
            "halt" => halts("h", json!(1)),
            "fail" => fails_and_halts(None),
            _ => ok("done"),
        })
        .ran()
}

const NAMES: [&str; 5] = ["ask", "a", "m", "halt", "fail"];

#[test]
fn l150_the_content_is_the_fixed_text() {
    let ran = asking(setup(tools(&NAMES)), &["ask"]);
    assert_eq!(AWAITING_USER, "<awaiting user response>");
    let message = ran.step(0).tool_results.get(0).expect("one").clone();
    assert_eq!(
        (message.text().as_str(), message.is_error),
        (AWAITING_USER, false)
    );
}

#[test]
fn l151_a_step_has_the_question_only_in_its_metadata() {
    let kind = RunOptions {
        kind: RunKind::Step,
        ..RunOptions::default()
    };
    let ran = Sim::new(options(kind, tools(&NAMES)), [calls(&["ask"])])
        .tools(|_| asks("really?"))
        .ran();
    let step = ran.step(0);
    assert!(step.done);
    let expected = json!({
        "halted_reason": "ask_user", "pending_question": "really?",
        "pending_tool_call_id": "c0", "ask_user_opts": {}
    });
    assert_eq!(step.metadata, object(expected));
    assert_eq!(step.pending_question(), Some("really?"));
    assert_eq!(step.ask_user_opts(), Some(&object(json!({}))));
    assert_eq!(step.halt_result(), None);
    assert_eq!(
        shown(&step.thread).last().map(String::as_str),
        Some("tool c0: <awaiting user response>")
    );
}

#[test]
fn l152_l153_l160_a_chat_ends_with_the_question() {
    let ran = asking(setup(tools(&NAMES)), &["ask"]);
    assert_eq!(ran.reason(), "ask_user");
    let result = ran.result();
    let last = result.thread.last().expect("a message");
    assert_eq!(last.text(), "really?");
    assert_eq!(
        last.metadata,
        object(json!({"ask_user": true, "tool_call_id": "c0"}))
    );
    assert_eq!(result.pending_question.as_deref(), Some("really?"));
    assert_eq!(result.pending_tool_call_id, Some("c0".into()));
    let expected = json!({
        "pending_question": "really?", "pending_tool_call_id": "c0",
        "ask_user_opts": {"choices": {"yes": [1, 2]}}
    });
    assert_eq!(result.metadata, object(expected));
    assert!(
        ran.step(0)
            .thread
            .messages
            .iter()
            .all(|m| m.metadata.is_empty())
    );
    let tail = ran.tags().split_off(ran.tags().len() - 3);
    assert_eq!(
        tail,
        ["ask_user_requested", "step_completed", "chat_completed"]
    );
}

#[test]
fn l154_a_question_beats_halt_when_and_max_turns() {
    let setup = options(
        RunOptions {
            max_turns: 1,
            halt_when: HaltWhen::Set,
            ..RunOptions::default()
        },
        tools(&NAMES),
    );
    let ran = Sim::new(setup, [calls(&["ask"])])
        .tools(|_| asks("q"))
        .halting()
        .ran();
    assert_eq!(ran.reason(), "ask_user");
}

#[test]
fn l155_answering_goes_on() {
    let asked = asking(setup(tools(&NAMES)), &["ask"]);
    let thread = asked.result().thread.clone().with_user("yes");
    let next = Sim::new(
        RunSetup {
            tools: tools(&NAMES),
            ..RunSetup::new(thread)
        },
        [text("fine")],
    )
    .tools(|_| panic!("the handler is not called again"))
    .ran();
    assert_eq!(next.reason(), "completed");
    assert_eq!(
        next.thread(),
        [
            "user: hi",
            "assistant [c0]: ",
            "tool c0: <awaiting user response>",
            "assistant: really?",
            "user: yes",
            "assistant: fine"
        ]
    );
}

#[test]
fn l156_of_two_askers_the_lower_index_is_pending() {
    let ran = Sim::new(setup(tools(&NAMES)), [calls(&["ask", "ask"])])
        .order(&[1, 0])
        .tools(|call| asks(&format!("question {}", call.index)))
        .ran();
    assert_eq!(ran.result().pending_question.as_deref(), Some("question 0"));
    assert!(
        ran.step(0)
            .tool_results
            .iter()
            .all(|m| m.text() == AWAITING_USER)
    );
    let events = ran
        .tags()
        .iter()
        .filter(|tag| **tag == "ask_user_requested")
        .count();
    assert_eq!(events, 2);
}

#[test]
fn l157_l158_a_question_beside_a_manual_call() {
    let ran = asking(setup(tools(&NAMES)), &["ask", "m", "a"]);
    assert_eq!(ran.reason(), "ask_user");
    let metadata = &ran.result().metadata;
    assert_eq!(metadata["manual_turn_index"], json!(0));
    assert_eq!(metadata["manual_tool_calls"][0]["id"], "c1");
    assert_eq!(metadata["pending_question"], "really?");
    assert_eq!(unanswered(&ran.result().thread.messages), ["c1"]);

    let mut thread = ran.result().thread.clone();
    thread.push(Message::tool_result("c1", "by hand"));
    thread.push(Message::user("yes"));
    assert_eq!(unanswered(&thread.messages), Vec::<String>::new());
    assert_eq!(
        shown(&thread)[2..],
        [
            "tool c0: <awaiting user response>",
            "tool c1: by hand",
            "tool c2: done",
            "assistant: really?",
            "user: yes"
        ]
    );
}

#[test]
fn l159_the_same_for_a_custom_halt_and_a_failure() {
    for (name, reason) in [("halt", "h"), ("fail", "tool_error")] {
        let ran = asking(setup(tools(&NAMES)), &["m", name]);
        assert_eq!(ran.reason(), reason);
        assert_eq!(ran.result().metadata["manual_turn_index"], json!(0));
        assert_eq!(ran.result().metadata["manual_tool_calls"][0]["id"], "c0");
        assert_eq!(unanswered(&ran.result().thread.messages), ["c0"]);
        assert!(ran.step(0).done);
    }
}

#[test]
fn the_question_is_no_part_of_any_step() {
    let ran = asking(setup(tools(&NAMES)), &["ask", "a"]);
    let thread: &Thread = &ran.step(0).thread;
    assert_eq!(thread.len() + 1, ran.result().thread.len());
    let _: fn(&str) -> ToolOutcome = asks;
}
