//! Awaited is the fold of streamed: L215, L225, L281.

use std::collections::BTreeSet;

use allm::{Error, Event, Failure, Fold, Thread};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::case::{Case, Size, case};
use super::check;
use super::on_paused_time;
use super::tools::Alive;

const SIZE: Size = Size { turns: 5, calls: 4 };

fn fold(events: &[Event]) -> Fold {
    let mut fold = Fold::with_thread(Thread::from("go"));
    events.iter().for_each(|event| fold.push(event));
    fold
}

/// A run that was refused is one `error` event, and the same error when awaited.
fn refused(error: &Error, events: &[Event]) {
    let [Event::Error(event)] = events else {
        panic!("{error:?} awaited, but streamed: {events:?}")
    };
    assert_eq!(Failure::from(error), event.error);
}

async fn chat(case: &Case) {
    let (fake, alive) = (case.fake(), Alive::default());
    let again = fake.fork();
    let awaited = case
        .settings
        .chat(&case.settings.engine(&fake, &alive))
        .await;
    let streamed = case.settings.chat(&case.settings.engine(&again, &alive));
    let events = streamed.stream().collect().await;
    match awaited {
        Err(error) => refused(&error, &events),
        Ok(result) => {
            let fold = fold(&events);
            assert_eq!(*fold.chat_result().unwrap(), result);
            assert_eq!(fold.steps(), result.steps);
            let ends = events
                .iter()
                .filter(|event| event.tag() == "chat_completed");
            assert_eq!(ends.count(), 1);
            assert_eq!(events.last().map(Event::tag), Some("chat_completed"));
            check::sendable_or_told(&result);
        }
    }
    check::turns(&events, case.settings.filtered);
    assert_eq!(fake.calls(), again.calls());
    for fake in [fake, again] {
        check::provider_side(&fake);
    }
}

async fn step(case: &Case) {
    let (fake, alive) = (case.fake(), Alive::default());
    let again = fake.fork();
    let awaited = case
        .settings
        .step(&case.settings.engine(&fake, &alive))
        .await;
    let streamed = case.settings.step(&case.settings.engine(&again, &alive));
    let events = streamed.stream().collect().await;
    match awaited {
        Err(error) => refused(&error, &events),
        Ok(result) => {
            assert_eq!(*fold(&events).step_result().unwrap(), result);
            assert_eq!(events.last().map(Event::tag), Some("step_completed"));
        }
    }
    check::turns(&events, case.settings.filtered);
    assert_eq!(fake.calls(), again.calls());
}

async fn generate(case: &Case) {
    let (fake, alive) = (case.fake(), Alive::default());
    let again = fake.fork();
    let awaited = case
        .settings
        .generate(&case.settings.engine(&fake, &alive))
        .await;
    let streamed = case
        .settings
        .generate(&case.settings.engine(&again, &alive));
    let events = streamed.stream().collect().await;
    match awaited {
        // The stream of a call that was refused, and of nothing else, is one error.
        Err(error) => refused(&error, &events),
        Ok(response) => {
            let last = events.last().map(Event::tag);
            assert!(
                matches!(last, Some("message_completed" | "error")),
                "{last:?}"
            );
            // Of a failed answer without its deltas there is nothing to fold.
            if !case.settings.filtered || response.error.is_none() {
                assert_eq!(fold(&events).response(), response);
            }
        }
    }
    assert_eq!(fake.calls(), again.calls());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// L215, L225, L281: whatever is scripted and set, for every kind of call.
    #[test]
    fn l225_awaited_is_the_fold_of_streamed_for_any_run(case in case(SIZE)) {
        on_paused_time(async {
            chat(&case).await;
            step(&case).await;
            generate(&case).await;
        });
    }
}

/// The cases reach every way in which a run ends; otherwise the law above would say little.
#[test]
fn the_cases_reach_every_end() {
    let mut runner = TestRunner::deterministic();
    let mut ends = BTreeSet::new();
    for _ in 0..1_000 {
        let case = case(SIZE).new_tree(&mut runner).unwrap().current();
        let result = on_paused_time(async {
            let engine = case.settings.engine(&case.fake(), &Alive::default());
            case.settings.chat(&engine).await
        });
        ends.insert(match result {
            Ok(result) => result.halted_reason.to_string(),
            Err(_) => "refused".to_owned(),
        });
    }
    let expected = [
        "ask_user",
        "budget_exhausted",
        "cancelled",
        "completed",
        "deadline_exceeded",
        "error",
        "halt_when",
        "manual_tool_calls",
        "max_turns",
        "refused",
        "stop_here",
        "tool_error",
        "truncated",
    ];
    assert_eq!(ends, expected.map(str::to_owned).into());
}
