use allm_core::{Fold, ReasoningKind};

use super::*;

fn answer() -> Answer {
    Answer::new(About {
        provider: "p".into(),
        wire: "w",
        request_id: "q".into(),
        raw_chunks: false,
        raw_body: false,
    })
}

fn events(answer: &mut Answer) -> Vec<Event> {
    std::iter::from_fn(|| answer.next_event()).collect()
}

fn tags(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::tag).collect()
}

/// Nothing goes out before the first content, and then what is known of the answer.
#[test]
fn held_back_until_content() {
    let mut answer = answer();
    answer.response_id(Some("r"));
    answer.model(Some("m"));
    let text = answer.open(PartKind::Text, None);
    answer.delta(text, "".into());
    assert_eq!(events(&mut answer), []);
    assert!(!answer.has_content());
    answer.delta(text, "a".into());
    let seen = events(&mut answer);
    assert_eq!(tags(&seen), ["message_started", "text_delta"]);
    let Event::MessageStarted(started) = &seen[0] else {
        panic!("{seen:?}")
    };
    assert_eq!(started.model.as_deref(), Some("m"));
}

/// The completion says the same as the pieces.
#[test]
fn the_fold_of_the_pieces_is_the_completion() {
    let mut answer = answer();
    let thought = answer.open(PartKind::Reasoning(ReasoningKind::Raw), None);
    answer.delta(thought, "hm".into());
    let text = answer.open(PartKind::Text, None);
    answer.delta(text, "a".into());
    answer.delta(text, "b".into());
    let call = answer.call(None);
    answer.call_name(call, "look");
    answer.call_id(call, "1");
    answer.arguments(call, "{\"x\":".into());
    answer.arguments(call, "1}".into());
    answer.complete_call(call);
    answer.finish(Some(FinishReason::Stop), Some("stop"));
    answer.complete();
    let seen = events(&mut answer);
    assert_eq!(
        tags(&seen),
        [
            "message_started",
            "reasoning_delta",
            "text_delta",
            "text_delta",
            "tool_call_started",
            "tool_call_delta",
            "tool_call_delta",
            "tool_call_completed",
            "text_completed",
            "message_completed"
        ]
    );
    let fold = |events: &[Event]| {
        let mut fold = Fold::new();
        events.iter().for_each(|event| fold.push(event));
        fold.response()
    };
    let whole = fold(&seen);
    assert_eq!(whole.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(whole.raw_finish_reason.as_deref(), Some("stop"));
    assert_eq!(whole.text(), "ab");
    let without: Vec<Event> = seen
        .iter()
        .filter(|event| !event.tag().ends_with("_delta"))
        .cloned()
        .collect();
    assert_eq!(fold(&without), whole);
}

/// Name and id may come after the first piece: it waits for both, and at the end goes without.
#[test]
fn p155_pieces_wait_until_the_call_is_known() {
    let mut answer = answer();
    let call = answer.call(None);
    answer.arguments(call, "{".into());
    answer.call_name(call, "a");
    assert_eq!(tags(&events(&mut answer)), ["message_started"]);
    answer.call_id(call, "1");
    answer.arguments(call, "}".into());
    let seen = events(&mut answer);
    assert_eq!(
        tags(&seen),
        ["tool_call_started", "tool_call_delta", "tool_call_delta"]
    );
    let nameless = answer.call(None);
    answer.call_name(nameless, "b");
    answer.complete();
    let seen = events(&mut answer);
    assert_eq!(
        tags(&seen),
        [
            "tool_call_completed",
            "tool_call_started",
            "tool_call_completed",
            "message_completed"
        ]
    );
}

/// Places of the wire beat the order of arrival, for parts and calls alike.
#[test]
fn places_order_the_message() {
    let mut answer = answer();
    let late = answer.call(Some(3));
    answer.call_name(late, "late");
    let second = answer.open(PartKind::Text, Some(2));
    answer.delta(second, "two".into());
    let early = answer.call(Some(1));
    answer.call_name(early, "early");
    let first = answer.open(PartKind::Text, Some(0));
    answer.delta(first, "one".into());
    answer.complete();
    let seen = events(&mut answer);
    let Some(Event::MessageCompleted(done)) = seen.last() else {
        panic!("{seen:?}")
    };
    assert_eq!(done.message.text(), "onetwo");
    let calls: Vec<_> = done
        .message
        .tool_calls
        .iter()
        .map(|call| (call.name.as_str(), call.at))
        .collect();
    assert_eq!(calls, [("early", Some(1)), ("late", None)]);
}

/// A cut answer leaves its open call incomplete; one that was not cut completes it.
#[test]
fn open_calls_at_the_end() {
    for (finish, incomplete) in [(FinishReason::Length, true), (FinishReason::Stop, false)] {
        let mut answer = answer();
        let call = answer.call(None);
        answer.call_name(call, "a");
        answer.call_id(call, "1");
        answer.arguments(call, "{\"x".into());
        answer.finish(Some(finish), None);
        answer.complete();
        let seen = events(&mut answer);
        let Some(Event::MessageCompleted(done)) = seen.last() else {
            panic!("{seen:?}")
        };
        assert_eq!(done.message.tool_calls[0].incomplete, incomplete);
        let told = tags(&seen).contains(&"tool_call_completed");
        assert_eq!(told, !incomplete);
    }
}

#[test]
fn a_whole_text_beats_its_pieces() {
    let mut answer = answer();
    let text = answer.open(PartKind::Text, None);
    answer.delta(text, "ab".into());
    answer.settle(text, "abc");
    answer.settle(text, "xyz");
    answer.complete();
    let seen = events(&mut answer);
    assert_eq!(
        tags(&seen),
        [
            "message_started",
            "text_delta",
            "text_delta",
            "text_completed",
            "message_completed"
        ]
    );
    let Some(Event::MessageCompleted(done)) = seen.last() else {
        panic!("{seen:?}")
    };
    assert_eq!(done.message.text(), "xyz");
}

#[test]
fn raw_chunks_wait_too() {
    let mut answer = Answer::new(About {
        raw_chunks: true,
        ..answer().about
    });
    answer.raw(&"{\"a\": 1}".into());
    assert_eq!(events(&mut answer), []);
    let text = answer.open(PartKind::Text, None);
    answer.delta(text, "a".into());
    answer.raw(&"{}".into());
    let seen = events(&mut answer);
    assert_eq!(
        tags(&seen),
        ["message_started", "raw_chunk", "text_delta", "raw_chunk"]
    );
}

#[test]
fn one_terminal_event() {
    let mut answer = answer();
    answer.complete();
    answer.complete();
    answer.fail(&allm_core::StreamError::interrupted().into());
    assert_eq!(
        tags(&events(&mut answer)),
        ["message_started", "message_completed"]
    );
}

/// The message has the name that a wire tells only after it has completed the call, and its arguments are those told.
#[test]
fn a_name_that_comes_after_the_end_of_its_call_is_in_the_message() {
    let mut answer = answer();
    let call = answer.call(None);
    answer.call_id(call, "1");
    answer.arguments(call, "{\"x\":1}".into());
    answer.complete_call(call);
    answer.call_name(call, "look");
    answer.finish(Some(FinishReason::ToolCalls), None);
    answer.complete();
    let seen = events(&mut answer);
    let Some(Event::MessageCompleted(completed)) = seen.last() else {
        panic!("{seen:?}")
    };
    let calls = &completed.message.tool_calls;
    let expected = allm_core::ToolCall {
        wire_id: Some("1".into()),
        at: calls.first().and_then(|call| call.at),
        ..allm_core::ToolCall::new("1", "look", "{\"x\":1}")
    };
    assert_eq!(*calls, [expected]);
}
