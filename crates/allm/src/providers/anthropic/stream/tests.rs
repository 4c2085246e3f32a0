//! What the decoder makes of streams and documents.

mod blocks;
mod calls;
mod ends;

use allm_core::{Message, ToolCall};

use super::super::block::Asked;
use super::*;
use crate::wire::testing::{Decoded, about, decode};

fn read_as(asked: Asked, body: &str) -> Decoded {
    let about = about("anthropic", "anthropic.messages");
    decode(about, &mut Messages::new(asked), body.as_bytes())
}

fn read(body: &str) -> Decoded {
    read_as(Asked::default(), body)
}

/// A stream of these payloads, without event names.
fn sse(payloads: &[&str]) -> String {
    payloads
        .iter()
        .map(|payload| format!("data: {payload}\n\n"))
        .collect()
}

const BEGIN: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn ends(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":7}}}}"#
    )
}

/// A stream with these payloads in the middle, which ends for this reason.
fn stream(middle: &[&str], reason: &str) -> String {
    let end = ends(reason);
    let mut payloads = vec![BEGIN];
    payloads.extend_from_slice(middle);
    payloads.extend([end.as_str(), STOP]);
    sse(&payloads)
}

fn start(index: u64, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u64, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn text(index: u64, text: &str) -> String {
    delta(
        index,
        &format!(r#"{{"type":"text_delta","text":"{text}"}}"#),
    )
}

/// A piece of arguments, given as the text that the model wrote.
fn json(index: u64, piece: &str) -> String {
    let piece = Value::from(piece);
    delta(
        index,
        &format!(r#"{{"type":"input_json_delta","partial_json":{piece}}}"#),
    )
}

fn stop(index: u64) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

/// As `stream`, of owned payloads.
fn stream_of(middle: &[String], reason: &str) -> String {
    let middle: Vec<&str> = middle.iter().map(String::as_str).collect();
    stream(&middle, reason)
}

/// What a call came to: id, name, raw arguments, whether it is whole.
fn call(call: &ToolCall) -> (&str, &str, &str, bool) {
    (
        call.id.as_str(),
        &call.name,
        &call.raw_arguments,
        call.arguments.is_some(),
    )
}

/// The opaque texts of a message's parts, in order.
fn opaque(message: &Message) -> Vec<(&str, &str)> {
    let attached = message.content.iter().filter_map(|part| part.attached());
    attached
        .map(|opaque| (opaque.kind.as_str(), opaque.data.as_str()))
        .collect()
}
