//! Connections that break, heads that are none, bodies that lie about their length, and silence.

use std::time::Duration;

use allm::Timeouts;

use super::server::{Do, Script, Server, answer, head, send};
use super::wires::WIRES;
use super::{NO_LIMITS, Outcome, ask, ask_server};

/// A chunk of a chunked body.
fn chunk(text: &str) -> Do {
    send(format!("{:x}\r\n{text}\r\n", text.len()))
}

/// C123: whatever breaks before any content is tried again.
#[tokio::test(start_paused = true)]
async fn c123_a_connection_that_breaks_before_any_content() {
    let huge = "x".repeat(2 << 20);
    let many: Vec<(String, String)> = (0..500).map(|n| (format!("x-{n}"), "1".into())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(n, v)| (&**n, &**v)).collect();
    let chunked = || head(200, &[("transfer-encoding", "chunked")]);
    let faults: Vec<(&str, Script)> = vec![
        ("reset after the request", vec![Do::Reset]),
        ("closed before the head", vec![]),
        ("half a status line", vec![send("HTTP/1.1 20")]),
        (
            "half a head",
            vec![send("HTTP/1.1 200 OK\r\ncontent-type: text/")],
        ),
        (
            "half a head, then a reset",
            vec![send("HTTP/1.1 200 OK\r\n"), Do::Reset],
        ),
        ("no HTTP", vec![send("\u{1}\u{2}what is this?\r\n\r\n")]),
        (
            "another protocol",
            vec![send("SSH-2.0-OpenSSH_9.6\r\n\r\n")],
        ),
        ("a huge header", vec![head(200, &[("x-huge", &huge)])]),
        ("very many headers", vec![head(200, &many)]),
        (
            "a length that is no number",
            vec![head(200, &[("content-length", "many")])],
        ),
        (
            "two lengths",
            vec![
                head(200, &[("content-length", "1"), ("content-length", "2")]),
                send("{}"),
            ],
        ),
        (
            "a length and no body",
            vec![head(200, &[("content-length", "10")])],
        ),
        ("a chunk size that is none", vec![chunked(), send("zz\r\n")]),
        (
            "a chunk size beyond all numbers",
            vec![chunked(), send("fffffffffffffffff\r\n")],
        ),
        (
            "a chunk that is shorter than it says",
            vec![chunked(), send("20\r\ndata: ")],
        ),
        ("no last chunk", vec![chunked(), chunk(": hi\n\n")]),
        (
            "a reset in the body",
            vec![head(200, &[]), send("data: {"), Do::Reset],
        ),
    ];
    for wire in WIRES {
        for (name, script) in &faults {
            let (outcome, answered) = ask(wire, script.clone()).await;
            assert_eq!(
                outcome,
                Outcome::tried_again("network_error"),
                "{wire:?}: {name}"
            );
            assert_eq!(super::refused(answered).attempts, Some(3), "{name}");
        }
    }
}

/// C123: before the request could be read, and where nobody listens.
#[tokio::test(start_paused = true)]
async fn c123_no_connection() {
    for wire in WIRES {
        let server = Server::breaking().await;
        let (_, answered) = ask_server(wire, &server, NO_LIMITS).await;
        let error = super::refused(answered);
        assert_eq!(
            (error.reason.as_str(), error.attempts),
            ("network_error", Some(3))
        );
        assert_eq!(server.connections(), 3);

        let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", nobody.local_addr().unwrap());
        drop(nobody);
        let engine = wire.engine(&url).retry(super::policy()).build().unwrap();
        let error = super::refused(engine.generate("hi").await);
        assert_eq!(
            (error.reason.as_str(), error.attempts),
            ("network_error", Some(3))
        );
    }
}

/// C123: after a piece of text nothing is tried again, and the piece is kept.
#[tokio::test(start_paused = true)]
async fn c123_a_connection_that_breaks_after_some_content() {
    for wire in WIRES {
        let begun = wire.begun();
        let chunked = || head(200, &[("transfer-encoding", "chunked")]);
        let short = (begun.len() + 3).to_string();
        let faults: Vec<(&str, Script)> = vec![
            ("reset", vec![head(200, &[]), send(&begun), Do::Reset]),
            (
                "reset inside an event",
                vec![
                    head(200, &[]),
                    send(&begun),
                    send("event: x\ndata: {\"a"),
                    Do::Reset,
                ],
            ),
            (
                "closed before its length",
                vec![head(200, &[("content-length", "99999")]), send(&begun)],
            ),
            (
                "closed just before its length",
                vec![head(200, &[("content-length", &short)]), send(&begun)],
            ),
            ("no last chunk", vec![chunked(), chunk(&begun)]),
            (
                "a chunk size that is none",
                vec![chunked(), chunk(&begun), send("xyz\r\n")],
            ),
            (
                "a chunk that does not end where it says",
                vec![chunked(), chunk(&begun), send("3\r\ndata: x\r\n")],
            ),
        ];
        for (name, script) in faults {
            let (outcome, _) = ask(wire, script).await;
            assert_eq!(
                outcome,
                Outcome::partial("network_error", true),
                "{wire:?}: {name}"
            );
        }
    }
}

/// C75: a body that ends as HTTP has it, but not as the wire has it.
#[tokio::test(start_paused = true)]
async fn c75_a_body_that_ends_too_early() {
    for wire in WIRES {
        let (begun, stream) = (wire.begun(), wire.stream());
        let length = begun.len().to_string();
        let cases: Vec<(&str, Script)> = vec![
            ("closed", vec![head(200, &[]), send(&begun)]),
            (
                "a length that is too short",
                vec![head(200, &[("content-length", &length)]), send(&stream)],
            ),
            (
                "a last chunk",
                vec![
                    head(200, &[("transfer-encoding", "chunked")]),
                    chunk(&begun),
                    send("0\r\n\r\n"),
                ],
            ),
        ];
        for (name, script) in cases {
            let (outcome, _) = ask(wire, script).await;
            assert_eq!(
                outcome,
                Outcome::partial("interrupted", true),
                "{wire:?}: {name}"
            );
        }
    }
}

/// Odd, but right: all of it is read.
#[tokio::test(start_paused = true)]
async fn what_is_only_odd() {
    for wire in WIRES {
        let stream = wire.stream();
        let halves = stream.split_at(stream.len() / 2);
        let trailers = head(200, &[("transfer-encoding", "chunked"), ("trailer", "x-t")]);
        let cases: Vec<(&str, Script)> = vec![
            (
                "byte by byte, the head too",
                vec![
                    Do::Drip(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec()),
                    Do::Drip(stream.clone().into_bytes()),
                ],
            ),
            (
                "a continue before the answer",
                vec![
                    send("HTTP/1.1 100 Continue\r\n\r\n"),
                    head(200, &[]),
                    send(&stream),
                ],
            ),
            (
                "trailers and chunk extensions",
                vec![
                    trailers,
                    chunk(halves.0),
                    send(format!("{:x};a=b\r\n{}\r\n", halves.1.len(), halves.1)),
                    send("0\r\nx-t: 1\r\n\r\n"),
                ],
            ),
            (
                "HTTP/1.0",
                vec![send("HTTP/1.0 200 OK\r\n\r\n"), send(&stream)],
            ),
            ("a status of its own", answer(299, &[], &stream)),
        ];
        for (name, script) in cases {
            let (outcome, _) = ask(wire, script).await;
            assert_eq!(outcome, Outcome::whole(), "{wire:?}: {name}");
        }
    }
}

/// A connection is used again when its answer was read to the end.
#[tokio::test]
async fn a_connection_is_used_again() {
    for wire in WIRES {
        let stream = wire.stream();
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let body = format!("{head}{:x}\r\n{stream}\r\n0\r\n\r\n", stream.len());
        let server = Server::start(vec![vec![send(body), Do::KeepAlive]]).await;
        let engine = wire.engine(&server.url).build().unwrap();
        for _ in 0..5 {
            assert_eq!(engine.generate("hi").text().await.unwrap(), "Hello");
        }
        assert_eq!(server.seen().len(), 5);
        // The next call may come before the last one's connection is free.
        assert!(server.connections() < 5, "{wire:?}");
    }
}

/// A connection that the server has closed while it was not used is not used again.
#[tokio::test]
async fn a_connection_that_was_closed_meanwhile() {
    for wire in WIRES {
        let stream = wire.stream();
        let length = stream.len();
        let kept = send(format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n"
        ));
        // It says that the connection stays, and closes it.
        let server = Server::start(vec![vec![kept, send(&stream)]]).await;
        let engine = wire.engine(&server.url).build().unwrap();
        for _ in 0..5 {
            assert_eq!(engine.generate("hi").text().await.unwrap(), "Hello");
        }
        assert_eq!(server.seen().len(), 5);
    }
}

/// C129, C131, P37: which limit ends which silence, and after how long.
#[tokio::test(start_paused = true)]
async fn p37_c129_c131_silence() {
    let limit = |seconds| Some(Duration::from_secs(seconds));
    let first_byte = Timeouts {
        first_byte: limit(120),
        ..NO_LIMITS
    };
    let idle = Timeouts {
        idle: limit(60),
        ..NO_LIMITS
    };
    let stall = Timeouts {
        stall: limit(600),
        ..NO_LIMITS
    };
    let comment = |seconds| Do::Repeat(b": hm\n\n".to_vec(), Duration::from_secs(seconds));
    for wire in WIRES {
        let begun = [head(200, &[]), send(wire.begun())];
        let begun = |then: Do| begun.iter().cloned().chain([then]).collect::<Script>();
        let cases: Vec<(&str, Script, Timeouts, &str, &str, u64)> = vec![
            ("no head", vec![Do::Hang], first_byte, "timeout", "", 120),
            (
                "half a head",
                vec![send("HTTP/1.1 200 OK\r\n"), Do::Hang],
                first_byte,
                "timeout",
                "",
                120,
            ),
            (
                "no body",
                vec![head(200, &[]), Do::Hang],
                idle,
                "timeout",
                "",
                60,
            ),
            ("half a body", begun(Do::Hang), idle, "timeout", "Hel", 60),
            (
                "comments only",
                vec![head(200, &[]), comment(20)],
                Timeouts {
                    idle: limit(60),
                    ..stall
                },
                "stalled",
                "",
                600,
            ),
            (
                "comments after some text",
                begun(comment(20)),
                Timeouts {
                    idle: limit(60),
                    ..stall
                },
                "stalled",
                "Hel",
                600,
            ),
            (
                "comments that are too rare",
                begun(comment(61)),
                Timeouts {
                    idle: limit(60),
                    ..stall
                },
                "timeout",
                "Hel",
                60,
            ),
        ];
        for (name, script, limits, reason, text, seconds) in cases {
            let server = Server::start(vec![script]).await;
            let (outcome, _) = ask_server(wire, &server, limits).await;
            let seconds = u128::from(seconds) * 1000;
            let expected = match text {
                // Each attempt lasts as long as its limit.
                "" => Outcome {
                    waits: vec![seconds + 500, seconds + 1000],
                    ..Outcome::tried_again(reason)
                },
                _ => Outcome::partial(reason, true),
            };
            assert_eq!(outcome, expected, "{wire:?}: {name}");
        }
    }
}

/// C130, P231: two minutes of comments, one every ten seconds, and then the answer.
#[tokio::test(start_paused = true)]
async fn c130_comments_are_life() {
    for wire in WIRES {
        let mut script = vec![head(200, &[])];
        for _ in 0..12 {
            script.push(send(": PROCESSING\n\n"));
            script.push(Do::Wait(Duration::from_secs(10)));
        }
        script.push(send(wire.stream()));
        let server = Server::start(vec![script]).await;
        let limits = Timeouts {
            idle: Some(Duration::from_secs(60)),
            ..NO_LIMITS
        };
        let (outcome, _) = ask_server(wire, &server, limits).await;
        assert_eq!(outcome, Outcome::whole(), "{wire:?}");
    }
}

/// C131, C134: a server that never pauses and says nothing; on several threads it can be faster than we are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c131_c134_a_flood() {
    let flood = Do::Repeat(b": hm\n\n".repeat(1 << 13), Duration::ZERO);
    let limit = Some(Duration::from_millis(300));
    for (limits, reason) in [
        (
            Timeouts {
                stall: limit,
                ..NO_LIMITS
            },
            "stalled",
        ),
        (
            Timeouts {
                deadline: limit,
                ..NO_LIMITS
            },
            "timeout",
        ),
    ] {
        for wire in WIRES {
            let server = Server::start(vec![vec![head(200, &[]), flood.clone()]]).await;
            let engine = wire.engine(&server.url).timeouts(limits);
            let engine = engine.retry(allm::RetryPolicy::none()).build().unwrap();
            let error = engine.generate("hi").await.unwrap_err();
            assert_eq!(error.reason(), reason, "{wire:?}");
        }
    }
}
