//! Lines of an event: which field they are, and where its value lies.

use bytes::{Bytes, BytesMut};

/// What a field says so far. Slices are counted, so there are none of them as long as places do.
#[derive(Default)]
pub(super) enum Value {
    #[default]
    None,
    /// From here to there in the chunk.
    Here(usize, usize),
    Apart(Bytes),
    Several(BytesMut),
}

impl Value {
    pub(super) const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Here(begin, end) => end - begin,
            Self::Apart(bytes) => bytes.len(),
            Self::Several(bytes) => bytes.len(),
        }
    }

    /// Becomes a slice of the chunk, where it is a place in it.
    pub(super) fn part_from(&mut self, chunk: &Bytes) {
        if let Self::Here(begin, end) = *self {
            *self = Self::Apart(chunk.slice(begin..end));
        }
    }

    /// The bytes, and what they are a slice of.
    pub(super) fn within<'a>(&'a self, chunk: &'a Bytes) -> (&'a [u8], &'a Bytes) {
        match self {
            Self::Here(begin, end) => (chunk.get(*begin..*end).unwrap_or_default(), chunk),
            Self::Apart(bytes) => (bytes, bytes),
            Self::None | Self::Several(_) => (&[], chunk),
        }
    }
}

/// A field that counts, and where its value begins.
pub(super) enum Known {
    Data(usize),
    Event(usize),
    /// Comments, `id`, `retry`, and what there may be one day.
    Other,
}

pub(super) fn known(line: &[u8]) -> Known {
    let value = |name: &[u8]| match line.strip_prefix(name)? {
        [] => Some(name.len()),
        [b':', b' ', ..] => Some(name.len() + 2),
        [b':', ..] => Some(name.len() + 1),
        _ => None,
    };
    if let Some(value) = value(b"data") {
        Known::Data(value)
    } else if let Some(value) = value(b"event") {
        Known::Event(value)
    } else {
        Known::Other
    }
}
