//! What a wire must be able to do: read its frames into an answer.

use std::cell::LazyCell;

use allm_core::AdapterError;
use bytestring::ByteString;
use serde::de::IgnoredAny;

use super::answer::Answer;
use super::body::BodyFault;
use super::sse::{Frame, Seen};

/// A decoder that is made when there is something to read. Until then a call waits, maybe with thousands of others.
pub(crate) type LateDecoder = LazyCell<Box<dyn Decoder>, MakeDecoder>;

type MakeDecoder = Box<dyn FnOnce() -> Box<dyn Decoder> + Send>;

/// The decoder that this makes, once it is needed.
pub(crate) fn late_decoder<D: Decoder + 'static>(
    make: impl FnOnce() -> D + Send + 'static,
) -> LateDecoder {
    LazyCell::new(Box::new(|| Box::new(make())))
}

/// Reads the frames of one wire.
pub(crate) trait Decoder: Send {
    /// Reads one frame; its data is neither empty nor the done marker.
    fn frame(&mut self, frame: &Frame, answer: &mut Answer) -> Result<Flow, Fault>;

    /// Reads a frame that is like the one before it but for its delta. `false` if it is not: then nothing was done, and
    /// [`frame`](Self::frame) reads it. Both make the same of a frame; this is for those that come by the thousand.
    fn glance(&mut self, seen: &Seen<'_>, answer: &mut Answer) -> bool {
        let _ = (seen, answer);
        false
    }

    /// Reads an answer that came as one JSON document. [`end`](Self::end) is called after it.
    fn document(&mut self, text: &ByteString, answer: &mut Answer) -> Result<(), Fault>;

    /// The done marker has come.
    fn done(&mut self, answer: &mut Answer) -> Result<Flow, Fault>;

    /// Reads what was put aside as text because nobody asks for it before the answer ends, well or with a failure.
    fn settle(&mut self, answer: &mut Answer) {
        let _ = answer;
    }

    /// Nothing more comes. The answer is completed by whoever called, unless this says why it is not whole.
    fn end(&mut self, end: End, answer: &mut Answer) -> Result<(), Fault>;
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    /// The closing event has come: what follows is read for usage.
    Closed,
    /// Nothing that follows counts.
    Done,
}

/// How the input ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Clean,
    /// The connection broke after the closing event.
    Broken,
    /// Nothing came for too long after the closing event.
    Quiet,
}

/// What is wrong with what came.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The provider tells of a failure.
    Provider(Box<AdapterError>),
    /// A frame is not what the wire allows.
    Malformed,
    /// The input ended too early.
    Interrupted,
    /// An event is larger than it may be.
    TooLarge,
    /// The answer is none of this wire.
    Unreadable,
}

impl From<BodyFault> for Fault {
    fn from(fault: BodyFault) -> Self {
        match fault {
            BodyFault::TooLarge => Self::TooLarge,
            BodyFault::Unreadable => Self::Unreadable,
            BodyFault::Empty => Self::Interrupted,
        }
    }
}

impl From<AdapterError> for Fault {
    fn from(error: AdapterError) -> Self {
        Self::Provider(Box::new(error))
    }
}

impl From<serde_json::Error> for Fault {
    fn from(_: serde_json::Error) -> Self {
        Self::Malformed
    }
}

/// What is wrong with a document in which this was found: one that breaks off is not whole, and what is no JSON at all is
/// no answer.
pub(crate) fn document_fault(fault: Fault, text: &str) -> Fault {
    match fault {
        Fault::Malformed if is_cut(text) => Fault::Interrupted,
        Fault::Malformed => Fault::Unreadable,
        fault => fault,
    }
}

/// Whether the data of the last event is the beginning of something, cut off with the stream.
pub(crate) fn is_cut(data: &str) -> bool {
    let breaks_off =
        |text: &str| serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof());
    // A number that breaks off before a digit is told as a wrong one.
    let in_number = || data.ends_with(['.', 'e', 'E', '+', '-']);
    "[DONE]".starts_with(data) || breaks_off(data) || in_number() && breaks_off(&format!("{data}0"))
}
