//! Every prefix of an answer: never a quiet success.

use allm::{Engine, RetryPolicy};

use super::server::{Do, Script, Server, head, send};
use super::wires::{WIRES, Wire};

/// How a body is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    /// It ends as HTTP has it.
    Clean,
    /// It was to be longer.
    Broken,
}

fn script(cut: Cut, body: &[u8]) -> Script {
    match cut {
        Cut::Clean => {
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            vec![send(head), send(body), Do::KeepAlive]
        }
        Cut::Broken => {
            let length = (body.len() + 10_000).to_string();
            vec![head(200, &[("content-length", &length)]), send(body)]
        }
    }
}

/// What comes of each prefix of a body, the whole one included: reason and text.
async fn prefixes(wire: Wire, cut: Cut, body: &str) -> Vec<(String, String)> {
    let scripts = (0..=body.len()).map(|length| script(cut, &body.as_bytes()[..length]));
    let server = Server::start(scripts.collect()).await;
    let engine: Engine = wire
        .engine(&server.url)
        .retry(RetryPolicy::none())
        .build()
        .unwrap();
    let mut found = Vec::new();
    for _ in 0..=body.len() {
        let answered = engine.generate("hi").await;
        let outcome = super::outcome(&server, &answered);
        found.push((outcome.reason, outcome.text));
    }
    assert_eq!(server.seen().len(), body.len() + 1);
    found
}

/// What should come of a prefix of a stream.
fn expected(wire: Wire, cut: Cut, body: &str, length: usize) -> (&'static str, &'static str) {
    // An event counts with its blank line; where the body ends by itself, without it.
    let ends = |event: &str| {
        let at = body.find(event).unwrap() + event.len();
        match cut {
            Cut::Clean => at,
            Cut::Broken => at + body[at..].find("\n\n").unwrap() + 2,
        }
    };
    let has = |text: &str| length >= ends(&wire.text(text).trim_end().replace("\n\n", ""));
    let closed = length >= ends(wire.closed().trim_end());
    let text = match (has("Hel"), has("lo")) {
        (_, true) => "Hello",
        (true, false) => "Hel",
        (false, false) => "",
    };
    let reason = match (cut, wire) {
        // Its end is the end of the body.
        (Cut::Broken, Wire::Gemini) => "network_error",
        _ if closed => "ok",
        (Cut::Clean, _) => "interrupted",
        (Cut::Broken, _) => "network_error",
    };
    (reason, text)
}

/// P75, P76, P77: every prefix of a stream, ended by itself and broken.
#[tokio::test]
async fn p75_p76_p77_streams() {
    for wire in WIRES {
        for cut in [Cut::Clean, Cut::Broken] {
            let body = wire.stream();
            for (length, found) in prefixes(wire, cut, &body).await.iter().enumerate() {
                let (reason, text) = expected(wire, cut, &body, length);
                assert_eq!(
                    (&*found.0, &*found.1),
                    (reason, text),
                    "{wire:?}, {cut:?}, {length} bytes: …{:?}",
                    &body[length.saturating_sub(40)..length]
                );
            }
        }
    }
}

/// P75, P76: every prefix of a document is nothing at all.
#[tokio::test]
async fn p75_p76_documents() {
    for wire in WIRES {
        // Numbers are what a parser may take for whole when they are cut.
        let document = wire.document().to_string();
        let document = document.replacen('{', "{\"x\":[-1.5e+2,0,true,null,\"\\u00e9é\\n\"],", 1);
        let mut bodies = vec![document];
        if wire == Wire::Gemini {
            bodies.push(format!("[{},\n{}]", wire.document(), wire.document()));
        }
        for body in bodies {
            for cut in [Cut::Clean, Cut::Broken] {
                let found = prefixes(wire, cut, &body).await;
                let (whole, prefixes) = found.split_last().unwrap();
                let reason = match cut {
                    Cut::Clean => "interrupted",
                    Cut::Broken => "network_error",
                };
                for (length, found) in prefixes.iter().enumerate() {
                    let expected = (reason.to_owned(), String::new());
                    assert_eq!(*found, expected, "{wire:?}, {cut:?}, {length} bytes");
                }
                let expected = match cut {
                    Cut::Clean => "ok",
                    Cut::Broken => reason,
                };
                assert_eq!(whole.0, expected, "{wire:?}");
            }
        }
    }
}
