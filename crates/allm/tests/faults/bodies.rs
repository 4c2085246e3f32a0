//! Answers of status 200 that are none, and answers that are called what they are not.

use super::server::{Do, Script, answer, head, send};
use super::wires::{EVENT_LIMIT, WIRES};
use super::{Outcome, ask};

/// P26: nothing, in each of its forms, is an answer that broke off; it is asked for again.
#[tokio::test(start_paused = true)]
async fn p26_nothing() {
    let cases: Vec<(&str, Script)> = vec![
        ("no body", answer(200, &[], "")),
        ("closed after the head", vec![head(200, &[])]),
        ("no content", vec![head(204, &[])]),
        ("blanks", answer(200, &[], " \r\n\t\n ")),
        ("a mark", answer(200, &[], "\u{feff}")),
        ("comments", answer(200, &[], ": hi\n\n: there\n\n")),
        ("a name and no data", answer(200, &[], "event: error\n\n")),
        ("empty data", answer(200, &[], "data:\n\ndata: \n\n")),
        ("the marker alone", answer(200, &[], "data: [DONE]\n\n")),
        ("half a word", answer(200, &[], "dat")),
    ];
    for wire in WIRES {
        for (name, script) in &cases {
            let (outcome, _) = ask(wire, script.clone()).await;
            assert_eq!(
                outcome,
                Outcome::tried_again("interrupted"),
                "{wire:?}: {name}"
            );
        }
    }
}

/// P25, P236: what cannot become an answer is not asked for again, and nothing of it is told.
#[tokio::test(start_paused = true)]
async fn p25_p236_something_else() {
    let html = [("content-type", "text/html")];
    let gzip = [("content-encoding", "gzip")];
    let squeezed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03PRIVATE\x00\xff";
    let cases: Vec<(&str, Script)> = vec![
        (
            "a page",
            answer(200, &html, "<!doctype html><p>PRIVATE</p>"),
        ),
        ("a page without a type", answer(200, &[], "<html>PRIVATE")),
        ("squeezed bytes", answer(200, &gzip, squeezed)),
        ("bytes", answer(200, &[], b"\x00\x01\xfe\xffPRIVATE")),
        ("a word", answer(200, &[], "PRIVATE")),
        ("a JSON text", answer(200, &[], "\"PRIVATE\"")),
        ("a number", answer(200, &[], "12")),
        ("null", answer(200, &[], "null")),
        (
            "an answer of something else",
            answer(200, &[], "{\"private\": \"PRIVATE\", \"n\": [1, 2]}"),
        ),
        ("an empty object", answer(200, &[], "{}")),
        ("no JSON", answer(200, &[], "{PRIVATE: 1}")),
        (
            "two documents",
            answer(200, &[], "{\"a\": 1}{\"b\": \"PRIVATE\"}"),
        ),
        ("a list of texts", answer(200, &[], "[\"PRIVATE\"]")),
    ];
    for wire in WIRES {
        for (name, script) in &cases {
            let (outcome, answered) = ask(wire, script.clone()).await;
            assert_eq!(
                outcome,
                Outcome::final_at_once("malformed_response"),
                "{wire:?}: {name}"
            );
            let shown = format!("{answered:?}");
            assert!(!shown.contains("PRIVATE"), "{wire:?}: {name}: {shown}");
        }
    }
}

/// P22, P23: the first bytes decide, whatever the type says.
#[tokio::test(start_paused = true)]
async fn p22_p23_types_that_are_wrong() {
    let types = [
        "text/event-stream",
        "application/json",
        "text/html",
        "application/octet-stream",
        "nonsense",
        "",
    ];
    for wire in WIRES {
        let document = wire.document().to_string();
        for kind in types {
            let kind = [("content-type", kind)];
            let stream = wire.stream();
            let mark = format!("\u{feff}\r\n {stream}");
            let blanks = format!("\n\n  {document}\n");
            for body in [&stream, &document, &mark, &blanks] {
                let (outcome, _) = ask(wire, answer(200, &kind, body)).await;
                assert_eq!(outcome, Outcome::whole(), "{wire:?}: {kind:?} {body}");
            }
        }
    }
}

/// P15: an event over the limit, before and after some text, whole and without end.
#[tokio::test(start_paused = true)]
async fn p15_events_that_are_too_large() {
    for wire in WIRES {
        let large = wire.text(&"x".repeat(EVENT_LIMIT));
        let endless = Do::Repeat(vec![b'x'; 1 << 15], std::time::Duration::ZERO);
        let many_lines = Do::Repeat(b"data: x\n".repeat(1000), std::time::Duration::ZERO);
        let bodies: Vec<(&str, Script)> = vec![
            ("whole", vec![send(&large)]),
            ("without end", vec![send("data: {\"x"), endless]),
            ("in lines without end", vec![many_lines]),
        ];
        for (name, body) in bodies {
            let script = [vec![head(200, &[])], body.clone()].concat();
            let (outcome, _) = ask(wire, script).await;
            let expected = Outcome::final_at_once("event_too_large");
            assert_eq!(outcome, expected, "{wire:?}: {name}");
            let script = [vec![head(200, &[]), send(wire.begun())], body].concat();
            let (outcome, _) = ask(wire, script).await;
            let expected = Outcome::partial("event_too_large", false);
            assert_eq!(outcome, expected, "{wire:?}: {name}");
        }
        // A document is one event, too.
        let document = format!("{{\"x\": \"{}\"}}", "x".repeat(EVENT_LIMIT));
        let (outcome, _) = ask(wire, answer(200, &[], document)).await;
        assert_eq!(outcome, Outcome::final_at_once("event_too_large"));
    }
}

/// What is no event and holds nothing may be as long as it likes.
#[tokio::test(start_paused = true)]
async fn long_comments_are_nothing() {
    for wire in WIRES {
        let comment = format!(":{}\n\n", "x".repeat(EVENT_LIMIT * 2));
        let unknown = format!("nothing: {}\n\n", "x".repeat(EVENT_LIMIT * 2));
        let body = [comment, unknown, wire.stream()].concat();
        let (outcome, _) = ask(wire, answer(200, &[], body)).await;
        assert_eq!(outcome, Outcome::whole(), "{wire:?}");
    }
}
