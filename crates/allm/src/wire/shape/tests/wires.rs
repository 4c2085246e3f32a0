//! Whatever comes, a frame that is known by its shape gives what a full reading of it gives.

use bytes::Bytes;
use proptest::prelude::*;

use crate::Profile;
use crate::providers::anthropic::block::Asked;
use crate::providers::anthropic::stream::Messages;
use crate::providers::gemini::stream::GeminiDecoder;
use crate::providers::openai::chat::stream::ChatDecoder;
use crate::providers::openai::responses::stream::ResponsesDecoder;
use crate::wire::answer::Answer;
use crate::wire::body::Body;
use crate::wire::decode::Decoder;
use crate::wire::testing::{about, decode, decode_in_full};

/// Frames of a wire; `@` stands for a text and `#` for a number.
struct Wire {
    decoder: fn() -> Box<dyn Decoder>,
    frames: &'static [&'static str],
}

const WIRES: [Wire; 5] = [
    Wire {
        decoder: || Box::new(ChatDecoder::new(&Profile::default())),
        frames: CHAT,
    },
    Wire {
        decoder: || {
            let mut profile = Profile::default();
            profile.think_tags = crate::providers::compat::profile::ThinkTags::Split;
            Box::new(ChatDecoder::new(&profile))
        },
        frames: CHAT,
    },
    Wire {
        decoder: || Box::new(ResponsesDecoder::default()),
        frames: RESPONSES,
    },
    Wire {
        decoder: || Box::new(Messages::new(Asked::default())),
        frames: ANTHROPIC,
    },
    Wire {
        decoder: || Box::new(GeminiDecoder::default()),
        frames: GEMINI,
    },
];

const CHAT: &[&str] = &[
    r#"{"id":"c","created":#,"model":"m","service_tier":"default","choices":[{"index":0,"delta":{"content":"@"},"finish_reason":null}],"usage":null,"obfuscation":"@"}"#,
    r#"{"id":"c","created":#,"model":"m","service_tier":"flex","choices":[{"index":0,"delta":{"content":"@"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"","reasoning_content":"@"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"@","reasoning":"@"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"@"}},{"index":1,"delta":{"content":"@"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"i","function":{"name":"n","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"@"}}]}}],"obfuscation":"@"}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"j","function":{"name":"n","arguments":"@"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"k","function":{"name":"n","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":#,"function":{"arguments":"@"}}]}}],"obfuscation":"@"}"#,
    r#"{"service_tier":"default","choices":[{"index":0,"delta":{"tool_calls":[{"index":#,"function":{"arguments":"@"}}]}}]}"#,
    r#"{"service_tier":"flex","choices":[{"index":0,"delta":{"tool_calls":[{"index":#,"function":{"arguments":"@"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"@"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":#,"function":{"arguments":"@"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":#,"id":"@","function":{"name":"@","arguments":{"a":#}}}]}}],"obfuscation":"@"}"#,
    r#"{"service_tier":"default","choices":[{"index":0,"delta":{"tool_calls":[{"index":#,"id":"@","function":{"name":"n","arguments":"@"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"@"},"usage":{"prompt_tokens":#}}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":#,"completion_tokens":#}}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"error":{"message":"@"}}"#,
    "[DONE]",
];

const RESPONSES: &[&str] = &[
    r#"{"type":"response.created","sequence_number":#,"response":{"id":"r","model":"m"}}"#,
    r#"{"type":"response.output_text.delta","sequence_number":#,"item_id":"a","output_index":0,"content_index":0,"delta":"@","logprobs":[],"obfuscation":"@"}"#,
    r#"{"type":"response.output_text.delta","sequence_number":#,"item_id":"a","output_index":0,"content_index":#,"delta":"@"}"#,
    r#"{"type":"response.function_call_arguments.delta","sequence_number":#,"item_id":"f","output_index":1,"delta":"@","obfuscation":"@"}"#,
    r#"{"type":"response.reasoning_summary_text.delta","item_id":"t","output_index":2,"summary_index":0,"delta":"@"}"#,
    r#"{"type":"response.reasoning_text.delta","item_id":"t","output_index":2,"content_index":#,"delta":"@"}"#,
    r#"{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"@"}"#,
    r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"n","arguments":""}}"#,
    r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"n","arguments":"{}"}}"#,
    r#"{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"@"}"#,
    r#"{"output_index":0,"delta":"@"}"#,
    r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":#}}}"#,
    r#"{"type":"error","error":{"message":"@"}}"#,
];

const ANTHROPIC: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"m","model":"c","content":[],"usage":{"input_tokens":#}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"@"}}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"@"}}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"thinking_delta","thinking":"@"}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"signature_delta","signature":"@"}}"#,
    r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"@"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":#}}"#,
    r#"{"type":"message_stop"}"#,
    r#"{"type":"error","error":{"type":"overloaded_error","message":"@"}}"#,
];

const GEMINI: &[&str] = &[
    r#"{"candidates":[{"content":{"parts":[{"text":"@"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":#,"candidatesTokenCount":#,"totalTokenCount":#},"modelVersion":"m","responseId":"r"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"@"}]}}],"usageMetadata":{"thoughtsTokenCount":#,"odd":"@"}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"@","thought":true}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"@","thoughtSignature":"s"}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"@"},{"text":"@"}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"n","willContinue":true}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"@","willContinue":true}],"willContinue":true}}]}}],"usageMetadata":{"totalTokenCount":#}}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.b[0]","stringValue":"@"}],"willContinue":true}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.c","numberValue":#}],"willContinue":true}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}],"usageMetadata":{"totalTokenCount":#}}"#,
    r#"{"error":{"message":"@","code":#}}"#,
];

/// Texts between quotes, not all of which may stand there.
const TEXTS: [&str; 14] = [
    "plain", "", " a b ", "ä🙂", r"a\nb", r#"\"q\""#, r"\\", r"\u00e4", r"\ud800", r"\x", "\t",
    "<think>", "</think>", "\"",
];
const NUMBERS: [&str; 8] = [
    "0",
    "1",
    "17",
    "123456",
    "01",
    "-1",
    "1.5",
    "99999999999999999999",
];

/// One frame: which one, how often it comes, what stands in its places, and whether a byte of it is changed.
type Piece = (usize, usize, Vec<usize>, Option<(usize, u8)>);

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let change = prop_oneof![9 => Just(None), 1 => (0_usize..200, any::<u8>()).prop_map(Some)];
    let fill = prop::collection::vec(0_usize..100, 1..6);
    prop::collection::vec((0_usize..32, 1_usize..5, fill, change), 1..14)
}

fn body(frames: &[&str], pieces: &[Piece]) -> Vec<u8> {
    let mut body = Vec::new();
    for (which, times, fill, change) in pieces {
        let template = frames[which % frames.len()];
        for time in 0..*times {
            let mut fill = fill.iter().cycle().skip(time);
            let mut frame = Vec::new();
            for byte in template.bytes() {
                match byte {
                    // Mostly what may stand there, so that what follows is read too.
                    b'@' => {
                        let text = fill.next().map_or(0, |fill| fill % (TEXTS.len() * 3));
                        frame.extend(TEXTS.get(text).unwrap_or(&"more").bytes());
                    }
                    b'#' => {
                        let number = fill.next().map_or(0, |fill| fill % (NUMBERS.len() * 3));
                        frame.extend(NUMBERS.get(number).unwrap_or(&"1").bytes());
                    }
                    byte => frame.push(byte),
                }
            }
            if let Some((at, byte)) = change
                && time + 1 == *times
            {
                let at = at % frame.len();
                frame[at] = *byte;
            }
            body.extend(b"data: ");
            body.extend(frame);
            body.extend(b"\n\n");
        }
    }
    body
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// P35
    #[test]
    fn a_glance_sees_what_a_full_reading_sees(wire in 0..WIRES.len(), pieces in pieces()) {
        let wire = &WIRES[wire];
        let body = body(wire.frames, &pieces);
        let glanced = decode(about("p", "wire"), &mut *(wire.decoder)(), &body);
        let full = decode_in_full(about("p", "wire"), &mut *(wire.decoder)(), &body);
        prop_assert_eq!(
            format!("{:?}", glanced.fault), format!("{:?}", full.fault),
            "{}", String::from_utf8_lossy(&body)
        );
        prop_assert_eq!(glanced.events, full.events, "{}", String::from_utf8_lossy(&body));
    }
}

/// Whoever reads from the network has the room of a delta back once the delta was told. Where something of it is kept,
/// the next read makes new room, and how often that is depends on how much comes at once.
#[test]
fn a_delta_that_was_told_keeps_no_room() {
    for (number, wire) in WIRES.iter().enumerate() {
        let mut glanced = 0;
        for frame in wire.frames {
            let mut decoder = (wire.decoder)();
            let mut answer = Answer::new(about("p", "wire"));
            let mut body = Body::new(1 << 20);
            // What a delta needs before it, and then the same again and again.
            let before = wire.frames.iter().take_while(|before| *before != frame);
            for (place, frame) in before.chain([frame; 6]).enumerate() {
                let frame = frame.replace('@', "some").replace('#', &place.to_string());
                let chunk = Bytes::from(format!("data: {frame}\n\n"));
                body.push(chunk.clone()).expect("short");
                let mut is_glanced = false;
                while let Some(seen) = body.next() {
                    let seen = seen.expect("short");
                    is_glanced = decoder.glance(&seen, &mut answer);
                    if !is_glanced {
                        let _ = decoder.frame(&seen.frame(), &mut answer);
                    }
                }
                let told = std::iter::from_fn(|| answer.next_event()).count();
                // Fragments of a call without a name wait for it.
                if is_glanced && told > 0 {
                    glanced += 1;
                    assert!(chunk.is_unique(), "{number}: {frame}");
                }
            }
        }
        assert!(
            glanced >= 5,
            "{number}: {glanced} were known by their shape"
        );
    }
}
