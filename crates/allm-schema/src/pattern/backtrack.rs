//! The search for patterns with back references: one way to match after the other, in the order of ECMA-262.
//!
//! What a group has captured decides what matches later, so ways that meet cannot be joined, and their number can grow
//! exponentially. The search gives up after a number of steps.

use super::Verdict;
use super::fold::fold;
use super::program::{Compiled, Instruction, Program};
use super::text;

/// The most steps of one search.
const MAX_STEPS: usize = 1_000_000;

/// How many more there can be for each byte of the text, so that a long text is searched to its end.
const MAX_STEPS_FOR_BYTE: usize = 20;

/// The most that is kept to go back to, which bounds the memory.
const MAX_STACK: usize = 4_000_000;

/// A slot without a position.
const EMPTY: usize = usize::MAX;

/// Looks for a pattern in a text, and counts the steps.
pub(super) fn search(compiled: &Compiled, text: &str) -> (Verdict, usize) {
    let mut search = Search {
        compiled,
        text,
        slots: vec![EMPTY; compiled.slots],
        stack: Vec::new(),
        steps: 0,
        max_steps: text
            .len()
            .saturating_mul(MAX_STEPS_FOR_BYTE)
            .saturating_add(MAX_STEPS),
    };
    let verdict = match search.anywhere() {
        Some(true) => Verdict::Match,
        Some(false) => Verdict::NoMatch,
        None => Verdict::Undecided,
    };
    (verdict, search.steps)
}

/// What to do when a way leads nowhere, newest first.
enum Return {
    /// Try this instruction at this position.
    Try(usize, usize),
    /// Put this position back into this slot.
    Restore(usize, usize),
}

struct Search<'a> {
    compiled: &'a Compiled,
    text: &'a str,
    slots: Vec<usize>,
    stack: Vec<Return>,
    steps: usize,
    max_steps: usize,
}

impl Search<'_> {
    /// Whether the pattern matches somewhere; nothing if the steps or the memory do not suffice.
    fn anywhere(&mut self) -> Option<bool> {
        let program = &self.compiled.main;
        let mut position = 0;
        loop {
            if self.run(program, position)? {
                return Some(true);
            }
            match text::step(self.text, position, false) {
                Some((_, next)) if !program.anchored => position = next,
                _ => return Some(false),
            }
        }
    }

    /// Whether a program matches at a position. If it does, what is to be undone stays on the stack; if not, all is undone.
    ///
    /// It calls itself for lookarounds, so as deep as they are in each other.
    fn run(&mut self, program: &Program, mut position: usize) -> Option<bool> {
        let bottom = self.stack.len();
        let mut at = 0;
        loop {
            self.steps += 1;
            if self.steps > self.max_steps || self.stack.len() > MAX_STACK {
                return None;
            }
            let next = match program.instructions.get(at).copied()? {
                Instruction::Match => return Some(true),
                Instruction::Item(item) => {
                    match text::step(self.text, position, program.backward) {
                        Some((character, next))
                            if self.compiled.takes(item, character, &mut self.steps) =>
                        {
                            position = next;
                            Some(at + 1)
                        }
                        _ => None,
                    }
                }
                Instruction::Split(first, second) => {
                    self.stack.push(Return::Try(second, position));
                    Some(first)
                }
                Instruction::Jump(to) => Some(to),
                Instruction::Assertion(assertion) => {
                    text::holds(assertion, self.text, position).then_some(at + 1)
                }
                Instruction::Look { index, negated } => {
                    let look = self.compiled.looks.get(index)?;
                    (self.look(look, position, negated)? != negated).then_some(at + 1)
                }
                Instruction::Save(slot) => {
                    self.set(slot, position);
                    Some(at + 1)
                }
                Instruction::Clear(first, last) => {
                    self.steps += last - first;
                    (first..last).for_each(|slot| self.set(slot, EMPTY));
                    Some(at + 1)
                }
                Instruction::Progress(slot) => {
                    (self.slots.get(slot) != Some(&position)).then_some(at + 1)
                }
                Instruction::Reference { group, ignore_case } => {
                    match self.reference(program, group, ignore_case, position) {
                        Some(next) => {
                            position = next;
                            Some(at + 1)
                        }
                        None => None,
                    }
                }
                // This is for the simulation.
                Instruction::Repeat { .. } => None,
            };
            at = match next {
                Some(next) => next,
                None => match self.undo(bottom) {
                    Some((instruction, earlier)) => {
                        position = earlier;
                        instruction
                    }
                    None => return Some(false),
                },
            };
        }
    }

    /// Goes back to the newest choice above the bottom.
    fn undo(&mut self, bottom: usize) -> Option<(usize, usize)> {
        while self.stack.len() > bottom {
            match self.stack.pop()? {
                Return::Try(instruction, position) => return Some((instruction, position)),
                Return::Restore(slot, position) => {
                    if let Some(place) = self.slots.get_mut(slot) {
                        *place = position;
                    }
                }
            }
        }
        None
    }

    fn set(&mut self, slot: usize, position: usize) {
        if let Some(place) = self.slots.get_mut(slot)
            && *place != position
        {
            self.stack.push(Return::Restore(slot, *place));
            *place = position;
        }
    }

    /// Whether a lookaround matches at a position. What it captured stays captured, unless it is one that must not match;
    /// but it is not asked for another way to match.
    fn look(&mut self, look: &Program, position: usize, negated: bool) -> Option<bool> {
        let bottom = self.stack.len();
        let found = self.run(look, position)?;
        if negated {
            while self.undo(bottom).is_some() {}
        } else if found {
            let above = self.stack.split_off(bottom);
            self.steps += above.len();
            self.stack.extend(
                above
                    .into_iter()
                    .filter(|entry| matches!(entry, Return::Restore(..))),
            );
        }
        Some(found)
    }

    /// The position behind what a group has captured, if it is there once more. A group that captured nothing is always
    /// there.
    fn reference(
        &mut self,
        program: &Program,
        group: usize,
        ignore_case: bool,
        from: usize,
    ) -> Option<usize> {
        let start = self.slots.get(group * 2).copied().unwrap_or(EMPTY);
        let end = self.slots.get(group * 2 + 1).copied().unwrap_or(EMPTY);
        if start == EMPTY || end == EMPTY {
            return Some(from);
        }
        let (mut own, last) = if program.backward {
            (end, start)
        } else {
            (start, end)
        };
        let mut position = from;
        while own != last {
            self.steps += 1;
            let (expected, next_own) = text::step(self.text, own, program.backward)?;
            let (character, next) = text::step(self.text, position, program.backward)?;
            if expected != character && !(ignore_case && fold(expected) == fold(character)) {
                return None;
            }
            (own, position) = (next_own, next);
        }
        Some(position)
    }
}
