//! Asking a person and going on with the answer: L292 to L296.

use std::sync::Arc;

use allm_core::run::{
    Command, HaltFacts, Input, OpenBatch, OpenSlot, Run, RunKind, RunOptions, RunSetup, ToolOutcome,
};
use allm_core::{AWAITING_USER, AnswerTo, Event, Message, Response, Thread, ToolCall};
use serde_json::json;

use super::check::unanswered;
use super::script::*;
use super::sim::*;

const NAMES: [&str; 5] = ["go", "ask", "a", "m", "halt"];

fn outcome(name: &str) -> ToolOutcome {
    match name {
        "go" => asks_to_go_on("which one?"),
        "ask" => asks("really?"),
        "halt" => halts("h", json!(1)),
        _ => ok("done"),
    }
}

fn asking(names: &[&str]) -> Ran {
    Sim::new(setup(tools(&NAMES)), [calls(names), text("x")])
        .tools(|call| outcome(&call.call.name))
        .ran()
}

#[test]
fn l292_the_run_halts_and_the_call_is_left_open() {
    let ran = asking(&["a", "go"]);
    let result = ran.result();
    assert_eq!(ran.reason(), "ask_user");
    assert_eq!(result.pending_question.as_deref(), Some("which one?"));
    assert_eq!(result.pending_tool_call_id, Some("c1".into()));
    assert_eq!(
        ran.thread(),
        ["user: hi", "assistant [c0 c1]: ", "tool c0: done"]
    );
    let open: Vec<_> = result.open_calls().iter().map(|call| &call.id).collect();
    assert_eq!(open, ["c1"]);
    let call = serde_json::to_value(&result.open_calls()[0]).unwrap();
    let expected = json!({
        "pending_question": "which one?", "pending_tool_call_id": "c1", "ask_user_opts": {"a": 1},
        "manual_turn_index": 0, "manual_tool_calls": [call]
    });
    assert_eq!(result.metadata, object(expected));
    assert!(ran.step(0).done);
    assert_eq!(ran.step(0).pending_question(), Some("which one?"));
}

#[test]
fn l292_the_event_says_who_gets_the_answer_and_not_the_state() {
    let ran = asking(&["go"]);
    let told = |tag: &str| {
        let event = ran.events.iter().find(|event| event.tag() == tag).unwrap();
        serde_json::to_value(event).unwrap()
    };
    let expected = json!({
        "type": "ask_user_requested", "index": 0, "tool_call_id": "c0", "tool_name": "go",
        "question": "which one?", "opts": {"a": 1}, "answer_to": "tool"
    });
    assert_eq!(told("ask_user_requested"), expected);
    let result =
        json!({"ask_user": {"question": "which one?", "opts": {"a": 1}, "answer_to": "tool"}});
    assert_eq!(told("tool_execution_completed")["result"], result);
    for event in &ran.events {
        let text = serde_json::to_string(event).unwrap();
        assert!(!text.contains("\"step\":1"), "{text}");
    }
}

#[test]
fn l292_l293_a_step_leaves_it_open_and_the_caller_may_close_it() {
    let kind = RunOptions {
        kind: RunKind::Step,
        ..RunOptions::default()
    };
    let ran = Sim::new(options(kind, tools(&NAMES)), [calls(&["go"])])
        .tools(|call| outcome(&call.call.name))
        .ran();
    let step = ran.step(0);
    assert_eq!(step.open_calls().len(), 1);
    assert!(step.tool_results.is_empty());

    let mut thread = step.thread.clone();
    thread.push(Message::tool_result("c0", "the red one"));
    let next = RunSetup {
        tools: tools(&NAMES),
        ..RunSetup::new(thread)
    };
    assert_eq!(super::sim::ran(next, [text("fine")]).reason(), "completed");
}

#[test]
fn l294_of_askers_of_both_kinds_the_lower_index_is_pending() {
    let ran = asking(&["ask", "go"]);
    assert_eq!(ran.result().pending_question.as_deref(), Some("really?"));
    assert_eq!(
        ran.thread()[2..],
        [
            format!("tool c0: {AWAITING_USER}"),
            "assistant: really?".to_owned()
        ]
    );
    assert_eq!(unanswered(&ran.result().thread.messages), ["c1"]);

    let ran = asking(&["go", "ask"]);
    assert_eq!(ran.result().pending_question.as_deref(), Some("which one?"));
    assert_eq!(ran.thread()[2..], [format!("tool c1: {AWAITING_USER}")]);
    assert_eq!(unanswered(&ran.result().thread.messages), ["c0"]);
}

/// L294: another halt of a lower index is the run's; the call is open beside it.
#[test]
fn l294_beside_another_halt_and_a_manual_call() {
    let ran = asking(&["halt", "go", "m"]);
    assert_eq!(ran.reason(), "h");
    assert_eq!(ran.result().pending_question, None);
    assert_eq!(unanswered(&ran.result().thread.messages), ["c1", "c2"]);
    let ran = asking(&["m", "go"]);
    assert_eq!(ran.reason(), "ask_user");
    assert_eq!(unanswered(&ran.result().thread.messages), ["c0", "c1"]);
}

#[test]
fn l295_a_stop_closes_it() {
    let mut sim = Sim::new(setup(tools(&NAMES)), [calls(&["go", "a"])]);
    sim.step();
    let Command::RunTools(running) = sim.run.command() else {
        panic!("the calls run")
    };
    sim.finish(&running[0], outcome("go"));
    sim.apply(Input::Cancel);
    sim.apply(Input::tool_done(1, ToolOutcome::NotStarted));
    let result = sim.run.result().unwrap();
    assert_eq!(result.halted_reason.as_str(), "cancelled");
    assert_eq!(unanswered(&result.thread.messages), Vec::<String>::new());
    assert_eq!(
        result.steps[0].metadata["pending_question"],
        json!("which one?")
    );
    let closed = sim.events.iter().filter_map(|event| match event {
        Event::ToolResultEncoded(closed) => Some((closed.index, closed.is_error)),
        _ => None,
    });
    assert_eq!(closed.collect::<Vec<_>>(), [(0, true), (1, true)]);
}

/// A call that asked goes on while a sibling runs: the turn ends as if it had not asked, and the call is counted once.
#[test]
fn it_goes_on_in_the_same_turn() {
    let mut sim = Sim::new(setup(tools(&NAMES)), [calls(&["go", "a"]), text("fine")]);
    sim.step();
    let Command::RunTools(running) = sim.run.command() else {
        panic!("the calls run")
    };
    sim.finish(&running[0], outcome("go"));
    let open: Vec<_> = sim.run.open_calls();
    assert_eq!((open[0].manual, open[1].manual), (true, false));
    let late = sim.run.clone().apply(Input::tool_done(0, ok("x")));
    late.expect_err("nothing runs there");
    sim.apply(Input::CallReady { index: 0 });
    assert_eq!(sim.run.command(), Command::RunTools(running.clone()));
    let twice = sim.run.clone().apply(Input::CallReady { index: 0 });
    twice.expect_err("it runs already");
    sim.finish(&running[0], ok("red"));
    sim.finish(&running[1], ok("done"));
    sim.step();
    let result = sim.run.result().unwrap();
    assert_eq!(result.halted_reason.as_str(), "completed");
    assert_eq!(
        shown(&result.thread)[2..4],
        ["tool c0: red", "tool c1: done"]
    );
    let stored = serde_json::to_value(&sim.run).unwrap();
    assert_eq!(stored["counters"]["tool_calls"], json!(2));
}

/// A later run goes on with a turn in which one call is ready again and another still asks.
#[test]
fn a_later_run_asks_on() {
    let call = |id: &str| ToolCall::new(id, "go", "{}");
    let message = Message::assistant("").with_tool_calls(vec![call("c0"), call("c1")]);
    let open = OpenBatch {
        response: Response::new(message),
        calls: vec![
            OpenSlot::Ready,
            OpenSlot::AskedToGoOn {
                question: "and which other?".into(),
                opts: object(json!({})),
            },
        ],
    };
    let setup = RunSetup {
        open: Some(open),
        ..RunSetup::new(Thread::from("hi"))
    };
    let mut run = Run::start(setup).unwrap().run;
    run.apply(Input::tool_done(0, ok("red"))).unwrap();
    let result = Arc::clone(run.result().unwrap());
    assert_eq!(result.halted_reason.as_str(), "ask_user");
    assert_eq!(result.pending_question.as_deref(), Some("and which other?"));
    assert_eq!(shown(&result.thread)[2..], ["tool c0: red"]);
    assert!(result.steps.is_empty());
}

#[test]
fn the_facts_of_the_halt_name_who_gets_the_answer() {
    let call = ToolCall::new("c0", "go", "{}");
    let facts = HaltFacts::of_outcome(&call, &outcome("go")).unwrap();
    let HaltFacts::Asked { answer_to, .. } = &facts else {
        panic!("{facts:?}")
    };
    assert_eq!(*answer_to, AnswerTo::Tool);
    assert_eq!(outcome("go").message(&call), None);
}
