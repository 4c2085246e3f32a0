//! Server-sent events, without I/O: bytes in, events out.
//!
//! An event whose one `data` line came in one chunk is a slice of that chunk; nothing is copied for it. Every byte is
//! looked at a constant number of times, however the input is cut.

mod value;

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use memchr::memchr2;

use value::{Known, Value, known};

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// What the last `event` line says; empty if there is none.
    pub(crate) name: ByteString,
    /// The `data` lines, joined with LF.
    pub(crate) data: ByteString,
}

/// One event of a stream where it lies, before anybody knows whether it is text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// What the last `event` line says; empty if there is none.
    pub(crate) name: &'a [u8],
    /// The `data` lines, joined with LF.
    pub(crate) data: &'a [u8],
    name_in: &'a Bytes,
    data_in: &'a Bytes,
}

/// An event holds more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Reads a stream of server-sent events.
pub(crate) struct Sse {
    /// How many bytes the data of one event may have.
    limit: usize,
    /// How many bytes of the mark at the start of the input have been seen; `None` after the start.
    mark: Option<usize>,
    chunk: Bytes,
    /// How much of the chunk was read.
    at: usize,
    /// A line that began in an earlier chunk.
    begun: BytesMut,
    /// The last line ended with CR, so a LF that comes next belongs to it.
    after_cr: bool,
    name: Value,
    data: Value,
    /// Name and data of the event that was read last.
    last: (Value, Value),
}

const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];
/// How much of a line tells which known field it is and where its value begins.
const FIELD: usize = "event: ".len();

impl Sse {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            mark: Some(0),
            chunk: Bytes::new(),
            at: 0,
            begun: BytesMut::new(),
            after_cr: false,
            name: Value::None,
            data: Value::None,
            last: (Value::None, Value::None),
        }
    }

    /// Takes the next bytes of the input. What came before must have been read to its end with [`next`](Self::next).
    pub(crate) fn push(&mut self, chunk: Bytes) {
        self.chunk = chunk;
        self.at = 0;
        if let Some(seen) = self.mark {
            self.skip_mark(seen);
        }
    }

    fn skip_mark(&mut self, mut seen: usize) {
        while let Some(byte) = self.chunk.get(self.at) {
            if MARK.get(seen) == Some(byte) {
                self.at += 1;
                seen += 1;
                if seen < MARK.len() {
                    continue;
                }
            } else {
                // It was none.
                self.begun
                    .extend_from_slice(MARK.get(..seen).unwrap_or_default());
            }
            self.mark = None;
            return;
        }
        self.mark = Some(seen);
    }

    /// The next event of what was pushed; `None` when there is no whole one left.
    pub(crate) fn next(&mut self) -> Option<Result<Seen<'_>, TooLarge>> {
        match self.advance()? {
            Ok(()) => Some(Ok(self.seen())),
            Err(error) => Some(Err(error)),
        }
    }

    /// Reads up to the end of the next event.
    fn advance(&mut self) -> Option<Result<(), TooLarge>> {
        if self.mark.is_some() {
            return None;
        }
        loop {
            let rest = self.chunk.get(self.at..).unwrap_or_default();
            let length = match rest.first() {
                Some(b'\n') if self.after_cr => {
                    self.after_cr = false;
                    self.at += 1;
                    continue;
                }
                Some(b'\n' | b'\r') => Some(0),
                _ => memchr2(b'\n', b'\r', rest),
            };
            let Some(length) = length else {
                return self.keep_rest().err().map(Err);
            };
            self.after_cr = rest.get(length) == Some(&b'\r');
            let (begin, end) = (self.at, self.at + length);
            self.at = end + 1;
            let ended = if self.begun.is_empty() {
                self.line(begin, end)
            } else {
                self.begun
                    .extend_from_slice(rest.get(..length).unwrap_or_default());
                let line = self.begun.split().freeze();
                self.line_apart(&line)
            };
            match ended {
                Ok(false) => {}
                Ok(true) => return Some(Ok(())),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// The event that the end of the input completes.
    pub(crate) fn finish(&mut self) -> Option<Result<Frame, TooLarge>> {
        if let Some(seen) = self.mark.take() {
            self.begun
                .extend_from_slice(MARK.get(..seen).unwrap_or_default());
        }
        let last = self.begun.split().freeze();
        if !last.is_empty()
            && let Err(error) = self.line_apart(&last)
        {
            return Some(Err(error));
        }
        self.dispatch().then(|| Ok(self.seen().frame()))
    }

    /// Keeps what has not ended, as far as it matters: nothing of comments and unknown fields is held.
    fn keep_rest(&mut self) -> Result<(), TooLarge> {
        let chunk = std::mem::take(&mut self.chunk);
        self.name.part_from(&chunk);
        self.data.part_from(&chunk);
        let rest = chunk.get(self.at..).unwrap_or_default();
        self.at = 0;
        if rest.is_empty() {
            return Ok(());
        }
        self.after_cr = false;
        let known = FIELD.saturating_sub(self.begun.len());
        self.begun
            .extend_from_slice(rest.get(..known.min(rest.len())).unwrap_or_default());
        let rest = rest.get(known.min(rest.len())..).unwrap_or_default();
        let more = self.begun.len() + rest.len();
        match field(&self.begun) {
            Some((b"data", value)) => self.fits(more - value)?,
            Some((b"event", value)) if more - value > self.limit => return Err(TooLarge),
            Some((b"event", _)) => {}
            None if more < FIELD => {}
            Some(_) | None => {
                self.begun.clear();
                self.begun.extend_from_slice(b":");
                return Ok(());
            }
        }
        self.begun.extend_from_slice(rest);
        Ok(())
    }

    /// Reads a line of the chunk; whether an event ends with it.
    fn line(&mut self, begin: usize, end: usize) -> Result<bool, TooLarge> {
        let line = self.chunk.get(begin..end).unwrap_or_default();
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        match known(line) {
            Known::Data(value) if self.data.is_none() => {
                self.fits(line.len() - value)?;
                self.data = Value::Here(begin + value, end);
            }
            Known::Event(value) if line.len() - value <= self.limit => {
                self.name = Value::Here(begin + value, end);
            }
            Known::Other => {}
            Known::Data(_) | Known::Event(_) => {
                let line = self.chunk.slice(begin..end);
                return self.line_apart(&line);
            }
        }
        Ok(false)
    }

    /// The same of a line that does not lie in the chunk, or is not the only one.
    fn line_apart(&mut self, line: &Bytes) -> Result<bool, TooLarge> {
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        match known(line) {
            Known::Data(value) => self.add(line.slice(value..))?,
            Known::Event(value) if line.len() - value > self.limit => return Err(TooLarge),
            Known::Event(value) => self.name = Value::Apart(line.slice(value..)),
            Known::Other => {}
        }
        Ok(false)
    }

    /// Whether a line of so much more data may be added.
    fn fits(&self, more: usize) -> Result<(), TooLarge> {
        let line_end = usize::from(!self.data.is_none());
        if self.data.len() + line_end + more > self.limit {
            return Err(TooLarge);
        }
        Ok(())
    }

    fn add(&mut self, value: Bytes) -> Result<(), TooLarge> {
        self.fits(value.len())?;
        self.data.part_from(&self.chunk);
        self.data = match std::mem::take(&mut self.data) {
            Value::None | Value::Here(..) => Value::Apart(value),
            Value::Apart(first) => {
                let mut joined = BytesMut::from(first);
                joined.extend_from_slice(b"\n");
                joined.extend_from_slice(&value);
                Value::Several(joined)
            }
            Value::Several(mut joined) => {
                joined.extend_from_slice(b"\n");
                joined.extend_from_slice(&value);
                Value::Several(joined)
            }
        };
        Ok(())
    }

    /// Ends the event, if there is one. Its name ends with it either way.
    fn dispatch(&mut self) -> bool {
        let name = std::mem::take(&mut self.name);
        if self.data.is_none() {
            return false;
        }
        let data = match std::mem::take(&mut self.data) {
            Value::Several(data) => Value::Apart(data.freeze()),
            data => data,
        };
        self.last = (name, data);
        true
    }

    /// The event that ended last. It lies there until more is read.
    fn seen(&self) -> Seen<'_> {
        let (name, name_in) = self.last.0.within(&self.chunk);
        let (data, data_in) = self.last.1.within(&self.chunk);
        Seen {
            name,
            data,
            name_in,
            data_in,
        }
    }
}

impl Seen<'_> {
    /// A part of the data, without a copy of it.
    pub(crate) fn slice(&self, part: &[u8]) -> Bytes {
        self.data_in.slice_ref(part)
    }

    /// The event as text.
    pub(crate) fn frame(&self) -> Frame {
        Frame {
            name: text(self.name_in.slice_ref(self.name)),
            data: text(self.slice(self.data)),
        }
    }
}

/// The field of a line and where its value begins, if its colon is near enough for a known field.
fn field(line: &[u8]) -> Option<(&[u8], usize)> {
    let colon = line.iter().take(FIELD - 1).position(|byte| *byte == b':')?;
    let space = usize::from(line.get(colon + 1) == Some(&b' '));
    Some((line.get(..colon)?, colon + 1 + space))
}

/// The bytes as text; what is not UTF-8 becomes U+FFFD.
pub(crate) fn text(bytes: Bytes) -> ByteString {
    match ByteString::try_from(bytes.clone()) {
        Ok(text) => text,
        Err(_) => String::from_utf8_lossy(&bytes).into_owned().into(),
    }
}

#[cfg(test)]
mod tests;
