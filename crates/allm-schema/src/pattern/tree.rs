//! A pattern as it was read.

use super::set::Set;

/// The upper bound of a repetition that has none.
pub(super) const UNBOUNDED: u32 = u32::MAX;

/// What matches one character.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// This character.
    Char(char),
    /// The characters of the set with this index.
    Set(usize),
}

/// What is true of a position in a text or not.
#[derive(Clone, Copy, Debug)]
pub(super) enum Assertion {
    /// `^`
    Start { multiline: bool },
    /// `$`
    End { multiline: bool },
    /// `\b`, and `\B` if negated.
    Word { negated: bool, ignore_case: bool },
}

/// A part of a pattern.
#[derive(Debug)]
pub(super) enum Node {
    /// One character.
    Item(Item),
    /// One part after the other. No part at all is the empty text.
    Concat(Vec<Node>),
    /// One of the parts, the first that fits.
    Alternate(Vec<Node>),
    /// A group that captures, numbered from 0.
    Group(usize, Box<Node>),
    /// A part several times.
    Repeat(Box<Repeat>),
    /// A condition on the position.
    Assertion(Assertion),
    /// A lookahead or lookbehind, by its index in [`Tree::looks`].
    Look { index: usize, negated: bool },
    /// What a group captured, by the index in [`Tree::references`].
    Reference { index: usize, ignore_case: bool },
}

/// A part that stands several times.
#[derive(Debug)]
pub(super) struct Repeat {
    pub(super) node: Node,
    pub(super) min: u32,
    /// [`UNBOUNDED`] if there is no upper bound.
    pub(super) max: u32,
    pub(super) greedy: bool,
    /// The groups inside, from the first to the one after the last: each round begins with them empty.
    pub(super) groups: (usize, usize),
    /// Where the quantifier stands in the pattern.
    pub(super) offset: usize,
}

/// The inside of a lookahead or lookbehind.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) node: Node,
    pub(super) ahead: bool,
}

/// What a back reference names.
#[derive(Debug)]
pub(super) enum Reference {
    /// A group, numbered from 0.
    Number(usize),
    /// The groups of this name, of which at most one has captured something.
    Name(String),
}

/// A whole pattern.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: Node,
    pub(super) sets: Vec<Set>,
    /// The lookarounds, inner ones before those that they are in.
    pub(super) looks: Vec<Look>,
    pub(super) references: Vec<Reference>,
    /// The names of groups. A name can be there several times.
    pub(super) names: Vec<(String, usize)>,
    /// The number of groups.
    pub(super) groups: usize,
}
