//! How what the library sends differs from what was recorded, by rule.
//!
//! A class is a rule that takes one known difference away. The rules are tried in order until the two forms are equal; a
//! class counts for a request when the forms are not equal without it. What no rule takes away is not classified.
//!
//! Rules have a direction. What a client left out is taken out of ours; what a client added is taken out of the
//! recorded one. No rule takes away what the library lost of an answer.

mod answers;
mod members;
mod shape;

use super::case::Case;
use super::dialect::Dialect;
use super::normal::{Normal, Side, Turn};

/// The two forms of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The wire.
    pub dialect: Dialect,
    /// What was recorded.
    pub recorded: Normal,
    /// What the library sends.
    pub ours: Normal,
}

impl Pair {
    fn is_equal(&self) -> bool {
        self.recorded == self.ours
    }

    /// The turns of the model that stand at the same place in both: recorded, ours.
    fn answers(&mut self) -> impl Iterator<Item = (&mut Turn, &mut Turn)> {
        self.turns()
            .filter(|(recorded, _)| recorded.side == Side::Assistant)
    }

    /// The turns of one side that stand at the same place in both: recorded, ours.
    fn turns(&mut self) -> impl Iterator<Item = (&mut Turn, &mut Turn)> {
        let ours = self.ours.turns.iter_mut();
        let pairs = self.recorded.turns.iter_mut().zip(ours);
        pairs.filter(|(recorded, ours)| recorded.side == ours.side)
    }
}

/// A known difference.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// Its name.
    pub name: &'static str,
    /// What it is, and why it means the same or is the client's doing.
    pub why: &'static str,
    take_away: fn(&mut Pair),
}

impl Class {
    const fn new(name: &'static str, why: &'static str, take_away: fn(&mut Pair)) -> Self {
        Self {
            name,
            why,
            take_away,
        }
    }
}

/// All classes, in the order in which they are tried.
pub fn classes() -> impl Iterator<Item = &'static Class> {
    shape::CLASSES
        .iter()
        .chain(members::CLASSES)
        .chain(answers::CLASSES)
}

/// The classes of a request; what is left when they do not make it equal.
///
/// # Errors
///
/// The two forms with all that is classified taken away.
pub fn classify(case: &Case) -> Result<Vec<&'static str>, Box<Pair>> {
    let mut pair = Pair {
        dialect: case.dialect,
        recorded: case.recorded.clone(),
        ours: case.ours.clone(),
    };
    for turn in pair.recorded.turns.iter_mut().chain(&mut pair.ours.turns) {
        turn.raw.clear();
    }
    let mut tried: Vec<&Class> = Vec::new();
    let mut left = pair.clone();
    for class in classes() {
        if left.is_equal() {
            break;
        }
        let before = left.clone();
        (class.take_away)(&mut left);
        if left != before {
            tried.push(class);
        }
    }
    if !left.is_equal() {
        return Err(Box::new(left));
    }
    // Those without which it is equal too are not what differs.
    let mut at = 0;
    while at < tried.len() {
        let mut without = tried.clone();
        without.remove(at);
        let mut left = pair.clone();
        for class in &without {
            (class.take_away)(&mut left);
        }
        if left.is_equal() {
            tried = without;
        } else {
            at += 1;
        }
    }
    Ok(tried.into_iter().map(|class| class.name).collect())
}
