//! Laws of a session over random operations. The simulation checks after every entry that JSON and replay give the same
//! session, that the thread can be sent and is that of the result, and that the caller's facts are untouched.

use std::time::Duration;

use allm_core::run::{
    Budgets, Command, DeadlineScope, Deadlines, Finalize, HaltWhen, RunOptions, ToolOutcome,
    UnknownTools,
};
use allm_core::session::{
    CallKey, Decision, Delivery, Denied, Edited, EntryBody, EntryFacts, Halted, LateOutcome,
    ModelEnd, Operation, Outcome, OutcomePolicy, OutcomeSource, RunFailed, ToolOutcomeEntry,
    WentOn,
};
use allm_core::{CallFailure, FailureReason, FinishReason, HaltReason, ResponseFormat};
use proptest::prelude::*;
use serde_json::json;

use super::script::*;
use super::sim::*;

/// Something that somebody does with a session.
#[derive(Clone, Debug)]
enum Op {
    Begin(Operation),
    /// The driver does the next so many things.
    Drive(usize),
    /// The driver ends a call, not always the first.
    End(usize),
    Send(Delivery),
    Answer(usize),
    Submit(usize),
    Approve(usize),
    Edit(usize),
    Deny(usize),
    Rerun(usize),
    Cancel,
    /// A submitter cancels and settles what nobody drives.
    Settle,
    /// So many milliseconds pass, and what has expired is closed.
    Wait(i64),
    Recover,
    Interrupt,
    AskPerson,
    Deadline(DeadlineScope),
    Late(usize),
    Fail,
    Annotate(u8),
    /// An entry that may not fit.
    Raw(usize),
    Reload,
}

fn an_op() -> impl Strategy<Value = Op> {
    let delivery = prop::sample::select(vec![
        Delivery::NextTurn,
        Delivery::NextRun,
        Delivery::Interrupt,
    ]);
    let operation = prop::sample::select(Operation::ALL.to_vec());
    prop_oneof![
        6 => operation.prop_map(Op::Begin),
        10 => (1..6_usize).prop_map(Op::Drive),
        3 => (0..3_usize).prop_map(Op::End),
        3 => delivery.prop_map(Op::Send),
        2 => (0..4_usize).prop_map(Op::Answer),
        2 => (0..4_usize).prop_map(Op::Submit),
        2 => (0..4_usize).prop_map(Op::Approve),
        1 => (0..4_usize).prop_map(Op::Edit),
        1 => (0..4_usize).prop_map(Op::Deny),
        1 => (0..4_usize).prop_map(Op::Rerun),
        1 => Just(Op::Cancel),
        1 => Just(Op::Settle),
        1 => (0..300_i64).prop_map(Op::Wait),
        1 => Just(Op::Recover),
        1 => Just(Op::Interrupt),
        1 => Just(Op::AskPerson),
        1 => prop::sample::select(vec![DeadlineScope::Turn, DeadlineScope::Run]).prop_map(Op::Deadline),
        1 => (0..4_usize).prop_map(Op::Late),
        1 => Just(Op::Fail),
        1 => any::<u8>().prop_map(Op::Annotate),
        2 => any::<usize>().prop_map(Op::Raw),
        1 => Just(Op::Reload),
    ]
}

fn an_answer() -> impl Strategy<Value = Answer> {
    let names = vec![
        "a",
        "a",
        "x",
        "x",
        "manual",
        "gate",
        "gate",
        "ask",
        "ask_b",
        "wonder",
        "xwonder_twice",
        "gwonder",
        "halt",
        "fail",
        "boom",
        "unknown",
        "",
    ];
    let calls = prop::collection::vec(prop::sample::select(names), 1..5);
    let finish = prop::sample::select(vec![
        FinishReason::ToolCalls,
        FinishReason::ToolCalls,
        FinishReason::ToolCalls,
        FinishReason::Length,
    ]);
    let same_ids = prop::bool::weighted(0.1);
    let batch = (calls, finish, same_ids).prop_map(|(names, finish, same)| {
        let mut response = call_response(&names, r#"{"x":1}"#);
        response.finish_reason = Some(finish);
        if same {
            for call in &mut response.message.tool_calls {
                call.id = "same".into();
            }
        }
        Answer::Whole(response)
    });
    prop_oneof![
        8 => batch,
        2 => Just(text("fine")),
        1 => Just(breaks("I thi")),
        1 => Just(Answer::Breaks(call_response(&["a"], "{\"x\":"))),
        1 => Just(Answer::Refused),
    ]
}

fn some_options() -> impl Strategy<Value = RunOptions> {
    let flags = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    let budget = prop::option::weighted(0.2, 0..5_u64);
    (1..4_u32, flags, budget).prop_map(|(max_turns, (asks, tells, finalize), tool_calls)| {
        let second = Some(Duration::from_secs(1));
        RunOptions {
            planning: allm_core::run::Planning::Driver,
            max_turns,
            halt_when: if asks {
                HaltWhen::Set
            } else {
                HaltWhen::NotSet
            },
            unknown_tools: if tells {
                UnknownTools::TellModel
            } else {
                UnknownTools::Refuse
            },
            structured_finalize: finalize.then(Finalize::default),
            deadlines: Deadlines {
                turn: second,
                run: second,
            },
            budgets: Budgets {
                tool_calls,
                ..Budgets::default()
            },
            ..RunOptions::default()
        }
    })
}

/// A session under test, and what was given to it.
struct Play {
    sim: Sim,
    sent: usize,
}

impl Play {
    fn call(&self, place: usize) -> CallKey {
        self.sim.key(u32::try_from(place).unwrap())
    }

    /// Does it. What is illegal has to change nothing.
    fn act(&mut self, op: &Op) {
        let before = self.sim.session.clone();
        let done = self.try_act(op);
        if !done {
            assert_eq!(self.sim.session, before, "{op:?} was refused");
        }
        self.nothing_is_lost();
    }

    fn try_act(&mut self, op: &Op) -> bool {
        let sim = &mut self.sim;
        match op {
            Op::Begin(op) => return self.begin(*op),
            Op::Drive(times) => {
                for _ in 0..*times {
                    sim.step();
                }
            }
            Op::End(place) => match sim.session.command() {
                Command::RunTools(calls) => sim.run_call(&calls[place % calls.len()]),
                _ => return false,
            },
            Op::Send(delivery) => {
                self.sent += 1;
                let text = format!("message {}.", self.sent);
                sim.send(&text, *delivery).unwrap();
            }
            Op::Answer(place) => {
                return self.call_input(|sim, call| sim.answer(call, "red"), *place);
            }
            Op::Submit(place) => {
                return self.call_input(|sim, call| sim.submit(call, "42"), *place);
            }
            Op::Approve(place) => {
                return self.call_input(|sim, call| sim.decide(call, Decision::Approved), *place);
            }
            Op::Edit(place) => {
                let arguments = map(json!({"x": 2}));
                let edited = Decision::Edited(Edited { arguments });
                return self.call_input(|sim, call| sim.decide(call, edited), *place);
            }
            Op::Deny(place) => {
                let reason = "no".to_owned();
                let denied = Decision::Denied(Denied { reason });
                return self.call_input(|sim, call| sim.decide(call, denied), *place);
            }
            Op::Rerun(place) => return self.call_input(Sim::rerun, *place),
            Op::Cancel => {
                sim.cancel().unwrap();
            }
            Op::Settle => {
                for body in sim.session.cancel_entries("enough", None) {
                    sim.seal(body);
                }
                assert!(sim.session.run().is_none(), "settled");
                assert_eq!(sim.session.waits(), []);
            }
            Op::Wait(millis) => {
                sim.now += millis;
                sim.sweep();
            }
            Op::Recover => match sim.session.recovery_entry(None, 3) {
                Some(body) => drop(sim.seal(body)),
                None => return false,
            },
            Op::Interrupt => match sim.session.command() {
                Command::CallModel(_) => {
                    sim.model_failed(ModelEnd::Interrupted, Some(text_response("Half an ans")));
                }
                _ => return false,
            },
            Op::AskPerson => match sim.session.command() {
                Command::RunTools(calls) => {
                    let key = sim.key(calls[0].index);
                    ask_person(sim, key);
                }
                _ => return false,
            },
            Op::Deadline(scope) => {
                if sim.session.run().is_none() {
                    return false;
                }
                sim.seal(EntryBody::Halted(Halted {
                    turn: sim.session.turn(),
                    reason: HaltReason::DeadlineExceeded,
                    scope: Some(*scope),
                }));
            }
            Op::Late(place) => {
                let call = self.call(*place);
                self.sim.seal(EntryBody::LateOutcome(LateOutcome {
                    call,
                    attempt: 1,
                    outcome: Outcome::Ok,
                    content: "late".into(),
                }));
            }
            Op::Fail => {
                if sim.session.run().is_none() {
                    return false;
                }
                sim.seal(EntryBody::RunFailed(RunFailed {
                    kind: "approval_mismatch".into(),
                    message: "other arguments".into(),
                }));
            }
            Op::Annotate(number) => {
                sim.input(allm_core::Session::annotation_entry(
                    allm_core::session::Annotated {
                        metadata: Some(map(json!({"n": number}))),
                        ..Default::default()
                    },
                ))
                .unwrap();
            }
            Op::Raw(number) => self.raw(*number),
            Op::Reload => {
                sim.session = allm_core::Session::from_json(&sim.bytes()).unwrap();
            }
        }
        true
    }

    fn begin(&mut self, op: Operation) -> bool {
        let sim = &mut self.sim;
        if sim.session.check_drive(op).is_err() {
            return false;
        }
        if sim.session.run().is_some() {
            return true;
        }
        if op == Operation::Reply {
            match sim.session.question() {
                Some(question) => {
                    if sim.answer(question.call, "red").is_err() {
                        return false;
                    }
                    if !sim.session.waits().is_empty() && !sim.session.has_ready_call() {
                        assert!(sim.session.standing_result().steps.is_empty());
                        return true;
                    }
                }
                None => {
                    self.sent += 1;
                    let text = format!("message {}.", self.sent);
                    sim.send(&text, Delivery::NextTurn).unwrap();
                }
            }
        }
        sim.start(op);
        true
    }

    fn call_input(
        &mut self,
        input: impl FnOnce(
            &mut Sim,
            CallKey,
        ) -> Result<allm_core::session::Input, allm_core::SessionError>,
        place: usize,
    ) -> bool {
        let call = self.call(place);
        input(&mut self.sim, call).is_ok()
    }

    /// An entry of this session's past, or one made up: it fits, or it changes nothing.
    fn raw(&mut self, number: usize) {
        let key = self.call(number % 4);
        let turn = self.sim.session.turn();
        let made_up = [
            EntryBody::WentOn(WentOn { turn }),
            self.sim.responded_body(text_response("out of turn")),
            self.sim.failed_body(ModelEnd::Stopped, None),
            EntryBody::ToolOutcome(Box::new(ToolOutcomeEntry::new(
                key,
                1,
                ToolOutcome::NotStarted,
                OutcomeSource::Handler,
            ))),
        ];
        let past = &self.sim.bodies;
        let body = match made_up.get(number % (made_up.len() + past.len())) {
            Some(body) => body.clone(),
            None => past[number % past.len()].clone(),
        };
        let facts = EntryFacts::at(at(self.sim.now));
        let before = self.sim.session.clone();
        let mut next = before.clone();
        if next.apply(&body, &facts).is_err() {
            assert_eq!(next, before, "a misfit changes nothing");
            let hash = |session: &allm_core::Session| session.clone().state_hash().unwrap();
            assert_eq!(hash(&next), hash(&before));
        }
    }

    /// Every message that was accepted stands once, in the thread or in the inbox.
    fn nothing_is_lost(&self) {
        let session = &self.sim.session;
        let thread = session.thread();
        let inbox = session.inbox().iter().map(|queued| queued.message.text());
        let texts: Vec<String> = thread
            .messages
            .iter()
            .map(|message| message.text())
            .chain(inbox)
            .collect();
        for number in 1..=self.sent {
            let text = format!("message {number}.");
            let found = texts.iter().filter(|found| **found == text).count();
            assert_eq!(found, 1, "{text} in {texts:?}");
        }
    }
}

/// The outcome of a call is not known, and a person is asked.
pub(crate) fn ask_person(sim: &mut Sim, call: CallKey) {
    let failure = CallFailure::new(FailureReason::UnknownOutcome, "it may have acted");
    let mut entry = ToolOutcomeEntry::new(
        call,
        sim.call(call).attempts,
        ToolOutcome::failed(failure),
        OutcomeSource::Recovery,
    );
    entry.policy = OutcomePolicy::AskPerson;
    sim.seal(EntryBody::ToolOutcome(Box::new(entry)));
}

fn play(options: RunOptions, halts: bool, answers: Vec<Answer>, ops: &[Op]) -> Sim {
    let mut sim = Sim::new();
    if options.structured_finalize.is_some() {
        sim.request.response_format = Some(ResponseFormat::JsonObject);
    }
    sim.options = options;
    sim.halts = halts;
    sim.expiry = Some(200);
    sim.answers.extend(answers);
    let mut play = Play { sim, sent: 0 };
    play.act(&Op::Begin(Operation::Reply));
    for op in ops {
        play.act(op);
    }
    play.sim
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// S10, S11, S13, S53, S67, S69 over any sequence of operations; and what is refused changes nothing.
    #[test]
    fn every_session_keeps_the_laws(
        options in some_options(),
        halts in any::<bool>(),
        answers in prop::collection::vec(an_answer(), 1..8),
        ops in prop::collection::vec(an_op(), 1..40),
    ) {
        play(options, halts, answers, &ops);
    }

    /// Whatever happened, a driver that goes on and a person that answers come to an end.
    #[test]
    fn every_session_can_be_brought_to_an_end(
        options in some_options(),
        answers in prop::collection::vec(an_answer(), 1..5),
        ops in prop::collection::vec(an_op(), 1..20),
    ) {
        let mut sim = play(options, false, answers, &ops);
        for body in sim.session.cancel_entries("enough", None) {
            sim.seal(body);
        }
        sim.answers.clear();
        sim.options.max_turns = 8;
        sim.options.budgets = Budgets::default();
        prop_assert_eq!(sim.reply("and now?"), Ok(HaltReason::Completed));
    }
}
