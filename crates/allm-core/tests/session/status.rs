//! Data and status (section A).

use std::collections::BTreeMap;

use allm_core::session::{
    Annotated, CallState, Decision, Delivery, OpenTurn, Operation, Outcome, Session, Wait, WaitKind,
};
use allm_core::{
    AWAITING_USER, HaltReason, Map, Role, SessionStatus, SessionUid, Thread, Version, validate,
};
use serde_json::json;

use super::script::*;
use super::sim::*;

pub(crate) fn kinds(session: &Session) -> Vec<WaitKind> {
    let waits = session.waits();
    waits.iter().map(|wait| wait.wait.kind()).collect()
}

/// Role and text of every message of the thread.
pub(crate) fn said(session: &Session) -> Vec<(Role, String)> {
    let thread = session.thread();
    let said = thread.messages.iter();
    said.map(|message| (message.role, message.text())).collect()
}

fn texts(session: &Session) -> Vec<String> {
    said(session).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn s1_a_new_session_has_nothing_in_it() {
    let session = Session::new("order-42").unwrap();
    assert_eq!(session.id().as_str(), "order-42");
    assert_eq!(session.version(), Version(0));
    assert_eq!(session.thread(), Thread::new());
    assert_eq!(session.status(), SessionStatus::Idle);
    assert_eq!(session.waits(), []);
    assert!(!session.is_runnable());
    assert_eq!(session.uid(), None);
    super::check::stored_and_restored(&session);
}

#[test]
fn s2_an_id_that_breaks_the_rules_is_refused_at_its_path() {
    let long = "x".repeat(201);
    for id in ["", &long, "a\nb", "a\u{7f}"] {
        let error = Session::new(id).unwrap_err();
        let paths: Vec<String> = error.faults.iter().map(|f| f.path.to_string()).collect();
        assert_eq!(paths, ["id"], "{id:?}");
    }
    assert!(Session::new("x".repeat(200)).is_ok());
}

#[test]
fn s4_three_kinds_of_waits_in_one_batch() {
    let mut sim = Sim::after([calls(&["ask", "gate", "manual"])]);
    assert_eq!(
        kinds(&sim.session),
        [WaitKind::Question, WaitKind::Approval, WaitKind::Result]
    );
    assert_eq!(sim.status(), SessionStatus::AwaitingUser);
    sim.answer("c0", "this one").unwrap();
    assert_eq!(kinds(&sim.session), [WaitKind::Approval, WaitKind::Result]);
    assert_eq!(sim.status(), SessionStatus::AwaitingApproval);
    sim.decide("c1", Decision::Approved).unwrap();
    assert_eq!(kinds(&sim.session), [WaitKind::Result]);
    assert_eq!(sim.status(), SessionStatus::AwaitingTools);
}

#[test]
fn s5_of_two_questions_the_first_one_stands_at_the_end() {
    let mut sim = Sim::after([calls(&["ask_a", "ask_b"])]);
    assert_eq!(kinds(&sim.session), [WaitKind::Question; 2]);
    assert_eq!(sim.session.question().unwrap().call, sim.key(0));
    assert_eq!(texts(&sim.session).last().unwrap(), "What about ask_a?");
    sim.answer("c0", "red").unwrap();
    assert_eq!(sim.session.question().unwrap().call, sim.key(1));
    assert_eq!(
        texts(&sim.session)[4..],
        ["What about ask_a?", "red", "What about ask_b?"]
    );
}

#[test]
fn s6_answers_in_reverse_order_stand_in_call_order() {
    let mut sim = Sim::after([calls(&["ask_a", "ask_b"])]);
    sim.answer("c1", "blue").unwrap();
    assert_eq!(
        texts(&sim.session)[4..],
        ["What about ask_b?", "blue", "What about ask_a?"]
    );
    sim.answer("c0", "red").unwrap();
    assert_eq!(
        said(&sim.session),
        [
            (Role::User, "hi".into()),
            (Role::Assistant, "Let me see.".into()),
            (Role::Tool, AWAITING_USER.into()),
            (Role::Tool, AWAITING_USER.into()),
            (Role::Assistant, "What about ask_a?".into()),
            (Role::User, "red".into()),
            (Role::Assistant, "What about ask_b?".into()),
            (Role::User, "blue".into()),
        ]
    );
}

#[test]
fn s7_a_late_manual_result_takes_its_place_before_the_question() {
    let mut sim = Sim::after([calls(&["manual", "ask"])]);
    assert_eq!(texts(&sim.session)[2..], [AWAITING_USER, "What about ask?"]);
    sim.submit("c0", "42").unwrap();
    assert_eq!(
        texts(&sim.session)[2..],
        ["42", AWAITING_USER, "What about ask?"]
    );
}

#[test]
fn s8_a_question_that_nobody_answers_leaves_an_error_and_no_question() {
    let mut cancelled = Sim::after([calls(&["ask"])]);
    cancelled.cancel().unwrap();
    let mut expired = Sim::started([calls(&["ask"])]);
    expired.until(|command| matches!(command, allm_core::run::Command::RunTools(_)));
    let key = expired.key(0);
    let mut asked = allm_core::session::ToolOutcomeEntry::new(
        key,
        1,
        asks("Which?"),
        allm_core::session::OutcomeSource::Handler,
    );
    asked.question.as_mut().unwrap().expires_at = Some(at(1_000));
    expired.seal(allm_core::session::EntryBody::ToolOutcome(Box::new(asked)));
    expired.now = 999;
    expired.sweep();
    assert_eq!(expired.status(), SessionStatus::AwaitingUser);
    expired.now = 1_000;
    expired.sweep();
    for (sim, outcome, reason) in [
        (&cancelled, Outcome::Cancelled, "cancelled"),
        (&expired, Outcome::Expired, "expired"),
    ] {
        assert_eq!(sim.call(sim.key(0)).outcome(), Some(outcome));
        let thread = sim.session.thread();
        assert_eq!(thread.len(), 3, "no question");
        let result = thread.last().unwrap();
        assert!(
            result.is_error && result.text().contains(reason),
            "{result:?}"
        );
        validate::sendable(&thread.messages).unwrap();
    }
    assert_eq!(cancelled.session.last_halt(), Some(&HaltReason::Cancelled));
    assert!(expired.session.is_runnable(), "the model is told");
}

/// S8 while other calls of the turn still run: the stop closes the question too.
#[test]
fn s8_a_question_of_a_run_that_is_stopped() {
    let mut sim = Sim::started([calls(&["ask", "a"])]);
    sim.until(|command| matches!(command, allm_core::run::Command::RunTools(_)));
    sim.step();
    assert_eq!(kinds(&sim.session), [WaitKind::Question]);
    sim.cancel().unwrap();
    sim.drive();
    assert_eq!(sim.call(sim.key(0)).outcome(), Some(Outcome::Cancelled));
    let thread = sim.session.thread();
    assert!(thread.messages.get(2).unwrap().is_error);
    assert!(texts(&sim.session)[2].contains("cancelled"));
    assert_eq!(thread.len(), 4, "no question");
}

#[test]
fn s9_turns_are_counted_over_the_whole_life() {
    let mut sim = Sim::after([calls(&["a"]), text("one")]);
    assert_eq!(sim.session.turn(), 2);
    sim.answers.extend([breaks("I thi")]);
    sim.reply("again").unwrap();
    assert_eq!(sim.session.turn(), 2, "a failed answer is none");
    sim.operate(Operation::Retry).unwrap();
    assert_eq!(sim.session.turn(), 3);
    sim.session = Session::from_json(&sim.bytes()).unwrap();
    assert_eq!(sim.session.turn(), 3);
    sim.answers.extend([calls(&["manual"])]);
    sim.reply("more").unwrap();
    assert_eq!(sim.session.open_turn().unwrap().turn, 4);
    sim.cancel().unwrap();
    assert_eq!(sim.session.turn(), 4);
    sim.reply("more").unwrap();
    assert_eq!(sim.session.turn(), 5);
}

#[test]
fn s11_the_callers_facts_are_the_callers() {
    let context = map(json!({"tenant": "acme"}));
    let metadata = map(json!({"big": u64::MAX}));
    let tags = BTreeMap::from([("team".to_owned(), "support".to_owned())]);
    let mut sim = Sim::created(Session::created(
        SessionUid::from_bytes([1; 16]),
        Thread::new(),
        context.clone(),
        metadata.clone(),
        tags.clone(),
    ));
    sim.answers.extend([calls(&["a", "fail"]), text("done")]);
    sim.reply("hi").unwrap();
    assert_eq!(sim.session.context(), &context);
    assert_eq!(sim.session.metadata(), &metadata);
    assert_eq!(sim.session.tags(), &tags);
    sim.input(Session::annotation_entry(Annotated {
        metadata: Some(Map::new()),
        ..Annotated::default()
    }))
    .unwrap();
    assert_eq!(sim.session.context(), &context);
    assert_eq!(sim.session.metadata(), &Map::new());
    assert_eq!(sim.session.tags(), &tags);
}

#[test]
fn s12_only_the_latest_halt_is_remembered() {
    let mut sim = Sim::new();
    sim.options.max_turns = 1;
    sim.answers.extend([calls(&["a"])]);
    sim.reply("hi").unwrap();
    assert_eq!(sim.session.last_halt(), Some(&HaltReason::MaxTurns));
    sim.answers.extend([text("fine")]);
    sim.reply("and?").unwrap();
    assert_eq!(sim.session.last_halt(), Some(&HaltReason::Completed));
    assert!(
        !String::from_utf8(sim.bytes())
            .unwrap()
            .contains("\"max_turns\"")
    );
}

/// S13 in each status that has no open turn; the simulation checks the others after every entry.
#[test]
fn s13_a_thread_without_an_open_turn_can_be_sent() {
    let mut failed = Sim::after([calls(&["a"]), breaks("I thi")]);
    assert_eq!(failed.status(), SessionStatus::Error);
    let mut cut = Sim::new();
    cut.options.max_turns = 1;
    cut.answers.extend([calls(&["a"])]);
    cut.reply("hi").unwrap();
    assert_eq!(cut.status(), SessionStatus::Idle);
    let completed = Sim::after([text("fine")]);
    assert_eq!(completed.status(), SessionStatus::Completed);
    let started = Sim::started([]);
    assert_eq!(started.status(), SessionStatus::InProgress);
    for sim in [&failed, &cut, &completed, &started] {
        validate::sendable(&sim.session.thread().messages).unwrap();
    }
    failed.reply("go on").unwrap();
    validate::sendable(&failed.session.thread().messages).unwrap();
}

/// S3: every combination of failure, run, waits, halt, inbox and ready call that entries can bring about, against the
/// table written down once more.
#[test]
fn s3_the_status_follows_the_table() {
    let batches: &[&[&str]] = &[
        &["a"],
        &["ask"],
        &["gate"],
        &["manual"],
        &["ask", "gate"],
        &["ask", "manual"],
        &["gate", "manual"],
        &["ask", "gate", "manual"],
        &["halt"],
        &["halt", "ask"],
        &["halt", "gate", "manual"],
        &["boom"],
        &["boom", "ask"],
        &["boom", "gate", "manual"],
    ];
    let mut seen = std::collections::BTreeSet::new();
    for names in batches {
        for steps in 0..9 {
            for mailed in [false, true] {
                for approved in [false, true] {
                    let mut sim = Sim::started([calls(names)]);
                    for _ in 0..steps {
                        sim.step();
                    }
                    let gate = sim.session.approvals().first().cloned();
                    if let Some(gate) = gate.filter(|_| approved) {
                        sim.decide(gate, Decision::Approved).unwrap();
                    }
                    if mailed {
                        sim.send("psst", Delivery::NextRun).unwrap();
                    }
                    let expected = by_the_table(&sim.session);
                    assert_eq!(sim.status(), expected, "{names:?} after {steps}");
                    seen.insert(expected);
                }
            }
        }
    }
    assert_eq!(seen.len(), SessionStatus::ALL.len(), "{seen:?}");
}

fn by_the_table(session: &Session) -> SessionStatus {
    let turn = session.open_turn().into_iter();
    let calls: Vec<_> = turn.flat_map(OpenTurn::calls).collect();
    let waits = |kind| {
        calls
            .iter()
            .any(|call| call.wait().map(Wait::kind) == Some(kind))
    };
    let ready = calls
        .iter()
        .any(|call| matches!(call.state, CallState::Ready { .. } | CallState::Intended(_)));
    let deliberate = matches!(
        session.last_halt(),
        Some(HaltReason::Completed | HaltReason::HaltWhen | HaltReason::Custom(_))
    );
    let table = [
        (session.failure().is_some(), SessionStatus::Error),
        (session.run().is_some(), SessionStatus::InProgress),
        (waits(WaitKind::Question), SessionStatus::AwaitingUser),
        (waits(WaitKind::Approval), SessionStatus::AwaitingApproval),
        (waits(WaitKind::Result), SessionStatus::AwaitingTools),
        (
            deliberate && session.inbox().is_empty() && !ready,
            SessionStatus::Completed,
        ),
        (true, SessionStatus::Idle),
    ];
    table.into_iter().find(|(holds, _)| *holds).unwrap().1
}

#[test]
fn s10_every_call_has_one_message_and_one_outcome() {
    let mut sim = Sim::after([calls(&["a", "fail", "manual", "ask", "x", "gate"])]);
    sim.submit("c2", "2").unwrap();
    sim.answer("c3", "3").unwrap();
    sim.decide(
        "c5",
        Decision::Denied(allm_core::session::Denied {
            reason: "no".into(),
        }),
    )
    .unwrap();
    let outcomes: Vec<_> = {
        let turn = sim.session.open_turn().unwrap();
        turn.calls().map(|call| call.outcome().unwrap()).collect()
    };
    assert_eq!(
        outcomes,
        [
            Outcome::Ok,
            Outcome::Failed,
            Outcome::Ok,
            Outcome::Asked,
            Outcome::Ok,
            Outcome::Denied
        ]
    );
    let tools = said(&sim.session);
    assert_eq!(
        tools.iter().filter(|(role, _)| *role == Role::Tool).count(),
        6
    );
    validate::sendable(&sim.session.thread().messages).unwrap();
}
