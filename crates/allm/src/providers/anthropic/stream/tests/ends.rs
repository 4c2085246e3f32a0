use allm_core::{AdapterReason, Usage};
use serde_json::json;

use super::*;

fn hello() -> [String; 3] {
    [
        start(0, r#"{"type":"text","text":""}"#),
        text(0, "Hi"),
        stop(0),
    ]
}

fn usage_of(payloads: &[&str]) -> Usage {
    let mut all = payloads.to_vec();
    all.push(STOP);
    read(&sse(&all)).whole().usage
}

#[test]
fn p179_counters_are_never_lost() {
    let begin = r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":17,"cache_read_input_tokens":5,"output_tokens":1,"service_tier":"standard"}}}"#;
    let output_only = usage_of(&[
        begin,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":65}}"#,
    ]);
    let cumulative = usage_of(&[
        begin,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":17,"cache_read_input_tokens":5,"output_tokens":65}}"#,
    ]);
    let twice = usage_of(&[
        begin,
        r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":30}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":null,"output_tokens":65,"service_tier":null}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":null}}"#,
    ]);
    let expected = Usage {
        input_tokens: Some(22),
        output_tokens: Some(65),
        total_tokens: Some(87),
        cached_input_tokens: Some(5),
        extra: [
            ("service_tier".to_owned(), json!("standard")),
            ("uncached_input_tokens".to_owned(), json!(17)),
        ]
        .into_iter()
        .collect(),
        ..Usage::default()
    };
    assert_eq!(output_only, expected);
    assert_eq!(cumulative, expected);
    assert_eq!(twice, expected);
}

/// The stop reason stays when a later event has none; usage after the closing event counts.
#[test]
fn p179_the_stop_reason_stays() {
    let body = sse(&[
        BEGIN,
        &ends("max_tokens"),
        r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":8}}"#,
        STOP,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#,
    ]);
    let response = read(&body).whole();
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(response.usage.output_tokens, Some(9));
}

#[test]
fn p180_the_input_is_all_of_it() {
    let usage = usage_of(&[
        r#"{"type":"message_delta","usage":{"input_tokens":3,"cache_read_input_tokens":7308,"cache_creation_input_tokens":0,"output_tokens":1}}"#,
    ]);
    assert_eq!(usage.input_tokens, Some(7311));
    assert_eq!(usage.cached_input_tokens, Some(7308));
    assert_eq!(usage.cache_write_input_tokens, Some(0));
    assert_eq!(usage.extra["uncached_input_tokens"], 3);
    let unknown = usage_of(&[
        r#"{"type":"message_delta","usage":{"cache_read_input_tokens":7,"output_tokens":-1,"odd":"x"}}"#,
    ]);
    assert_eq!(unknown.input_tokens, None);
    assert_eq!(unknown.output_tokens, None);
    assert_eq!(unknown.extra["output_tokens"], -1);
    assert_eq!(unknown.extra["odd"], "x");
}

#[test]
fn p181_thinking_tokens() {
    let usage = usage_of(&[
        r#"{"type":"message_delta","usage":{"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}}"#,
    ]);
    assert_eq!(usage.reasoning_tokens, Some(4));
    assert!(usage.extra.is_empty());
    let odd = sse(&[
        r#"{"type":"message_delta","usage":{"output_tokens":3,"output_tokens_details":{"thinking_tokens":4}}}"#,
        STOP,
    ]);
    let response = read(&odd).whole();
    assert_eq!(response.usage.reasoning_tokens, None);
    assert_eq!(response.usage.extra["thinking_tokens"], 4);
    assert_eq!(response.warnings[0].code, "usage_inconsistent");
}

#[test]
fn p182_stop_reasons() {
    use FinishReason::{ContentFilter, Length, Other, Stop};
    for (raw, reason) in [
        ("end_turn", Stop),
        ("stop_sequence", Stop),
        ("max_tokens", Length),
        ("model_context_window_exceeded", Length),
        ("refusal", ContentFilter),
        ("pause_turn", Other),
        ("compaction", Other),
        ("tool_use", Other),
        ("invented", Other),
    ] {
        let response = read(&stream_of(&hello(), raw)).whole();
        assert_eq!(response.finish_reason, Some(reason), "{raw}");
        assert_eq!(response.raw_finish_reason.as_deref(), Some(raw));
        assert_eq!(response.text(), "Hi");
    }
}

#[test]
fn p182_why_it_refused_is_kept() {
    let body = sse(&[
        BEGIN,
        &start(0, r#"{"type":"text","text":"I can"}"#),
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":"cyber"}}}"#,
        STOP,
    ]);
    let response = read(&body).whole();
    assert_eq!(response.finish_reason, Some(FinishReason::ContentFilter));
    assert_eq!(response.extra["stop_details"]["category"], "cyber");
    assert_eq!(response.text(), "I can");
}

#[test]
fn p183_an_empty_turn() {
    let read = read(&stream(&[], "end_turn"));
    assert_eq!(read.tags(), ["message_started", "message_completed"]);
    let response = read.whole();
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.message.content, []);
}

#[test]
fn p168_our_own_limit_is_told() {
    let asked = Asked {
        default_max_tokens: true,
        ..Asked::default()
    };
    let codes = |asked: &Asked, reason| -> Vec<String> {
        let response = read_as(asked.clone(), &stream(&[], reason)).whole();
        response.warnings.into_iter().map(|w| w.code).collect()
    };
    assert_eq!(codes(&asked, "max_tokens"), ["default_max_tokens_reached"]);
    assert!(codes(&asked, "end_turn").is_empty());
    assert!(codes(&Asked::default(), "max_tokens").is_empty());
}

fn error(kind: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"no"}},"request_id":"req_7"}}"#)
}

#[test]
fn p66_p67_p188_errors_inside_a_stream() {
    for (kind, reason) in [
        ("overloaded_error", AdapterReason::ProviderUnavailable),
        ("api_error", AdapterReason::ProviderUnavailable),
        ("rate_limit_error", AdapterReason::RateLimited),
        ("invalid_request_error", AdapterReason::InvalidRequest),
        ("authentication_error", AdapterReason::AuthenticationFailed),
        ("timeout_error", AdapterReason::Timeout),
    ] {
        let first = read(&format!("event: error\ndata: {}\n\n", error(kind)));
        assert_eq!(first.tags(), [""; 0]);
        let Some(Fault::Provider(told)) = first.fault else {
            panic!("{:?}", first.fault)
        };
        assert_eq!(told.reason, reason, "{kind}");
        assert_eq!(told.provider_request_id.as_deref(), Some("req_7"));
        assert_eq!(told.message, "no");
        let later = read(&sse(&[BEGIN, &text(0, "half"), &error(kind)]));
        assert!(matches!(later.fault, Some(Fault::Provider(_))));
        assert_eq!(later.response().text(), "half");
        let document = read(&error(kind));
        assert!(matches!(document.fault, Some(Fault::Provider(_))));
    }
}

#[test]
fn p71_a_late_error() {
    let late = read(&sse(&[BEGIN, &ends("max_tokens"), &error("api_error")])).whole();
    assert_eq!(late.finish_reason, Some(FinishReason::Length));
    assert_eq!(late.warnings[0].code, "late_error");
    let after_stop = read(&sse(&[BEGIN, &ends("end_turn"), &error("api_error")]));
    assert!(matches!(after_stop.fault, Some(Fault::Provider(_))));
}

/// P75, P76, P77: nothing is whole before the closing event, and everything after it.
#[test]
fn p75_p76_p77_cut_at_every_byte() {
    let body = stream_of(&hello(), "end_turn");
    // The last event is whole without its blank line.
    let whole = body.trim_end().len();
    for cut in 1..body.len() {
        let read = read(&body[..cut]);
        if cut >= whole {
            assert_eq!(read.whole().finish_reason, Some(FinishReason::Stop));
        } else {
            assert!(
                matches!(read.fault, Some(Fault::Interrupted | Fault::Unreadable)),
                "{cut}: {:?}",
                read.fault
            );
        }
    }
}

#[test]
fn p80_the_done_marker() {
    let whole = format!(
        "{}event: data\ndata: [DONE]\n\ndata: nonsense\n\n",
        stream(&[], "end_turn")
    );
    assert!(read(&whole).fault.is_none());
    let without = format!("{}data: [DONE]\n\n", sse(&[BEGIN, &ends("end_turn")]));
    assert!(matches!(read(&without).fault, Some(Fault::Interrupted)));
}

#[test]
fn p33_frames_that_are_no_objects() {
    for data in ["[1]", "\"x\"", "nonsense", "7", "{\"type\":"] {
        let read = read(&format!("data: {data}\n\ndata: {{}}\n\n"));
        assert!(matches!(read.fault, Some(Fault::Malformed)), "{data}");
    }
}

#[test]
fn documents_of_others() {
    for other in [
        "{}",
        "[1]",
        r#"{"choices":[]}"#,
        r#"{"content":"x"}"#,
        "{nonsense}",
    ] {
        let read = read(other);
        assert!(matches!(read.fault, Some(Fault::Unreadable)), "{other}");
    }
    let cut = read(r#"{"id":"m","content":[{"type":"text","te"#);
    assert!(matches!(cut.fault, Some(Fault::Interrupted)));
}
