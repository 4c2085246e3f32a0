//! Decoders without a network: bytes in, the folded answer out.

use allm_core::{Event, Fold, Response};
use bytes::Bytes;

use super::answer::{About, Answer};
use super::body::{Body, Piece};
use super::decode::{Decoder, End, Fault, Flow, document_fault, is_cut};
use super::sse::Frame;

/// What came of an input.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// All events, the terminal one too unless the input was at fault.
    pub(crate) events: Vec<Event>,
    /// Why the answer is not whole.
    pub(crate) fault: Option<Fault>,
}

impl Decoded {
    /// The events folded to an answer.
    pub(crate) fn response(&self) -> Response {
        let mut fold = Fold::new();
        for event in &self.events {
            fold.push(event);
        }
        fold.response()
    }

    /// The answer, of an input without fault.
    pub(crate) fn whole(self) -> Response {
        assert!(self.fault.is_none(), "{:?}", self.fault);
        self.response()
    }

    pub(crate) fn tags(&self) -> Vec<&'static str> {
        self.events.iter().map(Event::tag).collect()
    }
}

/// Everything about an answer of this wire in a test.
pub(crate) fn about(provider: &str, wire: &'static str) -> About {
    About {
        provider: provider.into(),
        wire,
        request_id: "test".into(),
        raw_chunks: false,
        raw_body: false,
    }
}

/// Reads a body that ends by itself.
pub(crate) fn decode(about: About, decoder: &mut dyn Decoder, input: &[u8]) -> Decoded {
    decode_chunks(about, decoder, [input])
}

/// The same, of a body cut into chunks.
pub(crate) fn decode_chunks<'a>(
    about: About,
    decoder: &mut dyn Decoder,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Decoded {
    decode_with(about, decoder, chunks, true)
}

/// The same, with every frame read in full.
#[cfg(test)]
pub(crate) fn decode_in_full(about: About, decoder: &mut dyn Decoder, input: &[u8]) -> Decoded {
    decode_with(about, decoder, [input], false)
}

fn decode_with<'a>(
    about: About,
    decoder: &mut dyn Decoder,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    glances: bool,
) -> Decoded {
    let mut answer = Answer::new(about);
    let read = read(&mut answer, decoder, chunks, glances);
    if read.is_ok() {
        answer.complete();
    }
    Decoded {
        events: std::iter::from_fn(|| answer.next_event()).collect(),
        fault: read.err(),
    }
}

fn read<'a>(
    answer: &mut Answer,
    decoder: &mut dyn Decoder,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    glances: bool,
) -> Result<(), Fault> {
    let mut body = Body::new(16 << 20);
    let mut closed = false;
    for chunk in chunks {
        body.push(Bytes::copy_from_slice(chunk))?;
        while let Some(seen) = body.next() {
            let seen = seen?;
            if glances && decoder.glance(&seen, answer) {
                continue;
            }
            match take(answer, decoder, &seen.frame()) {
                Ok(Flow::GoOn) => {}
                Ok(Flow::Closed) => closed = true,
                Ok(Flow::Done) => return decoder.end(End::Clean, answer),
                Err(Fault::Malformed) if closed => {}
                Err(fault) => return Err(fault),
            }
        }
    }
    match body.finish()? {
        None => {}
        Some(Piece::Frame(frame)) => match take(answer, decoder, &frame) {
            Err(Fault::Malformed) if closed => {}
            Err(Fault::Malformed) if is_cut(frame.data.trim()) => return Err(Fault::Interrupted),
            Err(fault) => return Err(fault),
            Ok(_) => {}
        },
        Some(Piece::Document(text)) => {
            answer.body(&text);
            let read = decoder.document(&text, answer);
            read.map_err(|fault| document_fault(fault, &text))?;
        }
    }
    decoder.end(End::Clean, answer)
}

fn take(answer: &mut Answer, decoder: &mut dyn Decoder, frame: &Frame) -> Result<Flow, Fault> {
    match frame.data.trim() {
        "" => Ok(Flow::GoOn),
        "[DONE]" => decoder.done(answer),
        _ => decoder.frame(frame, answer),
    }
}

/// Frames of `data` lines, as a body.
pub(crate) fn frames(data: &[&str]) -> Vec<u8> {
    let frames = data.iter().map(|data| format!("data: {data}\n\n"));
    frames.collect::<String>().into_bytes()
}
