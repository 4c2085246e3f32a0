//! From results to the session (section C).

use std::time::Duration;

use allm_core::run::{Budgets, Command, DeadlineScope, Deadlines, HaltWhen, UnknownTools};
use allm_core::session::{EntryBody, Halted, Operation, Outcome};
use allm_core::{FinishReason, HaltReason, SessionStatus, validate};

use super::script::*;
use super::sim::*;
use super::status::said;

/// A session in which this operation can begin.
fn before(op: Operation) -> Sim {
    let mut sim = match op {
        Operation::Retry => Sim::after([breaks("I thi")]),
        Operation::Reply => Sim::new(),
        _ => {
            let mut sim = Sim::new();
            sim.send("hi", allm_core::session::Delivery::NextTurn)
                .unwrap();
            sim
        }
    };
    sim.answers.clear();
    sim
}

/// S36: each halt that a turn can come to by itself, for every operation that drives.
#[test]
fn s36_each_halt_gives_its_status() {
    let cut = |mut answer: Answer| {
        if let Answer::Whole(response) = &mut answer {
            response.finish_reason = Some(FinishReason::Length);
        }
        answer
    };
    let script: [(&str, Answer, SessionStatus); 8] = [
        ("completed", text("fine"), SessionStatus::Completed),
        ("enough", calls(&["halt"]), SessionStatus::Completed),
        ("truncated", cut(calls(&["a"])), SessionStatus::Idle),
        ("ask_user", calls(&["ask"]), SessionStatus::AwaitingUser),
        (
            "manual_tool_calls",
            calls(&["gate"]),
            SessionStatus::AwaitingApproval,
        ),
        (
            "manual_tool_calls",
            calls(&["manual"]),
            SessionStatus::AwaitingTools,
        ),
        ("tool_error", calls(&["boom"]), SessionStatus::Error),
        ("error", breaks("I thi"), SessionStatus::Error),
    ];
    for op in [
        Operation::Reply,
        Operation::Resume,
        Operation::Step,
        Operation::Retry,
    ] {
        for (reason, answer, status) in &script {
            let mut sim = before(op);
            sim.answers.extend([answer.clone()]);
            let halted = sim.operate(op).unwrap();
            assert_eq!((halted.as_str(), sim.status()), (*reason, *status), "{op}");
            assert_eq!(sim.session.last_halt().unwrap().as_str(), *reason);
        }
        limits(op);
    }
}

/// The halts that a setting or somebody outside brings about.
fn limits(op: Operation) {
    let mut sim = before(op);
    sim.options.max_turns = 1;
    sim.answers.extend([calls(&["a"])]);
    assert_eq!(sim.operate(op), Ok(HaltReason::MaxTurns));
    assert_eq!(sim.status(), SessionStatus::Idle);

    let mut sim = before(op);
    sim.options.budgets = Budgets {
        tool_calls: Some(1),
        ..Budgets::default()
    };
    sim.answers.extend([calls(&["a", "b"])]);
    assert_eq!(sim.operate(op), Ok(HaltReason::BudgetExhausted));
    assert_eq!(sim.status(), SessionStatus::Idle);
    assert_eq!(sim.ran, [], "nothing of a batch that is too large is run");
    assert_eq!(sim.call(sim.key(1)).outcome(), Some(Outcome::NotRun));

    let mut sim = before(op);
    sim.options.halt_when = HaltWhen::Set;
    sim.halts = true;
    sim.answers.extend([calls(&["a"])]);
    assert_eq!(sim.operate(op), Ok(HaltReason::HaltWhen));
    assert_eq!(sim.status(), SessionStatus::Completed);

    let mut sim = before(op);
    sim.options.deadlines = Deadlines {
        run: Some(Duration::from_secs(1)),
        turn: None,
    };
    if op == Operation::Reply {
        sim.send("hi", allm_core::session::Delivery::NextTurn)
            .unwrap();
    }
    sim.start(op);
    sim.answers.extend([calls(&["a", "x"])]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    sim.step();
    sim.seal(EntryBody::Halted(Halted {
        turn: sim.session.turn(),
        reason: HaltReason::DeadlineExceeded,
        scope: Some(DeadlineScope::Run),
    }));
    assert_eq!(sim.drive(), HaltReason::DeadlineExceeded);
    assert_eq!(sim.status(), SessionStatus::Idle);
    let outcomes = [0, 1].map(|index| sim.call(sim.key(index)).outcome().unwrap());
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Cancelled]);
    assert!(!sim.session.is_runnable());
}

/// S38, S55: nothing of the batch runs; the thread is as before, and the model is asked again.
#[test]
fn s38_an_unknown_tool_fails_the_turn() {
    let mut sim = Sim::after([calls(&["a", "unknown"])]);
    assert_eq!(sim.session.last_halt(), Some(&HaltReason::Error));
    assert_eq!(sim.status(), SessionStatus::Error);
    assert_eq!(sim.session.failure().unwrap().kind, "unknown_tool");
    assert_eq!(sim.ran, []);
    assert_eq!(said(&sim.session).len(), 1, "the turn is not in the thread");
    assert_eq!(sim.session.open_turn(), None);
    validate::sendable(&sim.session.thread().messages).unwrap();
    assert_eq!(sim.operate(Operation::Retry), Ok(HaltReason::Completed));
    assert_eq!(sim.requests[1], sim.requests[0]);
}

/// The setting that tells the model instead.
#[test]
fn an_unknown_tool_can_be_told_to_the_model() {
    let mut sim = Sim::new();
    sim.options.unknown_tools = UnknownTools::TellModel;
    sim.answers.extend([calls(&["unknown", "manual"])]);
    assert_eq!(sim.reply("hi"), Ok(HaltReason::ManualToolCalls));
    assert_eq!(sim.call(sim.key(0)).outcome(), Some(Outcome::NotRun));
    sim.submit("c1", "42").unwrap();
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    assert!(said(&sim.session)[2].1.contains("there is no tool"));
}

#[test]
fn s39_a_tool_error_keeps_what_the_siblings_did() {
    let mut sim = Sim::after([calls(&["a", "boom", "b"])]);
    assert_eq!(sim.status(), SessionStatus::Error);
    assert_eq!(sim.session.failure().unwrap().kind, "tool_error");
    assert_eq!(said(&sim.session).len(), 5);
    assert_eq!(sim.operate(Operation::Retry), Ok(HaltReason::Completed));
    assert_eq!(
        sim.requests[1].messages.len(),
        5,
        "the model sees all results"
    );
}

#[test]
fn s40_calls_of_an_answer_that_was_cut_off_are_not_run() {
    let mut response = call_response(&["a", "b"], "{}");
    response.finish_reason = Some(FinishReason::Length);
    let mut sim = Sim::after([Answer::Whole(response)]);
    assert_eq!(sim.session.last_halt(), Some(&HaltReason::Truncated));
    assert_eq!((sim.status(), sim.ran.len()), (SessionStatus::Idle, 0));
    for index in [0, 1] {
        assert_eq!(sim.call(sim.key(index)).outcome(), Some(Outcome::NotRun));
    }
    assert_eq!(sim.reply("and?"), Ok(HaltReason::Completed));
    validate::sendable(&sim.requests[1].messages).unwrap();
}

/// S41: a later turn that is refused keeps the first one and ends with a result.
#[test]
fn s41_a_refused_second_turn_keeps_the_first() {
    let sim = Sim::after([calls(&["a"]), Answer::Refused]);
    assert_eq!(sim.session.last_halt(), Some(&HaltReason::Error));
    assert_eq!(said(&sim.session).len(), 3);
    let first = Sim::after([Answer::Refused]);
    assert!(matches!(
        first.ended,
        Some(allm_core::run::RunEnd::Refused(_))
    ));
    assert_eq!(first.status(), SessionStatus::Error);
    assert_eq!(
        said(&first.session).len(),
        1,
        "the message is there for good"
    );
}

/// S42: a deliberate end or a cut is never runnable by itself.
#[test]
fn s42_what_a_worker_may_resume() {
    let mut halted = Sim::new();
    halted.options.halt_when = HaltWhen::Set;
    halted.halts = true;
    halted.answers.extend([calls(&["a"])]);
    halted.reply("hi").unwrap();
    let mut cut = Sim::new();
    cut.options.max_turns = 1;
    cut.answers.extend([calls(&["a"])]);
    cut.reply("hi").unwrap();
    let mut cancelled = Sim::after([calls(&["manual"])]);
    cancelled.cancel().unwrap();
    let custom = Sim::after([calls(&["halt"])]);
    for sim in [&halted, &cut, &cancelled, &custom] {
        assert!(!sim.session.is_runnable(), "{:?}", sim.session.last_halt());
    }
    cut.send("psst", allm_core::session::Delivery::NextTurn)
        .unwrap();
    assert!(cut.session.is_runnable());
    assert!(Sim::started([]).session.is_runnable());
}
