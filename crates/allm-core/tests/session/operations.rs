//! Operations and their legality (section B).

use allm_core::session::{
    Annotated, CallKey, CallRef, Decision, Delivery, Denied, EntryBody, Input, Operation, Outcome,
    Session,
};
use allm_core::{
    Content, HaltReason, Image, Message, Part, Role, SessionReason, SessionStatus, Thread, ToolCall,
};
use serde_json::json;

use super::script::*;
use super::sim::*;
use super::status::said;

/// A session in each status, with and without something to run.
fn sessions() -> Vec<(&'static str, Sim)> {
    let mut cut = Sim::new();
    cut.options.max_turns = 1;
    cut.answers.extend([calls(&["a"])]);
    cut.reply("hi").unwrap();
    let mut mailed = Sim::after([text("fine")]);
    mailed.send("psst", Delivery::NextTurn).unwrap();
    let approved = |names: &[&str], id: &str| {
        let mut sim = Sim::after([calls(names)]);
        sim.decide(id, Decision::Approved).unwrap();
        sim
    };
    vec![
        ("new", Sim::new()),
        ("cut", cut),
        ("mailed", mailed),
        ("ready", approved(&["gate"], "c0")),
        ("completed", Sim::after([text("fine")])),
        ("in progress", Sim::started([])),
        ("user", Sim::after([calls(&["ask"])])),
        ("user, ready", approved(&["ask", "gate"], "c1")),
        ("approval", Sim::after([calls(&["gate"])])),
        ("approval, ready", approved(&["gate", "gate_b"], "c1")),
        ("tools", Sim::after([calls(&["manual"])])),
        ("tools, ready", approved(&["manual", "gate"], "c1")),
        ("error", Sim::after([breaks("I thi")])),
        ("error, waits", Sim::after([calls(&["boom", "manual"])])),
    ]
}

/// What `reply`, `resume` and `step`, `retry`, and `cancel` do: the table of section 4. `none` is legal and does nothing.
const MATRIX: [(&str, SessionStatus, [&str; 4]); 14] = {
    use SessionStatus::*;
    [
        ("new", Idle, ["ok", "nothing", "no", "none"]),
        ("cut", Idle, ["ok", "ok", "no", "none"]),
        ("mailed", Idle, ["ok", "ok", "no", "none"]),
        ("ready", Idle, ["ok", "ok", "no", "ok"]),
        ("completed", Completed, ["ok", "nothing", "no", "none"]),
        ("in progress", InProgress, ["no", "ok", "no", "ok"]),
        ("user", AwaitingUser, ["ok", "no", "no", "ok"]),
        ("user, ready", AwaitingUser, ["ok", "ok", "no", "ok"]),
        ("approval", AwaitingApproval, ["no", "no", "no", "ok"]),
        (
            "approval, ready",
            AwaitingApproval,
            ["no", "ok", "no", "ok"],
        ),
        ("tools", AwaitingTools, ["no", "no", "no", "ok"]),
        ("tools, ready", AwaitingTools, ["no", "ok", "no", "ok"]),
        ("error", Error, ["ok", "no", "ok", "ok"]),
        ("error, waits", Error, ["no", "no", "no", "ok"]),
    ]
};

#[test]
fn s15_every_cell_of_the_legality_matrix() {
    for (name, status, cells) in MATRIX {
        for (op, cell) in [
            (Operation::Reply, cells[0]),
            (Operation::Resume, cells[1]),
            (Operation::Step, cells[1]),
            (Operation::Retry, cells[2]),
        ] {
            let (_, mut sim) = sessions()
                .into_iter()
                .find(|(found, _)| *found == name)
                .unwrap();
            assert_eq!(sim.status(), status, "{name}");
            let before = (sim.session.clone(), sim.bytes(), sim.requests.len());
            let waits: Vec<CallKey> = sim.session.waits().iter().map(|wait| wait.call).collect();
            let asked = sim.operate(op);
            let told = match &asked {
                Ok(_) => "ok",
                Err(error) if error.reason == SessionReason::NothingToResume => "nothing",
                Err(error) => {
                    assert_eq!(error.reason, SessionReason::InvalidState);
                    assert_eq!(error.waits, waits, "{name}, {op}");
                    assert_eq!(error.status, Some(status));
                    for wait in &waits {
                        assert!(error.message.contains(&wait.to_string()));
                    }
                    "no"
                }
            };
            assert_eq!(told, cell, "{name}, {op}");
            if asked.is_err() {
                let after = (sim.session.clone(), sim.bytes(), sim.requests.len());
                assert_eq!(after, before, "{name}, {op}");
            }
        }
    }
}

/// S15: the column of `cancel`. It leaves nothing open and no failure.
#[test]
fn s15_cancel_in_every_status() {
    let all = sessions();
    for ((name, mut sim), (_, _, cells)) in all.into_iter().zip(MATRIX) {
        let before = sim.session.version();
        match cells[3] {
            "none" => {
                assert_eq!(sim.cancel(), Ok(Input::Known), "{name}");
                assert_eq!(sim.session.version(), before);
            }
            _ => {
                assert_eq!(sim.cancel(), Ok(Input::New), "{name}");
                if sim.session.run().is_some() {
                    sim.drive();
                }
                assert_eq!(sim.status(), SessionStatus::Idle, "{name}");
                assert_eq!(sim.session.last_halt(), Some(&HaltReason::Cancelled));
                assert_eq!(sim.session.waits(), []);
                assert_eq!(sim.session.failure(), None);
                assert!(!sim.session.is_runnable(), "{name}");
            }
        }
    }
}

/// S15: `send` and `annotate` in every status, and `answer` and the like whenever the wait is open.
#[test]
fn s15_inputs_are_legal_in_every_status() {
    for (name, mut sim) in sessions() {
        assert_eq!(
            sim.send("psst", Delivery::NextRun),
            Ok(Input::New),
            "{name}"
        );
        let note = Session::annotation_entry(Annotated {
            metadata: Some(map(json!({"seen": true}))),
            ..Annotated::default()
        });
        assert_eq!(sim.input(note), Ok(Input::New), "{name}");
        for wait in sim.session.waits() {
            let call = wait.call;
            let closed = match wait.wait.kind() {
                allm_core::session::WaitKind::Question => sim.answer(call, "yes"),
                allm_core::session::WaitKind::Approval => sim.decide(call, Decision::Approved),
                _ => sim.submit(call, "42"),
            };
            assert_eq!(closed, Ok(Input::New), "{name}, {call}");
        }
        assert_eq!(sim.session.waits(), [], "{name}");
    }
}

#[test]
fn s16_a_reply_beside_another_wait_only_answers() {
    let mut sim = Sim::after([calls(&["ask", "manual"])]);
    let asked = sim.requests.len();
    let result = sim.reply_result("red").unwrap();
    assert_eq!(sim.requests.len(), asked, "no model call");
    assert_eq!(result.steps, []);
    assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
    assert_eq!(result.pending_question, None);
    assert_eq!(result.thread, sim.session.thread());
    assert_eq!(sim.status(), SessionStatus::AwaitingTools);
    assert_eq!(sim.bodies.last().unwrap().kind(), "answered");

    let mut two = Sim::after([calls(&["ask_a", "ask_b"])]);
    let result = two.reply_result("red").unwrap();
    assert_eq!(result.halted_reason, HaltReason::AskUser);
    assert_eq!(result.pending_question.unwrap(), "What about ask_b?");
    assert_eq!(result.pending_tool_call_id.unwrap(), "c1");
}

#[test]
fn s17_resume_goes_on_from_the_results_with_fresh_turns() {
    let mut sim = Sim::new();
    sim.options.max_turns = 1;
    sim.answers
        .extend([calls(&["a"]), calls(&["a"]), text("fine")]);
    assert_eq!(sim.reply("hi"), Ok(HaltReason::MaxTurns));
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::MaxTurns));
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    assert_eq!(sim.requests.len(), 3);
    assert_eq!(sim.requests[2].messages.last().unwrap().role, Role::Tool);
}

#[test]
fn s18_a_step_is_one_model_call() {
    let mut sim = Sim::new();
    sim.answers.extend([calls(&["a", "b"]), text("fine")]);
    sim.send("hi", Delivery::NextTurn).unwrap();
    assert_eq!(sim.operate(Operation::Step), Ok(HaltReason::MaxTurns));
    assert_eq!((sim.status(), sim.requests.len()), (SessionStatus::Idle, 1));
    assert_eq!(sim.operate(Operation::Step), Ok(HaltReason::Completed));
    assert_eq!(
        (sim.status(), sim.requests.len()),
        (SessionStatus::Completed, 2)
    );
}

#[test]
fn s19_s37_retry_sends_the_same_again_without_the_partial_answer() {
    let mut sim = Sim::after([calls(&["a"]), breaks("I thi")]);
    assert_eq!(
        sim.ended
            .as_ref()
            .map(|end| matches!(end, allm_core::run::RunEnd::Result(_))),
        Some(true)
    );
    assert_eq!(sim.session.last_halt(), Some(&HaltReason::Error));
    assert_eq!(sim.status(), SessionStatus::Error);
    let failure = sim.session.failure().unwrap().clone();
    assert_eq!(
        (failure.kind.as_str(), failure.retryable, failure.turn),
        ("rate_limited", true, 2)
    );
    assert_eq!(failure.partial.unwrap().text(), "I thi");
    assert_eq!(
        said(&sim.session).last().unwrap().1,
        "done",
        "not in the thread"
    );
    assert_eq!(sim.operate(Operation::Retry), Ok(HaltReason::Completed));
    let bytes = |at: usize| allm_core::json::canonical(&sim.requests[at]).unwrap();
    assert_eq!(bytes(2), bytes(1));
    assert_eq!(sim.session.failure(), None);
}

#[test]
fn s20_reply_goes_on_from_what_was_seen() {
    let mut sim = Sim::after([breaks("I thi")]);
    assert_eq!(sim.reply("go on"), Ok(HaltReason::Completed));
    let sent = sim.requests.last().unwrap().messages.clone();
    let texts: Vec<String> = sent.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["hi", "I thi", "go on"]);
    let partial = sent.get(1).unwrap();
    assert_eq!(partial.role, Role::Assistant);
    assert_eq!(partial.metadata.get("partial"), Some(&true.into()));
}

#[test]
fn s22_a_submitted_result_stands_as_it_was_given() {
    let image = Part::image(Image::from_bytes(vec![1, 2, 3], "image/png"));
    let value = json!({"b": [1, 2.5], "a": null});
    let contents: [(Content, Vec<Part>); 3] = [
        ("  as it is\n".into(), vec![Part::text("  as it is\n")]),
        (
            vec![Part::text("see"), image.clone()].into(),
            vec![Part::text("see"), image],
        ),
        (
            Content::json(&value).unwrap(),
            vec![Part::text(value.to_string())],
        ),
    ];
    for (content, expected) in contents {
        let mut sim = Sim::after([calls(&["manual"])]);
        sim.submit("c0", content).unwrap();
        let thread = sim.session.thread();
        assert_eq!(thread.last().unwrap().content, expected);
    }
    let mut sim = Sim::after([calls(&["manual"])]);
    let failed = sim
        .session
        .result_entry(
            &"c0".into(),
            Outcome::Failed,
            "no".into(),
            Some("ann".into()),
        )
        .unwrap();
    sim.input(failed).unwrap();
    assert!(sim.session.thread().last().unwrap().is_error);
    let wrong = sim
        .session
        .result_entry(&"c0".into(), Outcome::Halted, "no".into(), None);
    assert!(sim.input(wrong.unwrap()).is_err());
}

/// S23: the list is checked against the session as it becomes on the way, and applied only when all of it passes.
#[test]
fn s23_several_results_are_all_or_nothing() {
    let results = |sim: &Sim, ids: &[&str]| -> Result<Session, SessionReason> {
        let mut next = sim.session.clone();
        for id in ids {
            let body = next.result_entry(&(*id).into(), Outcome::Ok, "42".into(), None);
            let body = body.map_err(|error| error.reason)?;
            let input = next.check_input(&body, at(sim.now));
            if input.map_err(|error| error.reason)? == Input::New {
                let facts = allm_core::session::EntryFacts::at(at(sim.now));
                next.apply(&body, &facts).unwrap();
            }
        }
        Ok(next)
    };
    let mut sim = Sim::after([calls(&["manual", "ask", "manual_b"])]);
    assert_eq!(results(&sim, &["c0", "c1"]), Err(SessionReason::WrongWait));
    assert_eq!(
        results(&sim, &["c0", "c9"]),
        Err(SessionReason::UnknownCall)
    );
    assert_eq!(sim.session.waits().len(), 3, "nothing has changed");
    let together = results(&sim, &["c0", "c2"]).unwrap();
    sim.submit("c0", "42").unwrap();
    sim.submit("c2", "42").unwrap();
    assert_eq!(together.thread(), sim.session.thread());
    for (name, sim) in sessions() {
        assert_eq!(results(&sim, &[]), Ok(sim.session.clone()), "{name}");
    }
}

#[test]
fn s24_the_last_result_starts_nothing() {
    let mut sim = Sim::after([calls(&["manual", "manual_b"])]);
    sim.submit("c0", "1").unwrap();
    assert_eq!(sim.status(), SessionStatus::AwaitingTools);
    assert!(!sim.session.is_runnable());
    sim.submit("c1", "2").unwrap();
    assert_eq!(sim.status(), SessionStatus::Idle);
    assert!(sim.session.is_runnable());
    assert_eq!(sim.requests.len(), 1);
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    assert_eq!(sim.requests.len(), 2);
}

#[test]
fn s27_unknown_calls_and_calls_that_wait_for_nothing() {
    let mut sim = Sim::after([calls(&["a", "manual"])]);
    let unknown = [
        CallRef::from("c7"),
        CallRef::from(CallKey { turn: 1, index: 2 }),
        CallRef::from(CallKey { turn: 2, index: 0 }),
    ];
    for call in unknown {
        let error = sim.submit(call, "42").unwrap_err();
        assert_eq!(error.reason, SessionReason::UnknownCall);
    }
    let error = sim.submit("c0", "42").unwrap_err();
    assert_eq!(
        (error.reason, error.outcome),
        (SessionReason::NotWaiting, Some(Outcome::Ok))
    );
}

#[test]
fn s28_an_input_of_the_wrong_kind_is_refused() {
    let mut sim = Sim::after([calls(&["ask", "gate", "manual"])]);
    let before = sim.session.clone();
    let errors = [
        sim.decide("c0", Decision::Approved),
        sim.decide("c2", Decision::Approved),
        sim.answer("c1", "yes"),
        sim.answer("c2", "yes"),
        sim.submit("c0", "42"),
        sim.submit("c1", "42"),
        sim.rerun("c0"),
        sim.rerun("c2"),
    ];
    for error in errors {
        assert_eq!(error.unwrap_err().reason, SessionReason::WrongWait);
    }
    assert_eq!(sim.session, before);
}

#[test]
fn s29_two_calls_with_one_id_are_told_apart() {
    let mut response = call_response(&["manual", "manual"], "{}");
    for call in &mut response.message.tool_calls {
        *call = ToolCall::new("same", "manual", "{}");
    }
    let mut sim = Sim::after([Answer::Whole(response)]);
    let ids: Vec<_> = sim
        .session
        .waits()
        .iter()
        .map(|wait| wait.tool_call_id.clone())
        .collect();
    assert_ne!(ids[0], ids[1]);
    sim.submit(sim.key(1), "second").unwrap();
    sim.submit(&ids[0], "first").unwrap();
    let texts: Vec<String> = said(&sim.session)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts[2..], ["first", "second"]);
}

#[test]
fn s30_an_id_names_a_call_of_the_open_turn() {
    let mut sim = Sim::after([calls(&["manual"])]);
    sim.submit("c0", "one").unwrap();
    sim.answers.extend([calls(&["manual"])]);
    sim.operate(Operation::Resume).unwrap();
    assert_eq!(sim.submit("c0", "two"), Ok(Input::New));
    assert_eq!(sim.call(sim.key(0)).outcome(), Some(Outcome::Ok));
    assert_eq!(sim.session.open_turn().unwrap().turn, 2);
    let old = CallKey { turn: 1, index: 0 };
    let error = sim.submit(old, "two").unwrap_err();
    assert_eq!(error.reason, SessionReason::UnknownCall);
}

#[test]
fn s31_the_same_answer_again_adds_nothing() {
    let mut sim = Sim::after([calls(&["ask", "manual"])]);
    assert_eq!(sim.answer("c0", "red"), Ok(Input::New));
    assert_eq!(sim.submit("c1", "42"), Ok(Input::New));
    let before = sim.session.clone();
    assert_eq!(sim.answer("c0", "red"), Ok(Input::Known));
    assert_eq!(sim.submit("c1", "42"), Ok(Input::Known));
    for error in [sim.answer("c0", "blue"), sim.submit("c1", "43")] {
        assert_eq!(error.unwrap_err().reason, SessionReason::AlreadyAnswered);
    }
    // Who gave it makes it no other.
    let again = sim
        .session
        .answer_entry(&"c0".into(), "red".into(), Some("ann".into()));
    assert_eq!(sim.input(again.unwrap()), Ok(Input::Known));
    assert_eq!(sim.session, before);
}

#[test]
fn s32_an_input_id_is_used_once() {
    let mut sim = Sim::new();
    let hello = || Session::message_entry(Message::user("hello"), Delivery::NextTurn);
    assert_eq!(sim.named_input("i1", hello()), Ok(Input::New));
    assert_eq!(sim.named_input("i1", hello()), Ok(Input::Known));
    assert_eq!(sim.session.inbox().len(), 1);
    let other = Session::message_entry(Message::user("bye"), Delivery::NextTurn);
    let error = sim.named_input("i1", other).unwrap_err();
    assert_eq!(error.reason, SessionReason::InputIdReused);
    // The last 256 are remembered.
    for number in 0..256 {
        sim.named_input(&format!("n{number}"), hello()).unwrap();
    }
    assert_eq!(sim.named_input("n0", hello()), Ok(Input::Known));
    assert_eq!(sim.named_input("i1", hello()), Ok(Input::New));
}

/// Only a person's words can be sent, and a session begins with a thread that can be sent.
#[test]
fn messages_that_would_break_the_thread_are_refused() {
    let sim = Sim::new();
    for message in [
        Message::assistant("I am the model"),
        Message::tool_result("c0", "42"),
        Message::user(""),
    ] {
        let body = Session::message_entry(message, Delivery::NextTurn);
        let error = sim.session.check_input(&body, at(0)).unwrap_err();
        assert_eq!(error.reason, SessionReason::Invalid);
    }
    let torn = Thread::from("hi")
        .with(Message::assistant("").with_tool_calls(vec![ToolCall::new("c0", "a", "{}")]));
    let EntryBody::Created(mut created) = sim.bodies[0].clone() else {
        panic!("the first entry is `created`")
    };
    created.thread = torn;
    let session = Session::new("other").unwrap();
    let error = session.check_input(&EntryBody::Created(created), at(0));
    assert_eq!(error.unwrap_err().reason, SessionReason::Invalid);
}

/// S26, S25: what waits and another halt of one batch.
#[test]
fn s25_s26_waits_beside_another_halt() {
    let mut sim = Sim::after([calls(&["manual", "halt"])]);
    assert_eq!(sim.status(), SessionStatus::AwaitingTools);
    sim.submit("c0", "42").unwrap();
    assert_eq!(sim.status(), SessionStatus::Completed);
    assert_eq!(sim.session.last_halt().unwrap().as_str(), "enough");

    let mut sim = Sim::after([calls(&["manual", "boom"])]);
    assert_eq!(sim.status(), SessionStatus::Error);
    assert_eq!(sim.session.waits().len(), 1);
    for op in [Operation::Retry, Operation::Reply] {
        let error = sim.session.check_drive(op).unwrap_err();
        assert_eq!(error.reason, SessionReason::InvalidState);
        assert_eq!(error.waits, [sim.key(0)]);
    }
    sim.submit("c0", "42").unwrap();
    for op in [Operation::Retry, Operation::Reply] {
        assert_eq!(sim.session.check_drive(op), Ok(()));
    }
    let denied = Decision::Denied(Denied {
        reason: String::new(),
    });
    let error = sim.decide("c0", denied).unwrap_err();
    assert_eq!(error.reason, SessionReason::NotWaiting);
}
