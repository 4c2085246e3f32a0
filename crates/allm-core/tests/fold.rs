//! From events to answers, steps and results: L67, L215, L217–L224, C66, C71–C76, C79, C81; events as
//! JSON: L203–L206, C83.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "these are tests"
)]

#[path = "fold/any.rs"]
mod any;
#[path = "fold/cost.rs"]
mod cost;
#[path = "fold/events.rs"]
mod events;
#[path = "fold/make.rs"]
mod make;

use std::sync::Arc;

use allm_core::{
    AWAITING_USER, AnswerTo, ChatCompleted, Error, Event, Failure, FinishReason, Fold, HaltReason,
    Image, MalformedArguments, Message, MessageCompleted, MessageStarted, NoThread, Origin, Part,
    ReasoningKind, ReasoningPart, Response, StepResult, StreamError, Thread, ToolCall,
    ToolResultEncoded, Usage,
};
use serde_json::json;

use make::*;

#[test]
fn l217_deltas_append() {
    let fold = folded(&[text("Hel"), text("lo")]);
    assert_eq!(fold.response(), open(vec![Part::text("Hello")], vec![]));
}

#[test]
fn l217_text_completed_replaces() {
    let fold = folded(&[text("Hel"), text("p"), whole_text("Hello")]);
    assert_eq!(fold.response(), open(vec![Part::text("Hello")], vec![]));
    let replaced = folded(&[text_of("p0", "a"), text_of("p1", "b"), whole_text("AB")]);
    assert_eq!(replaced.response(), open(vec![Part::text("AB")], vec![]));
}

#[test]
fn l217_an_empty_fold_gives_an_empty_answer() {
    let fold = Fold::new();
    assert_eq!(fold.response(), open(vec![], vec![]));
    assert_eq!(fold.response().text(), "");
    assert!(!fold.is_terminated());
}

#[test]
fn l217_a_completion_without_text_keeps_the_text_that_came() {
    let end = || completed(Message::assistant(vec![]), Some(FinishReason::Stop));
    let expected = |parts: Vec<Part>| ended(Message::assistant(parts), Some(FinishReason::Stop));
    let pieces = [text_of("p0", "a"), text_of("p1", "b"), end()];
    let two = vec![Part::text("a"), Part::text("b")];
    assert_eq!(folded(&pieces).response(), expected(two));
    let whole = [text_of("p0", "a"), whole_text("ab"), end()];
    assert_eq!(folded(&whole).response(), expected(vec![Part::text("ab")]));
}

#[test]
fn what_message_started_and_completed_tell_is_on_the_answer() {
    let origin = std::sync::Arc::new(Origin {
        provider: "p".into(),
        wire: "w".into(),
        model: None,
        response_id: None,
    });
    let begun = Event::MessageStarted(Box::new(MessageStarted {
        message: Message {
            origin: Some(origin.clone()),
            ..Message::assistant(vec![])
        },
        request_id: "request".into(),
        response_id: Some("early".into()),
        model: Some("model".into()),
    }));
    let end = Event::MessageCompleted(Arc::new(MessageCompleted {
        response_id: Some("late".into()),
        raw_finish_reason: Some("end".into()),
        metadata: object(json!({"k": 2})),
        ..MessageCompleted::new(Message::assistant("x"))
    }));
    let expected = Response {
        id: Some("late".into()),
        request_id: Some("request".into()),
        provider: Some("p".into()),
        model: Some("model".into()),
        raw_finish_reason: Some("end".into()),
        metadata: object(json!({"k": 2})),
        ..Response::new(Message {
            origin: Some(origin),
            ..Message::assistant("x")
        })
    };
    assert_eq!(folded(&[begun, end]).response(), expected);
}

#[test]
fn l218_calls_keep_the_order_first_seen() {
    let (a, b) = (ToolCall::new("a", "x", "{}"), ToolCall::new("b", "y", "{}"));
    let fold = folded(&[
        call_started(7, "a", "x"),
        call_started(2, "b", "y"),
        call_completed(2, &b),
        call_completed(7, &a),
    ]);
    assert_eq!(fold.response(), open(vec![], vec![a, b]));
}

#[test]
fn l218_a_delta_without_a_start_makes_a_nameless_call() {
    let fold = folded(&[call_delta(0, "a", "{\"x\""), call_delta(0, "a", ":1")]);
    let call = ToolCall::cut_off("a", "", "{\"x\":1");
    assert_eq!(fold.response(), open(vec![], vec![call]));
}

#[test]
fn l218_completed_replaces_the_whole_call() {
    let call = ToolCall {
        metadata: object(json!({"original_id": "b"})),
        ..ToolCall::new("a", "x", r#"{"k":1}"#)
    };
    let fold = folded(&[
        call_started(0, "old", "other"),
        call_delta(0, "old", "{{{"),
        call_completed(0, &ToolCall::new("old", "other", "{}")),
        call_completed(0, &call),
    ]);
    assert_eq!(fold.response(), open(vec![], vec![call]));
}

#[test]
fn l218_started_twice_changes_nothing() {
    let fold = folded(&[
        call_started(0, "a", "x"),
        call_delta(0, "a", "{"),
        call_started(0, "b", "y"),
    ]);
    let call = ToolCall::cut_off("a", "x", "{");
    assert_eq!(fold.response(), open(vec![], vec![call]));
}

#[test]
fn l219_a_completion_without_a_reason_keeps_the_earlier_one() {
    let message = || Message::assistant("x");
    let events = [
        completed(message(), Some(FinishReason::Length)),
        completed(message(), None),
    ];
    let expected = ended(message(), Some(FinishReason::Length));
    assert_eq!(folded(&events).response(), expected);
}

#[test]
fn l219_c66_usage_is_replaced_and_not_added() {
    let fold = folded(&[used(Usage::io(10, 1)), used(Usage::io(10, 5))]);
    assert_eq!(fold.response().usage, Usage::io(10, 5));
    let end = Event::MessageCompleted(Arc::new(MessageCompleted {
        usage: Some(Usage::io(11, 6)),
        ..MessageCompleted::new(Message::assistant("x"))
    }));
    let fold = folded_onto(fold, &[end, completed(Message::assistant("x"), None)]);
    assert_eq!(fold.response().usage, Usage::io(11, 6));
}

#[test]
fn l220_c73_of_two_errors_the_first_is_kept_whatever_follows() {
    let stop = completed(Message::assistant("half"), Some(FinishReason::Stop));
    let fold = folded(&[text("half"), failed("first"), failed("second"), stop]);
    let expected = broken(Message::assistant("half"), failure("first"));
    assert_eq!(fold.response(), expected);
    assert!(fold.response().into_result().is_err());
}

#[test]
fn l221_tool_messages_are_in_index_order_and_the_lowest_halt_is_kept() {
    let fold = over_hi(&[
        halted(2, "c", "late", json!(2)),
        encoded(3, "d", "done"),
        asked(1, "b"),
        halted(0, "a", "first", json!({"v": 1})),
    ]);
    let messages = [
        Message::tool_result("a", r#"{"v":1}"#),
        Message::tool_result("b", AWAITING_USER),
        Message::tool_result("c", "2"),
        Message::tool_result("d", "done"),
    ];
    let made = fold.step_result().expect("a thread");
    assert_eq!(made.tool_results, messages.into_iter().collect());
    let expected =
        json!({"halted_reason": "first", "halt_tool_call_id": "a", "halt_result": {"v": 1}});
    assert_eq!(made.metadata, object(expected));
    assert!(made.done);
}

#[test]
fn l298_a_question_to_go_on_with_makes_no_message_and_a_later_result_takes_it_back() {
    let mut fold = over_hi(&[
        asked_for(0, "a", AnswerTo::Tool),
        encoded(1, "b", "done"),
        asked(2, "c"),
    ]);
    let made = fold.step_result().expect("a thread");
    let ids = |step: &StepResult| -> Vec<String> {
        let ids = step.tool_results.iter();
        ids.filter_map(|message| Some(message.tool_call_id.as_ref()?.to_string()))
            .collect()
    };
    assert_eq!(ids(&made), ["b", "c"]);
    assert_eq!(made.metadata["pending_tool_call_id"], json!("a"));

    fold.push(&encoded(0, "a", "red"));
    let made = fold.step_result().expect("a thread");
    assert_eq!(ids(&made), ["a", "b", "c"]);
    assert_eq!(made.metadata["pending_tool_call_id"], json!("c"));
}

#[test]
fn a_result_that_reports_a_failure_stays_marked() {
    let fold = over_hi(&[Event::ToolResultEncoded(ToolResultEncoded {
        index: 0,
        id: "a".into(),
        content: "no".into(),
        media: Vec::new(),
        is_error: true,
    })]);
    let made = fold.step_result().expect("a thread");
    let message = Message::tool_error("a", "no");
    assert_eq!(made.tool_results, [message].into_iter().collect());
}

#[test]
fn l302_a_result_with_a_picture() {
    let picture = Part::image(Image::from_bytes(vec![1], "image/png"));
    let mut event = ToolResultEncoded {
        index: 0,
        id: "a".into(),
        content: "see".into(),
        media: vec![picture.clone()],
        is_error: false,
    };
    let told = |event: &ToolResultEncoded| {
        let fold = over_hi(&[Event::ToolResultEncoded(event.clone())]);
        fold.step_result().expect("a thread").tool_results.clone()
    };
    let both = Message::tool_result("a", vec![Part::text("see"), picture.clone()]);
    assert_eq!(told(&event), [both].into_iter().collect());
    event.content.clear();
    let alone = Message::tool_result("a", vec![picture]);
    assert_eq!(told(&event), [alone].into_iter().collect());
}

#[test]
fn step_result_is_the_first_finished_step() {
    let told = |index| step(index, open(vec![], vec![]), Thread::from("hi"));
    let fold = folded(&[
        Event::StepCompleted(told(0)),
        text("x"),
        Event::StepCompleted(told(1)),
    ]);
    assert_eq!(fold.step_result(), Ok(told(0)));
    assert_eq!(fold.steps(), [told(0), told(1)]);
}

#[test]
fn l222_without_chat_completed_it_is_cancelled_with_the_steps_so_far() {
    let first = ended(Message::assistant("one"), Some(FinishReason::Stop));
    let first = step(0, first, Thread::from("hi").with(Message::assistant("one")));
    let fold = over_hi(&[text("one"), Event::StepCompleted(Arc::clone(&first))]);
    let expected = result(
        vec![Arc::clone(&first)],
        HaltReason::Cancelled,
        first.response.clone(),
    );
    assert_eq!(fold.chat_result().as_deref(), Ok(&expected));
    // What has come of the next turn is the last answer, and in no step.
    let fold = folded_onto(fold, &[text("tw")]);
    let expected = result(
        vec![first],
        HaltReason::Cancelled,
        open(vec![Part::text("tw")], vec![]),
    );
    assert_eq!(fold.chat_result().as_deref(), Ok(&expected));
}

#[test]
fn l222_with_an_error_it_is_an_error() {
    let fold = over_hi(&[text("half"), failed("down")]);
    let expected = result(
        vec![],
        HaltReason::Error,
        broken(Message::assistant("half"), failure("down")),
    );
    assert_eq!(fold.chat_result().as_deref(), Ok(&expected));
}

#[test]
fn l222_with_chat_completed_it_is_that_result_and_later_events_change_nothing() {
    let told = result(vec![], HaltReason::MaxTurns, open(vec![], vec![]));
    let end = Event::ChatCompleted(ChatCompleted {
        result: Arc::new(told.clone()),
    });
    let late = result(vec![], HaltReason::Completed, open(vec![], vec![]));
    let late = Event::ChatCompleted(ChatCompleted {
        result: Arc::new(late),
    });
    let one = step(0, open(vec![], vec![]), Thread::new());
    let after = [text("x"), failed("x"), Event::StepCompleted(one), late];
    let fold = folded_onto(folded(&[end]), &after);
    assert_eq!(fold.chat_result().as_deref(), Ok(&told));
    assert_eq!(fold.response(), open(vec![], vec![]));
    assert!(fold.steps().is_empty());
}

#[test]
fn l223_without_any_thread_there_is_no_result() {
    for events in [vec![], vec![text("x"), failed("x"), encoded(0, "a", "")]] {
        let fold = folded(&events);
        assert_eq!(fold.step_result(), Err(NoThread));
        assert_eq!(fold.chat_result(), Err(NoThread));
    }
}

#[test]
fn a_step_made_of_pieces_has_the_message_that_the_loop_would_add() {
    // Nothing came: nothing is added.
    let made = over_hi(&[failed("down")]).step_result().expect("a thread");
    assert_eq!(made.thread, Thread::from("hi"));
    assert!((*made).clone().into_result().is_err());
    // A call without a name never was.
    let call = ToolCall::cut_off("b", "x", "{");
    let events = [
        text("half"),
        call_delta(0, "a", "{"),
        call_started(1, "b", "x"),
        call_delta(1, "b", "{"),
        failed("down"),
    ];
    let made = over_hi(&events).step_result().expect("a thread");
    let message = Message {
        finish_reason: Some(FinishReason::Error),
        ..Message::assistant("half").with_tool_calls(vec![call])
    };
    assert_eq!(made.thread, Thread::from("hi").with(message));
}

#[test]
fn c71_two_texts_around_a_call_keep_their_order() {
    let call = ToolCall {
        at: Some(1),
        ..ToolCall::new("a", "x", "{}")
    };
    let parts = vec![Part::text("before "), Part::text("after")];
    let message = Message::assistant(parts.clone()).with_tool_calls(vec![call.clone()]);
    let pieces = [
        text_of("p0", "before "),
        call_started(0, "a", "x"),
        call_completed(0, &call),
        text_of("p1", "after"),
    ];
    let fold = folded(&pieces);
    let unplaced = ToolCall { at: None, ..call };
    assert_eq!(fold.response(), open(parts, vec![unplaced]));
    let end = completed(message.clone(), Some(FinishReason::ToolCalls));
    let fold = folded_onto(fold, &[whole_text("before after"), end]);
    assert_eq!(
        fold.response(),
        ended(message, Some(FinishReason::ToolCalls))
    );
    assert_eq!(fold.response().text(), "before after");
}

#[test]
fn c72_deltas_of_two_blocks_are_told_apart_by_their_part_ids() {
    let fold = folded(&[
        text_of("p0", "a"),
        text_of("p1", "x"),
        text_of("p0", "b"),
        text_of("p1", "y"),
    ]);
    let parts = vec![Part::text("ab"), Part::text("xy")];
    assert_eq!(fold.response(), open(parts, vec![]));
}

#[test]
fn c75_a_stream_that_just_ends_is_interrupted() {
    let fold = folded(&[text("half")]);
    let end = fold.missing_end().expect("no terminal event came");
    let interrupted = Failure::from(Error::from(StreamError::interrupted()));
    assert_eq!(end, Event::error(interrupted.clone()));
    let fold = folded_onto(fold, &[end]);
    let expected = broken(Message::assistant("half"), interrupted);
    assert_eq!(fold.response(), expected);
    assert_eq!(fold.missing_end(), None);
    let whole = completed(Message::assistant("x"), None);
    assert_eq!(folded(&[whole]).missing_end(), None);
}

#[test]
fn c76_a_call_with_fragments_and_no_completion_is_kept_malformed() {
    let events = [call_started(0, "a", "x"), call_delta(0, "a", r#"{"k":1}"#)];
    let response = folded(&events).response();
    let call = ToolCall::cut_off("a", "x", r#"{"k":1}"#);
    assert_eq!(response, open(vec![], vec![call]));
    let fault = response.tool_calls()[0].fault();
    assert_eq!(fault, Some(MalformedArguments::Incomplete));
}

#[test]
fn c79_repeated_and_unordered_events_with_any_index_cost_what_they_hold() {
    let indexes = [u32::MAX, 0, u32::MAX - 1, 7];
    let call = |index: u32| ToolCall::new(index.to_string(), "x", "{}");
    let mut events = Vec::new();
    for index in indexes {
        events.push(call_completed(index, &call(index)));
        events.push(call_started(index, "late", "y"));
        events.push(encoded(index, "a", "r"));
    }
    events.push(completed(Message::assistant(vec![]), None));
    let once = over_hi(&events);
    let size = format!("{once:?}").len();
    let calls = indexes.map(call).to_vec();
    let expected = ended(
        Message::assistant(vec![]).with_tool_calls(calls),
        Some(FinishReason::ToolCalls),
    );
    assert_eq!(once.response(), expected);
    let mut often = once;
    for _ in 0..50 {
        often = folded_onto(often, &events);
    }
    assert_eq!(often.response(), expected);
    assert_eq!(format!("{often:?}").len(), size, "no growth");
}

#[test]
fn c81_reasoning_is_streamed_and_never_text() {
    let fold = folded(&[
        thought(None, "Hm"),
        text("Yes"),
        thought(None, "m"),
        thought(Some("p1"), "!"),
    ]);
    let thinking = |text: &str| {
        Part::Reasoning(ReasoningPart {
            text: Some(text.into()),
            kind: ReasoningKind::Raw,
            opaque: None,
        })
    };
    let parts = vec![thinking("Hmm"), Part::text("Yes"), thinking("!")];
    assert_eq!(fold.response(), open(parts, vec![]));
    assert_eq!(fold.response().text(), "Yes");
    assert_eq!(fold.response().reasoning(), "Hmm!");
}
