//! Errors inside of a stream, in each wire's own form, and what is no event of the wire.

use std::time::Duration;

use allm::{Event, Timeouts};
use serde_json::{Value, json};

use super::server::{Do, Script, Server, head, send};
use super::wires::{EVENT_LIMIT, WIRES, Wire};
use super::{NO_LIMITS, Outcome, ask, ask_server};

/// The errors of a wire: what is sent, and the reason that it has.
fn errors(wire: Wire) -> Vec<(String, &'static str)> {
    let frames = |frame: Value| wire.frames(&[frame]);
    let named = |frame: Value| format!("event: error\ndata: {frame}\n\n");
    match wire {
        Wire::Responses => {
            let failed = |error: Value| {
                let response =
                    json!({"id": "resp_1", "status": "failed", "error": error, "output": []});
                json!({"type": "response.failed", "response": response})
            };
            let top =
                |code: &str| json!({"type": "error", "code": code, "message": "no", "param": null});
            let server = failed(json!({"code": "server_error", "message": "no"}));
            vec![
                (frames(server.clone()), "provider_unavailable"),
                (
                    frames(failed(
                        json!({"code": "rate_limit_exceeded", "message": "slow down"}),
                    )),
                    "rate_limited",
                ),
                (
                    frames(failed(
                        json!({"code": "rate_limit_exceeded", "message": "Request too large for m"}),
                    )),
                    "request_too_large",
                ),
                (
                    frames(failed(json!({"code": "invalid_prompt", "message": "no"}))),
                    "provider_unavailable",
                ),
                (frames(failed(Value::Null)), "provider_unavailable"),
                (frames(top("server_error")), "provider_unavailable"),
                (frames(top("insufficient_quota")), "quota_exceeded"),
                (
                    frames(top("context_length_exceeded")),
                    "context_length_exceeded",
                ),
                (
                    frames(
                        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no", "param": "x"}}),
                    ),
                    "invalid_request",
                ),
                // The name alone says it.
                (
                    named(json!({"code": "rate_limit_exceeded", "message": "no"})),
                    "rate_limited",
                ),
                (
                    wire.frames(&[top("rate_limit_exceeded"), server]),
                    "rate_limited",
                ),
            ]
        }
        Wire::Chat | Wire::Compat => {
            let error = |error: Value| json!({ "error": error });
            let failed = json!({"message": "no", "type": "invalid_request_error", "code": "tool_use_failed",
                "failed_generation": "<f>", "status_code": 400});
            vec![
                (
                    frames(error(json!({"code": 502, "message": "no"}))),
                    "provider_unavailable",
                ),
                (
                    frames(error(json!({"code": "429", "message": "no"}))),
                    "rate_limited",
                ),
                (
                    frames(error(json!({"type": "server_error", "message": "no"}))),
                    "provider_unavailable",
                ),
                (frames(error(json!("no"))), "provider_unavailable"),
                (
                    frames(error(json!({"code": 401, "message": "no"}))),
                    "authentication_failed",
                ),
                (named(error(failed)), "generation_failed"),
                (
                    named(json!({"message": "no", "code": 503})),
                    "provider_unavailable",
                ),
                (
                    frames(
                        json!({"choices": [{"delta": {}, "finish_reason": "error", "error": {"code": 429, "message": "no"}}]}),
                    ),
                    "rate_limited",
                ),
                (
                    frames(
                        json!({"choices": [], "x_groq": {"error": {"message": "no", "code": "context_length_exceeded"}}}),
                    ),
                    "context_length_exceeded",
                ),
                (
                    frames(
                        json!({"choices": [{"delta": {}, "finish_reason": null}], "error": {"code": 504, "message": "no"}}),
                    ),
                    "provider_unavailable",
                ),
                (
                    frames(
                        json!({"error": {"code": 403, "message": "no", "metadata": {"raw": "it violates usage guidelines"}}}),
                    ),
                    "content_filter",
                ),
            ]
        }
        Wire::Anthropic => {
            let error = |kind: &str| {
                let error = json!({"type": kind, "message": "no"});
                frames(json!({"type": "error", "error": error, "request_id": "req_1"}))
            };
            vec![
                (error("overloaded_error"), "provider_unavailable"),
                (error("api_error"), "provider_unavailable"),
                (error("rate_limit_error"), "rate_limited"),
                (error("timeout_error"), "timeout"),
                (error("invalid_request_error"), "invalid_request"),
                (error("authentication_error"), "authentication_failed"),
                (error("permission_error"), "permission_denied"),
                (error("billing_error"), "quota_exceeded"),
                (error("request_too_large"), "request_too_large"),
                (error("something_new"), "provider_unavailable"),
                (frames(json!({"type": "error"})), "provider_unavailable"),
                (
                    named(json!({"error": {"type": "overloaded_error"}})),
                    "provider_unavailable",
                ),
            ]
        }
        Wire::Gemini => {
            let error = |code: u16, status: &str| {
                frames(json!({"error": {"code": code, "message": "no", "status": status}}))
            };
            vec![
                (error(503, "UNAVAILABLE"), "provider_unavailable"),
                (error(500, "INTERNAL"), "provider_unavailable"),
                (error(429, "RESOURCE_EXHAUSTED"), "rate_limited"),
                (error(504, "DEADLINE_EXCEEDED"), "timeout"),
                (error(400, "INVALID_ARGUMENT"), "invalid_request"),
                (error(401, "UNAUTHENTICATED"), "authentication_failed"),
                (error(403, "PERMISSION_DENIED"), "permission_denied"),
                (
                    named(json!({"error": {"code": 503, "message": "no"}})),
                    "provider_unavailable",
                ),
            ]
        }
    }
}

fn passes(reason: &str) -> bool {
    ["provider_unavailable", "rate_limited", "timeout"].contains(&reason)
}

/// P66 to P70, P73, P74, C124: before any content an error that may pass is tried again; after it, none is.
#[tokio::test(start_paused = true)]
async fn c124_p66_p67_p68_p69_p70_p73_p74_errors_in_the_stream() {
    for wire in [
        Wire::Responses,
        Wire::Chat,
        Wire::Anthropic,
        Wire::Gemini,
        Wire::Compat,
    ] {
        for (error, reason) in errors(wire) {
            let before = match passes(reason) {
                true => Outcome::tried_again(reason),
                false => Outcome::final_at_once(reason),
            };
            for opening in [String::new(), wire.preamble()] {
                let script = vec![head(200, &[]), send(opening), send(&error)];
                let (outcome, _) = ask(wire, script).await;
                assert_eq!(outcome, before, "{wire:?}: {error}");
            }
            // Whatever the server does after it.
            for then in [Do::Hang, Do::Reset, send(wire.stream())] {
                let script = vec![head(200, &[]), send(wire.begun()), send(&error), then];
                let (outcome, _) = ask(wire, script).await;
                let after = Outcome::partial(reason, passes(reason));
                assert_eq!(outcome, after, "{wire:?}: {error}");
            }
        }
    }
}

/// P68, P72, P124: the same in a document.
#[tokio::test(start_paused = true)]
async fn p68_errors_in_a_document() {
    let cases = [
        (
            Wire::Responses,
            json!({"error": {"code": "server_error", "message": "no"}, "status": "failed", "output": []}),
            "provider_unavailable",
        ),
        (
            Wire::Responses,
            json!({"error": {"type": "invalid_request_error", "message": "no"}}),
            "invalid_request",
        ),
        (
            Wire::Chat,
            json!({"error": {"code": 502, "message": "no"}}),
            "provider_unavailable",
        ),
        (
            Wire::Chat,
            json!({"error": {"code": "content_filter", "message": "no"}}),
            "content_filter",
        ),
        (
            Wire::Chat,
            json!({"error": "no", "code": "internal_server_error"}),
            "provider_unavailable",
        ),
        (
            Wire::Anthropic,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}),
            "provider_unavailable",
        ),
        (
            Wire::Anthropic,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 7"}}),
            "context_length_exceeded",
        ),
        (
            Wire::Gemini,
            json!({"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED"}}),
            "rate_limited",
        ),
        (
            Wire::Gemini,
            json!([{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}]),
            "invalid_request",
        ),
    ];
    for (wire, document, reason) in cases {
        let (outcome, _) = ask(wire, super::server::answer(200, &[], document.to_string())).await;
        let expected = match passes(reason) {
            true => Outcome::tried_again(reason),
            false => Outcome::final_at_once(reason),
        };
        assert_eq!(outcome, expected, "{wire:?}: {document}");
    }
}

/// P33, P35: what is no event of any wire ends the answer; nothing of it is told.
#[tokio::test(start_paused = true)]
async fn p33_frames_that_are_none() {
    for wire in WIRES {
        for bad in [
            "[1]",
            "\"PRIVATE\"",
            "7",
            "null",
            "PRIVATE",
            "{\"a\": PRIVATE}",
            "{\"a\": 1} {}",
        ] {
            let frame = format!("data: {bad}\n\n");
            for opening in [String::new(), wire.begun()] {
                let body = [&*opening, &*frame, &*wire.stream()].concat();
                let (outcome, answered) = ask(wire, vec![head(200, &[]), send(body)]).await;
                let expected = match opening.is_empty() {
                    true => Outcome::final_at_once("malformed_event"),
                    false => Outcome::partial("malformed_event", false),
                };
                assert_eq!(outcome, expected, "{wire:?}: {bad}");
                let shown = format!("{answered:?}");
                assert!(!shown.contains("PRIVATE"), "{shown}");
            }
        }
        // Any value that is not ours is as good as none.
        let odd = wire.frames(&[json!({"x": [1e300, null, {"y": "z"}], "created": -1.5})]);
        let body = [&*odd, &*wire.stream()].concat();
        let (outcome, _) = ask(wire, vec![head(200, &[]), send(body)]).await;
        assert_eq!(outcome, Outcome::whole(), "{wire:?}");
    }
}

/// P38, P39: nothing that follows the closing event undoes the answer, where the wire has one.
#[tokio::test(start_paused = true)]
async fn p38_p39_after_the_closing_event() {
    for wire in [Wire::Responses, Wire::Chat, Wire::Anthropic] {
        let stream = wire.closed();
        let large = format!("data: {}\n\n", "x".repeat(EVENT_LIMIT + 1));
        let tails: Vec<(&str, Script)> = vec![
            ("nothing", vec![]),
            ("a reset", vec![Do::Reset]),
            ("silence", vec![Do::Hang]),
            (
                "comments for ever",
                vec![Do::Repeat(b": hm\n\n".to_vec(), Duration::from_secs(1))],
            ),
            ("half an event", vec![send("data: {\"a")]),
            (
                "half an event, and a reset",
                vec![send("data: {\"a"), Do::Reset],
            ),
            ("no event", vec![send("data: nonsense\n\n"), Do::Hang]),
            ("no SSE", vec![send("<html>\n\n")]),
            ("an event that is too large", vec![send(&large)]),
            (
                "an event without end",
                vec![
                    send("data: "),
                    Do::Repeat(vec![b'x'; 1 << 15], Duration::ZERO),
                ],
            ),
            ("the marker", vec![send("data: [DONE]\n\n")]),
            (
                "text after the marker",
                vec![send("data: [DONE]\n\ndata: nonsense\n\n"), Do::Hang],
            ),
        ];
        for (name, tail) in tails {
            let script = [vec![head(200, &[]), send(&stream)], tail].concat();
            let (outcome, _) = ask(wire, script).await;
            assert_eq!(outcome, Outcome::whole(), "{wire:?}: {name}");
        }
    }
}

/// P199: Gemini may go on after a finish reason, so its end is the end of the body.
/// C82: what was used of an answer that breaks off is told with the last of what came over the wire.
#[tokio::test(start_paused = true)]
async fn c82_the_usage_of_an_answer_that_breaks_off() {
    let wire = Wire::Chat;
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let body = [wire.begun(), wire.frames(&[usage])].concat();
    for end in [Do::Reset, send("data: nonsense\n\n")] {
        let server = Server::start(vec![vec![head(200, &[]), send(&body), end]]).await;
        let engine = wire.engine(&server.url).build().expect("an engine");
        let events = engine
            .generate("x")
            .with_raw_chunks()
            .stream()
            .collect()
            .await;
        let [.., before, Event::Error(_)] = events.as_slice() else {
            panic!("no error at the end: {events:?}")
        };
        let Event::RawChunk(chunk) = before else {
            panic!("another event before it: {before:?}")
        };
        let told = chunk.usage.as_ref().expect("a usage");
        assert_eq!((told.input_tokens, told.output_tokens), (Some(3), Some(2)));
    }
}

#[tokio::test(start_paused = true)]
async fn p199_gemini_ends_with_its_body() {
    let wire = Wire::Gemini;
    let idle = Timeouts {
        idle: Some(Duration::from_secs(60)),
        ..NO_LIMITS
    };
    let whole = |reason: &str, is_retryable| Outcome {
        is_retryable,
        ..Outcome::new(reason, "Hello")
    };
    for (tail, expected) in [
        (vec![], Outcome::whole()),
        (vec![send("data: [DONE]\n\n"), Do::Hang], Outcome::whole()),
        (vec![Do::Reset], whole("network_error", true)),
        (vec![Do::Hang], whole("timeout", true)),
        (vec![send("data: {\"a")], whole("interrupted", true)),
        (vec![send("data: x\n\n")], whole("malformed_event", false)),
    ] {
        let script = [vec![head(200, &[]), send(wire.closed())], tail.clone()].concat();
        let server = Server::start(vec![script]).await;
        let (outcome, _) = ask_server(wire, &server, idle).await;
        assert_eq!(outcome, expected, "{tail:?}");
    }
}
