//! One attempt against a real server on this machine. Limits are short; nothing is said of how long things took.

mod server;

use std::time::Duration;

use allm_core::{CancelToken, Event, Fold, Redactor, Response, Timeouts};
use bytestring::ByteString;
use serde_json::Value;

use super::super::answer::{About, PartAt, PartKind};
use super::super::client::{Clients, Security};
use super::super::decode::{Decoder, late_decoder};
use super::*;
use server::{Do, Server, head, send};

/// A wire of frames `{"t": text}`, closed by `{"end": true}`.
#[derive(Default)]
struct Plain {
    text: Option<PartAt>,
    closed: bool,
}

impl Decoder for Plain {
    fn frame(&mut self, frame: &Frame, answer: &mut Answer) -> Result<Flow, Fault> {
        let Value::Object(said) = serde_json::from_str(&frame.data)? else {
            return Err(Fault::Malformed);
        };
        if let Some(text) = said.get("t").and_then(Value::as_str) {
            let part = *self
                .text
                .get_or_insert_with(|| answer.open(PartKind::Text, None));
            answer.delta(part, text.into());
        }
        if said.contains_key("end") {
            self.closed = true;
            return Ok(Flow::Closed);
        }
        Ok(Flow::GoOn)
    }

    fn document(&mut self, text: &ByteString, answer: &mut Answer) -> Result<(), Fault> {
        let frame = Frame {
            name: ByteString::new(),
            data: text.clone(),
        };
        self.frame(&frame, answer)?;
        self.closed = true;
        Ok(())
    }

    fn done(&mut self, _: &mut Answer) -> Result<Flow, Fault> {
        Ok(if self.closed { Flow::Done } else { Flow::GoOn })
    }

    fn end(&mut self, _: End, _: &mut Answer) -> Result<(), Fault> {
        if self.closed {
            Ok(())
        } else {
            Err(Fault::Interrupted)
        }
    }
}

fn exchange(server: &Server, timeouts: Timeouts, cancel: CancelToken) -> Exchange {
    let clients = Clients::default();
    let mut request = Request::new(Full::new(Bytes::from_static(b"{}")));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = server.url.parse().expect("an address");
    Exchange::new(Attempt {
        client: clients
            .get(timeouts.connect, Security::Plain)
            .expect("certificates"),
        request,
        answer: Answer::new(About {
            provider: "acme".into(),
            wire: "plain",
            request_id: "q".into(),
            raw_chunks: false,
            raw_body: false,
        }),
        decoder: late_decoder(Plain::default),
        timeouts,
        cancel,
        redactor: Redactor::new(),
        max_event_bytes: 1 << 20,
    })
}

async fn events(mut exchange: Exchange) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = std::future::poll_fn(|cx| Pin::new(&mut exchange).poll_next(cx)).await {
        events.push(event);
    }
    events
}

async fn answer_with(script: Vec<Do>, timeouts: Timeouts) -> Response {
    let server = Server::start(script).await;
    let mut fold = Fold::new();
    for event in events(exchange(&server, timeouts, CancelToken::new())).await {
        fold.push(&event);
    }
    assert_eq!(server.connections(), 1, "one attempt");
    fold.response()
}

async fn answer(script: Vec<Do>) -> Response {
    answer_with(script, Timeouts::default()).await
}

/// The code of the failure, or `ok`.
fn reason(response: &Response) -> &str {
    response
        .error
        .as_ref()
        .map_or("ok", |error| error.reason.as_str())
}

fn message(response: &Response) -> &str {
    response
        .error
        .as_ref()
        .map_or("", |error| error.message.as_str())
}

const ONE: &str = "data: {\"t\": \"a\"}\n\n";
const END: &str = "data: {\"end\": true}\n\n";

#[tokio::test]
async fn a_whole_answer() {
    let response = answer(vec![
        head(200, &[("x-request-id", "r-7"), ("retry-after", "9")]),
        send(ONE),
        send(ONE),
        send(END),
    ])
    .await;
    assert_eq!((reason(&response), response.text().as_str()), ("ok", "aa"));
    assert_eq!(response.provider_request_id.as_deref(), Some("r-7"));
}

#[tokio::test]
async fn p21_nothing_leaves_before_the_first_poll() {
    let server = Server::start(vec![head(200, &[]), send(END)]).await;
    let waiting = exchange(&server, Timeouts::default(), CancelToken::new());
    tokio::task::yield_now().await;
    assert_eq!(server.connections(), 0);
    drop(waiting);
    tokio::task::yield_now().await;
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn p22_p23_a_document_is_understood_whatever_it_is_called() {
    let response = answer(vec![
        head(200, &[("content-type", "text/plain")]),
        send("{\"t\": \"a\"}"),
    ])
    .await;
    assert_eq!((reason(&response), response.text().as_str()), ("ok", "a"));
    let response = answer(vec![
        head(200, &[("content-type", "application/json")]),
        send(ONE),
        send(END),
    ])
    .await;
    assert_eq!((reason(&response), response.text().as_str()), ("ok", "a"));
}

/// A document that breaks off may be whole the next time; one that is no JSON will not.
#[tokio::test]
async fn a_document_that_cannot_be_read() {
    for (document, expected) in [
        ("{\"t\": \"a", "interrupted"),
        ("{", "interrupted"),
        ("{\"n\": -", "interrupted"),
        ("{\"n\": 0.", "interrupted"),
        ("{\"n\": 1e", "interrupted"),
        ("{\"n\": 1.2E+", "interrupted"),
        ("{\"n\": 1..", "malformed_response"),
        ("{\"t\": a}", "malformed_response"),
        ("{\"t\": \"a\"} {}", "malformed_response"),
    ] {
        let response = answer(vec![head(200, &[]), send(document)]).await;
        assert_eq!(reason(&response), expected, "{document}");
    }
}

#[tokio::test]
async fn p25_p26_a_page_and_nothing() {
    let response = answer(vec![head(200, &[]), send("<html>SECRET PAGE</html>")]).await;
    assert_eq!(reason(&response), "malformed_response");
    assert!(!format!("{response:?}").contains("SECRET"));
    let response = answer(vec![head(200, &[])]).await;
    assert_eq!(reason(&response), "interrupted");
}

#[tokio::test]
async fn p27_c109_a_redirect_is_not_followed() {
    let response = answer(vec![head(
        302,
        &[("location", "https://evil.example/path?key=SECRET")],
    )])
    .await;
    assert_eq!(reason(&response), "malformed_response");
    assert!(message(&response).contains("evil.example"));
    assert!(!format!("{response:?}").contains("SECRET"));
}

#[tokio::test]
async fn p28_p30_p31_the_body_of_a_failure() {
    let pieces = vec![
        head(401, &[]),
        send("{\"error\": {\"mess"),
        Do::Wait(Duration::from_millis(20)),
        send("age\": \"who are"),
        Do::Wait(Duration::from_millis(20)),
        send(" you\"}}"),
    ];
    let response = answer(pieces).await;
    assert_eq!(
        (reason(&response), message(&response)),
        ("authentication_failed", "who are you")
    );
    let broken = vec![
        head(429, &[("content-length", "100")]),
        send("{\"error\":"),
        Do::Reset,
    ];
    assert_eq!(reason(&answer(broken).await), "rate_limited");
    let endless = vec![
        head(500, &[]),
        Do::Drip(vec![b'x'; 32 * 1024], Duration::from_millis(1)),
    ];
    assert_eq!(reason(&answer(endless).await), "provider_unavailable");
}

#[tokio::test]
async fn p33_p34_frames_that_are_none() {
    for bad in ["[1]", "\"x\"", "nonsense SECRET"] {
        let response = answer(vec![
            head(200, &[]),
            send(ONE),
            send(&format!("data: {bad}\n\n")),
            send(END),
        ])
        .await;
        assert_eq!(
            (reason(&response), response.text().as_str()),
            ("malformed_event", "a"),
            "{bad}"
        );
        assert!(!format!("{response:?}").contains("SECRET"));
        assert!(
            message(&response).contains(&format!("event 1 of {} bytes", bad.len())),
            "{}",
            message(&response)
        );
    }
    let response = answer(vec![
        head(200, &[]),
        send("data:\n\ndata: \n\n"),
        send(ONE),
        send(END),
    ])
    .await;
    assert_eq!(reason(&response), "ok");
}

#[tokio::test]
async fn p13_a_frame_that_was_cut_with_the_stream() {
    for (last, expected) in [
        ("data: {\"t\": \"b", "interrupted"),
        ("data: {\"t\": \"b\\u00", "interrupted"),
        ("data: [DO", "interrupted"),
        // Not cut, but wrong: the lines of one event are one text.
        (
            "data: {\"t\": \"b\"}\ndata: {\"t\": \"c\"}\n",
            "malformed_event",
        ),
        ("data: nonsense", "malformed_event"),
    ] {
        let response = answer(vec![head(200, &[]), send(ONE), send(last)]).await;
        let seen = (reason(&response), response.text());
        assert_eq!(seen, (expected, "a".to_owned()), "{last}");
    }
    // Behind the closing event nothing is missed.
    for tail in ["data: [DO", "data: nonsense\n\n", "data: [1]"] {
        let response = answer(vec![head(200, &[]), send(ONE), send(END), send(tail)]).await;
        assert_eq!(
            (reason(&response), response.text().as_str()),
            ("ok", "a"),
            "{tail}"
        );
    }
}

#[tokio::test]
async fn p37_c129_the_limits() {
    let short = Some(Duration::from_millis(100));
    let first_byte = Timeouts {
        first_byte: short,
        ..Timeouts::default()
    };
    assert_eq!(
        reason(&answer_with(vec![Do::Hang], first_byte).await),
        "timeout"
    );
    let idle = Timeouts {
        idle: short,
        ..Timeouts::default()
    };
    let response = answer_with(vec![head(200, &[]), send(ONE), Do::Hang], idle).await;
    assert_eq!(
        (reason(&response), response.text().as_str()),
        ("timeout", "a")
    );
    let deadline = Timeouts {
        deadline: short,
        ..Timeouts::default()
    };
    assert_eq!(
        reason(&answer_with(vec![head(200, &[]), Do::Hang], deadline).await),
        "timeout"
    );
}

/// C130: comments are life to the idle limit. C131: but not to the stall limit.
#[tokio::test]
async fn c130_c131_comments() {
    let limits = Timeouts {
        idle: Some(Duration::from_secs(5)),
        stall: Some(Duration::from_millis(300)),
        ..Timeouts::default()
    };
    let comments = vec![
        head(200, &[]),
        Do::Drip(b": hm\n\n".to_vec(), Duration::from_millis(20)),
    ];
    assert_eq!(reason(&answer_with(comments, limits).await), "stalled");
}

#[tokio::test]
async fn p38_c123_a_reset_before_and_after_the_closing_event() {
    let wait = || Do::Wait(Duration::from_millis(50));
    let before = answer(vec![
        head(200, &[("content-length", "9999")]),
        send(ONE),
        wait(),
        Do::Reset,
    ])
    .await;
    assert_eq!(
        (reason(&before), before.text().as_str()),
        ("network_error", "a")
    );
    let after = answer(vec![
        head(200, &[("content-length", "9999")]),
        send(ONE),
        send(END),
        wait(),
        Do::Reset,
    ])
    .await;
    assert_eq!((reason(&after), after.text().as_str()), ("ok", "a"));
    let clean = answer(vec![head(200, &[]), send(ONE)]).await;
    assert_eq!(reason(&clean), "interrupted");
}

#[tokio::test]
async fn p39_a_server_that_does_not_end() {
    let response = answer(vec![head(200, &[]), send(ONE), send(END), Do::Hang]).await;
    assert_eq!((reason(&response), response.text().as_str()), ("ok", "a"));
}

#[tokio::test]
async fn c137_cancelling() {
    let server = Server::start(vec![head(200, &[]), send(ONE), Do::Hang]).await;
    let token = CancelToken::new();
    let mut exchange = exchange(&server, Timeouts::default(), token.clone());
    let mut tags = Vec::new();
    while let Some(event) = std::future::poll_fn(|cx| Pin::new(&mut exchange).poll_next(cx)).await {
        tags.push(event.tag());
        if event.tag() == "text_delta" {
            token.cancel();
        }
    }
    assert_eq!(tags, ["message_started", "text_delta", "error"]);
}
