//! What things cost, in allocations: never in time, so that a busy machine changes nothing.
//!
//! One test, in a binary of its own: the allocator counts for all threads.

#![expect(clippy::expect_used, reason = "the script is shared with the bench")]

#[path = "../benches/cost/counting.rs"]
mod counting;
#[path = "../benches/cost/script.rs"]
mod script;

use allm_core::{ChatResult, Event, Fold, Thread, json};
use counting::{Cost, counted};
use script::Hashing;
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// Eight turns of four messages fill one leaf of the shared list, so that each such span grows it the same way.
const SPAN: usize = 8;

#[test]
fn costs_do_not_grow_with_the_history() {
    folding_deltas();
    turns(Hashing::Not);
    turns(Hashing::EachInput);
    hashing_the_state();
    cloning_a_thread();
    reading_steps_of_any_length();
    calls_of_one_turn();
    answers_of_one_turn();
}

/// Only the text grows, by doubling.
fn folding_deltas() {
    let events = |event: fn((usize, bytestring::ByteString)) -> Event| {
        let pieces = script::pieces(100_000).enumerate();
        pieces.map(event).collect::<Vec<Event>>()
    };
    let text = events(|(_, piece)| Event::text_delta(piece));
    let arguments = events(|(_, piece)| script::call_delta(0, piece));
    let in_turn = events(|(number, piece)| match number % 3 {
        0 => Event::text_delta(piece),
        1 => script::call_delta(0, piece),
        _ => script::call_delta(1, piece),
    });
    for (name, most, events) in [
        ("text", 64, text),
        ("arguments", 64, arguments),
        ("in turn", 96, in_turn),
    ] {
        let cost = least(|| {
            let mut fold = Fold::new();
            events.iter().for_each(|event| fold.push(event));
            fold
        });
        assert!(cost.allocations <= most, "{name}: {cost:?}");
    }
}

/// The last turns of 400 against those around the tenth.
fn turns(hashing: Hashing) {
    let mut run = script::started(401);
    let costs: Vec<Cost> = (0..400)
        .map(|number| {
            let inputs = script::turn(number);
            counted(|| script::drive(&mut run, inputs, hashing)).1
        })
        .collect();
    let early: Cost = costs.iter().skip(5).take(SPAN).copied().sum();
    let late: Cost = costs.iter().rev().take(SPAN).copied().sum();
    let within = |late: usize, early: usize, percent: usize| late * 100 <= early * percent;
    assert!(
        within(late.allocations, early.allocations, 110) && within(late.bytes, early.bytes, 150),
        "{hashing:?}: {early:?} at the tenth turn, {late:?} at the four hundredth"
    );

    let command = |run: &allm_core::Run| least(|| run.command()).allocations;
    assert_eq!(command(&run), command(&script::driven(10)));
}

/// The hash after a turn, when all turns before it have been hashed.
fn hashing_the_state() {
    let hash = |turns: u32| {
        let mut run = script::driven(turns);
        run.state_hash().expect("the state can be written");
        script::drive(&mut run, script::turn(turns), Hashing::Not);
        counted(|| run.state_hash()).1
    };
    let (early, late) = (hash(10), hash(400));
    assert!(late.bytes * 2 <= early.bytes * 3, "{early:?}, {late:?}");
}

fn cloning_a_thread() {
    let thread = script::thread(1000);
    assert!(thread.len() >= 1000);
    let cost = least(|| thread.clone());
    assert_eq!((cost.allocations, cost.bytes), (0, 0));
}

/// A stored result whose steps name lengths up and down costs what an orderly one costs, but for a few nodes a step.
fn reading_steps_of_any_length() {
    const STEPS: usize = 200;
    const MESSAGES: usize = 2000;
    let read = |length: fn(usize) -> usize| {
        let message = json!({"role": "user"});
        let step = |number| {
            json!({
                "step_index": 0, "response": {"message": {"role": "assistant"}},
                "thread_length": length(number), "mode": "auto", "done": true,
            })
        };
        let document = json!({"v": 1, "type": "chat_result", "data": {
            "thread": {"messages": vec![message; MESSAGES]},
            "steps": (0..STEPS).map(step).collect::<Vec<_>>(),
            "halted_reason": "completed",
        }});
        let text = document.to_string();
        least(|| json::from_str::<ChatResult>(&text).expect("a result"))
    };
    let orderly = read(|_| MESSAGES);
    let jumping = read(|number| number % 2 * MESSAGES + 1 - number % 2);
    let most = orderly.allocations + 10 * STEPS;
    assert!(jumping.allocations <= most, "{orderly:?}, {jumping:?}");
}

/// A turn of twice the calls, its state hashed and its command asked after each outcome, costs twice as much: the open
/// answer and each ended call are hashed once. What a command lists are the calls that still run, so its bytes are not
/// counted, only that it is one list.
fn calls_of_one_turn() {
    let cost = |calls| {
        let (inputs, mut run) = (script::turn_of(0, calls), script::started(2));
        counted(|| script::drive(&mut run, inputs, Hashing::EachInput)).1
    };
    let (some, twice) = (cost(500), cost(1000));
    assert!(
        twice.allocations * 10 <= some.allocations * 23,
        "{some:?} for 500 calls, {twice:?} for 1,000"
    );
}

/// Results that come in the order of the calls find their place without a list of it being made each time.
fn answers_of_one_turn() {
    let cost = |calls| {
        let mut run = script::started(2);
        script::drive(&mut run, script::turn_of(0, calls), Hashing::Not);
        let messages: Vec<_> = run.thread().messages.iter().cloned().collect();
        let pushed = || messages.iter().cloned().fold(Thread::new(), Thread::with);
        least(pushed)
    };
    let (some, twice) = (cost(500), cost(1000));
    assert!(
        twice.allocations * 10 <= some.allocations * 23 && twice.bytes * 10 <= some.bytes * 25,
        "{some:?} for 500 results, {twice:?} for 1,000"
    );
}

/// The cheapest of three, as the thread that waits for the test may allocate meanwhile.
fn least<T>(work: impl Fn() -> T) -> Cost {
    let costs = (0..3).map(|_| counted(&work).1);
    costs
        .min_by_key(|cost| cost.allocations)
        .unwrap_or_default()
}
