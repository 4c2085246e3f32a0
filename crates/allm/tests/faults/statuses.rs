//! Answers of another status: every form of body that providers send, with the reason that it has.

use serde_json::json;

use super::server::{Do, Script, answer, head, send};
use super::wires::{KEY, WIRES, Wire};
use super::{Outcome, ask, refused};

fn passes(reason: &str) -> bool {
    ["provider_unavailable", "rate_limited", "timeout"].contains(&reason)
}

fn expected(reason: &str) -> Outcome {
    match passes(reason) {
        true => Outcome::tried_again(reason),
        false => Outcome::final_at_once(reason),
    }
}

/// Who sends it, its status, the reason, the body.
fn rows() -> impl Iterator<Item = (&'static str, u16, &'static str, &'static str)> {
    let lines = include_str!("error_bodies.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let parts: Vec<&str> = line.splitn(4, ' ').collect();
        let [who, status, reason, body] = parts[..] else {
            panic!("{line}")
        };
        (who, status.parse().unwrap(), reason, body)
    })
}

/// P48 to P53, P55: each form of body, on every wire; none is without a reason.
#[tokio::test(start_paused = true)]
async fn p48_p49_p50_p51_p52_p53_p55_bodies() {
    for wire in WIRES {
        for (who, status, reason, body) in rows() {
            let (outcome, answered) = ask(wire, answer(status, &[], body)).await;
            assert_eq!(outcome, expected(reason), "{wire:?}: {who} {status} {body}");
            let error = refused(answered);
            assert_eq!(error.status, Some(status));
            assert_eq!(error.provider, wire.provider());
            let is_named = error.message.contains("HTTP");
            assert!(!is_named, "{who} {status} {body}: {}", error.message);
        }
    }
}

/// P53: a page that is not there is likely a wrong address, unless the body names what is wrong.
#[tokio::test(start_paused = true)]
async fn p53_the_hint() {
    const HINT: &str = "(check the base URL)";
    for wire in WIRES {
        for (body, has_hint) in [
            (
                json!({"error": {"code": "404", "message": "Resource not found"}}),
                true,
            ),
            (json!({}), true),
            (
                json!({"error": {"message": "no such thing", "param": "x"}}),
                false,
            ),
            (
                json!({"error": {"code": "model_not_found", "message": "no"}}),
                false,
            ),
        ] {
            let (_, answered) = ask(wire, answer(404, &[], body.to_string())).await;
            let message = refused(answered).message;
            assert_eq!(message.ends_with(HINT), has_hint, "{wire:?}: {message}");
        }
        let body = json!({"error": {"message": "tools is not supported in this model"}});
        let (outcome, _) = ask(wire, answer(404, &[], body.to_string())).await;
        assert_eq!(outcome, Outcome::final_at_once("invalid_request"));
    }
}

/// P29, P32: bodies that are no JSON, bodies that are called what they are not, and no body.
#[tokio::test(start_paused = true)]
async fn p29_p32_other_bodies() {
    let json = json!({"error": {"message": "slow", "code": "rate_limit_exceeded"}}).to_string();
    for wire in WIRES {
        let named = |status: u16| format!("{} HTTP {status}", wire.provider());
        let busy = "upstream connect error or disconnect/reset before headers";
        let cases: Vec<(u16, &str, &[u8], &str, String)> = vec![
            (
                429,
                "text/event-stream",
                json.as_bytes(),
                "rate_limited",
                "slow".into(),
            ),
            (
                400,
                "text/html",
                json.as_bytes(),
                "rate_limited",
                "slow".into(),
            ),
            (500, "text/plain", b"", "provider_unavailable", named(500)),
            (
                502,
                "text/html",
                b"<html><h1>Bad Gateway</h1>PRIVATE",
                "provider_unavailable",
                named(502),
            ),
            (
                503,
                "text/plain",
                busy.as_bytes(),
                "provider_unavailable",
                busy.into(),
            ),
            (
                429,
                "text/plain",
                b"Too many requests. ",
                "rate_limited",
                "Too many requests.".into(),
            ),
            (
                401,
                "application/json",
                b"{\"error\": {\"mess",
                "authentication_failed",
                "{\"error\": {\"mess".into(),
            ),
            (
                403,
                "application/json",
                b"null",
                "permission_denied",
                named(403),
            ),
            (
                500,
                "application/json",
                b"[]",
                "provider_unavailable",
                named(500),
            ),
            (
                529,
                "text/html",
                b"\x1f\x8b\x08",
                "provider_unavailable",
                "\u{1f}\u{fffd}\u{8}".into(),
            ),
        ];
        for (status, kind, body, reason, message) in cases {
            let script = answer(status, &[("content-type", kind)], body);
            let (outcome, answered) = ask(wire, script).await;
            assert_eq!(outcome, expected(reason), "{wire:?}: {status} {body:?}");
            assert_eq!(refused(answered).message, message, "{wire:?}: {status}");
        }
        // An event stream is no body of an error, but what it says is told.
        let events = wire.frames(&[json!({"error": {"message": "slow"}})]);
        let (outcome, _) = ask(
            wire,
            answer(503, &[("content-type", "text/event-stream")], events),
        )
        .await;
        assert_eq!(outcome, expected("provider_unavailable"));
    }
}

/// P30, P31: a body that breaks off, does not end, or is very long: the status decides.
#[tokio::test(start_paused = true)]
async fn p30_p31_bodies_without_end() {
    let long = [("content-length", "100")];
    let half = "{\"error\": {\"message\": \"x";
    for wire in WIRES {
        let cases: Vec<(&str, u16, Script, &str)> = vec![
            (
                "closed",
                429,
                vec![head(429, &long), send(half)],
                "rate_limited",
            ),
            (
                "reset",
                401,
                vec![head(401, &long), send(half), Do::Reset],
                "authentication_failed",
            ),
            (
                "silent",
                400,
                vec![head(400, &[]), send(half), Do::Hang],
                "invalid_request",
            ),
            (
                "nothing",
                500,
                vec![head(500, &long), Do::Hang],
                "provider_unavailable",
            ),
            (
                "endless",
                404,
                vec![
                    head(404, &[]),
                    Do::Repeat(vec![b'x'; 1 << 14], std::time::Duration::ZERO),
                ],
                "invalid_request",
            ),
        ];
        for (name, status, script, reason) in cases {
            let is_silent = matches!(script.last(), Some(Do::Hang));
            let (outcome, answered) = ask(wire, script).await;
            let error = refused(answered);
            assert_eq!(
                (outcome.reason.as_str(), error.status),
                (reason, Some(status)),
                "{wire:?}: {name}"
            );
            assert!(error.message.len() < 2200, "{}", error.message.len());
            if is_silent && passes(reason) {
                // Ten seconds for each body.
                assert_eq!(outcome.waits, [10_500, 11_000], "{wire:?}: {name}");
            }
        }
    }
}

/// P27, C109: no redirect is followed; only the host of its target is told.
#[tokio::test(start_paused = true)]
async fn p27_c109_redirects() {
    for wire in WIRES {
        for status in [300, 301, 302, 303, 304, 307, 308] {
            let target = format!("https://user:{KEY}@elsewhere.example/{KEY}?key={KEY}#{KEY}");
            for target in [
                &*target,
                "/only/a/path?key=PRIVATE",
                "",
                "not a place at all PRIVATE",
            ] {
                let script = answer(status, &[("location", target)], "<html>PRIVATE");
                let (outcome, answered) = ask(wire, script).await;
                assert_eq!(
                    outcome,
                    Outcome::final_at_once("malformed_response"),
                    "{wire:?}: {status}"
                );
                let shown = format!("{answered:?}");
                assert!(
                    !shown.contains(KEY) && !shown.contains("PRIVATE"),
                    "{shown}"
                );
                let tells = refused(answered).message.contains("elsewhere.example");
                assert_eq!(tells, target.contains("elsewhere"));
            }
        }
    }
}

/// C121: what is tried once, by its status alone; and statuses that nobody should send.
#[tokio::test(start_paused = true)]
async fn c121_statuses() {
    for wire in WIRES {
        for (status, reason) in [
            (400, "invalid_request"),
            (401, "authentication_failed"),
            (402, "quota_exceeded"),
            (403, "permission_denied"),
            (404, "invalid_request"),
            (405, "invalid_request"),
            (408, "timeout"),
            (409, "provider_unavailable"),
            (413, "request_too_large"),
            (415, "invalid_request"),
            (418, "unknown"),
            (422, "invalid_request"),
            (425, "provider_unavailable"),
            (429, "rate_limited"),
            (499, "unknown"),
            (500, "provider_unavailable"),
            (501, "unsupported_feature"),
            (502, "provider_unavailable"),
            (503, "provider_unavailable"),
            (504, "provider_unavailable"),
            (520, "provider_unavailable"),
            (524, "provider_unavailable"),
            (529, "provider_unavailable"),
            (599, "provider_unavailable"),
            (700, "unknown"),
        ] {
            let (outcome, _) = ask(wire, answer(status, &[], "{}")).await;
            assert_eq!(outcome, expected(reason), "{wire:?}: {status}");
        }
    }
}

/// P65, C106, C107: what a body tells of keys, ours and others', in every field that is kept.
#[tokio::test(start_paused = true)]
async fn p65_c106_c107_keys_in_bodies() {
    let others = [
        "sk-ant-api03-abcdefgh",
        "AIzaSyABCDEFGH",
        "gsk_abcdefgh12",
        "org-abcdefgh12",
    ];
    for wire in [
        Wire::Responses,
        Wire::Chat,
        Wire::Anthropic,
        Wire::Gemini,
        Wire::Compat,
    ] {
        for secret in others.into_iter().chain([KEY]) {
            let said = format!("bad {secret}, Bearer {secret}");
            let body = json!({"request_id": secret, "type": "error", "error": {
                "message": said, "code": secret, "type": secret, "param": secret, "failed_generation": said,
                "metadata": {"raw": said}}});
            for status in [400, 401, 429, 500] {
                let headers = [("x-request-id", secret)];
                let (_, answered) = ask(wire, answer(status, &headers, body.to_string())).await;
                let error = answered.unwrap_err();
                let json = serde_json::to_string(&error).unwrap();
                for shown in [error.to_string(), format!("{error:?}"), json] {
                    assert!(!shown.contains(secret), "{wire:?}: {status}: {shown}");
                    assert!(shown.contains("[REDACTED]"), "{wire:?}: {status}: {shown}");
                }
            }
        }
    }
}
