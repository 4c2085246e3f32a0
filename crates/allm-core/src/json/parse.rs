//! From text to a tree.
//!
//! An own parser, because the tree has to come with what `serde_json` does not tell: keys that stand twice, the path of
//! a fault, exactly 160 levels, and numbers that are read the same whichever of its features a build turns on.

mod keys;
mod scan;

use super::fault::{Fault, place};
use super::limits::{Limits, MAX_DEPTH};
use super::node::Node;
use crate::error::{JsonError, JsonReason};
use crate::path::Path;
use keys::Keys;
use scan::Scanner;

/// What to do with a key that stands twice in one object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// It is an error: our own formats.
    Refuse,
    /// Both are kept: text from elsewhere.
    Keep,
}

/// The text of `bytes`, if it is UTF-8 and not too large.
pub(super) fn text(bytes: &[u8], limits: Limits) -> Result<&str, JsonError> {
    if bytes.len() > limits.max_bytes {
        let message = format!("{} bytes, the limit is {}", bytes.len(), limits.max_bytes);
        return Err(JsonError::new(JsonReason::TooLarge, Path::root(), message));
    }
    str::from_utf8(bytes).map_err(|fault| {
        let valid = bytes.get(..fault.valid_up_to()).unwrap_or_default();
        let mut error = JsonError::new(JsonReason::Malformed, Path::root(), "invalid UTF-8");
        place(&mut error, str::from_utf8(valid).unwrap_or_default());
        error
    })
}

/// The tree of a text.
pub(super) fn tree(text: &str, limits: Limits, duplicates: Duplicates) -> Result<Node<'_>, Fault> {
    Parser::new(text, limits, duplicates, MAX_DEPTH).document()
}

/// The outermost level of a text, with empty arrays and objects for what is below. Checks all of it, keeps none of it.
pub(super) fn surface(text: &str, limits: Limits) -> Result<Node<'_>, Fault> {
    Parser::new(text, limits, Duplicates::Refuse, 1).document()
}

/// Checks that a text is one JSON value which [`tree`] can read with [`Duplicates::Keep`].
pub(super) fn check(text: &str, limits: Limits) -> Result<(), Fault> {
    Parser::new(text, limits, Duplicates::Keep, 0)
        .document()
        .map(drop)
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    /// How many arrays and objects are open.
    depth: usize,
    max_depth: usize,
    /// Entries of deeper arrays and objects than this are checked and not kept.
    keep: usize,
    duplicates: Duplicates,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, limits: Limits, duplicates: Duplicates, keep: usize) -> Self {
        Self {
            scanner: Scanner::new(text),
            depth: 0,
            max_depth: limits.max_depth.min(MAX_DEPTH),
            keep,
            duplicates,
        }
    }

    fn document(mut self) -> Result<Node<'a>, Fault> {
        let node = self.node()?;
        match self.scanner.peek() {
            None => Ok(node),
            Some(_) => Err(self.scanner.malformed("text after the end of the value")),
        }
    }

    fn keeps(&self) -> bool {
        self.depth <= self.keep
    }

    /// Recursion ends at `max_depth`, which is at most [`MAX_DEPTH`].
    fn node(&mut self) -> Result<Node<'a>, Fault> {
        match self.scanner.peek() {
            Some(b'"') => self.scanner.string().map(Node::String),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'-' | b'0'..=b'9') => self.scanner.number(),
            Some(b't') => self.scanner.word("true", Node::Bool(true)),
            Some(b'f') => self.scanner.word("false", Node::Bool(false)),
            Some(b'n') => self.scanner.word("null", Node::Null),
            _ => Err(self.scanner.malformed("expected a value")),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Node<'a>, Fault>,
    ) -> Result<Node<'a>, Fault> {
        if self.depth >= self.max_depth {
            let message = "more levels of nesting than the limit";
            return Err(self.scanner.fault(JsonReason::TooDeep, message));
        }
        self.scanner.advance();
        self.depth += 1;
        let node = read(self)?;
        self.depth -= 1;
        Ok(node)
    }

    fn array(&mut self) -> Result<Node<'a>, Fault> {
        let mut entries = Vec::new();
        if self.scanner.take(b']') {
            return Ok(Node::Array(entries));
        }
        let mut index = 0;
        loop {
            let entry = self.node().map_err(|fault| fault.within(index))?;
            if self.keeps() {
                entries.push(entry);
            }
            index += 1;
            if self.scanner.take(b']') {
                return Ok(Node::Array(entries));
            }
            if !self.scanner.take(b',') {
                return Err(self.scanner.malformed("expected `,` or `]`"));
            }
        }
    }

    fn object(&mut self) -> Result<Node<'a>, Fault> {
        let mut fields = Vec::new();
        let mut keys = Keys::default();
        if self.scanner.take(b'}') {
            return Ok(Node::Object(fields));
        }
        loop {
            if self.scanner.peek() != Some(b'"') {
                return Err(self.scanner.malformed("expected a key in quotes"));
            }
            let start = self.scanner.offset();
            let key = self.scanner.string()?;
            if self.duplicates == Duplicates::Refuse && !keys.is_new(&key, &fields) {
                let message = "the key stands twice in its object";
                let fault = Fault::in_text(JsonReason::Malformed, start, message);
                return Err(fault.within(key.into_owned()));
            }
            if !self.scanner.take(b':') {
                return Err(self.scanner.malformed("expected `:`"));
            }
            match self.node() {
                Ok(value) if self.keeps() => fields.push((key, value)),
                Ok(_) => {}
                Err(fault) => return Err(fault.within(key.into_owned())),
            }
            if self.scanner.take(b'}') {
                return Ok(Node::Object(fields));
            }
            if !self.scanner.take(b',') {
                return Err(self.scanner.malformed("expected `,` or `}`"));
            }
        }
    }
}
