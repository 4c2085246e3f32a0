//! From the text of a pattern to its parts.

mod class;
mod escape;
mod group;

use super::error::PatternError;
use super::fold;
use super::set::{Contents, Set};
use super::tree::{Assertion, Item, Look, Node, Reference, Repeat, Tree, UNBOUNDED};

/// The longest pattern, in bytes.
const MAX_LENGTH: usize = 64 * 1024;

/// How deep groups can be in each other. Reading and compiling call themselves that deep.
const MAX_DEPTH: usize = 200;

type Result<T> = std::result::Result<T, PatternError>;

/// Reads a pattern.
pub(super) fn parse(source: &str) -> Result<Tree> {
    if source.len() > MAX_LENGTH {
        return Err(PatternError::new(
            "more than a pattern can have",
            MAX_LENGTH,
        ));
    }
    let mut parser = Parser {
        source,
        at: 0,
        depth: 0,
        modifiers: Modifiers::default(),
        sets: Vec::new(),
        looks: Vec::new(),
        references: Vec::new(),
        names: Vec::new(),
        beside: Vec::new(),
        groups: 0,
    };
    let root = parser.disjunction()?;
    if parser.peek().is_some() {
        return parser.fail("a ) that closes nothing", parser.at);
    }
    parser.finish(root)
}

/// What `(?ims:` turns on and off.
#[derive(Clone, Copy, Debug, Default)]
struct Modifiers {
    ignore_case: bool,
    multiline: bool,
    dot_all: bool,
}

/// What has been read so far.
struct Parser<'a> {
    source: &'a str,
    /// The offset of the next character.
    at: usize,
    depth: usize,
    modifiers: Modifiers,
    sets: Vec<Set>,
    looks: Vec<Look>,
    /// Each with its offset, because only at the end it is known whether there is such a group.
    references: Vec<(Reference, usize)>,
    names: Vec<(String, usize)>,
    /// The names that can capture together with a group that would begin here, by their index. Groups in different
    /// alternatives cannot, so they can share a name.
    beside: Vec<usize>,
    groups: usize,
}

impl Parser<'_> {
    fn finish(self, root: Node) -> Result<Tree> {
        for (reference, offset) in &self.references {
            let known = match reference {
                Reference::Number(number) => *number < self.groups,
                Reference::Name(name) => self.names.iter().any(|(known, _)| known == name),
            };
            if !known {
                return self.fail("a reference to a group that is not there", *offset);
            }
        }
        Ok(Tree {
            root,
            sets: self.sets,
            looks: self.looks,
            references: self
                .references
                .into_iter()
                .map(|(reference, _)| reference)
                .collect(),
            names: self.names,
            groups: self.groups,
        })
    }

    fn fail<T>(&self, message: &'static str, offset: usize) -> Result<T> {
        Err(PatternError::new(message, offset))
    }

    fn rest(&self) -> &str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Goes on behind this text, if it is the next.
    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// `a|b|c`, up to a `)` or to the end.
    fn disjunction(&mut self) -> Result<Node> {
        let outside = self.beside.len();
        let mut elsewhere = Vec::new();
        let mut alternatives = vec![self.alternative()?];
        while self.eat("|") {
            elsewhere.extend(self.beside.drain(outside..));
            alternatives.push(self.alternative()?);
        }
        self.beside.append(&mut elsewhere);
        Ok(one_or(alternatives, Node::Alternate))
    }

    fn alternative(&mut self) -> Result<Node> {
        let mut terms = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            terms.push(self.term()?);
        }
        Ok(one_or(terms, Node::Concat))
    }

    /// One part, and how often it stands there.
    fn term(&mut self) -> Result<Node> {
        let groups_before = self.groups;
        let (node, repeatable) = self.atom()?;
        let offset = self.at;
        let Some((min, max)) = self.quantifier()? else {
            return Ok(node);
        };
        if !repeatable {
            return self.fail("nothing to repeat", offset);
        }
        let greedy = !self.eat("?");
        Ok(Node::Repeat(Box::new(Repeat {
            node,
            min,
            max,
            greedy,
            groups: (groups_before, self.groups),
            offset,
        })))
    }

    /// One part, and whether it can be repeated.
    fn atom(&mut self) -> Result<(Node, bool)> {
        let offset = self.at;
        let Some(character) = self.next() else {
            return Ok((Node::Concat(Vec::new()), true));
        };
        let multiline = self.modifiers.multiline;
        Ok(match character {
            '^' => (Node::Assertion(Assertion::Start { multiline }), false),
            '$' => (Node::Assertion(Assertion::End { multiline }), false),
            '(' => return self.group(offset),
            '[' => (self.class(offset)?, true),
            '\\' => return self.atom_escape(offset),
            '.' if self.modifiers.dot_all => (self.finished_set(Contents::default(), true), true),
            '.' => (self.finished_set(Contents::line_ends(), true), true),
            '*' | '+' | '?' => return self.fail("nothing to repeat", offset),
            '{' => {
                self.at = offset;
                if self.braces().is_some() {
                    return self.fail("nothing to repeat", offset);
                }
                self.at = offset + 1;
                (self.literal('{'.into()), true)
            }
            _ => (self.literal(character.into()), true),
        })
    }

    /// `*`, `+`, `?` or a count in braces, without the `?` that can follow.
    fn quantifier(&mut self) -> Result<Option<(u32, u32)>> {
        let offset = self.at;
        let bounds = match self.peek() {
            Some('*') => (0, UNBOUNDED),
            Some('+') => (1, UNBOUNDED),
            Some('?') => (0, 1),
            Some('{') => {
                let bounds = self.braces();
                if bounds.is_none() {
                    self.at = offset;
                }
                if bounds.is_some_and(|(min, max)| min > max) {
                    return self.fail("a repetition whose bounds are the wrong way round", offset);
                }
                return Ok(bounds);
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(bounds))
    }

    /// `{2}`, `{2,}` or `{2,3}`. Anything else can be a `{` that stands for itself, so it is not an error.
    fn braces(&mut self) -> Option<(u32, u32)> {
        if !self.eat("{") {
            return None;
        }
        let min = self.number()?;
        let max = if !self.eat(",") {
            min
        } else if self.peek() == Some('}') {
            UNBOUNDED
        } else {
            self.number()?
        };
        self.eat("}").then_some((min, max))
    }

    /// A number in decimal digits. One that is too large for any text is as good as the largest.
    fn number(&mut self) -> Option<u32> {
        let mut number: Option<u32> = None;
        while let Some(digit) = self.peek().and_then(|character| character.to_digit(10)) {
            number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit));
            self.at += 1;
        }
        number
    }

    /// A character that stands for itself. It can be half of a surrogate pair, which no text has.
    fn literal(&mut self, code: u32) -> Node {
        let mut contents = Contents::default();
        match char::from_u32(code) {
            Some(character) if !self.modifiers.ignore_case => {
                return Node::Item(Item::Char(character));
            }
            Some(character) => {
                let folded = fold::fold(character);
                contents.add(folded.into(), folded.into());
                for variant in fold::variants(folded) {
                    contents.add(variant.into(), variant.into());
                }
            }
            None => contents.add(code, code),
        }
        self.finished_set(contents, false)
    }

    /// One character of these, or one that is none of these.
    fn set(&mut self, mut contents: Contents, negated: bool) -> Node {
        if self.modifiers.ignore_case {
            contents.ignore_case();
        }
        self.finished_set(contents, negated)
    }

    fn finished_set(&mut self, contents: Contents, negated: bool) -> Node {
        if let (Some(character), false) = (contents.single(), negated) {
            return Node::Item(Item::Char(character));
        }
        self.sets.push(contents.finish(negated));
        Node::Item(Item::Set(self.sets.len() - 1))
    }
}

/// The only one of the parts, or all of them.
fn one_or(mut nodes: Vec<Node>, all: fn(Vec<Node>) -> Node) -> Node {
    match nodes.pop() {
        Some(node) if nodes.is_empty() => node,
        Some(node) => {
            nodes.push(node);
            all(nodes)
        }
        None => all(nodes),
    }
}
