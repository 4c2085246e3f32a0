use allm_core::{FinishReason, Part, Response, Role, Usage};
use serde_json::json;

use super::super::WIRE;
use super::*;
use crate::wire::testing::{Decoded, about, decode, decode_chunks, frames};

mod calls;
mod tolerance;

fn decoder() -> ChatDecoder {
    ChatDecoder::new(&Profile::default())
}

/// The chunks of an answer, as they came and byte by byte; `[DONE]` is written where it is wanted.
fn read(data: &[&str]) -> Decoded {
    let body = frames(data);
    let whole = decode(about("p", WIRE), &mut decoder(), &body);
    let cut = decode_chunks(about("p", WIRE), &mut decoder(), body.chunks(1));
    assert_eq!(whole.response(), cut.response());
    whole
}

fn folded(data: &[&str]) -> Response {
    read(data).whole()
}

fn document(value: &Value) -> Decoded {
    decode(
        about("p", WIRE),
        &mut decoder(),
        value.to_string().as_bytes(),
    )
}

/// A chunk with this delta.
fn delta(delta: &Value) -> String {
    json!({"id": "r1", "model": "m1", "choices": [{"index": 0, "delta": delta}]}).to_string()
}

/// A chunk that ends the answer.
fn finish(reason: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
}

fn reason_of(decoded: &Decoded) -> &'static str {
    match decoded.fault.as_ref().expect("a fault") {
        Fault::Provider(error) => error.reason.as_str(),
        Fault::Malformed => "malformed",
        Fault::Interrupted => "interrupted",
        Fault::TooLarge => "too_large",
        Fault::Unreadable => "unreadable",
    }
}

fn codes(response: &Response) -> Vec<&str> {
    response.warnings.iter().map(|w| w.code.as_str()).collect()
}

#[test]
fn text_streams_and_is_told_whole() {
    let decoded = read(&[
        &delta(&json!({"role": "assistant", "content": ""})),
        &delta(&json!({"content": "Hel"})),
        &delta(&json!({"content": "l\no"})),
        &finish("stop"),
        "[DONE]",
    ]);
    assert_eq!(
        decoded.tags(),
        [
            "message_started",
            "text_delta",
            "text_delta",
            "text_completed",
            "message_completed"
        ]
    );
    let response = decoded.whole();
    assert_eq!(response.text(), "Hell\no");
    assert_eq!(response.message.role, Role::Assistant);
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("stop"));
    assert_eq!(response.id.map(|id| id.to_string()).as_deref(), Some("r1"));
    assert_eq!(response.model.as_deref(), Some("m1"));
    assert_eq!(response.warnings, []);
}

/// P22 for this wire.
#[test]
fn p22_a_document_is_the_same_answer() {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5});
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": "hi", "tool_calls": [call]});
    let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
    let whole = document(&json!({
        "id": "r1", "model": "m1", "choices": [choice], "usage": usage
    }))
    .whole();
    let mut streamed_call = call.clone();
    streamed_call["index"] = json!(0);
    let streamed = folded(&[
        &delta(&json!({"content": "h"})),
        &delta(&json!({"content": "i"})),
        &delta(&json!({"tool_calls": [streamed_call]})),
        &finish("tool_calls"),
        &json!({"choices": [], "usage": usage}).to_string(),
        "[DONE]",
    ]);
    assert_eq!(whole, streamed);
    assert_eq!(whole.finish_reason, Some(FinishReason::ToolCalls));
}

#[test]
fn p151_usage_of_a_last_chunk_without_choices() {
    let response = folded(&[
        &json!({"choices": [{"delta": {"content": "a"}}], "usage": null}).to_string(),
        &json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": null}).to_string(),
        &json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}).to_string(),
        "[DONE]",
    ]);
    assert_eq!(response.usage.input_tokens, Some(1));
    assert_eq!(response.usage.output_tokens, Some(2));
    assert_eq!(response.usage.total_tokens, None);
}

/// P158, P159
#[test]
fn p158_p159_filtered_and_refused() {
    let response = folded(&[
        &delta(&json!({"content": "par"})),
        &json!({"choices": [{"finish_reason": "content_filter"}], "usage": {"prompt_tokens": 1}})
            .to_string(),
        "[DONE]",
    ]);
    assert_eq!(response.finish_reason, Some(FinishReason::ContentFilter));
    assert_eq!(response.text(), "par");
    assert_eq!(response.usage.input_tokens, Some(1));
    let refused = json!({"role": "assistant", "content": null, "refusal": "I cannot."});
    let streamed = folded(&[
        &delta(&json!({"refusal": "I can"})),
        &delta(&json!({"refusal": "not."})),
        &finish("stop"),
        "[DONE]",
    ]);
    let whole = document(&json!({
        "choices": [{"message": refused, "finish_reason": "stop"}]
    }))
    .whole();
    for response in [streamed, whole] {
        assert_eq!(response.refusal(), Some("I cannot."));
        assert_eq!(response.finish_reason, Some(FinishReason::ContentFilter));
        assert_eq!(response.raw_finish_reason.as_deref(), Some("stop"));
    }
}

#[test]
fn p160_other_choices_are_ignored() {
    let choices = json!({"choices": [
        {"index": 0, "delta": {"content": "a"}},
        {"index": 1, "delta": {"content": "b"}, "finish_reason": "length"}
    ]});
    let response = folded(&[
        &choices.to_string(),
        &choices.to_string(),
        &finish("stop"),
        "[DONE]",
    ]);
    assert_eq!(response.text(), "aa");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(codes(&response), ["extra_choices"]);
}

/// P68, P69, P72
#[test]
fn p68_p69_p72_errors_inside_an_answer() {
    let gateway = json!({"error": {"code": 502, "message": "Provider returned error"}});
    assert_eq!(
        reason_of(&read(&[&gateway.to_string()])),
        "provider_unavailable"
    );
    assert_eq!(reason_of(&document(&gateway)), "provider_unavailable");
    let filtered = json!({"error": {"code": "content_filter", "message": "no"}});
    assert_eq!(reason_of(&document(&filtered)), "content_filter");
    let named = json!({"error": {
        "message": "Failed to call a function.",
        "type": "invalid_request_error",
        "code": "tool_use_failed",
        "status_code": 400
    }});
    let body = format!("event: error\ndata: {named}\n\n");
    let decoded = decode(about("p", WIRE), &mut decoder(), body.as_bytes());
    assert_eq!(reason_of(&decoded), "generation_failed");
    let flat = "event: error\ndata: {\"message\": \"x\", \"code\": \"rate_limit_exceeded\"}\n\n";
    let decoded = decode(about("p", WIRE), &mut decoder(), flat.as_bytes());
    assert_eq!(reason_of(&decoded), "rate_limited");
}

#[test]
fn p70_an_error_beside_choices() {
    let text = delta(&json!({"content": "par"}));
    let error = json!({"code": 502, "message": "gone"});
    for last in [
        json!({"error": error, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}),
        json!({"choices": [{"delta": {}, "error": error}]}),
        json!({"choices": [], "x_groq": {"error": error}}),
        json!({"choices": [{"delta": {}}], "x_groq": {"error": "over capacity"}}),
    ] {
        let decoded = read(&[&text, &last.to_string()]);
        assert_eq!(reason_of(&decoded), "provider_unavailable", "{last}");
        assert_eq!(decoded.response().text(), "par");
    }
}

#[test]
fn p71_an_error_after_the_answer_was_cut() {
    let error = json!({"error": {"code": 502, "message": "gone"}}).to_string();
    for cut in ["length", "content_filter"] {
        let response = folded(&[
            &delta(&json!({"content": "par"})),
            &finish(cut),
            &error,
            "[DONE]",
        ]);
        assert!(response.finish_reason.is_some_and(FinishReason::is_cut));
        assert_eq!(codes(&response), ["late_error"]);
    }
    let decoded = read(&[&delta(&json!({"content": "par"})), &finish("stop"), &error]);
    assert_eq!(reason_of(&decoded), "provider_unavailable");
}

/// P75, P76 for this wire.
#[test]
fn p75_p76_cut_anywhere() {
    let (said, ended) = (delta(&json!({"content": "héllo"})), finish("stop"));
    let end = frames(&[&said, &ended]).len() - 2;
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 1}}).to_string();
    let body = frames(&[&said, &ended, &usage, "[DONE]"]);
    for cut in 0..=body.len() {
        let decoded = decode(about("p", WIRE), &mut decoder(), &body[..cut]);
        if cut < end {
            assert_eq!(reason_of(&decoded), "interrupted", "at {cut}");
        } else if (end..=end + 2).contains(&cut) || cut == body.len() {
            assert_eq!(decoded.whole().text(), "héllo", "at {cut}");
        }
    }
}

/// P78, P79
#[test]
fn p78_p79_the_end_and_the_marker() {
    let response = folded(&[&delta(&json!({"content": "a"})), &finish("stop")]);
    assert_eq!(codes(&response), ["missing_done"]);
    let response = folded(&[&delta(&json!({"content": "a"})), "[DONE]"]);
    assert_eq!(response.finish_reason, None);
    assert_eq!(response.raw_finish_reason, None);
    assert_eq!(response.warnings, []);
    let call = json!({"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]});
    let response = folded(&[&delta(&call), "[DONE]"]);
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(reason_of(&read(&["[DONE]"])), "interrupted");
    let empty = json!({"choices": [{"message": {"content": ""}, "finish_reason": null}]});
    assert_eq!(reason_of(&document(&empty)), "interrupted");
    assert_eq!(reason_of(&document(&json!({"choices": []}))), "interrupted");
}

/// P33, P236
#[test]
fn p33_p236_what_is_no_answer() {
    for odd in ["[1]", "\"x\"", "nonsense", "7", "{\"choices\""] {
        assert_eq!(
            reason_of(&read(&[odd, &finish("stop")])),
            "malformed",
            "{odd}"
        );
    }
    for odd in [json!({"hello": "world"}), json!([1]), json!({"choices": 7})] {
        assert_eq!(reason_of(&document(&odd)), "unreadable", "{odd}");
    }
}

#[test]
fn facts_without_a_field_are_kept() {
    let response = folded(&[
        &json!({
            "choices": [{"delta": {"content": "a", "annotations": [{"type": "url_citation"}]}}],
            "system_fingerprint": "fp", "service_tier": "default", "citations": ["https://h"]
        })
        .to_string(),
        &finish("stop"),
        "[DONE]",
    ]);
    assert_eq!(
        Value::Object(response.extra),
        json!({
            "system_fingerprint": "fp", "service_tier": "default", "citations": ["https://h"],
            "annotations": [{"type": "url_citation"}]
        })
    );
}

/// P217 and the order of parts.
#[test]
fn reasoning_is_a_part_before_the_text() {
    let response = folded(&[
        &delta(&json!({"reasoning_content": "hm"})),
        &delta(&json!({"content": "yes"})),
        &finish("stop"),
        "[DONE]",
    ]);
    let kinds: Vec<bool> = response
        .message
        .content
        .iter()
        .map(|part| matches!(part, Part::Reasoning(_)))
        .collect();
    assert_eq!(kinds, [true, false]);
    assert_eq!(response.reasoning(), "hm");
    assert_eq!(response.text(), "yes");
}
