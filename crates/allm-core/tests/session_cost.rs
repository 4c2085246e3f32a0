//! What an entry of a session costs, in allocations. One test, in a binary of its own: the allocator counts for all
//! threads.

#![allow(clippy::expect_used, reason = "these are tests")]

#[path = "../benches/cost/counting.rs"]
mod counting;

use allm_core::run::{Planning, RunOptions, ToolOutcome};
use allm_core::session::{
    Append, CallKey, CallPlan, CallsPlanned, Delivery, EntryBody, ModelResponded, Operation,
    OutcomeSource, PlanOfCall, RunPlan, RunStarted, Session, ToolOutcomeEntry,
};
use allm_core::{
    AppendId, FinishReason, Hash, Link, Message, Response, RunId, SessionUid, Timestamp, ToolCall,
    Usage,
};
use counting::{Cost, counted};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// Eight turns of four messages fill one leaf of the shared list, so that each such span grows it the same way.
const SPAN: usize = 8;

struct Journal {
    session: Session,
    link: Link,
    turn: u32,
}

impl Journal {
    fn new() -> Self {
        let mut journal = Self {
            session: Session::new("order-42").expect("an id"),
            link: Link::START,
            turn: 0,
        };
        journal.seal(&Session::created(
            SessionUid::from_bytes([1; 16]),
            Default::default(),
            Default::default(),
            Default::default(),
            Default::default(),
        ));
        journal
    }

    fn seal(&mut self, body: &EntryBody) {
        let append = Append {
            id: AppendId::from_bytes([2; 16]),
            writer: "w1".into(),
            at: Timestamp::from_millis(0).expect("a time"),
            input_id: None,
        };
        let sealed = self.session.seal(body, &append, &self.link);
        self.link = sealed.expect("the entry fits").entry.link();
    }

    fn start(&mut self) {
        self.seal(&Session::message_entry(
            Message::user("Go on."),
            Delivery::NextTurn,
        ));
        self.seal(&EntryBody::RunStarted(Box::new(RunStarted {
            run: RunId::from_bytes([3; 16]),
            op: Operation::Reply,
            options: RunOptions {
                planning: Planning::Driver,
                max_turns: 10_000,
                ..RunOptions::default()
            },
            request: Default::default(),
            model: None,
            request_id: None,
            hooks: Default::default(),
            tools: Vec::new(),
        })));
    }

    fn respond(&mut self, message: Message, finish_reason: FinishReason) {
        self.turn += 1;
        self.seal(&EntryBody::ModelResponded(Box::new(ModelResponded {
            turn: self.turn,
            attempt: 1,
            request_hash: Hash::ZERO,
            response: Response {
                finish_reason: Some(finish_reason),
                usage: Usage::io(1000, 100),
                ..Response::new(message)
            },
        })));
    }

    /// An answer with three calls, their plan and their outcomes: five entries, four messages.
    fn turn(&mut self) {
        let turn = self.turn + 1;
        let call = |index: u32| ToolCall::new(format!("c{turn:06}-{index}"), "read", "{}");
        let calls = (0..3).map(call).collect();
        let message = Message::assistant("I look.").with_tool_calls(calls);
        self.respond(message, FinishReason::ToolCalls);
        let plan = |index| PlanOfCall {
            index,
            plan: CallPlan::Run(RunPlan::default()),
        };
        self.seal(&EntryBody::CallsPlanned(CallsPlanned {
            turn,
            calls: (0..3).map(plan).collect(),
        }));
        for index in 0..3 {
            let outcome = ToolOutcome::replied("twenty bytes of text", "twenty bytes of text");
            let key = CallKey { turn, index };
            let entry = ToolOutcomeEntry::new(key, 0, outcome, OutcomeSource::Handler);
            self.seal(&EntryBody::ToolOutcome(Box::new(entry)));
        }
    }

    /// A whole run of one turn with calls and one without.
    fn run(&mut self) {
        self.start();
        self.turn();
        self.respond(Message::assistant("Done."), FinishReason::Stop);
    }
}

fn compare(name: &str, costs: &[Cost], percent: usize) {
    let early: Cost = costs.iter().skip(4).take(SPAN).copied().sum();
    let late: Cost = costs.iter().rev().take(SPAN).copied().sum();
    let within = |late: usize, early: usize| late * 100 <= early * percent;
    assert!(
        within(late.allocations, early.allocations) && within(late.bytes, early.bytes),
        "{name}: {early:?} at the beginning, {late:?} at the end"
    );
}

/// Sealing an entry at 2,000 messages costs about what it costs at 20, in one long run and over many short ones.
#[test]
fn an_entry_costs_the_same_however_long_the_conversation_is() {
    let mut journal = Journal::new();
    let runs: Vec<Cost> = (0..400).map(|_| counted(|| journal.run()).1).collect();
    assert!(journal.session.thread().len() >= 2_000);
    compare("short runs", &runs, 115);

    let mut journal = Journal::new();
    journal.start();
    let turns: Vec<Cost> = (0..500).map(|_| counted(|| journal.turn()).1).collect();
    assert!(journal.session.thread().len() >= 2_000);
    compare("one long run", &turns, 115);
}
