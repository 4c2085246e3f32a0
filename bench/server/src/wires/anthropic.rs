//! Anthropic Messages.

use super::{Event, quoted};
use crate::answer::Answer;

fn stop(is_text: bool) -> &'static str {
    if is_text { "end_turn" } else { "tool_use" }
}

fn begin(index: usize, block: &str) -> Event {
    Event::named(
        "content_block_start",
        format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#),
    )
}

fn delta(index: usize, delta: &str) -> Event {
    Event::named(
        "content_block_delta",
        format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#),
    )
}

fn end(index: usize) -> Event {
    Event::named(
        "content_block_stop",
        format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
    )
}

pub(super) fn stream(answer: &Answer) -> Vec<Event> {
    let calls = answer.calls();
    let mut events = vec![Event::named(
        "message_start",
        r#"{"type":"message_start","message":{"model":"claude-sonnet-4-5-20250929","id":"msg_0123456789abcdefghijklmn","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":21,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}}"#,
    )];
    if calls.is_empty() {
        events.push(begin(0, r#"{"type":"text","text":""}"#));
        events.push(Event::named("ping", r#"{"type": "ping"}"#));
        for text in answer.deltas() {
            let text = quoted(text);
            events.push(delta(
                0,
                &format!(r#"{{"type":"text_delta","text":{text}}}"#),
            ));
        }
        events.push(end(0));
    }
    for (index, call) in calls.iter().enumerate() {
        let (id, name) = (&call.id, call.name);
        let block = format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#);
        events.push(begin(index, &block));
        for fragment in &call.fragments {
            let fragment = quoted(fragment);
            let piece = format!(r#"{{"type":"input_json_delta","partial_json":{fragment}}}"#);
            events.push(delta(index, &piece));
        }
        events.push(end(index));
    }
    let stop = stop(calls.is_empty());
    events.push(Event::named("message_delta", format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop}","stop_sequence":null}},"usage":{{"input_tokens":21,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":400}}}}"#)));
    events.push(Event::named("message_stop", r#"{"type":"message_stop"}"#));
    events
}

pub(super) fn whole(answer: &Answer) -> String {
    let calls = answer.calls();
    let stop = stop(calls.is_empty());
    let content = if calls.is_empty() {
        let text: String = answer.deltas().collect();
        format!(r#"{{"type":"text","text":{}}}"#, quoted(&text))
    } else {
        let blocks: Vec<String> = calls
            .iter()
            .map(|call| {
                let (id, name, input) = (&call.id, call.name, call.arguments());
                format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}"#)
            })
            .collect();
        blocks.join(",")
    };
    format!(
        r#"{{"model":"claude-sonnet-4-5-20250929","id":"msg_0123456789abcdefghijklmn","type":"message","role":"assistant","content":[{content}],"stop_reason":"{stop}","stop_sequence":null,"usage":{{"input_tokens":21,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":400,"service_tier":"standard"}}}}"#
    )
}
