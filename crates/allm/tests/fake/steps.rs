//! What each step says: C71, C72, C76–C78, C80–C82, C175–C178.

use allm::json::RawJson;
use allm::{
    Event, FinishReason, Image, MalformedArguments, Map, Message, Opaque, Origin, Part, PartId,
    RawChunks, ReasoningKind, ReasoningPart, Script, ToolCall, Usage,
};
use serde_json::json;

use crate::support::{ask, events_of, folded, play, tags, text_deltas};

fn origin() -> Option<std::sync::Arc<Origin>> {
    Some(
        Origin {
            provider: "fake".into(),
            wire: "fake".into(),
            model: Some("any".into()),
            response_id: None,
        }
        .into(),
    )
}

fn object(value: serde_json::Value) -> Map {
    value.as_object().cloned().unwrap()
}

fn pair(id: &str, text: &str) -> (String, String) {
    (id.to_owned(), text.to_owned())
}

fn thought(text: &str) -> Part {
    Part::Reasoning(ReasoningPart {
        text: Some(text.into()),
        kind: ReasoningKind::Raw,
        opaque: None,
    })
}

#[tokio::test]
async fn c175_two_text_steps_are_two_deltas_and_one_part() {
    let events = play(Script::new().text("Hel").text("lo")).await;
    let expected = [
        "message_started",
        "text_delta",
        "text_delta",
        "text_completed",
        "message_completed",
    ];
    assert_eq!(tags(&events), expected);
    assert_eq!(text_deltas(&events), [pair("p0", "Hel"), pair("p0", "lo")]);
    let Event::TextCompleted(completed) = &events[3] else {
        panic!("{:?}", events[3]);
    };
    assert_eq!(completed.text, "Hello");
    assert_eq!(completed.id, Some(PartId::from("p0")));
    let response = folded(&events);
    let message = Message {
        origin: origin(),
        ..Message::assistant("Hello")
    };
    assert_eq!(response.message, message);
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.provider, Some("fake".into()));
    assert_eq!(response.model.as_deref(), Some("any"));
    assert_eq!(response.request_id, Some("r1".into()));
    assert_eq!(response.id, None);
}

#[tokio::test]
async fn chunks_and_typed_are_several_deltas_of_the_same_part() {
    let script = Script::new().chunks(["a", "bc"]).typed("dé").text("f");
    let events = play(script).await;
    let pieces: Vec<_> = ["a", "bc", "d", "é", "f"]
        .iter()
        .map(|text| pair("p0", text))
        .collect();
    assert_eq!(text_deltas(&events), pieces);
    assert_eq!(folded(&events).message.content, [Part::text("abcdéf")]);
}

#[tokio::test]
async fn steps_without_content_do_not_end_a_row() {
    let script = Script::new()
        .text("a")
        .usage(Usage::io(1, 2))
        .raw("1")
        .id("r")
        .model("m")
        .text("b");
    assert_eq!(
        folded(&play(script).await).message.content,
        [Part::text("ab")]
    );
}

#[tokio::test]
async fn c71_text_around_a_call_is_two_parts_and_one_completed_text() {
    let script = Script::new().text("one ").call("f", ()).text("two");
    let events = play(script).await;
    let completed: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::TextCompleted(event) => Some(event.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(completed.len(), 1);
    assert_eq!(completed[0].text, "one two");
    assert_eq!(completed[0].id, None, "no single block");
    let message = folded(&events).message;
    assert_eq!(message.content, [Part::text("one "), Part::text("two")]);
    assert_eq!(message.tool_calls[0].at, Some(1));
}

#[tokio::test]
async fn c72_deltas_of_two_blocks_have_different_ids() {
    let script = Script::new().text("a").reasoning("t").text("b");
    let events = play(script).await;
    assert_eq!(text_deltas(&events), [pair("p0", "a"), pair("p2", "b")]);
}

#[tokio::test]
async fn c176_a_call_is_started_and_completed() {
    let script = Script::new()
        .call("f", json!({"b": 1.5, "a": [null]}))
        .call_with_id("mine", "g", ())
        .call("h", json!({}));
    let events = play(script).await;
    let pair = ["tool_call_started", "tool_call_completed"];
    let mut expected = vec!["message_started"];
    expected.extend(pair.iter().chain(&pair).chain(&pair));
    expected.push("message_completed");
    assert_eq!(tags(&events), expected);
    let response = folded(&events);
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
    let call = |id: &str, name: &str, raw: &str| ToolCall {
        wire_id: Some(id.into()),
        at: Some(0),
        ..ToolCall::new(id, name, raw)
    };
    let expected = [
        call("call_1", "f", r#"{"a":[null],"b":1.5}"#),
        call("mine", "g", "{}"),
        call("call_2", "h", "{}"),
    ];
    assert_eq!(response.message.tool_calls, expected);
    let Event::ToolCallCompleted(first) = &events[2] else {
        panic!("{:?}", events[2]);
    };
    assert_eq!((first.index, &*first.name), (0, "f"));
    assert_eq!(
        first.arguments,
        Some(object(json!({"a": [null], "b": 1.5})).into())
    );
}

#[tokio::test]
async fn an_empty_id_is_that_of_a_provider_that_sends_none() {
    let response = folded(&play(Script::new().call_with_id("", "f", ())).await);
    assert!(response.message.tool_calls[0].id.is_empty());
    assert_eq!(response.message.tool_calls[0].wire_id, None);
}

#[tokio::test]
async fn c177_raw_arguments_that_are_malformed_keep_their_text() {
    let response = folded(&play(Script::new().call_raw("f", "{bad")).await);
    let call = &response.message.tool_calls[0];
    assert_eq!(call.arguments, None);
    assert_eq!(call.raw_arguments, "{bad");
    assert_eq!(
        call.fault(),
        Some(MalformedArguments::NotJson { offset: 1 })
    );
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
}

#[tokio::test]
async fn chunked_arguments_come_in_pieces_and_whole() {
    let events = play(Script::new().call_chunked("f", ["{\"a\"", ":1}"])).await;
    let expected = [
        "message_started",
        "tool_call_started",
        "tool_call_delta",
        "tool_call_delta",
        "tool_call_completed",
        "message_completed",
    ];
    assert_eq!(tags(&events), expected);
    let call = &folded(&events).message.tool_calls[0];
    assert_eq!(call.arguments, Some(object(json!({"a": 1})).into()));
    // The pieces alone tell the same text.
    assert_eq!(
        folded(&events[..4]).message.tool_calls[0].raw_arguments,
        "{\"a\":1}"
    );
}

#[tokio::test]
async fn c76_a_call_without_completion_is_kept_incomplete() {
    let begun = || Script::new().text("x").call_cut_off("f", ["{\"a\"", ":"]);
    let length = play(begun().finish(FinishReason::Length)).await;
    let cut = play(begun().cut()).await;
    for events in [&length, &cut] {
        assert!(!tags(events).contains(&"tool_call_completed"));
        let call = &folded(events).message.tool_calls[0];
        assert_eq!(call.fault(), Some(MalformedArguments::Incomplete));
        assert_eq!((&*call.name, &*call.raw_arguments), ("f", "{\"a\":"));
    }
    assert_eq!(folded(&length).finish_reason, Some(FinishReason::Length));
    assert_eq!(folded(&cut).finish_reason, Some(FinishReason::Error));
}

#[tokio::test]
async fn c178_an_empty_script_is_an_empty_answer() {
    let events = play(Script::new()).await;
    assert_eq!(tags(&events), ["message_started", "message_completed"]);
    let response = folded(&events);
    assert_eq!(response.message.content, []);
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
}

#[tokio::test]
async fn c81_thinking_streams_and_is_no_text() {
    let script = Script::new()
        .reasoning("I ")
        .reasoning("think")
        .reasoning_opaque("signed", r#"{"sig": "x"}"#)
        .reasoning_opaque("", "2")
        .reasoning("more")
        .text("so");
    let events = play(script).await;
    let pieces: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::ReasoningDelta(event) => Some(pair(event.id.as_ref()?.as_str(), &event.delta)),
            _ => None,
        })
        .collect();
    let expected = [
        pair("p0", "I "),
        pair("p0", "think"),
        pair("p1", "signed"),
        pair("p3", "more"),
    ];
    assert_eq!(pieces, expected);
    let response = folded(&events);
    assert_eq!(response.text(), "so");
    assert_eq!(response.reasoning(), "I thinksignedmore");
    let signed = |text: Option<&str>, data: &str| {
        Part::Reasoning(ReasoningPart {
            text: text.map(str::to_owned),
            kind: ReasoningKind::Raw,
            opaque: Some(
                Opaque {
                    provider: "fake".into(),
                    wire: "fake".into(),
                    kind: "reasoning".into(),
                    data: RawJson::new(data).unwrap(),
                }
                .into(),
            ),
        })
    };
    let expected = [
        thought("I think"),
        signed(Some("signed"), r#"{"sig": "x"}"#),
        signed(None, "2"),
        thought("more"),
        Part::text("so"),
    ];
    assert_eq!(response.message.content, expected);
}

#[tokio::test]
async fn any_part_stands_alone_and_begins_the_message() {
    let image = Part::image(Image::from_url("https://example.com/a.png"));
    let script = Script::new()
        .part(image.clone())
        .text("a")
        .part(Part::text("b"))
        .text("c")
        .part(Part::refusal("no"))
        .finish(FinishReason::ContentFilter);
    let events = play(script).await;
    assert_eq!(
        text_deltas(&events),
        [pair("p1", "a"), pair("p2", "b"), pair("p3", "c")]
    );
    let response = folded(&events);
    let texts = ["a", "b", "c"].map(Part::text);
    let mut expected = vec![image];
    expected.extend(texts);
    expected.push(Part::refusal("no"));
    assert_eq!(response.message.content, expected);
    assert_eq!(response.refusal(), Some("no"));
    assert_eq!(response.finish_reason, Some(FinishReason::ContentFilter));
}

#[tokio::test]
async fn c77_c80_raw_chunks_come_when_asked_for_and_wait_for_content() {
    let script = || Script::new().raw(r#"{"ping": 1}"#).text("a").raw("2");
    assert!(!tags(&play(script()).await).contains(&"raw_chunk"));
    let asked = || {
        let mut call = ask();
        call.raw_chunks = RawChunks::On;
        call
    };
    let events = events_of(&allm::Fake::new().reply(script()), asked()).await;
    let expected = [
        "message_started",
        "raw_chunk",
        "text_delta",
        "raw_chunk",
        "text_completed",
        "message_completed",
    ];
    assert_eq!(tags(&events), expected);
    let Event::RawChunk(raw) = &events[1] else {
        panic!("{:?}", events[1]);
    };
    assert_eq!(raw.chunk.as_str(), r#"{"ping": 1}"#);
    // An attempt that fails before content leaves none of them behind.
    let failing = Script::new()
        .raw("1")
        .id("x")
        .fail(allm::AdapterReason::ProviderUnavailable);
    let events = events_of(&allm::Fake::new().reply(failing), asked()).await;
    assert_eq!(tags(&events), ["error"]);
}

#[tokio::test]
async fn c82_usage_comes_once_with_the_completion() {
    let fake = allm::Fake::new().usage(Usage::io(1, 1)).reply("a").reply(
        Script::new()
            .usage(Usage::io(9, 9))
            .text("b")
            .usage(Usage::io(20, 3)),
    );
    for expected in [Usage::io(1, 1), Usage::io(20, 3)] {
        let events = events_of(&fake, ask()).await;
        let usages: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Event::MessageCompleted(event) => event.usage.clone(),
                _ => None,
            })
            .collect();
        assert_eq!(usages, [expected]);
    }
    assert_eq!(folded(&play("x").await).usage, Usage::default());
}

#[tokio::test]
async fn id_and_model_are_on_the_completion_and_known_before_it_when_they_came_before() {
    let events = play(Script::new().id("r-7").text("a").model("better")).await;
    let Event::MessageStarted(started) = &events[0] else {
        panic!("{:?}", events[0]);
    };
    assert_eq!(started.response_id, Some("r-7".into()));
    assert_eq!(started.model.as_deref(), Some("any"));
    assert_eq!(started.message.content, []);
    let response = folded(&events);
    assert_eq!(response.id, Some("r-7".into()));
    assert_eq!(response.model.as_deref(), Some("better"));
    let origin = response.message.origin.unwrap();
    assert_eq!(origin.response_id, Some("r-7".into()));
    assert_eq!(origin.model.as_deref(), Some("better"));
}

#[tokio::test]
async fn finish_says_what_the_script_says_and_the_fold_settles_it() {
    let with_call = |finish| Script::new().call("f", ()).finish(finish);
    let without = |finish| Script::new().text("a").finish(finish);
    for (script, expected) in [
        (
            without(Some(FinishReason::Length)),
            Some(FinishReason::Length),
        ),
        (without(None), None),
        (
            without(Some(FinishReason::ToolCalls)),
            Some(FinishReason::Other),
        ),
        (with_call(None), Some(FinishReason::ToolCalls)),
        (
            with_call(Some(FinishReason::Stop)),
            Some(FinishReason::ToolCalls),
        ),
        (
            with_call(Some(FinishReason::Length)),
            Some(FinishReason::Length),
        ),
        (
            with_call(Some(FinishReason::Error)),
            Some(FinishReason::Error),
        ),
    ] {
        assert_eq!(folded(&play(script).await).finish_reason, expected);
    }
    let raw = Script::new().finish_raw(FinishReason::Other, "pause_turn");
    let response = folded(&play(raw).await);
    assert_eq!(response.finish_reason, Some(FinishReason::Other));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("pause_turn"));
}
