//! Arguments that come as values for places in them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use allm_core::json::in_order;
use bytestring::ByteString;
use serde_json::Value;

use super::chunk::PartialArg;

/// How deep a place may be; deeper arguments are malformed anyway.
const MAX_DEPTH: usize = 128;

/// Arguments as they are built, and how much of their text has been told.
///
/// Values come in the order of the text as a rule. Then each gives the next piece of it, and what is left when the call
/// ends is the rest. When they do not, the whole text is told at the end only.
#[derive(Default)]
pub(super) struct Partial {
    root: Node,
    /// The place of the last value, and whether it is a text that may go on.
    last: Vec<Step>,
    open_text: bool,
    /// What that text goes on with, as far as it is not yet in its place.
    behind: String,
    disordered: bool,
    unreadable: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// A value. The members of an object keep the order in which they came.
#[derive(Default)]
enum Node {
    #[default]
    Unset,
    Object(BTreeMap<String, (usize, Node)>),
    List(Vec<Node>),
    Text(String),
    /// A number, a boolean or null, as it is written.
    Plain(String),
}

impl Partial {
    /// Begins with arguments that came whole, to which values are added.
    pub(super) fn begin(&mut self, arguments: &str) {
        self.put_behind();
        if let Ok(whole @ Value::Object(_)) = serde_json::from_str(arguments) {
            let sorted = match in_order(&whole) {
                Cow::Owned(sorted) => Some(sorted),
                Cow::Borrowed(_) => None,
            };
            self.root = Node::of(sorted.unwrap_or(whole));
            self.disordered = true;
        }
    }

    /// Takes a value. Gives the piece of the arguments' text that it adds, as long as values come in order.
    pub(super) fn take(&mut self, arg: &PartialArg<'_>) -> Option<String> {
        self.put_behind();
        if self.unreadable {
            return None;
        }
        let steps = steps(arg.json_path.str());
        let value = match &arg.string_value.0 {
            Some(text) => Node::Text(text.clone().into_owned()),
            None => Node::Plain(plain(arg)),
        };
        let Some(steps) = steps else {
            self.unreadable = true;
            return None;
        };
        let piece = (!self.disordered)
            .then(|| self.piece(&steps, &value))
            .flatten();
        let is_text = matches!(value, Node::Text(_));
        if self.root.put(&steps, value).is_none() {
            self.unreadable = true;
            return None;
        }
        self.disordered |= piece.is_none();
        self.last = steps;
        self.open_text = is_text;
        piece
    }

    /// Takes more of the text that came last, which says no more than that: the same as [`take`](Self::take) of a text
    /// for the same place.
    pub(super) fn go_on(&mut self, text: ByteString) -> Option<ByteString> {
        if self.unreadable {
            return None;
        }
        self.behind.push_str(&text);
        let is_escaped = |byte: u8| matches!(byte, b'"' | b'\\' | 0..0x20);
        if self.disordered {
            None
        } else if text.bytes().any(is_escaped) {
            Some(escaped(&text).into())
        } else {
            Some(text)
        }
    }

    fn put_behind(&mut self) {
        if !self.behind.is_empty() {
            let more = Node::Text(std::mem::take(&mut self.behind));
            self.unreadable |= self.root.put(&self.last, more).is_none();
        }
    }

    /// The whole text; `None` if a value had no place.
    pub(super) fn text(&mut self) -> Option<String> {
        self.put_behind();
        if self.unreadable {
            return None;
        }
        let mut text = String::new();
        self.root.write(&mut text);
        Some(text)
    }

    /// What a value adds to the text, if nothing of it is behind.
    fn piece(&self, steps: &[Step], value: &Node) -> Option<String> {
        let same = self
            .last
            .iter()
            .zip(steps)
            .take_while(|(a, b)| a == b)
            .count();
        let mut piece = String::new();
        if same == steps.len() && same == self.last.len() {
            return match value {
                Node::Text(text) if self.open_text => Some(escaped(text)),
                _ => None,
            };
        }
        if self.root.known(steps) != same {
            return None;
        }
        if self.open_text {
            piece.push('"');
        }
        for step in self.last.iter().skip(same + 1).rev() {
            piece.push_str(step.closing());
        }
        piece.push_str(if self.last.is_empty() { "{" } else { "," });
        for (depth, step) in steps.iter().enumerate().skip(same) {
            if depth > same {
                piece.push_str(step.opening());
            }
            if let Step::Key(key) = step {
                let _ = write!(piece, "\"{}\":", escaped(key));
            }
        }
        match value {
            Node::Text(text) => {
                piece.push('"');
                piece.push_str(&escaped(text));
            }
            value => value.write(&mut piece),
        }
        Some(piece)
    }
}

impl Step {
    fn opening(&self) -> &'static str {
        match self {
            Self::Key(_) => "{",
            Self::Index(_) => "[",
        }
    }

    fn closing(&self) -> &'static str {
        match self {
            Self::Key(_) => "}",
            Self::Index(_) => "]",
        }
    }
}

impl Node {
    fn of(value: Value) -> Self {
        match value {
            Value::Object(members) => {
                let members = members.into_iter().enumerate();
                Self::Object(
                    members
                        .map(|(place, (key, value))| (key, (place, Self::of(value))))
                        .collect(),
                )
            }
            Value::Array(entries) => Self::List(entries.into_iter().map(Self::of).collect()),
            Value::String(text) => Self::Text(text),
            plain => Self::Plain(plain.to_string()),
        }
    }

    /// How many of the steps lead to something that is there.
    fn known(&self, steps: &[Step]) -> usize {
        let mut node = self;
        for (depth, step) in steps.iter().enumerate() {
            let next = match (step, node) {
                (Step::Key(key), Self::Object(members)) => members.get(key).map(|(_, node)| node),
                (Step::Index(index), Self::List(entries)) => entries.get(*index),
                _ => None,
            };
            let Some(next) = next else {
                return depth;
            };
            node = next;
        }
        steps.len()
    }

    /// Puts a value in its place; texts go on. `None` if there is no such place.
    fn put(&mut self, steps: &[Step], value: Self) -> Option<()> {
        let mut node = self;
        for step in steps {
            if matches!(node, Self::Unset) {
                *node = match step {
                    Step::Key(_) => Self::Object(BTreeMap::new()),
                    Step::Index(_) => Self::List(Vec::new()),
                };
            }
            node = match (step, node) {
                (Step::Key(key), Self::Object(members)) => {
                    let place = members.len();
                    &mut members.entry(key.clone()).or_insert((place, Self::Unset)).1
                }
                (Step::Index(index), Self::List(entries)) => {
                    if *index == entries.len() {
                        entries.push(Self::Unset);
                    }
                    entries.get_mut(*index)?
                }
                _ => return None,
            };
        }
        match (&mut *node, value) {
            (Self::Object(_) | Self::List(_), _) => return None,
            (Self::Text(text), Self::Text(more)) => text.push_str(&more),
            // A text that ends without a value of its own.
            (Self::Text(_), Self::Plain(plain)) if plain == "null" => {}
            (node, value) => *node = value,
        }
        Some(())
    }

    fn write(&self, out: &mut String) {
        match self {
            // Nothing was said of the arguments.
            Self::Unset => out.push_str("{}"),
            Self::Plain(plain) => out.push_str(plain),
            Self::Text(text) => {
                let _ = write!(out, "\"{}\"", escaped(text));
            }
            Self::List(entries) => {
                out.push('[');
                for (place, entry) in entries.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    entry.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(_, (place, _))| *place);
                out.push('{');
                for (place, (key, (_, member))) in members.into_iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    let _ = write!(out, "\"{}\":", escaped(key));
                    member.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// The value of a fragment that is not text.
fn plain(arg: &PartialArg<'_>) -> String {
    let number = arg
        .number_value
        .map(|raw| raw.get())
        .filter(|text| text.starts_with(|c: char| c == '-' || c.is_ascii_digit()));
    let boolean = arg
        .bool_value
        .map(|raw| raw.get())
        .filter(|text| matches!(*text, "true" | "false"));
    number.or(boolean).unwrap_or("null").to_owned()
}

/// A text as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    // Writing a text cannot fail.
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let inner = quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

/// The steps of a path such as `$.a.list[0]['b c']`; `None` if it is none, or leads to the root.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let step;
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (key, after) = after.split_at_checked(end)?;
            step = Step::Key(Some(key).filter(|key| !key.is_empty())?.to_owned());
            rest = after;
        } else {
            let after = rest.strip_prefix('[')?;
            (step, rest) = bracket(after)?;
        }
        steps.push(step);
    }
    let begins_well = matches!(steps.first(), Some(Step::Key(_)));
    (begins_well && steps.len() <= MAX_DEPTH).then_some(steps)
}

/// What stands in brackets, and what follows them.
fn bracket(text: &str) -> Option<(Step, &str)> {
    let quote = text.chars().next()?;
    if !matches!(quote, '\'' | '"') {
        let (index, after) = text.split_once(']')?;
        return Some((Step::Index(index.parse().ok()?), after));
    }
    let mut key = String::new();
    let mut chars = text.chars();
    chars.next();
    loop {
        match chars.next()? {
            '\\' => key.push(chars.next()?),
            end if end == quote => break,
            other => key.push(other),
        }
    }
    let after = chars.as_str().strip_prefix(']')?;
    Some((Step::Key(key), after))
}
