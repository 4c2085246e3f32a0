//! Any events in any order: L215, L224.

use std::sync::Arc;

use allm_core::{AttemptReset, ChatCompleted, Event, FinishReason, Fold, HaltReason, ToolCall};
use allm_core::{Message, Thread, Usage};
use proptest::prelude::*;
use serde_json::json;

use super::make::*;

fn an_index() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![0, 1, 2, 40, u32::MAX])
}

fn a_word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "a", "b", "{", "{}", "é"])
}

fn a_finish() -> impl Strategy<Value = Option<FinishReason>> {
    prop::sample::select(vec![
        None,
        Some(FinishReason::Stop),
        Some(FinishReason::Length),
        Some(FinishReason::ToolCalls),
        Some(FinishReason::Error),
    ])
}

fn a_message() -> impl Strategy<Value = Message> {
    let calls = prop::collection::vec((a_word(), a_word()), 0..3);
    (a_word(), calls).prop_map(|(text, calls)| {
        let call = |(id, raw)| ToolCall::new(id, "x", raw);
        Message::assistant(text).with_tool_calls(calls.into_iter().map(call).collect())
    })
}

fn an_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        a_word().prop_map(text),
        (a_word(), a_word()).prop_map(|(id, piece)| text_of(id, piece)),
        a_word().prop_map(whole_text),
        (prop::option::of(a_word()), a_word()).prop_map(|(id, piece)| thought(id, piece)),
        (an_index(), a_word(), a_word()).prop_map(|(at, id, name)| call_started(at, id, name)),
        (an_index(), a_word(), a_word()).prop_map(|(at, id, piece)| call_delta(at, id, piece)),
        (an_index(), a_word(), a_word())
            .prop_map(|(at, id, raw)| call_completed(at, &ToolCall::new(id, "x", raw))),
        (a_message(), a_finish()).prop_map(|(message, finish)| completed(message, finish)),
        (0..9_u64).prop_map(|tokens| used(Usage::io(tokens, tokens))),
        a_word().prop_map(failed),
        (an_index(), a_word(), a_word()).prop_map(|(at, id, content)| encoded(at, id, content)),
        (an_index(), a_word()).prop_map(|(at, id)| asked(at, id)),
        (an_index(), a_word(), a_word()).prop_map(|(at, id, why)| halted(at, id, why, json!(1))),
        Just(Event::AttemptReset(AttemptReset {
            turn: 0,
            attempt: 2
        })),
    ]
}

/// What ends a turn or a run; rare, so that much comes before it.
fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        30 => an_event(),
        1 => a_message().prop_map(|message| {
            let thread = Thread::from("hi").with(message.clone());
            Event::StepCompleted(step(0, ended(message, None), thread))
        }),
        1 => a_message().prop_map(|message| Event::ChatCompleted(ChatCompleted {
            result: Arc::new(result(vec![], HaltReason::Completed, ended(message, None))),
        })),
    ]
}

fn is_piece(event: &Event) -> bool {
    matches!(
        event,
        Event::TextDelta(_) | Event::ToolCallDelta(_) | Event::RawChunk(_)
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// L224, and what holds of any answer: an error and the finish reason `error` stand or fall together.
    #[test]
    fn l224_no_events_make_it_fail(events in prop::collection::vec(any_event(), 0..40)) {
        let mut fold = Fold::with_thread(Thread::from("hi"));
        let mut first = None;
        for event in &events {
            let over = fold.chat_result().is_ok_and(|result| result.halted_reason == HaltReason::Completed);
            if let Event::Error(error) = event && !over {
                first.get_or_insert(error.error.clone());
            }
            if matches!(event, Event::StepCompleted(_)) && !over {
                first = None;
            }
            fold.push(event);
            let response = fold.response();
            prop_assert_eq!(response.finish_reason == Some(FinishReason::Error), response.error.is_some());
            if first.is_some() {
                prop_assert_eq!(&response.error, &first);
            }
            prop_assert!(fold.step_result().is_ok() && fold.chat_result().is_ok());
        }
    }

    /// L215: what a completion says beats the pieces, so that leaving them out changes nothing.
    #[test]
    fn l215_without_pieces_the_answer_is_the_same(
        pieces in prop::collection::vec(an_event().prop_filter("pieces", is_piece), 0..10),
        message in a_message(),
        finish in a_finish(),
    ) {
        let end = Event::MessageCompleted(Arc::new(allm_core::MessageCompleted {
            finish_reason: finish,
            usage: Some(Usage::io(1, 1)),
            ..allm_core::MessageCompleted::new(message.clone())
        }));
        // The calls of the message are those that were streamed.
        let streamed = |event: &&Event| !message.tool_calls.is_empty() || !matches!(event, Event::ToolCallDelta(_));
        let mut all = Fold::new();
        pieces.iter().filter(streamed).for_each(|event| all.push(event));
        all.push(&end);
        prop_assert_eq!(all.response(), folded(&[end]).response());
    }
}
