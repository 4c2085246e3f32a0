//! Answers as the bytes that are sent.

use std::collections::HashMap;
use std::rc::Rc;

use bytes::Bytes;

use crate::answer::{Answer, Pace};
use crate::wires::{Event, Wire};

/// How much a network chunk holds where events are packed.
const PACKED: usize = 64 * 1024;

const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
    cache-control: no-cache\r\nx-request-id: req_0123456789\r\ntransfer-encoding: chunked\r\n\r\n";

/// An answer as it goes over the network: in these pieces.
pub(crate) struct Rendered {
    pub(crate) pace: Pace,
    pub(crate) pieces: Vec<Bytes>,
}

/// Every answer that was asked for once.
#[derive(Default)]
pub(crate) struct Library(HashMap<(Wire, bool, Answer), Rc<Rendered>>);

/// How many answers are kept. One run of many turns has as many as turns.
const KEPT: usize = 4096;

impl Library {
    /// The answer, rendered.
    pub(crate) fn get(&mut self, wire: Wire, streamed: bool, answer: Answer) -> Rc<Rendered> {
        if self.0.len() > KEPT {
            self.0.clear();
        }
        let known = self.0.entry((wire, streamed, answer));
        Rc::clone(known.or_insert_with_key(|(wire, streamed, answer)| {
            Rc::new(if *streamed {
                stream(*wire, answer)
            } else {
                whole(*wire, answer)
            })
        }))
    }
}

fn whole(wire: Wire, answer: &Answer) -> Rendered {
    let body = wire.whole(answer);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_0123456789\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    Rendered {
        pace: Pace::Single,
        pieces: vec![Bytes::from(head + &body)],
    }
}

fn stream(wire: Wire, answer: &Answer) -> Rendered {
    let mut pieces = vec![Bytes::from_static(STREAM)];
    let mut waiting = Vec::new();
    for event in wire.stream(answer) {
        append(&mut waiting, &event);
        if answer.pace != Pace::Packed || waiting.len() >= PACKED {
            pieces.push(chunk(&waiting));
            waiting.clear();
        }
    }
    if !waiting.is_empty() {
        pieces.push(chunk(&waiting));
    }
    pieces.push(Bytes::from_static(b"0\r\n\r\n"));
    Rendered {
        pace: answer.pace,
        pieces,
    }
}

fn append(to: &mut Vec<u8>, event: &Event) {
    if let Some(name) = event.name {
        to.extend_from_slice(b"event: ");
        to.extend_from_slice(name.as_bytes());
        to.push(b'\n');
    }
    to.extend_from_slice(b"data: ");
    to.extend_from_slice(event.data.as_bytes());
    to.extend_from_slice(event.end.as_bytes());
}

/// A chunk of HTTP.
fn chunk(data: &[u8]) -> Bytes {
    let mut bytes = format!("{:x}\r\n", data.len()).into_bytes();
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(b"\r\n");
    bytes.into()
}
