//! Questions whose answer goes to the tool (section P): what can be told without a driver.

use allm_core::session::{
    CallState, Decision, EntryBody, Expired, Input, Operation, Outcome, Session, Wait,
};
use allm_core::{AnswerTo, Event, HaltReason, Role, SessionReason, SessionStatus};
use serde_json::{Value, json};

use super::script::*;
use super::sim::*;
use super::status::said;

fn names(sim: &Sim) -> Vec<&str> {
    sim.ran.iter().map(|(name, _)| name.as_str()).collect()
}

/// The tool messages of the conversation.
fn results(sim: &Sim) -> Vec<String> {
    let said = said(&sim.session).into_iter();
    let results = said.filter(|(role, _)| *role == Role::Tool);
    results.map(|(_, text)| text).collect()
}

#[test]
fn s180_the_question_is_a_wait_and_no_part_of_the_conversation() {
    let sim = Sim::after([calls(&["a", "wonder"])]);
    assert_eq!(sim.status(), SessionStatus::AwaitingUser);
    let open = sim.session.question().unwrap();
    assert_eq!((open.call, open.tool.as_str()), (sim.key(1), "wonder"));
    let Wait::Question(question) = &open.wait else {
        panic!("{open:?}")
    };
    assert_eq!(question.answer_to(), AnswerTo::Tool);
    assert_eq!(question.question, "What about wonder, 0?");
    assert_eq!(question.options["schema"], json!({"type": "string"}));
    let state = question
        .go_on
        .as_ref()
        .and_then(|go_on| go_on.state.clone());
    assert_eq!(state, Some(json!({"tool": "wonder", "asked": 1})));
    assert_eq!(
        said(&sim.session),
        [
            (Role::User, "hi".to_owned()),
            (Role::Assistant, "Let me see.".to_owned()),
            (Role::Tool, "done".to_owned()),
        ]
    );
    assert_eq!(sim.session.last_halt(), Some(&HaltReason::AskUser));
    assert!(!sim.session.is_runnable());
    assert_eq!(sim.session.pending_tool_calls(), []);
}

#[test]
fn s181_a_reply_goes_to_the_tool_and_the_model_sees_its_result() {
    let mut sim = Sim::after([calls(&["xwonder"]), text("fine")]);
    let result = sim.reply_result("red").unwrap();
    assert_eq!(result.halted_reason, HaltReason::Completed);
    assert_eq!(result.steps.len(), 1, "the step was told by the run before");
    assert_eq!(names(&sim), ["xwonder", "xwonder"]);
    assert_eq!(sim.ran[0], sim.ran[1], "the same arguments");
    let expected = [
        (Role::User, "hi"),
        (Role::Assistant, "Let me see."),
        (Role::Tool, "done with red"),
        (Role::Assistant, "fine"),
    ];
    assert_eq!(
        said(&sim.session),
        expected.map(|(role, text)| (role, text.to_owned()))
    );
    let intents = sim.bodies.iter().filter_map(|body| match body {
        EntryBody::ToolIntent(intent) => Some((intent.attempt, intent.key.clone())),
        _ => None,
    });
    let intents: Vec<_> = intents.collect();
    assert_eq!(intents[0].1, intents[1].1, "the same key");
    assert_eq!((intents[0].0, intents[1].0), (1, 2));
}

#[test]
fn s182_an_answer_starts_nothing() {
    let mut sim = Sim::after([calls(&["wonder"])]);
    let requests = sim.requests.len();
    sim.answer("c0", "red").unwrap();
    assert_eq!(sim.status(), SessionStatus::Idle);
    assert!(sim.session.is_runnable() && sim.session.has_ready_call());
    let call = sim.call(sim.key(0));
    assert_eq!(call.state, CallState::Ready { approval: None });
    let state = json!({"tool": "wonder", "asked": 1});
    assert_eq!(
        call.answer(),
        Some(&allm_core::Answer::new("red").state(state))
    );
    assert_eq!((names(&sim).len(), sim.requests.len()), (1, requests));
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    assert_eq!(results(&sim), ["done with red"]);
    assert_eq!(sim.requests.len(), requests + 1);
}

#[test]
fn s183_it_may_ask_again() {
    let mut sim = Sim::after([calls(&["wonder_twice"])]);
    let result = sim.reply_result("red").unwrap();
    assert_eq!(result.halted_reason, HaltReason::AskUser);
    assert_eq!(
        result.pending_question.as_deref(),
        Some("What about wonder_twice, 1?")
    );
    assert_eq!((result.steps.len(), sim.requests.len()), (0, 1));
    assert_eq!(sim.call(sim.key(0)).answer(), None, "that one is used up");
    assert_eq!(sim.reply("blue"), Ok(HaltReason::Completed));
    assert_eq!(results(&sim), ["done with blue"]);
    assert_eq!(names(&sim).len(), 3);
}

#[test]
fn s184_two_of_them_are_answered_in_any_order() {
    for order in [[1, 3], [3, 1]] {
        let mut sim = Sim::after([calls(&["a", "wonder", "manual", "xwonder"])]);
        for (index, text) in order.into_iter().zip(["first", "second"]) {
            sim.answer(sim.key(index), text).unwrap();
            sim.session = Session::from_json(&sim.bytes()).unwrap();
            sim.operate(Operation::Resume).unwrap();
        }
        assert_eq!(sim.status(), SessionStatus::AwaitingTools);
        assert_eq!(sim.requests.len(), 1, "the model is not asked");
        sim.submit("c2", "by hand").unwrap();
        assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
        let (one, three) = if order[0] == 1 {
            ("done with first", "done with second")
        } else {
            ("done with second", "done with first")
        };
        assert_eq!(results(&sim), ["done", one, "by hand", three]);
        assert_eq!(sim.requests.len(), 2);
    }
}

/// S184: beside a question for the model, whichever comes first.
#[test]
fn s184_beside_a_question_for_the_model() {
    for names in [["ask", "wonder"], ["wonder", "ask"]] {
        let mut sim = Sim::after([calls(&names)]);
        let first = sim.session.question().unwrap();
        assert_eq!(first.tool, names[0]);
        let result = sim.reply_result("one").unwrap();
        assert_eq!(result.halted_reason, HaltReason::AskUser);
        assert_eq!(sim.session.question().unwrap().tool, names[1]);
        assert_eq!(sim.reply("two"), Ok(HaltReason::Completed));
        let (answer, to_tool) = if names[0] == "ask" {
            ("one", "done with two")
        } else {
            ("two", "done with one")
        };
        let said: Vec<String> = said(&sim.session)
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        let mut expected = vec!["<awaiting user response>", to_tool];
        if names[0] == "wonder" {
            expected.reverse();
        }
        expected.extend(["What about ask?", answer, "ok"]);
        assert_eq!(said[2..], expected);
    }
}

#[test]
fn s185_an_answer_is_given_once() {
    let mut sim = Sim::after([calls(&["wonder", "manual"])]);
    assert_eq!(sim.answer("c0", "red"), Ok(Input::New));
    assert_eq!(sim.answer("c0", "red"), Ok(Input::Known));
    let other = sim.answer("c0", "blue").unwrap_err();
    assert_eq!(other.reason, SessionReason::AlreadyAnswered);
    sim.operate(Operation::Resume).unwrap();
    assert_eq!(sim.call(sim.key(0)).answer(), None, "it has done its part");
    assert_eq!(sim.answer("c0", "red"), Ok(Input::Known));
    let other = sim.answer("c0", "blue").unwrap_err();
    assert_eq!(other.reason, SessionReason::AlreadyAnswered);
    let wrong = sim.submit("c0", "x").unwrap_err();
    assert_eq!(wrong.reason, SessionReason::AlreadyAnswered);
    assert_eq!(names(&sim).len(), 2);
}

#[test]
fn s185_it_is_answered_and_not_submitted_approved_or_run_again() {
    let mut sim = Sim::after([calls(&["wonder"])]);
    let errors = [
        sim.submit("c0", "x").unwrap_err(),
        sim.decide("c0", Decision::Approved).unwrap_err(),
        sim.rerun("c0").unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.reason, SessionReason::WrongWait);
    }
}

#[test]
fn s186_cancelling_closes_it() {
    let mut sim = Sim::after([calls(&["wonder", "a"])]);
    sim.cancel().unwrap();
    assert_eq!(sim.status(), SessionStatus::Idle);
    assert_eq!(sim.call(sim.key(0)).outcome(), Some(Outcome::Cancelled));
    assert!(results(&sim)[0].contains(r#""reason":"cancelled""#));
    let late = sim.answer("c0", "red").unwrap_err();
    assert_eq!(late.reason, SessionReason::NotWaiting);
    assert_eq!(sim.reply("go on"), Ok(HaltReason::Completed));
    assert_eq!(names(&sim), ["wonder", "a"]);
}

#[test]
fn s186_an_answered_call_that_has_not_run_is_closed_too() {
    let mut sim = Sim::after([calls(&["xwonder"])]);
    sim.answer("c0", "red").unwrap();
    sim.cancel().unwrap();
    assert_eq!(sim.call(sim.key(0)).outcome(), Some(Outcome::Cancelled));
    assert_eq!(sim.call(sim.key(0)).answer(), None);
}

#[test]
fn s186_it_expires() {
    let mut sim = Sim::started([calls(&["wonder"])]);
    sim.until(|command| matches!(command, allm_core::run::Command::RunTools(_)));
    let key = sim.key(0);
    let outcome = outcome_of("wonder", None);
    let source = allm_core::session::OutcomeSource::Handler;
    let mut entry = allm_core::session::ToolOutcomeEntry::new(key, 0, outcome, source);
    let deadline = at(sim.now + 100);
    entry.question.as_mut().unwrap().expires_at = Some(deadline);
    sim.seal(EntryBody::ToolOutcome(Box::new(entry)));
    assert_eq!(sim.session.next_expiry(), Some(deadline));
    sim.now += 200;
    let late = sim.answer("c0", "red").unwrap_err();
    assert_eq!(late.outcome, Some(Outcome::Expired));
    let due = [EntryBody::Expired(Expired {
        call: key,
        deadline,
    })];
    assert_eq!(sim.session.expired_entries(at(sim.now)), due);
    sim.sweep();
    assert_eq!(sim.call(key).outcome(), Some(Outcome::Expired));
    assert!(results(&sim)[0].contains(r#""reason":"expired""#));
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
}

#[test]
fn s187_what_a_person_agreed_to_holds_for_the_later_attempts() {
    let mut sim = Sim::after([Answer::Whole(call_response(&["gwonder"], r#"{"x":1}"#))]);
    let arguments = map(json!({"x": 2}));
    let edited = Decision::Edited(allm_core::session::Edited { arguments });
    sim.decide("c0", edited).unwrap();
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::AskUser));
    sim.session = Session::from_json(&sim.bytes()).unwrap();
    let key = sim.key(0);
    sim.answer("c0", "red").unwrap();
    let approved = sim.call(key).state.approved().cloned();
    assert!(approved.is_some(), "nobody is asked again");
    let again = sim.decide("c0", Decision::Approved).unwrap_err();
    assert_eq!(again.reason, SessionReason::AlreadyDecided);
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    assert_eq!(sim.ran[0], sim.ran[1], "the edited arguments");
    let said = results(&sim);
    assert_eq!(said, [r#"{"edited_arguments":{"x":2}}done with red"#]);
}

/// S187: what stands in a stored session is looked at again.
#[test]
fn s187_an_approval_of_other_arguments_is_refused_on_load() {
    let mut sim = Sim::after([calls(&["gwonder"])]);
    sim.decide("c0", Decision::Approved).unwrap();
    sim.operate(Operation::Resume).unwrap();
    let mut value: Value = serde_json::from_slice(&sim.bytes()).unwrap();
    let wait = &mut value["data"]["open_turn"]["calls"][0]["wait"];
    let hash = &mut wait["go_on"]["approval"]["arguments_hash"];
    *hash = json!(format!("sha256:{}", "0".repeat(64)));
    let error = Session::from_json(&serde_json::to_vec(&value).unwrap()).unwrap_err();
    let faults = format!("{error:?}");
    assert!(faults.contains("arguments_hash"), "{faults}");
}

/// S188: an answer that comes while a sibling still runs.
#[test]
fn s188_it_goes_on_while_the_driver_is_on_the_turn() {
    let mut sim = Sim::started([calls(&["wonder", "a"])]);
    sim.until(|command| matches!(command, allm_core::run::Command::RunTools(_)));
    sim.step();
    assert_eq!(sim.status(), SessionStatus::InProgress);
    assert!(sim.session.question().is_some());
    sim.answer("c0", "red").unwrap();
    assert_eq!(sim.drive(), HaltReason::Completed);
    assert_eq!(names(&sim), ["wonder", "wonder", "a"]);
    assert_eq!(results(&sim), ["done with red", "done"]);
    let asked = |event: &&Event| matches!(event, Event::AskUserRequested(_));
    assert_eq!(sim.events.iter().filter(asked).count(), 1);
}

/// S189: a driver that takes over an attempt that has the answer finds the answer again.
#[test]
fn s189_the_answer_is_there_for_whoever_takes_over() {
    let mut sim = Sim::after([calls(&["xwonder"])]);
    sim.answer("c0", "red").unwrap();
    sim.start(Operation::Resume);
    let key = sim.key(0);
    sim.intend(key);
    sim.session = Session::from_json(&sim.bytes()).unwrap();
    sim.recover(false);
    assert_eq!(sim.call(key).intent().map(|intent| intent.attempt), Some(2));
    assert_eq!(
        sim.call(key)
            .answer()
            .map(allm_core::Answer::text)
            .as_deref(),
        Some("red")
    );
}

/// S189: nor is it lost when a person is asked what became of the attempt, or once more whether to agree.
#[test]
fn s189_the_answer_is_kept_while_a_person_is_asked_something_else() {
    let mut sim = Sim::after([calls(&["xwonder"])]);
    sim.answer("c0", "red").unwrap();
    sim.start(Operation::Resume);
    let key = sim.key(0);
    sim.intend(key);
    super::laws::ask_person(&mut sim, key);
    assert_eq!(sim.status(), SessionStatus::AwaitingTools);
    sim.rerun("c0").unwrap();
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    assert_eq!(results(&sim), ["done with red"]);
}

/// S54, S55: what a call has besides its state is checked when it is read.
#[test]
fn an_answer_stands_with_a_call_that_is_to_be_run_only() {
    let mut sim = Sim::after([calls(&["wonder"])]);
    let read = |sim: &Sim, change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_slice(&sim.bytes()).unwrap();
        change(&mut value["data"]["open_turn"]["calls"][0]);
        Session::from_json(&serde_json::to_vec(&value).unwrap()).map(drop)
    };
    read(&sim, &|_| {}).unwrap();
    read(&sim, &|call| call["answer"] = json!({"content": []})).unwrap_err();
    read(&sim, &|call| call["wait"]["go_on"]["more"] = json!(1)).unwrap_err();
    sim.answer("c0", "red").unwrap();
    read(&sim, &|call| call["answer"]["state"] = json!(1)).unwrap_err();
}
