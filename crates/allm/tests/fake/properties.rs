//! Every legal script: a well-formed stream, a fold that is the completion, and the same script out of JSON.

use std::time::Duration;

use allm::json;
use allm::{
    AdapterError, AdapterReason, Event, Fake, FinishReason, Image, Part, RawChunks, Response,
    Script, StreamReason, Usage,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{ask, events_of, folded};

/// A step as an act on a script.
#[derive(Clone, Debug)]
enum Act {
    Text(String),
    Chunks(Vec<String>),
    Typed(String),
    Reasoning(String),
    ReasoningOpaque(String, serde_json::Value),
    Call(Option<String>, String, serde_json::Value),
    CallRaw(String, String),
    CallChunked(String, Vec<String>),
    CallCutOff(String, Vec<String>),
    Part(Part),
    Raw(serde_json::Value),
    Usage(u64, u64),
    Id(String),
    Model(String),
    Delay(u64),
    FailAndContinue(AdapterReason),
}

#[derive(Clone, Debug)]
enum End {
    None,
    Finish(Option<FinishReason>, Option<String>),
    Fail(AdapterReason),
    FailWith(AdapterReason, String),
    StreamFail(StreamReason),
    Cut,
    Hang,
}

fn add(script: Script, act: Act) -> Script {
    match act {
        Act::Text(text) => script.text(text),
        Act::Chunks(chunks) => script.chunks(chunks),
        Act::Typed(text) => script.typed(text),
        Act::Reasoning(text) => script.reasoning(text),
        Act::ReasoningOpaque(text, raw) => script.reasoning_opaque(text, raw.to_string()),
        Act::Call(None, name, arguments) => script.call(name, arguments),
        Act::Call(Some(id), name, arguments) => script.call_with_id(id, name, arguments),
        Act::CallRaw(name, text) => script.call_raw(name, text),
        Act::CallChunked(name, fragments) => script.call_chunked(name, fragments),
        Act::CallCutOff(name, fragments) => script.call_cut_off(name, fragments),
        Act::Part(part) => script.part(part),
        Act::Raw(raw) => script.raw(raw.to_string()),
        Act::Usage(input, output) => script.usage(Usage::io(input, output)),
        Act::Id(id) => script.id(id),
        Act::Model(model) => script.model(model),
        Act::Delay(millis) => script.delay(Duration::from_millis(millis)),
        Act::FailAndContinue(reason) => script.fail_and_continue(reason),
    }
}

fn end(script: Script, end: End) -> Script {
    match end {
        End::None => script,
        End::Finish(reason, None) => script.finish(reason),
        End::Finish(reason, Some(raw)) => script.finish_raw(reason, raw),
        End::Fail(reason) => script.fail(reason),
        End::FailWith(reason, text) => script.fail_with(AdapterError::new("x", reason, text)),
        End::StreamFail(reason) => script.stream_fail(reason),
        End::Cut => script.cut(),
        End::Hang => script.hang(),
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-zé{}\":\n]{0,6}"]
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (-1e9..1e9_f64).prop_map(Into::into),
        text().prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Into::into),
            vec((text(), inner), 0..3)
                .prop_map(|fields| { serde_json::Value::Object(fields.into_iter().collect()) }),
        ]
    })
}

fn object() -> impl Strategy<Value = serde_json::Value> {
    vec((text(), value()), 0..3)
        .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect()))
}

fn reason() -> impl Strategy<Value = AdapterReason> {
    let legal = |reason: &AdapterReason| *reason != AdapterReason::NoScriptedResponse;
    let legal: Vec<_> = AdapterReason::ALL.iter().copied().filter(legal).collect();
    select(legal)
}

fn act() -> impl Strategy<Value = Act> {
    let part = prop_oneof![
        text().prop_map(Part::text),
        text().prop_map(Part::refusal),
        Just(Part::image(Image::from_url("https://example.com/a.png"))),
    ];
    prop_oneof![
        4 => text().prop_map(Act::Text),
        2 => vec(text(), 0..4).prop_map(Act::Chunks),
        2 => text().prop_map(Act::Typed),
        2 => text().prop_map(Act::Reasoning),
        1 => (text(), value()).prop_map(|(text, raw)| Act::ReasoningOpaque(text, raw)),
        3 => (option::of(text()), text(), object())
            .prop_map(|(id, name, arguments)| Act::Call(id, name, arguments)),
        1 => (text(), text()).prop_map(|(name, raw)| Act::CallRaw(name, raw)),
        1 => (text(), vec(text(), 0..4)).prop_map(|(name, all)| Act::CallChunked(name, all)),
        1 => (text(), vec(text(), 0..4)).prop_map(|(name, all)| Act::CallCutOff(name, all)),
        2 => part.prop_map(Act::Part),
        2 => value().prop_map(Act::Raw),
        1 => (any::<u64>(), any::<u64>()).prop_map(|(input, output)| Act::Usage(input, output)),
        1 => text().prop_map(Act::Id),
        1 => text().prop_map(Act::Model),
        1 => (0..5000_u64).prop_map(Act::Delay),
        1 => reason().prop_map(Act::FailAndContinue),
    ]
}

fn ending() -> impl Strategy<Value = End> {
    let finishes = [
        None,
        Some(FinishReason::Stop),
        Some(FinishReason::Length),
        Some(FinishReason::ToolCalls),
        Some(FinishReason::ContentFilter),
        Some(FinishReason::Error),
        Some(FinishReason::Other),
    ];
    let legal = |reason: &StreamReason| *reason != StreamReason::Cancelled;
    let stream: Vec<_> = StreamReason::ALL.iter().copied().filter(legal).collect();
    prop_oneof![
        3 => Just(End::None),
        4 => (select(finishes.to_vec()), option::of(text()))
            .prop_map(|(reason, raw)| End::Finish(reason, raw)),
        1 => reason().prop_map(End::Fail),
        1 => (reason(), text()).prop_map(|(reason, text)| End::FailWith(reason, text)),
        1 => select(stream).prop_map(End::StreamFail),
        1 => Just(End::Cut),
        1 => Just(End::Hang),
    ]
}

/// The steps of a script and its end.
fn script() -> impl Strategy<Value = (Vec<Act>, End)> {
    (vec(act(), 0..10), ending())
}

fn built((acts, last): (Vec<Act>, End)) -> Script {
    end(acts.into_iter().fold(Script::new(), add), last)
}

fn played(script: Script, raw_chunks: RawChunks) -> Vec<Event> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let mut call = ask();
    call.raw_chunks = raw_chunks;
    runtime.block_on(events_of(&Fake::new().reply(script), call))
}

fn is_content(event: &Event) -> bool {
    matches!(
        event,
        Event::TextDelta(_)
            | Event::ReasoningDelta(_)
            | Event::ToolCallStarted(_)
            | Event::ToolCallDelta(_)
            | Event::ToolCallCompleted(_)
    )
}

/// What an adapter may say.
const TAGS: [&str; 10] = [
    "message_started",
    "text_delta",
    "text_completed",
    "reasoning_delta",
    "tool_call_started",
    "tool_call_delta",
    "tool_call_completed",
    "message_completed",
    "raw_chunk",
    "error",
];

/// Every rule of the stream that can be told from its events.
fn check_stream(events: &[Event], is_cut: bool, errors_between: usize) {
    let place = |tag: &str| events.iter().position(|event| event.tag() == tag);
    let count = |tag: &str| events.iter().filter(|event| event.tag() == tag).count();
    let (completions, errors) = (count("message_completed"), count("error"));
    if is_cut {
        assert_eq!((completions, errors), (0, errors_between), "no end");
    } else {
        assert_eq!(completions + errors, 1 + errors_between, "one end");
        let last = events.last().unwrap();
        assert!(matches!(last, Event::MessageCompleted(_) | Event::Error(_)));
    }
    assert!(events.iter().all(|event| TAGS.contains(&event.tag())));
    // The start comes once, and before all but errors in between.
    assert!(count("message_started") <= 1 && count("text_completed") <= 1);
    let first = events.iter().find(|event| event.tag() != "error");
    assert!(first.is_none_or(|event| event.tag() == "message_started"));
    if let Some(at) = place("text_completed") {
        assert_eq!(events[at + 1].tag(), "message_completed");
    }
    // Calls are counted from 0 and begun before anything else is said of them.
    let mut begun = 0;
    for event in events {
        match event {
            Event::ToolCallStarted(event) => {
                assert_eq!(event.index, begun);
                begun += 1;
            }
            Event::ToolCallDelta(event) => assert_eq!(event.index + 1, begun),
            Event::ToolCallCompleted(event) => assert_eq!(event.index + 1, begun),
            _ => {}
        }
    }
}

/// The fold of a completed answer says what the completion says, with deltas and without.
fn check_fold(events: &[Event]) {
    let Some(Event::MessageCompleted(completed)) = events.last() else {
        return;
    };
    let whole = folded(events);
    assert_eq!(whole.message, completed.message);
    assert_eq!(whole.usage, completed.usage.clone().unwrap_or_default());
    assert_eq!(whole.id, completed.response_id);
    assert_eq!(whole.model, completed.model);
    assert_eq!(whole.raw_finish_reason, completed.raw_finish_reason);
    let without: Vec<_> = events
        .iter()
        .filter(|event| !is_content(event))
        .cloned()
        .collect();
    assert_eq!(folded(&without), whole);
    // What the pieces tell alone is the same text, thinking and calls.
    let pieces: Vec<_> = events
        .iter()
        .filter(|event| is_content(event))
        .cloned()
        .collect();
    let pieces: Response = folded(&pieces);
    assert_eq!(pieces.text(), whole.text());
    assert_eq!(pieces.reasoning(), whole.reasoning());
    let told = |response: &Response| -> Vec<_> {
        let calls = response.message.tool_calls.iter();
        calls
            .map(|call| {
                (
                    call.id.clone(),
                    call.name.clone(),
                    call.raw_arguments.clone(),
                )
            })
            .collect()
    };
    assert_eq!(told(&pieces), told(&whole));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn c70_c77_c78_any_script_gives_a_well_formed_stream(parts in script(), raw in any::<bool>()) {
        let is_cut = matches!(parts.1, End::Cut);
        let between = parts.0.iter().filter(|act| matches!(act, Act::FailAndContinue(_)));
        let errors_between = between.count();
        let scripted = parts.0.iter().filter(|act| matches!(act, Act::Raw(_))).count();
        let raw_chunks = if raw { RawChunks::On } else { RawChunks::Off };
        let script = built(parts);
        prop_assert_eq!(script.check(), Ok(()));
        let events = played(script, raw_chunks);
        check_stream(&events, is_cut, errors_between);
        check_fold(&events);
        let chunks = events.iter().filter(|event| event.tag() == "raw_chunk").count();
        let is_started = events.iter().any(|event| event.tag() == "message_started");
        prop_assert_eq!(chunks, if raw && is_started { scripted } else { 0 });
    }

    #[test]
    fn c83_events_and_c192_scripts_read_back_equal(parts in script()) {
        let script = built(parts);
        let text = json::to_string(&script).unwrap();
        let read: Script = json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &script);
        prop_assert_eq!(json::to_string(&read).unwrap(), text);
        let events = played(script, RawChunks::On);
        prop_assert_eq!(&played(read, RawChunks::On), &events);
        for event in events {
            let text = json::to_string(&event).unwrap();
            prop_assert_eq!(json::from_str::<Event>(&text).unwrap(), event);
        }
    }

    #[test]
    fn the_first_step_after_an_end_is_the_fault(parts in script(), more in vec(act(), 1..4)) {
        prop_assume!(!matches!(parts.1, End::None));
        let number = parts.0.len() + 2;
        let script = more.into_iter().fold(built(parts), add);
        prop_assert_eq!(script.check().map_err(|fault| fault.step), Err(number));
    }
}
