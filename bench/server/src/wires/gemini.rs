//! Gemini.

use super::{Event, quoted};
use crate::answer::{Answer, Call, Say};

const USAGE: &str = r#"{"promptTokenCount":21,"candidatesTokenCount":400,"totalTokenCount":421,"promptTokensDetails":[{"modality":"TEXT","tokenCount":21}]}"#;

fn document(parts: &str, finish: &str) -> String {
    format!(
        r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}}{finish},"index":0}}],"usageMetadata":{USAGE},"modelVersion":"gemini-2.5-flash","responseId":"0123456789abcdefghijklm"}}"#
    )
}

fn chunk(parts: &str, finish: &str) -> Event {
    Event {
        end: "\r\n\r\n",
        ..Event::data(document(parts, finish))
    }
}

const STOP: &str = r#","finishReason":"STOP""#;

fn text(text: &str) -> String {
    format!(r#"{{"text":{}}}"#, quoted(text))
}

fn function(call: &Call) -> String {
    format!(
        r#"{{"functionCall":{{"name":"{}","args":{}}}}}"#,
        call.name,
        call.arguments()
    )
}

pub(super) fn stream(answer: &Answer) -> Vec<Event> {
    let calls = answer.calls();
    if let (Say::Arguments(_), [call]) = (&answer.say, calls.as_slice()) {
        return partial(call);
    }
    let mut events: Vec<Event> = answer
        .deltas()
        .map(|delta| chunk(&text(delta), ""))
        .collect();
    if calls.is_empty() {
        events.push(chunk(&text(""), STOP));
    } else {
        let parts: Vec<String> = calls.iter().map(function).collect();
        events.push(chunk(&parts.join(","), STOP));
    }
    events
}

/// A call whose arguments come in pieces: this wire names the place of each and sends no JSON text.
fn partial(call: &Call) -> Vec<Event> {
    let name = call.name;
    let whole = call.arguments();
    let value = whole
        .trim_start_matches(r#"{"text":""#)
        .trim_end_matches(r#""}"#);
    let begin = format!(r#"{{"functionCall":{{"name":"{name}","willContinue":true}}}}"#);
    let mut events = vec![chunk(&begin, "")];
    for piece in value.as_bytes().chunks(10) {
        let piece = quoted(&String::from_utf8_lossy(piece));
        let part = format!(
            r#"{{"functionCall":{{"partialArgs":[{{"jsonPath":"$.text","stringValue":{piece},"willContinue":true}}],"willContinue":true}}}}"#
        );
        events.push(chunk(&part, ""));
    }
    events.push(chunk(r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.text","stringValue":""}],"willContinue":true}}"#, ""));
    events.push(chunk(r#"{"functionCall":{}}"#, ""));
    events.push(chunk(&text(""), STOP));
    events
}

pub(super) fn whole(answer: &Answer) -> String {
    let calls = answer.calls();
    let parts = if calls.is_empty() {
        text(&answer.deltas().collect::<String>())
    } else {
        calls.iter().map(function).collect::<Vec<_>>().join(",")
    };
    document(&parts, STOP)
}
