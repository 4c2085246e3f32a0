//! Regular expressions of ECMA-262, in bounded time.
//!
//! A pattern means what it means in ECMA-262 with the flag `u`: a text is a row of code points, and a pattern is looked
//! for anywhere in it. Only whether it is there is of interest, not where. That makes a bound on time possible: a pattern
//! without back references is a set of states that is carried over the text once (`simulate`), so the time is
//! the size of the pattern times the length of the text, whatever the two are. Back references need the classical search
//! with its exponential worst case (`backtrack`); that one gives up after a number of steps.
//!
//! What Annex B of ECMA-262 allows without the flag `u`, and what is common, is allowed here too: `\-`, `\_` and other
//! escaped punctuation, `{`, `}` and `]` that stand for themselves, `[\w-.]`, and lookaheads that are repeated.

mod backtrack;
mod error;
mod fold;
mod parse;
mod program;
mod property;
mod set;
mod simulate;
mod text;
mod tree;

#[cfg(test)]
mod tests;

use std::fmt;

pub(crate) use self::error::PatternError;
use self::program::Compiled;

/// A regular expression, ready to be looked for in texts.
pub(crate) struct Pattern {
    source: Box<str>,
    compiled: Compiled,
}

/// Whether a text has a place where a pattern matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There is such a place.
    Match,
    /// There is none.
    NoMatch,
    /// The search was given up. Only back references and extreme sizes lead to this.
    Undecided,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// The text is not a regular expression, it uses a property of Unicode that is not known here, or it is too large: in
    /// length, in depth, or when its counted repetitions are written out.
    pub(crate) fn new(source: &str) -> Result<Self, PatternError> {
        let tree = parse::parse(source)?;
        Ok(Self {
            source: source.into(),
            compiled: program::compile(tree)?,
        })
    }

    /// Whether the pattern matches somewhere in this text.
    pub(crate) fn find(&self, text: &str) -> Verdict {
        self.find_counting(text).0
    }

    /// Whether the pattern is known to match somewhere in this text. A search that was given up found nothing.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.find(text) == Verdict::Match
    }

    /// The verdict, and the number of steps that led to it.
    fn find_counting(&self, text: &str) -> (Verdict, usize) {
        if self.compiled.captures {
            backtrack::search(&self.compiled, text)
        } else {
            simulate::search(&self.compiled, text)
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Pattern")
            .field(&self.source)
            .finish()
    }
}
