//! Cancellation and deadlines as inputs: L244–L257, L259–L262, L275.

use std::time::Duration;

use allm_core::run::{
    Command, DeadlineScope, Deadlines, Input, RunKind, RunOptions, RunSetup, Stop, ToolOutcome,
};
use allm_core::{FailureReason, Fold, HaltReason};
use serde_json::json;

use super::check::can_go_on;
use super::script::*;
use super::sim::*;

fn sim(answers: impl IntoIterator<Item = Answer>) -> Sim {
    Sim::new(setup(tools(&["a", "b", "m"])), answers)
}

fn half(text: &str, names: &[&str]) -> Vec<allm_core::Event> {
    pieces(&Reply {
        text: text.into(),
        calls: call_list(names),
        ..Reply::default()
    })
}

fn dead(scope: DeadlineScope) -> RunSetup {
    let limit = Duration::from_millis(1500);
    let deadlines = Deadlines {
        turn: (scope == DeadlineScope::Turn).then_some(limit),
        run: (scope == DeadlineScope::Run).then_some(limit),
    };
    options(
        RunOptions {
            deadlines,
            ..RunOptions::default()
        },
        tools(&["a", "b", "m"]),
    )
}

fn stopped() -> ToolOutcome {
    ToolOutcome::failed(failure(FailureReason::HandlerExit))
}

#[test]
fn l244_before_the_first_call() {
    let mut sim = sim([]);
    sim.apply(Input::Cancel);
    assert_eq!(sim.run.command(), Command::StopModel);
    let ran = sim.ran();
    assert_eq!((ran.reason(), ran.requests.len()), ("cancelled", 0));
    assert_eq!(ran.tags(), ["chat_completed"]);
    assert!(ran.result().steps.is_empty() && ran.result().metadata.is_empty());
    assert_eq!(ran.thread(), ["user: hi"]);
    can_go_on(&ran.result().thread);
}

#[test]
fn l244_a_step_that_never_began_is_refused() {
    let mut setup = setup(vec![]);
    setup.options.kind = RunKind::Step;
    let mut sim = Sim::new(setup, []);
    sim.apply(Input::Cancel);
    let ran = sim.ran();
    assert_eq!(ran.refused().reason, "cancelled");
    assert_eq!(ran.tags(), ["error"]);
}

#[test]
fn l245_while_the_call_is_being_opened() {
    let mut sim = sim([calls(&["a"])]);
    sim.step();
    sim.step();
    assert!(matches!(sim.run.command(), Command::CallModel(_)));
    sim.apply(Input::Cancel);
    // The driver may also have seen the call fail because of the cancellation.
    sim.apply(Input::refused(refusal()));
    let ran = sim.ran();
    assert_eq!((ran.reason(), ran.result().steps.len()), ("cancelled", 1));
    assert_eq!(ran.tags().last(), Some(&"chat_completed"));
    assert!(!ran.tags().contains(&"error"));
}

#[test]
fn l246_between_two_deltas() {
    let mut sim = sim([]);
    let partial = sim.play(half("half", &[]));
    sim.apply(Input::Cancel);
    sim.apply(Input::stopped(Some(partial)));
    let ran = sim.ran();
    assert_eq!(ran.reason(), "cancelled");
    let tail = ran.tags().split_off(ran.tags().len() - 3);
    assert_eq!(tail, ["error", "step_completed", "chat_completed"]);
    assert_eq!(ran.thread(), ["user: hi", "assistant: half"]);
    let error = ran.step(0).response.error.clone().expect("an error");
    assert_eq!(
        (error.kind, error.reason.as_str()),
        (allm_core::ErrorKind::Stream, "cancelled")
    );
    assert_eq!(
        ran.step(0).metadata,
        object(json!({"halted_reason": "cancelled"}))
    );
    assert!(ran.step(0).done && ran.result().metadata.is_empty());
    can_go_on(&ran.result().thread);
}

#[test]
fn l246_a_step_whose_answer_was_stopped_cannot_pass_for_a_whole_one() {
    let mut setup = setup(vec![]);
    setup.options.kind = RunKind::Step;
    let mut sim = Sim::new(setup, []);
    let partial = sim.play(half("half", &[]));
    sim.apply(Input::Cancel);
    sim.apply(Input::stopped(Some(partial)));
    let ran = sim.ran();
    let error = (**ran.step(0)).clone().into_result().expect_err("stopped");
    assert!(matches!(error, allm_core::Error::Interrupted(_)));
    assert_eq!(error.reason(), "cancelled");
}

#[test]
fn l247_with_a_call_half_streamed() {
    let mut sim = sim([]);
    let mut events = half("", &["a"]);
    events.pop(); // its completion
    let partial = sim.play(events);
    sim.apply(Input::Cancel);
    sim.apply(Input::stopped(Some(partial)));
    let ran = sim.ran();
    let call = &ran.step(0).response.tool_calls()[0];
    assert!(call.incomplete && call.arguments.is_none());
    let results: Vec<String> = ran.step(0).tool_results.iter().map(|m| m.text()).collect();
    assert!(results.len() == 1 && results[0].contains("\"cancelled\""));
    can_go_on(&ran.result().thread);
}

#[test]
fn l248_while_tools_run() {
    let mut sim = sim([calls(&["a", "b", "a"])]);
    sim.step();
    let Command::RunTools(calls) = sim.run.command() else {
        panic!()
    };
    sim.emit(vec![started(&calls[0]), started(&calls[1])]);
    sim.finish(&calls[0], ok("done"));
    sim.apply(Input::Cancel);
    let Command::StopTools(left) = sim.run.command() else {
        panic!()
    };
    assert_eq!(left, calls[1..]);
    sim.finish(&left[0], stopped());
    sim.apply(Input::tool_done(left[1].index, ToolOutcome::NotStarted));
    let ran = sim.ran();
    assert_eq!(ran.reason(), "cancelled");
    let results: Vec<String> = ran.step(0).tool_results.iter().map(|m| m.text()).collect();
    assert_eq!(results[0], "done");
    assert!(results[1].contains("handler_exit") && results[2].contains("\"cancelled\""));
    can_go_on(&ran.result().thread);
}

#[test]
fn l251_between_two_turns() {
    let mut sim = sim([calls(&["a"])]);
    sim.step();
    sim.step();
    sim.apply(Input::Cancel);
    let ran = sim.ran();
    assert_eq!((ran.reason(), ran.requests.len()), ("cancelled", 1));
    assert!(
        ran.step(0).metadata.is_empty(),
        "the turn had ended on its own"
    );
}

#[test]
fn l253_a_handler_that_cancels_may_end() {
    let mut sim = sim([calls(&["a"])]);
    sim.step();
    let Command::RunTools(calls) = sim.run.command() else {
        panic!()
    };
    sim.emit(vec![started(&calls[0])]);
    sim.apply(Input::Cancel);
    sim.finish(&calls[0], ok("ended"));
    let ran = sim.ran();
    assert_eq!(ran.reason(), "cancelled");
    assert_eq!(
        ran.step(0).tool_results.get(0).expect("one").text(),
        "ended"
    );
}

#[test]
fn l254_after_a_call_asked() {
    let mut sim = sim([calls(&["a", "b"])]);
    sim.step();
    let Command::RunTools(calls) = sim.run.command() else {
        panic!()
    };
    sim.emit(vec![started(&calls[0]), started(&calls[1])]);
    sim.finish(&calls[0], asks("q"));
    sim.apply(Input::Cancel);
    sim.finish(&calls[1], stopped());
    let ran = sim.ran();
    assert_eq!(ran.reason(), "cancelled");
    assert!(ran.result().metadata.is_empty() && ran.result().pending_question.is_none());
    let metadata = &ran.step(0).metadata;
    assert_eq!(metadata["halted_reason"], "cancelled");
    assert_eq!(metadata["pending_question"], "q");
    assert!(ran.thread().iter().all(|line| line != "assistant: q"));
    can_go_on(&ran.result().thread);
}

#[test]
fn l255_in_a_mixed_turn_nothing_stays_pending() {
    let mut sim = sim([calls(&["m", "a"])]);
    sim.step();
    sim.apply(Input::Cancel);
    let ran = sim.ran();
    assert_eq!(ran.reason(), "cancelled");
    assert!(ran.run.open_calls().is_empty());
    assert!(ran.step(0).manual_tool_calls.is_empty());
    assert_eq!(ran.step(0).tool_results.len(), 2);
    can_go_on(&ran.result().thread);
}

#[test]
fn l256_a_final_turn_that_ends_on_its_own_stands() {
    let mut sim = sim([text("whole")]);
    sim.apply(Input::Cancel);
    sim.apply(Input::Cancel);
    sim.answer_now();
    let mut ran = sim.ran();
    assert_eq!(ran.reason(), "completed");
    let before = ran.run.clone();
    assert_eq!(ran.run.apply(Input::Cancel), Ok(vec![]));
    assert_eq!(ran.run, before, "no effect after the end");
}

#[test]
fn l259_a_deadline_while_the_model_answers() {
    for scope in [DeadlineScope::Turn, DeadlineScope::Run] {
        let mut sim = Sim::new(dead(scope), []);
        let partial = sim.play(half("half", &["a", "m"]));
        sim.apply(Input::DeadlinePassed(scope));
        sim.apply(Input::stopped(Some(partial)));
        let ran = sim.ran();
        assert_eq!(ran.reason(), "deadline_exceeded");
        let expected = json!({"scope": scope.as_str(), "limit_ms": 1500});
        assert_eq!(ran.result().metadata, object(expected));
        let error = ran.step(0).response.error.clone().expect("an error");
        assert_eq!(error.reason, "timeout");
        let results: Vec<String> = ran.step(0).tool_results.iter().map(|m| m.text()).collect();
        assert!(
            results.len() == 2
                && results
                    .iter()
                    .all(|text| text.contains("deadline_exceeded"))
        );
        can_go_on(&ran.result().thread);
    }
}

#[test]
fn l260_a_deadline_while_tools_run() {
    let mut sim = Sim::new(dead(DeadlineScope::Turn), [calls(&["a", "b"])]);
    sim.step();
    let Command::RunTools(calls) = sim.run.command() else {
        panic!()
    };
    sim.emit(vec![started(&calls[0])]);
    sim.apply(Input::DeadlinePassed(DeadlineScope::Turn));
    sim.finish(
        &calls[0],
        ToolOutcome::failed(failure(FailureReason::Timeout)),
    );
    sim.apply(Input::tool_done(1, ToolOutcome::NotStarted));
    let ran = sim.ran();
    assert_eq!(ran.reason(), "deadline_exceeded");
    let results: Vec<String> = ran.step(0).tool_results.iter().map(|m| m.text()).collect();
    assert!(results[0].contains("timeout") && results[1].contains("deadline_exceeded"));
}

#[test]
fn l261_a_turn_deadline_of_a_turn_that_is_over_does_nothing() {
    let mut setup = dead(DeadlineScope::Turn);
    setup.options.halt_when = allm_core::run::HaltWhen::Set;
    let mut sim = Sim::new(setup, [calls(&["a"]), text("x")]);
    sim.step();
    sim.step();
    assert!(matches!(sim.run.command(), Command::AskHaltWhen(_)));
    sim.apply(Input::DeadlinePassed(DeadlineScope::Turn));
    assert_eq!(sim.run.stop(), None);
    assert_eq!(sim.ran().reason(), "completed");
}

#[test]
fn l262_a_run_deadline_before_anything_came_leaves_no_step() {
    let mut sim = Sim::new(dead(DeadlineScope::Run), []);
    sim.apply(Input::DeadlinePassed(DeadlineScope::Run));
    let ran = sim.ran();
    assert_eq!(
        (ran.reason(), ran.result().steps.len()),
        ("deadline_exceeded", 0)
    );
}

#[test]
fn cancelling_outranks_a_deadline() {
    let mut sim = Sim::new(dead(DeadlineScope::Run), []);
    sim.apply(Input::DeadlinePassed(DeadlineScope::Run));
    sim.apply(Input::Cancel);
    assert_eq!(sim.run.stop(), Some(Stop::Cancelled));
    sim.apply(Input::DeadlinePassed(DeadlineScope::Run));
    assert_eq!(sim.ran().reason(), "cancelled");
}

#[test]
fn l275_the_fold_of_what_came_before_a_drop_is_cancelled() {
    let ran = sim([calls(&["a"]), text("x")]).ran();
    let mut fold = Fold::with_thread(allm_core::Thread::from("hi"));
    for event in ran.events.iter().take(ran.events.len() - 2) {
        fold.push(event);
    }
    let result = fold.chat_result().expect("a thread");
    assert_eq!(result.halted_reason, HaltReason::Cancelled);
    assert_eq!((result.steps.len(), result.metadata.len()), (1, 0));
    assert_eq!(result.thread, ran.step(0).thread);
}
