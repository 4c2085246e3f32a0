//! What the body of an answer is: a stream of events, or one JSON document.

use bytes::{Bytes, BytesMut};

use super::sse::{Frame, Seen, Sse, TooLarge, text};

/// Tells what a body is by its first bytes, and takes it apart.
pub(crate) struct Body {
    limit: usize,
    form: Form,
}

enum Form {
    /// Only marks, white space, or nothing so far; the bytes that may become a mark or a word.
    Unknown(BytesMut),
    Events(Box<Sse>),
    Document(BytesMut),
    /// Neither.
    Other,
}

/// What a body holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// An event of a stream.
    Frame(Frame),
    /// The whole document.
    Document(bytestring::ByteString),
}

/// Why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFault {
    /// It has more in one piece than it may.
    TooLarge,
    /// It is neither events nor JSON.
    Unreadable,
    /// It held nothing.
    Empty,
}

const MARK: &[u8] = &[0xEF, 0xBB, 0xBF];
const FIELDS: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b":"];

impl From<TooLarge> for BodyFault {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

impl Body {
    /// A body of which one event, or the document, may have this many bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            form: Form::Unknown(BytesMut::new()),
        }
    }

    /// Takes the next bytes. What came before must have been read to its end with [`next`](Self::next).
    pub(crate) fn push(&mut self, chunk: Bytes) -> Result<(), BodyFault> {
        match &mut self.form {
            Form::Unknown(head) => {
                if head.is_empty() && chunk.iter().all(u8::is_ascii_whitespace) {
                    // Servers send it to show that they live.
                    return Ok(());
                }
                head.extend_from_slice(&chunk);
                self.settle(false)
            }
            Form::Events(sse) => {
                sse.push(chunk);
                Ok(())
            }
            Form::Document(text) => {
                if text.len() + chunk.len() > self.limit {
                    return Err(BodyFault::TooLarge);
                }
                text.extend_from_slice(&chunk);
                Ok(())
            }
            Form::Other => Err(BodyFault::Unreadable),
        }
    }

    /// Decides what the body is, as soon as that can be told.
    fn settle(&mut self, at_end: bool) -> Result<(), BodyFault> {
        let Form::Unknown(head) = &mut self.form else {
            return Ok(());
        };
        let held = std::mem::take(head).freeze();
        let shown = skipped(&held);
        let may_grow = |whole: &[u8]| whole.starts_with(shown);
        let undecided = may_grow(MARK) || FIELDS.into_iter().any(may_grow);
        if matches!(shown.first(), Some(b'{' | b'[')) {
            let text = BytesMut::from(shown);
            self.form = Form::Document(BytesMut::new());
            return self.push(text.freeze());
        }
        if FIELDS.into_iter().any(|field| is_field(shown, field)) {
            let mut sse = Sse::new(self.limit);
            sse.push(Bytes::copy_from_slice(shown));
            self.form = Form::Events(Box::new(sse));
            return Ok(());
        }
        if undecided && !at_end {
            self.form = Form::Unknown(BytesMut::from(shown));
            return Ok(());
        }
        if undecided {
            // Nothing, or a stream that was cut inside its first word.
            self.form = Form::Unknown(BytesMut::new());
            return Ok(());
        }
        self.form = Form::Other;
        Err(BodyFault::Unreadable)
    }

    /// The next event of what was pushed.
    pub(crate) fn next(&mut self) -> Option<Result<Seen<'_>, BodyFault>> {
        match &mut self.form {
            Form::Events(sse) => sse.next().map(|seen| seen.map_err(BodyFault::from)),
            Form::Unknown(_) | Form::Document(_) | Form::Other => None,
        }
    }

    /// What the end of the body completes.
    pub(crate) fn finish(&mut self) -> Result<Option<Piece>, BodyFault> {
        self.settle(true)?;
        match &mut self.form {
            Form::Unknown(_) => Err(BodyFault::Empty),
            Form::Other => Err(BodyFault::Unreadable),
            Form::Events(sse) => match sse.finish() {
                None => Ok(None),
                Some(frame) => Ok(Some(Piece::Frame(frame?))),
            },
            Form::Document(document) => {
                let document = std::mem::take(document).freeze();
                Ok(Some(Piece::Document(text(document))))
            }
        }
    }
}

/// What follows white space and marks, which say nothing, in whatever pieces and order they come.
fn skipped(mut text: &[u8]) -> &[u8] {
    loop {
        let rest = text.trim_ascii_start();
        let rest = rest.strip_prefix(MARK).unwrap_or(rest);
        if rest.len() == text.len() {
            return text;
        }
        text = rest;
    }
}

/// Whether a text begins with a field of an event stream: its name, and a colon or the end of the line.
fn is_field(text: &[u8], field: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(field) else {
        return false;
    };
    field == b":" || matches!(rest.first(), Some(b':' | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(limit: usize, chunks: &[&[u8]]) -> Result<Vec<Piece>, BodyFault> {
        let mut body = Body::new(limit);
        let mut pieces = Vec::new();
        for chunk in chunks {
            body.push(Bytes::copy_from_slice(chunk))?;
            while let Some(seen) = body.next() {
                pieces.push(Piece::Frame(seen?.frame()));
            }
        }
        pieces.extend(body.finish()?);
        Ok(pieces)
    }

    /// The same, whole and byte by byte.
    fn both(input: &[u8]) -> Result<Vec<Piece>, BodyFault> {
        let whole = read(1000, &[input]);
        let single: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(
            read(1000, &single),
            whole,
            "{}",
            String::from_utf8_lossy(input)
        );
        whole
    }

    fn frames(data: &[&str]) -> Result<Vec<Piece>, BodyFault> {
        let frame = |data: &&str| {
            Piece::Frame(Frame {
                name: "".into(),
                data: (*data).into(),
            })
        };
        Ok(data.iter().map(frame).collect())
    }

    #[test]
    fn p23_the_first_bytes_decide() {
        for head in [
            "",
            "\u{FEFF}",
            " \r\n\t",
            "\u{FEFF} \n",
            " \u{FEFF} \u{FEFF}",
        ] {
            let document = both(format!("{head}{{\"a\": 1}} ").as_bytes());
            assert_eq!(
                document,
                Ok(vec![Piece::Document("{\"a\": 1} ".into())]),
                "{head:?}"
            );
            let array = both(format!("{head}[1]").as_bytes());
            assert_eq!(array, Ok(vec![Piece::Document("[1]".into())]));
            for first in [
                "",
                ": hi\n",
                "id: 1\n",
                "retry: 1\n",
                "data\n\n",
                "event: a\n\n",
            ] {
                let events = both(format!("{head}{first}data: 1\n\n").as_bytes());
                let expected = if first == "data\n\n" {
                    frames(&["", "1"])
                } else {
                    frames(&["1"])
                };
                assert_eq!(events, expected, "{head:?} {first:?}");
            }
        }
    }

    #[test]
    fn p25_p26_neither_and_nothing() {
        // Found by fuzzing: what stands before the first word said something else in pieces.
        assert_eq!(both(" \u{FEFF}  e".as_bytes()), Err(BodyFault::Empty));
        for other in ["<html>", "error", "database: x", "evening", "1", "\"x\""] {
            assert_eq!(
                both(other.as_bytes()),
                Err(BodyFault::Unreadable),
                "{other}"
            );
        }
        // P75: the first word of a stream that was cut counts as nothing.
        for nothing in ["", " \n", "\u{FEFF}", "\u{FEFF}\n", "dat", "event", " i"] {
            assert_eq!(
                both(nothing.as_bytes()),
                Err(BodyFault::Empty),
                "{nothing:?}"
            );
        }
    }

    #[test]
    fn p24_blanks_are_not_held() {
        let mut body = Body::new(10);
        let blanks = Bytes::from(vec![b' '; 1000]);
        for _ in 0..2000 {
            body.push(blanks.clone()).expect("blanks");
            let Form::Unknown(held) = &body.form else {
                panic!("decided")
            };
            assert!(held.is_empty());
        }
        body.push(Bytes::from_static(b"\n{}")).expect("small");
        assert_eq!(body.finish(), Ok(Some(Piece::Document("{}".into()))));
    }

    #[test]
    fn a_document_has_a_limit() {
        assert!(read(4, &[b"[1]"]).is_ok());
        assert_eq!(read(4, &[b"[1,", b"2]"]), Err(BodyFault::TooLarge));
    }
}
