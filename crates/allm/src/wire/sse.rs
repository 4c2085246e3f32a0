//! Server-sent events, without I/O: bytes in, events out.
//!
//! An event whose one `data` line came in one chunk is a slice of that chunk; nothing is copied for it. Every byte is
//! looked at a constant number of times, however the input is cut.

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use memchr::memchr2;

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// What the last `event` line says; empty if there is none.
    pub(crate) name: ByteString,
    /// The `data` lines, joined with LF.
    pub(crate) data: ByteString,
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
    /// A line that began in an earlier chunk.
    begun: BytesMut,
    /// The last line ended with CR, so a LF that comes next belongs to it.
    after_cr: bool,
    name: ByteString,
    data: Data,
}

/// The data lines of an event so far.
enum Data {
    None,
    One(Bytes),
    Several(BytesMut),
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
            begun: BytesMut::new(),
            after_cr: false,
            name: ByteString::new(),
            data: Data::None,
        }
    }

    /// Takes the next bytes of the input. What came before must have been read to its end with [`next`](Self::next).
    pub(crate) fn push(&mut self, chunk: Bytes) {
        self.chunk = chunk;
        if let Some(seen) = self.mark {
            self.skip_mark(seen);
        }
    }

    fn skip_mark(&mut self, mut seen: usize) {
        while let Some(byte) = self.chunk.first() {
            if MARK.get(seen) == Some(byte) {
                let _ = self.chunk.split_to(1);
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
    pub(crate) fn next(&mut self) -> Option<Result<Frame, TooLarge>> {
        if self.mark.is_some() {
            return None;
        }
        loop {
            if self.after_cr && !self.chunk.is_empty() {
                self.after_cr = false;
                if self.chunk.first() == Some(&b'\n') {
                    let _ = self.chunk.split_to(1);
                }
            }
            let Some(end) = memchr2(b'\n', b'\r', &self.chunk) else {
                return match self.keep_rest() {
                    Ok(()) => None,
                    Err(error) => Some(Err(error)),
                };
            };
            self.after_cr = self.chunk.get(end) == Some(&b'\r');
            let rest = self.chunk.split_to(end);
            let _ = self.chunk.split_to(1);
            let line = if self.begun.is_empty() {
                rest
            } else {
                self.begun.extend_from_slice(&rest);
                self.begun.split().freeze()
            };
            match self.line(&line) {
                Ok(None) => {}
                Ok(Some(frame)) => return Some(Ok(frame)),
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
            && let Err(error) = self.line(&last)
        {
            return Some(Err(error));
        }
        self.dispatch().map(Ok)
    }

    /// Keeps a line that has not ended, as far as it matters: nothing of comments and unknown fields is held.
    fn keep_rest(&mut self) -> Result<(), TooLarge> {
        let rest = std::mem::take(&mut self.chunk);
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

    fn line(&mut self, line: &Bytes) -> Result<Option<Frame>, TooLarge> {
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match field(line) {
            Some((field, value)) => (field, line.slice(value..)),
            None => (&**line, Bytes::new()),
        };
        match field {
            b"data" => self.add(value)?,
            b"event" if value.len() > self.limit => return Err(TooLarge),
            b"event" => self.name = text(value),
            // Comments, `id`, `retry`, and what there may be one day.
            _ => {}
        }
        Ok(None)
    }

    /// Whether a line of so much more data may be added.
    fn fits(&self, more: usize) -> Result<(), TooLarge> {
        let line_end = usize::from(!matches!(self.data, Data::None));
        if self.data.len() + line_end + more > self.limit {
            return Err(TooLarge);
        }
        Ok(())
    }

    fn add(&mut self, value: Bytes) -> Result<(), TooLarge> {
        self.fits(value.len())?;
        self.data = match std::mem::replace(&mut self.data, Data::None) {
            Data::None => Data::One(value),
            Data::One(first) => {
                let mut joined = BytesMut::from(first);
                joined.extend_from_slice(b"\n");
                joined.extend_from_slice(&value);
                Data::Several(joined)
            }
            Data::Several(mut joined) => {
                joined.extend_from_slice(b"\n");
                joined.extend_from_slice(&value);
                Data::Several(joined)
            }
        };
        Ok(())
    }

    /// Ends the event, if there is one. Its name ends with it either way.
    fn dispatch(&mut self) -> Option<Frame> {
        let name = std::mem::take(&mut self.name);
        let data = match std::mem::replace(&mut self.data, Data::None) {
            Data::None => return None,
            Data::One(data) => data,
            Data::Several(data) => data.freeze(),
        };
        Some(Frame {
            name,
            data: text(data),
        })
    }
}

/// The field of a line and where its value begins, if its colon is near enough for a known field.
fn field(line: &[u8]) -> Option<(&[u8], usize)> {
    let colon = line.iter().take(FIELD - 1).position(|byte| *byte == b':')?;
    let space = usize::from(line.get(colon + 1) == Some(&b' '));
    Some((line.get(..colon)?, colon + 1 + space))
}

impl Data {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(data) => data.len(),
            Self::Several(data) => data.len(),
        }
    }
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
