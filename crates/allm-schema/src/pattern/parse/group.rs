//! Groups: what stands between `(` and `)`.

use super::{MAX_DEPTH, Modifiers, Parser, Result};
use crate::pattern::property::Property;
use crate::pattern::tree::{Look, Node};

impl Parser<'_> {
    /// A group whose `(` has been read, and whether it can be repeated.
    pub(super) fn group(&mut self, open: usize) -> Result<(Node, bool)> {
        if self.depth == MAX_DEPTH {
            return self.fail("groups too deep in each other", open);
        }
        if self.eat("?:") {
            return Ok((self.inside(open)?, true));
        }
        if self.eat("?=") {
            return Ok((self.look(open, true, false)?, true));
        }
        if self.eat("?!") {
            return Ok((self.look(open, true, true)?, true));
        }
        if self.eat("?<=") {
            return Ok((self.look(open, false, false)?, false));
        }
        if self.eat("?<!") {
            return Ok((self.look(open, false, true)?, false));
        }
        if self.peek() == Some('?') && !self.rest().starts_with("?<") {
            let before = self.modifiers;
            self.modifiers = self.read_modifiers(open)?;
            let node = self.inside(open)?;
            self.modifiers = before;
            return Ok((node, true));
        }
        let index = self.groups;
        self.groups += 1;
        if self.eat("?<") {
            let offset = self.at;
            let name = self.name()?;
            let taken = |other: &usize| {
                self.names
                    .get(*other)
                    .is_some_and(|(known, _)| *known == name)
            };
            if self.beside.iter().any(taken) {
                return self.fail("a second group with the same name", offset);
            }
            self.beside.push(self.names.len());
            self.names.push((name, index));
        }
        Ok((Node::Group(index, Box::new(self.inside(open)?)), true))
    }

    /// What a group is about, and its `)`.
    fn inside(&mut self, open: usize) -> Result<Node> {
        self.depth += 1;
        let node = self.disjunction()?;
        self.depth -= 1;
        if !self.eat(")") {
            return self.fail("an unclosed group", open);
        }
        Ok(node)
    }

    fn look(&mut self, open: usize, ahead: bool, negated: bool) -> Result<Node> {
        let node = self.inside(open)?;
        self.looks.push(Look { node, ahead });
        Ok(Node::Look {
            index: self.looks.len() - 1,
            negated,
        })
    }

    /// `?i:`, `?ims:`, `?i-s:` and so on.
    fn read_modifiers(&mut self, open: usize) -> Result<Modifiers> {
        let mut modifiers = self.modifiers;
        let mut seen = String::new();
        let mut on = true;
        self.at += 1;
        loop {
            let offset = self.at;
            let character = self.next();
            let modifier = match character {
                Some('i') => &mut modifiers.ignore_case,
                Some('m') => &mut modifiers.multiline,
                Some('s') => &mut modifiers.dot_all,
                Some('-') if on => {
                    on = false;
                    continue;
                }
                Some(':') if !seen.is_empty() => return Ok(modifiers),
                Some(')') if !seen.is_empty() => {
                    return self.fail("modifiers for no group (it is `(?i:…)`, not `(?i)`)", open);
                }
                _ => return self.fail("an unknown kind of group", open),
            };
            *modifier = on;
            let letter = character.unwrap_or_default();
            if seen.contains(letter) {
                return self.fail("a modifier that is there twice", offset);
            }
            seen.push(letter);
        }
    }

    /// The name of a group, and its `>`.
    pub(super) fn name(&mut self) -> Result<String> {
        let start = self.at;
        let mut name = String::new();
        loop {
            let offset = self.at;
            let character = match self.next() {
                Some('>') if !name.is_empty() => return Ok(name),
                Some('\\') if self.eat("u") => char::from_u32(self.unicode_escape(offset)?),
                other => other,
            };
            match character {
                Some(character) if belongs_to_name(character, name.is_empty()) => {
                    name.push(character)
                }
                Some(_) => {
                    return self.fail("a character that names of groups cannot have", offset);
                }
                None => return self.fail("an unclosed name of a group", start),
            }
        }
    }
}

/// Names of groups are made like names of variables.
fn belongs_to_name(character: char, first: bool) -> bool {
    let is = |category| Property::Category(category).contains(character);
    let starts = matches!(character, '$' | '_') || is("L") || is("Nl");
    let goes_on = || {
        matches!(character, '\u{200c}' | '\u{200d}') || is("Mn") || is("Mc") || is("Nd") || is("Pc")
    };
    starts || !first && goes_on()
}
