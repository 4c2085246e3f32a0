//! Escapes: what stands behind a `\`.

use super::{Parser, Result};
use crate::pattern::property::Property;
use crate::pattern::set::Contents;
use crate::pattern::tree::{Assertion, Node, Reference};

impl Parser<'_> {
    /// An escape outside of a class, whose `\` has been read, and whether it can be repeated.
    pub(super) fn atom_escape(&mut self, offset: usize) -> Result<(Node, bool)> {
        let ignore_case = self.modifiers.ignore_case;
        let reference = match self.peek() {
            Some(letter @ ('b' | 'B')) => {
                self.at += 1;
                let negated = letter == 'B';
                return Ok((
                    Node::Assertion(Assertion::Word {
                        negated,
                        ignore_case,
                    }),
                    false,
                ));
            }
            Some('1'..='9') => Reference::Number(self.number().unwrap_or_default() as usize - 1),
            Some('k') => {
                if !self.eat("k<") {
                    return self.fail("a \\k without a name", offset);
                }
                Reference::Name(self.name()?)
            }
            _ => {
                let mut contents = Contents::default();
                let node = match self.escape(offset, &mut contents)? {
                    Some(code) => self.literal(code),
                    None => self.set(contents, false),
                };
                return Ok((node, true));
            }
        };
        self.references.push((reference, offset));
        let index = self.references.len() - 1;
        Ok((Node::Reference { index, ignore_case }, true))
    }

    /// An escape for a character, which is returned, or for a set of characters, which goes into the contents.
    pub(super) fn escape(&mut self, offset: usize, contents: &mut Contents) -> Result<Option<u32>> {
        let Some(character) = self.next() else {
            return self.fail("a \\ with nothing behind it", offset);
        };
        Ok(Some(match character {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => {
                contents.add_class(character, self.modifiers.ignore_case);
                return Ok(None);
            }
            'p' | 'P' => {
                contents.add_property(self.property(offset)?, character == 'P');
                return Ok(None);
            }
            't' => 0x9,
            'n' => 0xa,
            'v' => 0xb,
            'f' => 0xc,
            'r' => 0xd,
            '0' if !matches!(self.peek(), Some('0'..='9')) => 0,
            'c' => match self.next() {
                Some(letter) if letter.is_ascii_alphabetic() => u32::from(letter) % 32,
                _ => return self.fail("a \\c without a letter", offset),
            },
            'x' => match self.hex(2) {
                Some(code) => code,
                None => return self.fail("a \\x without two hexadecimal digits", offset),
            },
            'u' => self.unicode_escape(offset)?,
            // A letter with a meaning in other languages, such as \A or \Z, must not be taken for itself.
            _ if character.is_ascii_alphanumeric() => {
                return self.fail("an unknown escape", offset);
            }
            _ => character.into(),
        }))
    }

    /// What stands behind `\u`: four hexadecimal digits, or any number of them in braces. Two escapes that make a
    /// surrogate pair are one character.
    pub(super) fn unicode_escape(&mut self, offset: usize) -> Result<u32> {
        let code = if self.eat("{") {
            self.hex_in_braces()
        } else {
            self.hex(4)
        };
        let Some(code) = code else {
            return self.fail("a \\u without a code point", offset);
        };
        let behind = self.at;
        let braces = self.source.as_bytes().get(behind - 1) == Some(&b'}');
        if (0xd800..0xdc00).contains(&code) && !braces && self.eat("\\u") {
            match self.hex(4) {
                Some(low @ 0xdc00..0xe000) => {
                    return Ok(0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00));
                }
                _ => self.at = behind,
            }
        }
        Ok(code)
    }

    fn hex_in_braces(&mut self) -> Option<u32> {
        let mut code = self.hex(1)?;
        while !self.eat("}") {
            code = code * 16 + self.hex(1)?;
            if code > 0x10_ffff {
                return None;
            }
        }
        Some(code)
    }

    /// This many hexadecimal digits.
    fn hex(&mut self, digits: usize) -> Option<u32> {
        let mut code = 0;
        for _ in 0..digits {
            code = code * 16 + self.peek()?.to_digit(16)?;
            self.at += 1;
        }
        Some(code)
    }

    /// What stands behind `\p`.
    fn property(&mut self, offset: usize) -> Result<Property> {
        let name = self
            .rest()
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'));
        let Some((name, _)) = name else {
            return self.fail("a \\p without a property in braces", offset);
        };
        let (property, length) = (Property::named(name), name.len());
        let Some(property) = property else {
            return self.fail("an unknown property", offset);
        };
        self.at += length + 2;
        Ok(property)
    }
}
