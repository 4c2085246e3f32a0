//! The search for patterns without back references: all ways to match at once, in one reading of the text.
//!
//! Of each position only the instructions are kept that some way to match has come to. There are no more of them than the
//! program has, so the time is at most the size of the program times the length of the text.
//!
//! Whether a lookaround is true depends only on the position. So each one is a program that is carried over the text once,
//! before the programs that ask it, and leaves a bit for each position.

mod counter;

use self::counter::Counter;
use super::Verdict;
use super::program::{Compiled, Instruction, Program};
use super::text;
use super::tree::Item;

/// The most steps of one search. Less than a second; a pattern and a text of ordinary size need a thousandth.
const MAX_STEPS: usize = 100_000_000;

/// The most separate places that repetitions keep in mind, which bounds the memory.
const MAX_PLACES: usize = 1_000_000;

/// Looks for a pattern in a text, and counts the steps.
pub(super) fn search(compiled: &Compiled, text: &str) -> (Verdict, usize) {
    let mut simulation = Simulation {
        compiled,
        text,
        looks: Vec::with_capacity(compiled.looks.len()),
        steps: 0,
    };
    let verdict = match simulation.all() {
        Some(true) => Verdict::Match,
        Some(false) => Verdict::NoMatch,
        None => Verdict::Undecided,
    };
    (verdict, simulation.steps)
}

struct Simulation<'a> {
    compiled: &'a Compiled,
    text: &'a str,
    /// Where the lookarounds that are known already are true.
    looks: Vec<Positions>,
    steps: usize,
}

/// A set of positions in a text.
struct Positions(Vec<u64>);

impl Positions {
    fn insert(&mut self, position: usize) {
        if let Some(word) = self.0.get_mut(position / 64) {
            *word |= 1 << (position % 64);
        }
    }

    fn contains(&self, position: usize) -> bool {
        let word = self.0.get(position / 64).copied().unwrap_or_default();
        word >> (position % 64) & 1 == 1
    }
}

/// The ways to match, at one position of the text.
struct Ways<'a> {
    program: &'a Program,
    /// How many characters have been read.
    read: usize,
    /// For each instruction, how many characters had been read (and one more) when it was come to last.
    reached: Vec<usize>,
    /// Instructions that were come to here and that have not been looked at.
    open: Vec<usize>,
    /// Instructions that wait for the next character.
    waiting: Vec<usize>,
    counters: Vec<Counter>,
    /// How many places the counters keep in mind.
    places: usize,
}

impl<'a> Ways<'a> {
    fn new(program: &'a Program) -> Self {
        Self {
            program,
            read: 0,
            reached: vec![0; program.instructions.len()],
            open: Vec::new(),
            waiting: Vec::new(),
            counters: vec![Counter::default(); program.counters],
            places: 0,
        }
    }

    fn reach(&mut self, instruction: usize) {
        if let Some(reached) = self.reached.get_mut(instruction)
            && *reached <= self.read
        {
            *reached = self.read + 1;
            self.open.push(instruction);
        }
    }
}

impl Simulation<'_> {
    /// Whether the pattern matches; nothing if the steps do not suffice.
    fn all(&mut self) -> Option<bool> {
        let compiled = self.compiled;
        for look in &compiled.looks {
            let mut positions = Positions(vec![0; self.text.len() / 64 + 1]);
            // Each of its bytes is a step, so the steps bound the memory too.
            self.steps += self.text.len() / 8;
            self.run(look, Some(&mut positions))?;
            self.looks.push(positions);
        }
        self.run(&compiled.main, None)
    }

    /// Carries a program over the text. Either the positions where a match ends are collected, or the first one is the end.
    fn run(&mut self, program: &Program, mut ends: Option<&mut Positions>) -> Option<bool> {
        let mut ways = Ways::new(program);
        let mut position = if program.backward { self.text.len() } else { 0 };
        loop {
            if ways.read == 0 || !program.anchored {
                if ways.open.is_empty() && ways.waiting.is_empty() {
                    position = self.skip(program, position);
                }
                ways.reach(0);
            }
            if self.follow(&mut ways, position)? {
                match &mut ends {
                    Some(ends) => ends.insert(position),
                    None => return Some(true),
                }
            }
            if ways.waiting.is_empty() && program.anchored {
                return Some(false);
            }
            let Some((character, next)) = text::step(self.text, position, program.backward) else {
                return Some(false);
            };
            position = next;
            self.take(&mut ways, character);
        }
    }

    /// Goes over what cannot be the beginning of a match.
    fn skip(&self, program: &Program, position: usize) -> usize {
        match (program.instructions.first(), program.backward) {
            (Some(Instruction::Item(Item::Char(first))), false) => {
                let rest = self.text.get(position..).unwrap_or_default();
                position + rest.find(*first).unwrap_or(rest.len())
            }
            _ => position,
        }
    }

    /// Follows all instructions that take no character. Whether the program matches here.
    fn follow(&mut self, ways: &mut Ways<'_>, position: usize) -> Option<bool> {
        let mut found = false;
        while let Some(at) = ways.open.pop() {
            self.steps += 1;
            let Some(instruction) = ways.program.instructions.get(at) else {
                continue;
            };
            match *instruction {
                Instruction::Item(_) => ways.waiting.push(at),
                Instruction::Repeat {
                    min, max, counter, ..
                } => {
                    if let Some(counter) = ways.counters.get_mut(counter) {
                        if counter.is_empty() {
                            ways.waiting.push(at);
                        }
                        ways.places += counter.enter(ways.read, max);
                    }
                    if min == 0 {
                        ways.reach(at + 1);
                    }
                }
                Instruction::Split(first, second) => {
                    ways.reach(first);
                    ways.reach(second);
                }
                Instruction::Jump(to) => ways.reach(to),
                Instruction::Assertion(assertion) => {
                    if text::holds(assertion, self.text, position) {
                        ways.reach(at + 1);
                    }
                }
                Instruction::Look { index, negated } => {
                    let holds = self
                        .looks
                        .get(index)
                        .is_some_and(|look| look.contains(position));
                    if holds != negated {
                        ways.reach(at + 1);
                    }
                }
                Instruction::Match => found = true,
                // These are for the search with captures.
                Instruction::Save(_)
                | Instruction::Clear(..)
                | Instruction::Progress(_)
                | Instruction::Reference { .. } => {}
            }
        }
        (self.steps <= MAX_STEPS && ways.places <= MAX_PLACES).then_some(found)
    }

    /// Gives the next character to all that waits for one.
    fn take(&mut self, ways: &mut Ways<'_>, character: char) {
        ways.read += 1;
        let mut kept = 0;
        for index in 0..ways.waiting.len() {
            let Some(&at) = ways.waiting.get(index) else {
                break;
            };
            self.steps += 1;
            match ways.program.instructions.get(at) {
                Some(Instruction::Item(item))
                    if self.compiled.takes(*item, character, &mut self.steps) =>
                {
                    ways.reach(at + 1);
                }
                Some(Instruction::Repeat {
                    item,
                    min,
                    max,
                    counter,
                }) => {
                    let Some(counter) = ways.counters.get_mut(*counter) else {
                        continue;
                    };
                    let takes = self.compiled.takes(*item, character, &mut self.steps);
                    ways.places -= if takes {
                        counter.advance(ways.read, *max)
                    } else {
                        counter.clear()
                    };
                    let enough = counter
                        .longest(ways.read)
                        .is_some_and(|length| length >= *min);
                    if !counter.is_empty() {
                        // What stays is written over what has been read already.
                        if let Some(place) = ways.waiting.get_mut(kept) {
                            *place = at;
                            kept += 1;
                        }
                    }
                    if enough {
                        ways.reach(at + 1);
                    }
                }
                _ => {}
            }
        }
        ways.waiting.truncate(kept);
    }
}
