//! Cancellation (section M) and recovery (section G), as far as no driver is needed.

use allm_core::run::{Command, ToolOutcome};
use allm_core::session::{
    CallState, Decision, Delivery, EntryBody, Evidence, Hooks, Input, LateOutcome, ModelEnd,
    Operation, Outcome, Session, Wait,
};
use allm_core::{HaltReason, Message, Response, SessionReason, SessionStatus, Usage, validate};

use super::check;
use super::laws::ask_person;
use super::script::*;
use super::sim::*;
use super::status::said;

#[test]
fn s155_cancel_in_mid_text_keeps_what_was_paid_for() {
    let mut sim = Sim::started([]);
    sim.cancel().unwrap();
    assert_eq!(sim.session.command(), Command::StopModel);
    let partial = Response {
        usage: Usage::io(7, 3),
        ..Response::new(Message::assistant("Half an ans"))
    };
    sim.model_failed(ModelEnd::Stopped, Some(partial));
    assert_eq!(sim.status(), SessionStatus::Idle);
    assert_eq!(sim.session.last_halt(), Some(&HaltReason::Cancelled));
    let last = sim.session.thread().last().unwrap().clone();
    assert_eq!(last.text(), "Half an ans");
    assert_eq!(last.metadata.get("partial"), Some(&true.into()));
    assert_eq!(sim.session.usage().models, Usage::io(7, 3));
    assert_eq!(sim.reply("go on"), Ok(HaltReason::Completed));
    validate::sendable(&sim.requests[0].messages).unwrap();
}

#[test]
fn s156_cancel_in_mid_arguments_runs_nothing() {
    let mut sim = Sim::started([]);
    sim.cancel().unwrap();
    sim.model_failed(
        ModelEnd::Stopped,
        Some(call_response(&["x"], "{\"amount\":")),
    );
    assert_eq!((sim.status(), sim.ran.len()), (SessionStatus::Idle, 0));
    let thread = sim.session.thread();
    let result = thread.last().unwrap();
    assert!(
        result.is_error && result.text().contains("cancelled"),
        "{result:?}"
    );
    let EntryBody::ModelFailed(failed) = sim.bodies.last().unwrap() else {
        panic!("the partial answer is in the journal")
    };
    let partial = failed.partial.as_ref().unwrap();
    assert_eq!(partial.tool_calls()[0].raw_arguments, "{\"amount\":");
}

#[test]
fn s157_cancel_among_tools_keeps_what_is_done() {
    let mut sim = Sim::started([calls(&["a", "x", "b"])]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    sim.step();
    sim.intend(sim.key(1));
    sim.cancel().unwrap();
    assert!(matches!(sim.session.command(), Command::StopTools(_)));
    assert_eq!(sim.drive(), HaltReason::Cancelled);
    let outcomes = [0, 1, 2].map(|index| sim.call(sim.key(index)).outcome().unwrap());
    assert_eq!(
        outcomes,
        [Outcome::Ok, Outcome::Cancelled, Outcome::Cancelled]
    );
    let before = (sim.session.thread(), sim.status());
    sim.seal(late(&sim, 1));
    assert_eq!((sim.session.thread(), sim.status()), before);
    assert_eq!(sim.call(sim.key(1)).outcome(), Some(Outcome::Cancelled));
}

fn late(sim: &Sim, index: u32) -> EntryBody {
    EntryBody::LateOutcome(LateOutcome {
        call: sim.key(index),
        attempt: 1,
        outcome: Outcome::Ok,
        content: "42".into(),
    })
}

#[test]
fn s158_cancel_closes_the_waits() {
    let mut sim = Sim::after([calls(&["ask", "gate", "manual"])]);
    let approval = sim.session.approvals().remove(0);
    sim.cancel().unwrap();
    assert_eq!(sim.status(), SessionStatus::Idle);
    for index in 0..3 {
        assert_eq!(sim.call(sim.key(index)).outcome(), Some(Outcome::Cancelled));
    }
    let late = [
        sim.answer("c0", "red"),
        sim.decide(&approval, Decision::Approved),
        sim.submit("c2", "42"),
    ];
    for error in late {
        let error = error.unwrap_err();
        assert_eq!(error.reason, SessionReason::NotWaiting);
        assert_eq!(error.outcome, Some(Outcome::Cancelled));
    }
}

#[test]
fn s159_a_cancel_that_stops_nothing_adds_nothing() {
    for mut sim in [Sim::new(), Sim::after([text("fine")])] {
        let entries = sim.bodies.len();
        assert_eq!(sim.cancel(), Ok(Input::Known));
        assert_eq!(sim.session.cancel_entries("enough", None), []);
        assert_eq!(sim.bodies.len(), entries);
    }
    let mut sim = Sim::started([]);
    assert_eq!(sim.cancel(), Ok(Input::New));
    assert_eq!(sim.cancel(), Ok(Input::Known));
}

#[test]
fn s161_a_session_that_nobody_drives_is_settled_by_the_cancel_itself() {
    let mut sim = Sim::started([calls(&["x", "x", "gate", "a"])]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    sim.intend(sim.key(0));
    for body in sim.session.cancel_entries("enough", None) {
        sim.seal(body);
    }
    assert_eq!(sim.status(), SessionStatus::Idle);
    assert_eq!(sim.session.last_halt(), Some(&HaltReason::Cancelled));
    let outcomes = [0, 1, 2, 3].map(|index| sim.call(sim.key(index)).outcome().unwrap());
    assert_eq!(
        outcomes,
        [
            Outcome::UnknownOutcome,
            Outcome::Cancelled,
            Outcome::Cancelled,
            Outcome::Cancelled
        ]
    );
    assert_eq!(sim.ran, []);
    assert!(said(&sim.session)[2].1.contains("unknown_outcome"));

    // In the middle of a model call, with what was left of it.
    let mut sim = Sim::started([]);
    sim.model_failed(ModelEnd::Interrupted, Some(text_response("Half an ans")));
    for body in sim.session.cancel_entries("enough", None) {
        sim.seal(body);
    }
    assert_eq!(sim.status(), SessionStatus::Idle);
    assert_eq!(said(&sim.session).last().unwrap().1, "Half an ans");
}

/// S98: the call is made again as the next attempt, and the lost one is counted.
#[test]
fn s98_a_lost_model_call_is_counted_and_made_again() {
    let mut sim = Sim::started([text("fine")]);
    let body = sim.session.recovery_entry(None, 3).unwrap();
    sim.seal(body);
    assert_eq!(sim.session.usage().lost_calls, 1);
    assert_eq!(sim.session.run().unwrap().attempt, 2);
    assert_eq!(sim.drive(), HaltReason::Completed);
    let EntryBody::ModelResponded(responded) = sim.bodies.last().unwrap() else {
        panic!("the model has answered")
    };
    assert_eq!((responded.turn, responded.attempt), (1, 2));
    assert_eq!(
        sim.session.recovery_entry(None, 3),
        None,
        "nothing is unfinished"
    );
}

#[test]
fn s99_a_tool_that_kills_the_process_each_time_is_a_crash_loop() {
    let mut sim = Sim::started([calls(&["x"])]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    let key = sim.key(0);
    sim.intend(key);
    for recovery in 1..=3 {
        assert_eq!(sim.status(), SessionStatus::InProgress, "{recovery}");
        sim.recover(false);
        if recovery < 3 {
            sim.intend(key);
        }
    }
    assert_eq!(sim.status(), SessionStatus::Error);
    let failure = sim.session.failure().unwrap();
    assert_eq!(
        (failure.kind.as_str(), failure.retryable),
        ("crash_loop", false)
    );
    assert_eq!(sim.session.command(), Command::Finish);
    assert_eq!(sim.call(key).attempts, 3, "three runs and no fourth");
    // `retry` tries once more, and a result is good news again.
    sim.session.check_drive(Operation::Retry).unwrap();
    sim.start(Operation::Retry);
    assert!(matches!(sim.session.command(), Command::RunTools(_)));
    assert_eq!(sim.drive(), HaltReason::Completed);
}

/// S99: anything achieved begins the count anew.
#[test]
fn s99_progress_begins_the_count_anew() {
    let mut sim = Sim::started([calls(&["a", "b"]), text("fine")]);
    sim.recover(true);
    sim.recover(true);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    assert_eq!(sim.session.run().unwrap().recoveries, 0);
    sim.recover(false);
    sim.recover(false);
    sim.step();
    sim.recover(false);
    sim.recover(false);
    assert_eq!(sim.drive(), HaltReason::Completed);
}

/// S86, S102: a new attempt at a call has the key of the first.
#[test]
fn s86_a_second_intent_counts_on() {
    let mut sim = Sim::started([calls(&["x"])]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    let key = sim.key(0);
    sim.intend(key);
    let first = sim.call(key).intent().unwrap().clone();
    sim.recover(false);
    sim.intend(key);
    let second = sim.call(key).intent().unwrap();
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!(first.key, second.key);
}

/// S92, S93: a person is asked about an unknown outcome, and may have the call run.
#[test]
fn s92_s93_an_unknown_outcome_goes_to_a_person() {
    let mut sim = Sim::started([calls(&["x"])]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    let key = sim.key(0);
    sim.intend(key);
    sim.recover(false);
    ask_person(&mut sim, key);
    assert_eq!(sim.status(), SessionStatus::AwaitingTools);
    assert_eq!(sim.requests.len(), 1, "no model call");
    sim.seal(late(&sim, 0));
    let Some(Wait::Result(wait)) = sim.call(key).wait() else {
        panic!("the wait is open")
    };
    let evidence = Evidence {
        attempt: 1,
        outcome: Outcome::Ok,
        content: "42".into(),
    };
    assert_eq!(wait.evidence, [evidence], "shown, and nothing more");
    assert_eq!(sim.rerun("c0"), Ok(Input::New));
    assert_eq!(sim.rerun("c0"), Ok(Input::Known));
    assert!(matches!(sim.call(key).state, CallState::Ready { .. }));
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    assert_eq!(sim.ran.len(), 1);
}

#[test]
fn s78_a_late_outcome_changes_nothing() {
    let mut sim = Sim::after([calls(&["a", "ask", "gate"])]);
    for index in 0..4 {
        let facts = |sim: &Sim| {
            let turn = sim.session.open_turn().unwrap();
            let calls: Vec<_> = turn.calls().cloned().collect();
            (calls, sim.session.thread(), sim.status())
        };
        let before = facts(&sim);
        sim.seal(late(&sim, index));
        assert_eq!(facts(&sim), before);
    }
}

/// A message that waits survives whatever ends the run.
#[test]
fn s154_a_message_survives_a_crash() {
    let mut sim = Sim::started([calls(&["x"])]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    sim.send("psst", Delivery::NextTurn).unwrap();
    sim.recover(false);
    let key = sim.key(0);
    sim.outcome(key, 0, ToolOutcome::replied("done", "done"));
    sim.recover(true);
    assert_eq!(sim.drive(), HaltReason::Completed);
    let found = said(&sim.session)
        .into_iter()
        .filter(|(_, text)| text == "psst");
    assert_eq!(found.count(), 1);
}

/// S34: an unfinished run goes on with what it was started with, and with what is left of its budgets.
#[test]
fn s34_options_belong_to_one_run() {
    let mut sim = Sim::new();
    sim.options.budgets.tool_calls = Some(2);
    sim.answers.extend([calls(&["a"]), calls(&["a", "a"])]);
    sim.send("hi", Delivery::NextTurn).unwrap();
    sim.start(Operation::Reply);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    sim.options.budgets.tool_calls = None;
    sim.session = Session::from_json(&sim.bytes()).unwrap();
    assert_eq!(
        sim.drive(),
        HaltReason::BudgetExhausted,
        "one of two was left"
    );
    sim.answers.extend([calls(&["a", "a"])]);
    assert_eq!(
        sim.reply("again"),
        Ok(HaltReason::Completed),
        "a run of its own"
    );
}

/// S35: a run remembers which closures it was started with.
#[test]
fn s35_a_closure_that_is_missing_is_told() {
    let all = Hooks {
        halt_when: true,
        on_tool_error: true,
        approval_policy: true,
    };
    let none = Hooks::default();
    assert_eq!(all.missing_from(&all), None);
    assert_eq!(none.missing_from(&none), None);
    assert_eq!(none.missing_from(&all), None);
    for (missing, name) in [
        (
            Hooks {
                halt_when: false,
                ..all
            },
            "halt_when",
        ),
        (
            Hooks {
                on_tool_error: false,
                ..all
            },
            "on_tool_error",
        ),
        (
            Hooks {
                approval_policy: false,
                ..all
            },
            "approval_policy",
        ),
    ] {
        assert_eq!(all.missing_from(&missing), Some(name));
    }
    let mut sim = Sim::new();
    sim.options.halt_when = allm_core::run::HaltWhen::Set;
    sim.send("hi", Delivery::NextTurn).unwrap();
    sim.start(Operation::Reply);
    let read = Session::from_json(&sim.bytes()).unwrap();
    assert_eq!(
        read.run().unwrap().hooks.missing_from(&none),
        Some("halt_when")
    );
}

/// S47, S48: what a dropped stream leaves is kept beside the session and comes into the thread only by a cancel.
#[test]
fn s47_s48_a_dropped_stream_then_a_cancel() {
    let mut sim = Sim::started([]);
    sim.session.leave_partial(text_response("Half an ans"));
    check::stored_and_restored(&sim.session);
    assert_eq!(sim.status(), SessionStatus::InProgress);
    assert_eq!(
        said(&sim.session).len(),
        1,
        "the message is there, the partial answer is not"
    );
    let mut session = sim.session.clone();
    for body in session.cancel_entries("enough", None) {
        let facts = allm_core::session::EntryFacts::at(at(sim.now));
        session.apply(&body, &facts).unwrap();
    }
    assert_eq!(session.status(), SessionStatus::Idle);
    let last = session.thread().last().unwrap().clone();
    assert_eq!(last.text(), "Half an ans");
    assert_eq!(last.metadata.get("partial"), Some(&true.into()));
}

/// S91: what is done stays done, in call order, whatever is left is run once.
#[test]
fn s91_outcomes_that_are_written_are_not_run_again() {
    let mut sim = Sim::started([calls(&["x", "a", "x", "a", "x"])]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    for index in [3, 0] {
        let Command::RunTools(calls) = sim.session.command() else {
            panic!("calls are left")
        };
        let call = calls.iter().find(|call| call.index == index).unwrap();
        sim.run_call(call);
    }
    sim.recover(false);
    let Command::RunTools(left) = sim.session.command() else {
        panic!("calls are left")
    };
    let left: Vec<u32> = left.iter().map(|call| call.index).collect();
    assert_eq!(left, [1, 2, 4]);
    assert_eq!(sim.drive(), HaltReason::Completed);
    assert_eq!(sim.ran.len(), 5);
}

/// S100: a crash between the answer and its plan; the plan is made once, by whoever goes on.
#[test]
fn s100_an_answer_that_was_not_planned_is_planned_on_recovery() {
    let mut sim = Sim::started([calls(&["gate"])]);
    sim.step();
    assert!(matches!(sim.session.command(), Command::PlanCalls(_)));
    sim.recover(false);
    assert_eq!(sim.session.approvals(), []);
    assert_eq!(sim.drive(), HaltReason::ManualToolCalls);
    assert_eq!(sim.session.approvals().len(), 1);
}
