//! What the fuzz targets reach of the wire layer. It is there only when a fuzzer builds the crate.

use allm_core::Event;
use bytes::Bytes;

use crate::Profile;
use crate::providers::anthropic::block::Asked;
use crate::providers::anthropic::stream::Messages;
use crate::providers::gemini::stream::GeminiDecoder;
use crate::providers::openai::chat::stream::ChatDecoder;
use crate::providers::openai::responses::stream::ResponsesDecoder;
use crate::wire::decode::Decoder;
use crate::wire::sse::Sse;
use crate::wire::testing::{about, decode_chunks};

/// A wire.
#[derive(Clone, Copy, Debug)]
pub enum Wire {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
}

/// The events of a body that comes in these chunks, and what is wrong with it.
pub fn events<'a>(
    wire: Wire,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Event>, Option<String>) {
    let (mut chat, mut responses, mut messages, mut gemini) = (
        ChatDecoder::new(&Profile::default()),
        ResponsesDecoder::default(),
        Messages::new(Asked::default()),
        GeminiDecoder::default(),
    );
    let decoder: &mut dyn Decoder = match wire {
        Wire::Chat => &mut chat,
        Wire::Responses => &mut responses,
        Wire::Anthropic => &mut messages,
        Wire::Gemini => &mut gemini,
    };
    let decoded = decode_chunks(about("p", "wire"), decoder, chunks);
    (
        decoded.events,
        decoded.fault.map(|fault| format!("{fault:?}")),
    )
}

/// Name and data of each frame of an event stream; `None` stands for one that is too large.
pub fn frames<'a>(
    limit: usize,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Option<(String, String)>> {
    let mut sse = Sse::new(limit);
    let mut frames = Vec::new();
    let mut take = |frame: Result<crate::wire::sse::Frame, _>| {
        let frame = frame.ok();
        frames.push(frame.map(|frame| (frame.name.to_string(), frame.data.to_string())));
        frames.last().is_some_and(Option::is_some)
    };
    for chunk in chunks {
        sse.push(Bytes::copy_from_slice(chunk));
        while let Some(seen) = sse.next() {
            if !take(seen.map(|seen| seen.frame())) {
                return frames;
            }
        }
    }
    if let Some(frame) = sse.finish() {
        take(frame);
    }
    frames
}
