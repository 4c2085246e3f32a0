//! Classes: what stands between `[` and `]`.

use super::{Parser, Result};
use crate::pattern::set::Contents;
use crate::pattern::tree::Node;

impl Parser<'_> {
    /// A class whose `[` has been read.
    pub(super) fn class(&mut self, open: usize) -> Result<Node> {
        let negated = self.eat("^");
        let mut contents = Contents::default();
        while !self.eat("]") {
            let offset = self.at;
            let first = self.class_atom(open, &mut contents)?;
            if self.peek() != Some('-') || self.rest().starts_with("-]") {
                add(&mut contents, first);
                continue;
            }
            self.at += 1;
            let last = self.class_atom(open, &mut contents)?;
            match (first, last) {
                (Some(first), Some(last)) if first > last => {
                    return self.fail("a range whose ends are the wrong way round", offset);
                }
                (Some(first), Some(last)) => contents.add(first, last),
                // In `[\w-.]` the hyphen is one more character, as without the flag `u`: it is common.
                _ => {
                    add(&mut contents, first);
                    add(&mut contents, Some('-'.into()));
                    add(&mut contents, last);
                }
            }
        }
        Ok(self.set(contents, negated))
    }

    /// A character, which is returned, or an escape for several, which go into the contents.
    fn class_atom(&mut self, open: usize, contents: &mut Contents) -> Result<Option<u32>> {
        let offset = self.at;
        match self.next() {
            None => self.fail("an unclosed class", open),
            Some('\\') if self.eat("b") => Ok(Some(0x8)),
            Some('\\') => self.escape(offset, contents),
            Some(character) => Ok(Some(character.into())),
        }
    }
}

fn add(contents: &mut Contents, code: Option<u32>) {
    if let Some(code) = code {
        contents.add(code, code);
    }
}
