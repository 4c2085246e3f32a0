//! What folding costs, counted in what the fold holds: L67.

use std::sync::Arc;

use allm_core::{Event, Fold, Message, Part, Thread, ToolCall};

use super::make::*;

/// How much a fold holds, in characters of its debug form.
fn held(fold: &Fold) -> usize {
    format!("{fold:?}").len()
}

/// What the fold of twice as many events holds beyond that of half of them; linear if it is as much as the half.
fn is_linear(fold: impl Fn(u32) -> Fold) {
    let (none, half, whole) = (held(&fold(0)), held(&fold(500)), held(&fold(1_000)));
    let growth = (half - none, whole - none);
    assert!(growth.1 <= growth.0 * 21 / 10, "{growth:?}");
}

#[test]
fn l67_a_mebibyte_of_arguments_in_deltas_of_one_byte() {
    const BYTES: usize = 1 << 20;
    let mut fold = folded(&[call_started(0, "a", "x")]);
    let delta = call_delta(0, "a", "1");
    (0..BYTES).for_each(|_| fold.push(&delta));
    let call = ToolCall::cut_off("a", "x", "1".repeat(BYTES));
    assert_eq!(fold.response(), open(vec![], vec![call]));
}

#[test]
fn text_in_deltas_of_one_byte_costs_its_length() {
    let of = |count: u32| {
        let mut fold = Fold::new();
        (0..count).for_each(|_| fold.push(&text("x")));
        fold
    };
    assert_eq!(
        held(&of(1_000)) - held(&of(500)),
        500,
        "one for each character"
    );
    is_linear(of);
}

#[test]
fn a_thousand_calls_and_their_results_cost_a_thousand() {
    let of = |count: u32| {
        let mut fold = Fold::with_thread(Thread::from("hi"));
        // In turns, so that no two neighbours belong to one call.
        (0..count).for_each(|index| fold.push(&call_started(index, "id", "x")));
        (0..count).for_each(|index| fold.push(&call_delta(index, "id", "{}")));
        (0..count).for_each(|index| {
            fold.push(&call_completed(index, &ToolCall::new("id", "x", "{}")));
        });
        (0..count).for_each(|index| fold.push(&encoded(index, "id", "done")));
        fold
    };
    is_linear(of);
    let made = of(1_000).step_result().expect("a thread");
    assert_eq!(made.response.tool_calls().len(), 1_000);
    assert_eq!(made.tool_results.len(), 1_000);
}

#[test]
fn blocks_in_turns_cost_what_they_hold() {
    is_linear(|count| {
        let mut fold = Fold::new();
        for number in 0..count {
            fold.push(&text_of(&format!("p{}", number % 50), "x"));
        }
        fold
    });
}

#[test]
fn a_finished_turn_leaves_its_step_and_nothing_else() {
    let mut fold = Fold::with_thread(Thread::from("hi"));
    let mut thread = Thread::from("hi");
    let mut steps = Vec::new();
    for index in 0..1_000 {
        fold.push(&text("some words"));
        fold.push(&encoded(index, "id", "done"));
        thread.push(Message::assistant("some words"));
        let response = open(vec![Part::text("some words")], vec![]);
        steps.push(step(index, response, thread.clone()));
        fold.push(&Event::StepCompleted(Arc::clone(&steps[index as usize])));
    }
    // The steps are those of the events, shared; nothing of a turn is held twice.
    assert!(steps.iter().all(|step| Arc::strong_count(step) == 2));
    assert_eq!(fold.response(), open(vec![], vec![]));
    let empty = folded(&[]);
    let mut without_steps = format!("{fold:?}");
    let (from, to) = (
        without_steps.find("steps: ["),
        without_steps.rfind("], failed"),
    );
    without_steps.replace_range(from.expect("steps")..to.expect("their end"), "steps: [");
    let given = format!("{:?}", Some(Thread::from("hi"))).len() - "None".len();
    assert_eq!(without_steps.len(), held(&empty) + given);
}
