//! The tokens of JSON text.

use std::borrow::Cow;

use crate::error::JsonReason;
use crate::json::fault::Fault;
use crate::json::node::Node;
use crate::json::plain::plain_length;

/// A place in a text, always at the edge of a character.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The byte of the text at which the scanner stands.
    pub(super) const fn offset(&self) -> usize {
        self.at
    }

    /// A fault at this place.
    pub(super) fn fault(&self, reason: JsonReason, message: &'static str) -> Fault {
        Fault::in_text(reason, self.at, message)
    }

    /// A fault of syntax at this place, which may be the end of the text.
    pub(super) fn malformed(&self, message: &'static str) -> Fault {
        let message = if self.at < self.text.len() {
            message
        } else {
            "the text ends inside a value"
        };
        self.fault(JsonReason::Malformed, message)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte after white space, not taken.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.byte() {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Goes past the ASCII byte that was peeked.
    pub(super) const fn advance(&mut self) {
        self.at += 1;
    }

    /// Takes `byte` if it is next after white space.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.advance();
        }
        found
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn word(&mut self, word: &str, node: Node<'a>) -> Result<Node<'a>, Fault> {
        if !self.rest().starts_with(word) {
            return Err(self.malformed("expected a value"));
        }
        self.at += word.len();
        Ok(node)
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.malformed("expected a digit"));
        }
        Ok(())
    }

    pub(super) fn number(&mut self) -> Result<Node<'a>, Fault> {
        let start = self.at;
        let mut integral = true;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            integral = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            integral = false;
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        Node::number(text, integral).ok_or_else(|| {
            let message = "a number beyond the range of a 64-bit float";
            Fault::in_text(JsonReason::InvalidValue, start, message)
        })
    }

    /// The string that starts at this quote; borrowed from the text if nothing in it is escaped.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.advance();
        let mut unescaped: Option<String> = None;
        loop {
            let rest = self.rest();
            let length = plain_length(rest.as_bytes());
            let plain = rest.get(..length).unwrap_or_default();
            self.at += length;
            match self.byte() {
                Some(b'"') => {
                    self.advance();
                    return Ok(match unescaped {
                        None => Cow::Borrowed(plain),
                        Some(mut text) => {
                            text.push_str(plain);
                            Cow::Owned(text)
                        }
                    });
                }
                Some(b'\\') => {
                    let escaped = self.escape()?;
                    let text = unescaped.get_or_insert_default();
                    text.push_str(plain);
                    text.push(escaped);
                }
                Some(_) => return Err(self.malformed("a control character inside a string")),
                None => return Err(self.malformed("a string without an end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        self.advance();
        let plain = match self.byte() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.hex()?;
                return self.character(first, start);
            }
            _ => return Err(self.malformed("no such escape")),
        };
        self.advance();
        Ok(plain)
    }

    /// The four digits after a `u`, which is where the scanner stands.
    fn hex(&mut self) -> Result<u32, Fault> {
        self.advance();
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.malformed("expected four hexadecimal digits"));
            };
            unit = unit * 16 + digit;
            self.advance();
        }
        Ok(unit)
    }

    /// The character of a UTF-16 unit, with the second half of its pair if it needs one.
    fn character(&mut self, first: u32, start: usize) -> Result<char, Fault> {
        let half = || Fault::in_text(JsonReason::Malformed, start, "half a surrogate pair");
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(half);
        }
        if !self.rest().starts_with("\\u") {
            return Err(half());
        }
        self.advance();
        let second = self.hex()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(half());
        }
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(code).ok_or_else(half)
    }
}
