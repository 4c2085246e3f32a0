//! How answers end: finish reasons, usage, failures, cuts.

use allm_core::{AdapterError, AdapterReason, Cost, FinishReason, Usage};

use super::*;
use crate::wire::decode::Fault;

fn incomplete(reason: Option<&str>, output: Value) -> Value {
    json!({"type": "response.incomplete", "response": {
        "status": "incomplete",
        "incomplete_details": reason.map(|reason| json!({"reason": reason})),
        "output": output,
        "usage": {"input_tokens": 5, "output_tokens": 16, "total_tokens": 21}
    }})
}

fn error(decoded: Decoded) -> AdapterError {
    match decoded.fault {
        Some(Fault::Provider(error)) => *error,
        fault => panic!("{fault:?}"),
    }
}

#[test]
fn p140_cut_by_length() {
    let response = stream(&[
        text_delta(0, "Once upon"),
        incomplete(Some("max_output_tokens"), json!([message(&["Once upon"])])),
    ])
    .whole();
    assert_eq!(response.text(), "Once upon");
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(
        response.raw_finish_reason.as_deref(),
        Some("max_output_tokens")
    );
    assert_eq!(response.usage.output_tokens, Some(16));
    // A call that was whole before the cut is whole; the one that was cut is malformed.
    let mut cut = call("b", "{\"x\":48");
    cut["status"] = json!("incomplete");
    for output in [json!([call("a", "{}"), cut]), json!([])] {
        let response = stream(&[
            done(0, call("a", "{}")),
            added(1, call("b", "")),
            arguments_delta(1, "{\"x\":48"),
            done(1, cut.clone()),
            incomplete(Some("max_output_tokens"), output),
        ])
        .whole();
        assert_eq!(response.finish_reason, Some(FinishReason::Length));
        let cut_off = response.tool_calls().iter().map(|call| call.incomplete);
        assert_eq!(cut_off.collect::<Vec<_>>(), [false, true]);
        assert_eq!(response.tool_calls()[1].raw_arguments, "{\"x\":48");
        assert_eq!(response.tool_calls()[1].arguments, None);
    }
}

#[test]
fn p141_other_ways_to_be_incomplete() {
    let filtered = FinishReason::ContentFilter;
    for (reason, finish, raw) in [
        (Some("content_filter"), filtered, "content_filter"),
        (None, FinishReason::Other, "incomplete"),
        (Some("tired"), FinishReason::Other, "tired"),
    ] {
        let response = stream(&[text_delta(0, "a"), incomplete(reason, json!([]))]).whole();
        assert_eq!(response.finish_reason, Some(finish));
        assert_eq!(response.raw_finish_reason.as_deref(), Some(raw));
        assert_eq!(response.text(), "a");
    }
    for (status, finish) in [
        (json!("queued"), Some(FinishReason::Other)),
        (Value::Null, None),
    ] {
        let response = document(&json!({"status": status, "output": []})).whole();
        assert_eq!(response.finish_reason, finish);
        assert_eq!(response.raw_finish_reason.as_deref(), status.as_str());
    }
}

#[test]
fn p142_a_refusal() {
    let item = json!({"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "I can't."}]});
    let delta = |delta: &str| json!({"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": delta});
    let streamed = stream(&[
        delta("I "),
        delta("can"),
        json!({"type": "response.refusal.done", "output_index": 0, "content_index": 0, "refusal": "I can't."}),
        done(0, item.clone()),
        completed(json!([])),
    ]);
    let whole = document(&json!({"status": "completed", "output": [item]}));
    for decoded in [streamed, whole] {
        let response = decoded.whole();
        assert_eq!(response.finish_reason, Some(FinishReason::ContentFilter));
        assert_eq!(response.raw_finish_reason.as_deref(), Some("refusal"));
        assert_eq!(response.refusal(), Some("I can't."));
        assert_eq!(parts(&response), [Part::refusal("I can't.")]);
    }
}

#[test]
fn p144_p36_names_and_markers() {
    let named = |name: &str, event: &Value| format!("event: {name}\ndata: {event}\n\n");
    let untyped = json!({"output_index": 0, "delta": "b"});
    let text = [
        named("nonsense", &text_delta(0, "a")),
        named("response.output_text.delta", &untyped),
        "data: [DONE]\n\n".to_owned(),
        format!("data: {}\n\n", completed(json!([]))),
        "data: [DONE]\n\ndata: nonsense\n\n".to_owned(),
    ]
    .concat();
    let response = body(text.as_bytes()).whole();
    assert_eq!(response.text(), "ab");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
}

#[test]
fn p145_usage() {
    let with = |usage: Value| {
        let response = json!({"status": "completed", "output": [], "usage": usage});
        document(&response).whole()
    };
    let response = with(json!({
        "input_tokens": 100, "output_tokens": 50, "total_tokens": 150,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens_details": {"reasoning_tokens": 40, "audio_tokens": 1},
        "cost": 0.25, "num_sources_used": 2, "new": null
    }));
    let cost = Cost {
        input: None,
        output: None,
        total: 0.25,
    };
    let mut expected = Usage {
        total_tokens: Some(150),
        cached_input_tokens: Some(60),
        cache_write_input_tokens: Some(30),
        reasoning_tokens: Some(40),
        cost: Some(cost),
        ..Usage::io(100, 50)
    };
    let more = json!({"audio_tokens": 1});
    expected.extra.insert("num_sources_used".into(), 2.into());
    expected.extra.insert("output_tokens_details".into(), more);
    assert_eq!(response.usage, expected);
    assert_eq!(with(Value::Null).usage, Usage::default());
    assert_eq!(with(json!("much")).usage, Usage::default());
    // What is no counter stays beside them, and so does one that cannot be.
    let response = with(json!({
        "input_tokens": -1, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 9}
    }));
    let mut expected = Usage {
        output_tokens: Some(5),
        ..Usage::default()
    };
    expected.extra.insert("input_tokens".into(), (-1).into());
    expected.extra.insert("reasoning_tokens".into(), 9.into());
    assert_eq!(response.usage, expected);
    let codes: Vec<&str> = response.warnings.iter().map(|w| w.code.as_str()).collect();
    assert_eq!(codes, ["usage_inconsistent"]);
    let response = with(json!({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 6}}));
    assert_eq!(response.usage.cached_input_tokens, None);
    assert_eq!(response.usage.extra["cached_tokens"], json!(6));
    assert_eq!(response.warnings[0].code, "usage_inconsistent");
}

/// P73: the first error counts, and the stream ends with it.
#[test]
fn p73_errors_in_the_stream() {
    let failed = |code: &str, message: &str| {
        json!({"type": "response.failed", "response": {
            "status": "failed", "error": {"code": code, "message": message}, "output": [],
            "usage": {"input_tokens": 1, "output_tokens": 0}}})
    };
    let limited = "Rate limit reached for gpt-5. Try again later.";
    let large = "Request too large for gpt-5 on tokens per min: limit 1, requested 2.";
    let flat = |message: &str| json!({"type": "error", "code": "rate_limit_exceeded", "message": message, "param": null});
    let nested = |message: &str| json!({"type": "error", "error": {"type": "tokens", "code": "rate_limit_exceeded", "message": message}});
    for (message, reason) in [
        (limited, AdapterReason::RateLimited),
        (large, AdapterReason::RequestTooLarge),
    ] {
        for first in [
            flat(message),
            nested(message),
            failed("rate_limit_exceeded", message),
        ] {
            let decoded = stream(&[first, failed("server_error", "later")]);
            assert!(decoded.events.is_empty());
            let error = error(decoded);
            assert_eq!(error.reason, reason);
            assert_eq!(error.message, message);
            assert_eq!(error.provider_code.as_deref(), Some("rate_limit_exceeded"));
        }
    }
    let decoded = stream(&[text_delta(0, "Hi"), failed("server_error", "oh")]);
    assert_eq!(decoded.response().text(), "Hi");
    assert_eq!(error(decoded).reason, AdapterReason::ProviderUnavailable);
}

#[test]
fn failures_of_documents() {
    let unavailable = AdapterReason::ProviderUnavailable;
    for (whole, reason) in [
        (
            json!({"error": {"code": "content_filter", "message": "no"}}),
            AdapterReason::ContentFilter,
        ),
        (
            json!({"status": "failed", "error": {"code": "server_error"}, "output": []}),
            unavailable,
        ),
        (
            json!({"status": "cancelled", "error": null, "output": []}),
            unavailable,
        ),
    ] {
        assert_eq!(error(document(&whole)).reason, reason, "{whole}");
    }
    for other in [json!({"hello": 1}), json!([1])] {
        let fault = document(&other).fault;
        assert!(matches!(fault, Some(Fault::Unreadable)), "{fault:?}");
    }
    let fault = body(b"{\"status\": \"completed\", \"outp").fault;
    assert!(matches!(fault, Some(Fault::Interrupted)), "{fault:?}");
}

/// P71: an answer that is known to be cut stays what it is.
#[test]
fn p71_an_error_after_the_end() {
    let late = json!({"type": "error", "code": "server_error", "message": "late"});
    let cut = incomplete(Some("max_output_tokens"), json!([]));
    let response = stream(&[text_delta(0, "a"), cut, late.clone()]).whole();
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(response.warnings[0].code, "late_error");
    let decoded = stream(&[text_delta(0, "a"), completed(json!([])), late]);
    assert_eq!(error(decoded).reason, AdapterReason::ProviderUnavailable);
}

#[test]
fn p33_p34_frames_that_are_no_objects() {
    for frame in ["[1]", "\"x\"", "nonsense", "7"] {
        let text = format!("data: {frame}\n\ndata: {}\n\n", completed(json!([])));
        let fault = body(text.as_bytes()).fault;
        assert!(
            matches!(fault, Some(Fault::Malformed)),
            "{frame}: {fault:?}"
        );
    }
    let text = format!("data:\n\ndata: {}\n\n", completed(json!([message(&["a"])])));
    assert_eq!(body(text.as_bytes()).whole().text(), "a");
}

/// P75, P76, P80: cut anywhere it is interrupted, until the closing event is whole.
#[test]
fn p75_p76_p80_cut_at_every_byte() {
    let events = [
        added(0, message(&[])),
        text_delta(0, "Hé"),
        done(0, message(&["Hé"])),
    ];
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    let start: String = lines.collect();
    let end = format!("data: {}", completed(json!([])));
    let input = format!("{start}{end}\n\ndata: [DONE]\n\n");
    let whole = start.len() + end.len();
    // Before the first colon it cannot be told what the body is.
    for cut in "data:".len()..=input.len() {
        let fault = body(&input.as_bytes()[..cut]).fault;
        if cut < whole {
            assert!(
                matches!(fault, Some(Fault::Interrupted)),
                "{cut}: {fault:?}"
            );
        } else {
            assert!(fault.is_none(), "{cut}: {fault:?}");
        }
    }
    let instead = format!("{start}data: [DONE]\n\n");
    let fault = body(instead.as_bytes()).fault;
    assert!(matches!(fault, Some(Fault::Interrupted)), "{fault:?}");
}

#[test]
fn p35_odd_fields_change_nothing() {
    for odd in [
        json!(null),
        json!(1e300),
        json!(-1),
        json!([{}]),
        json!({"a": [1]}),
        json!("x"),
        json!(true),
    ] {
        let mut delta = text_delta(0, "a");
        for name in ["item_id", "logprobs", "obfuscation", "sequence_number"] {
            delta[name] = odd.clone();
        }
        let mut item = message(&["a"]);
        for name in ["status", "summary", "arguments", "call_id"] {
            item[name] = odd.clone();
        }
        let mut end = completed(json!([]));
        for name in [
            "model",
            "id",
            "usage",
            "incomplete_details",
            "service_tier",
            "output",
        ] {
            end["response"][name] = odd.clone();
        }
        let response = stream(&[delta, done(0, item), end]).whole();
        assert_eq!(response.text(), "a", "{odd}");
        assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    }
}
