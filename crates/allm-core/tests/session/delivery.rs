//! Input while a turn runs (section L).

use allm_core::run::Command;
use allm_core::session::{Delivery, ModelEnd, Operation};
use allm_core::{HaltReason, Role, SessionStatus, validate};

use super::script::*;
use super::sim::*;
use super::status::said;

fn sent(sim: &Sim, request: usize) -> Vec<(Role, String)> {
    let messages = &sim.requests[request].messages;
    messages
        .iter()
        .map(|message| (message.role, message.text()))
        .collect()
}

/// S149: at every entry of a run with tools, the message comes after the results and before the next request.
#[test]
fn s149_a_message_never_stands_between_a_call_and_its_result() {
    for steps in 0..4 {
        let mut sim = Sim::started([calls(&["a", "x"]), text("fine")]);
        for _ in 0..steps {
            sim.step();
        }
        sim.send("psst", Delivery::NextTurn).unwrap();
        assert_eq!(sim.drive(), HaltReason::Completed);
        let last = sent(&sim, 1);
        assert_eq!(
            last.last().unwrap(),
            &(Role::User, "psst".into()),
            "after {steps}"
        );
        for request in &sim.requests {
            validate::sendable(&request.messages).unwrap();
        }
        assert_eq!(sim.requests.len(), 2);
        assert!(sim.session.inbox().is_empty());
    }
}

#[test]
fn s150_a_message_during_the_last_answer_is_answered() {
    let mut sim = Sim::started([text("one"), text("two")]);
    sim.send("psst", Delivery::NextTurn).unwrap();
    assert_eq!(sim.drive(), HaltReason::Completed);
    assert_eq!(sim.requests.len(), 2);
    let texts: Vec<String> = said(&sim.session)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["hi", "one", "psst", "two"]);

    let mut sim = Sim::new();
    sim.options.max_turns = 1;
    sim.answers.extend([text("one"), text("two")]);
    sim.send("hi", Delivery::NextTurn).unwrap();
    sim.start(Operation::Reply);
    sim.send("psst", Delivery::NextTurn).unwrap();
    assert_eq!(sim.drive(), HaltReason::MaxTurns);
    assert_eq!((sim.requests.len(), sim.session.inbox().len()), (1, 1));
    assert_eq!(sim.status(), SessionStatus::Idle);
    assert!(sim.session.is_runnable());
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    assert_eq!(sent(&sim, 1).last().unwrap().1, "psst");
}

#[test]
fn s151_messages_for_the_next_run_wait_for_it() {
    let mut sim = Sim::started([calls(&["a"]), text("one"), text("two")]);
    sim.send("first", Delivery::NextRun).unwrap();
    sim.step();
    sim.send("second", Delivery::NextRun).unwrap();
    assert_eq!(sim.drive(), HaltReason::Completed);
    assert_eq!(sim.status(), SessionStatus::Idle, "something is to be done");
    for request in 0..2 {
        assert!(
            sent(&sim, request)
                .iter()
                .all(|(_, text)| text != "first" && text != "second")
        );
    }
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    let last: Vec<String> = sent(&sim, 2).into_iter().map(|(_, text)| text).collect();
    assert_eq!(last[last.len() - 2..], ["first", "second"]);
}

#[test]
fn s152_an_interruption_keeps_what_was_said() {
    let mut sim = Sim::started([text("two")]);
    sim.send("stop, I mean", Delivery::Interrupt).unwrap();
    sim.model_failed(ModelEnd::Interrupted, Some(text_response("Half an ans")));
    assert_eq!(sim.status(), SessionStatus::InProgress);
    assert_eq!(sim.drive(), HaltReason::Completed);
    let thread = sim.session.thread();
    let texts: Vec<String> = thread
        .messages
        .iter()
        .map(|message| message.text())
        .collect();
    assert_eq!(texts, ["hi", "Half an ans", "stop, I mean", "two"]);
    assert_eq!(
        thread.messages.get(1).unwrap().metadata.get("partial"),
        Some(&true.into())
    );
    assert_eq!(
        thread.messages.get(3).unwrap().metadata.get("partial"),
        None
    );

    // With calls in the partial answer, they are closed and not run.
    let mut sim = Sim::started([text("two")]);
    sim.send("stop", Delivery::Interrupt).unwrap();
    sim.model_failed(
        ModelEnd::Interrupted,
        Some(call_response(&["x"], "{\"a\":")),
    );
    assert_eq!(sim.drive(), HaltReason::Completed);
    assert_eq!(sim.ran, []);
    validate::sendable(&sim.session.thread().messages).unwrap();

    // During tools they finish first.
    let mut sim = Sim::started([calls(&["a", "b"]), text("two")]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    sim.send("psst", Delivery::Interrupt).unwrap();
    assert_eq!(sim.drive(), HaltReason::Completed);
    assert_eq!(sim.ran.len(), 2);
    assert_eq!(sent(&sim, 1).last().unwrap().1, "psst");
}

/// Broken off without a message: the run stays, and the next attempt leaves the partial out.
#[test]
fn s152_without_a_message_the_call_is_made_again() {
    let mut sim = Sim::started([text("two")]);
    sim.model_failed(ModelEnd::Interrupted, Some(text_response("Half an ans")));
    let run = sim.session.run().unwrap();
    assert_eq!(run.partial.as_ref().unwrap().text(), "Half an ans");
    assert_eq!(run.attempt, 2);
    assert_eq!(sim.drive(), HaltReason::Completed);
    let texts: Vec<String> = said(&sim.session)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["hi", "two"]);
}

#[test]
fn s153_open_waits_hold_messages_back() {
    let mut sim = Sim::after([calls(&["ask", "manual"])]);
    sim.send("psst", Delivery::NextTurn).unwrap();
    assert_eq!(sim.session.waits().len(), 2);
    sim.answer("c0", "red").unwrap();
    assert_eq!(sim.session.inbox().len(), 1);
    sim.submit("c1", "42").unwrap();
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    let last = sent(&sim, 1);
    assert_eq!(last.last().unwrap(), &(Role::User, "psst".into()));
    assert_eq!(last[last.len() - 2], (Role::User, "red".into()));
}

/// S153 while a call of the turn is ready: the message follows the turn, whoever closes it.
#[test]
fn s153_messages_follow_a_turn_that_another_run_finishes() {
    let mut sim = Sim::after([calls(&["gate", "manual"])]);
    sim.send("psst", Delivery::NextRun).unwrap();
    sim.decide("c0", allm_core::session::Decision::Approved)
        .unwrap();
    assert_eq!(
        sim.operate(Operation::Resume),
        Ok(HaltReason::ManualToolCalls)
    );
    assert_eq!(sim.session.inbox().len(), 1);
    sim.submit("c1", "42").unwrap();
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    assert_eq!(sent(&sim, 1).last().unwrap().1, "psst");
}
