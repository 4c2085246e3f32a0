//! Patterns as instructions.

use super::error::PatternError;
use super::set::Set;
use super::tree::{Assertion, Item, Node, Reference, Repeat, Tree, UNBOUNDED};

/// The most instructions of a pattern. Counted repetitions are written out, so a short pattern can have many.
const MAX_INSTRUCTIONS: usize = 100_000;

/// One instruction. Numbers of instructions are those of their own program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    /// Takes one character.
    Item(Item),
    /// Takes one character several times; only in the simulation, which keeps book in the counter with this index.
    Repeat {
        item: Item,
        min: usize,
        max: usize,
        counter: usize,
    },
    /// Goes on at one of two instructions; the first is tried before the second.
    Split(usize, usize),
    /// Goes on there.
    Jump(usize),
    /// Goes on if this is true of the position.
    Assertion(Assertion),
    /// Goes on if the program with this index matches here, or if it does not.
    Look { index: usize, negated: bool },
    /// The program matches.
    Match,
    /// Keeps the position in this slot; only in the search, as all that follow.
    Save(usize),
    /// Empties slots, from the first to the one before the second.
    Clear(usize, usize),
    /// Goes on if the position is not the one in this slot.
    Progress(usize),
    /// Takes what this group, numbered from 0, has captured.
    Reference { group: usize, ignore_case: bool },
}

/// The instructions of a pattern, or of a lookaround in it.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) instructions: Vec<Instruction>,
    /// Whether it reads the text from its end to its beginning.
    pub(super) backward: bool,
    /// Whether it matches only at the beginning of a text, if anywhere.
    pub(super) anchored: bool,
    /// How many counters its repetitions need.
    pub(super) counters: usize,
}

/// A pattern in instructions.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) main: Program,
    /// The lookarounds, inner ones before those that they are in.
    pub(super) looks: Vec<Program>,
    pub(super) sets: Vec<Set>,
    /// How many slots the search needs: two for each group, and one for each loop.
    pub(super) slots: usize,
    /// Whether what groups capture is of interest, because there are back references.
    pub(super) captures: bool,
}

impl Compiled {
    /// Whether an item takes this character. The cost is added to the steps.
    pub(super) fn takes(&self, item: Item, character: char, steps: &mut usize) -> bool {
        match item {
            Item::Char(own) => own == character,
            Item::Set(index) => self.sets.get(index).is_some_and(|set| {
                if !character.is_ascii() {
                    *steps += set.cost();
                }
                set.contains(character)
            }),
        }
    }
}

/// Writes a pattern in instructions.
pub(super) fn compile(tree: Tree) -> Result<Compiled, PatternError> {
    let mut compiler = Compiler {
        captures: !tree.references.is_empty(),
        slots: tree.groups * 2,
        room: MAX_INSTRUCTIONS,
        offset: 0,
        backward: false,
        counters: 0,
        code: Vec::new(),
        tree: &tree,
    };
    let mut looks = Vec::with_capacity(tree.looks.len());
    for look in &tree.looks {
        // The search asks at one position, and reads on from there. The simulation asks at all positions at once: where
        // all matches begin is what a reader finds out who comes from their ends.
        let backward = look.ahead != compiler.captures;
        looks.push(compiler.program(&look.node, backward)?);
    }
    let main = compiler.program(&tree.root, false)?;
    Ok(Compiled {
        main,
        looks,
        slots: compiler.slots,
        captures: compiler.captures,
        sets: tree.sets,
    })
}

/// Whether a match of this cannot begin behind the beginning of a text.
fn is_anchored(node: &Node) -> bool {
    match node {
        Node::Assertion(Assertion::Start { multiline }) => !multiline,
        // No part is before the beginning of the match, so it does not matter which one is.
        Node::Concat(nodes) => nodes.iter().any(is_anchored),
        Node::Alternate(nodes) => nodes.iter().all(is_anchored),
        Node::Group(_, node) => is_anchored(node),
        Node::Repeat(repeat) => repeat.min > 0 && is_anchored(&repeat.node),
        _ => false,
    }
}

struct Compiler<'a> {
    tree: &'a Tree,
    captures: bool,
    /// The number of slots so far.
    slots: usize,
    /// How many more instructions there can be.
    room: usize,
    /// Where the last repetition stands in the pattern: if there are too many instructions, it is why.
    offset: usize,
    backward: bool,
    counters: usize,
    code: Vec<Instruction>,
}

type Done = Result<(), PatternError>;

impl Compiler<'_> {
    fn program(&mut self, node: &Node, backward: bool) -> Result<Program, PatternError> {
        self.backward = backward;
        self.counters = 0;
        self.node(node)?;
        self.push(Instruction::Match)?;
        Ok(Program {
            instructions: std::mem::take(&mut self.code),
            backward,
            anchored: !backward && is_anchored(node),
            counters: self.counters,
        })
    }

    /// The number of the next instruction.
    fn here(&self) -> usize {
        self.code.len()
    }

    fn push(&mut self, instruction: Instruction) -> Done {
        match self.room.checked_sub(1) {
            Some(room) => self.room = room,
            None => {
                return Err(PatternError::new(
                    "a repetition that makes the pattern too large",
                    self.offset,
                ));
            }
        }
        self.code.push(instruction);
        Ok(())
    }

    fn patch(&mut self, at: usize, instruction: Instruction) {
        if let Some(place) = self.code.get_mut(at) {
            *place = instruction;
        }
    }

    fn node(&mut self, node: &Node) -> Done {
        match node {
            Node::Item(item) => self.push(Instruction::Item(*item)),
            Node::Concat(nodes) if self.backward => {
                nodes.iter().rev().try_for_each(|node| self.node(node))
            }
            Node::Concat(nodes) => nodes.iter().try_for_each(|node| self.node(node)),
            Node::Alternate(nodes) => self.alternate(nodes),
            Node::Group(index, node) => {
                if !self.captures {
                    return self.node(node);
                }
                let (start, end) = (index * 2, index * 2 + 1);
                let (first, second) = if self.backward {
                    (end, start)
                } else {
                    (start, end)
                };
                self.push(Instruction::Save(first))?;
                self.node(node)?;
                self.push(Instruction::Save(second))
            }
            Node::Repeat(repeat) => self.repeat(repeat),
            Node::Assertion(assertion) => self.push(Instruction::Assertion(*assertion)),
            Node::Look { index, negated } => {
                let (index, negated) = (*index, *negated);
                self.push(Instruction::Look { index, negated })
            }
            Node::Reference { index, ignore_case } => self.reference(*index, *ignore_case),
        }
    }

    fn alternate(&mut self, nodes: &[Node]) -> Done {
        let mut ends = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            if index + 1 == nodes.len() {
                self.node(node)?;
                break;
            }
            let split = self.here();
            self.push(Instruction::Split(0, 0))?;
            self.node(node)?;
            ends.push(self.here());
            self.push(Instruction::Jump(0))?;
            self.patch(split, Instruction::Split(split + 1, self.here()));
        }
        for end in ends {
            self.patch(end, Instruction::Jump(self.here()));
        }
        Ok(())
    }

    /// Of several groups with one name at most one has captured something; a reference to the others is the empty text.
    fn reference(&mut self, index: usize, ignore_case: bool) -> Done {
        let tree = self.tree;
        match tree.references.get(index) {
            Some(Reference::Number(group)) => self.push(Instruction::Reference {
                group: *group,
                ignore_case,
            }),
            Some(Reference::Name(name)) => tree
                .names
                .iter()
                .filter(|(known, _)| known == name)
                .try_for_each(|(_, group)| {
                    self.push(Instruction::Reference {
                        group: *group,
                        ignore_case,
                    })
                }),
            None => Ok(()),
        }
    }

    fn repeat(&mut self, repeat: &Repeat) -> Done {
        let Repeat { min, max, .. } = *repeat;
        self.offset = repeat.offset;
        if let (Some(item), 2.., false) = (single_item(&repeat.node), max, self.captures) {
            let counter = self.counters;
            self.counters += 1;
            return self.push(Instruction::Repeat {
                item,
                min: min as usize,
                max: if max == UNBOUNDED {
                    usize::MAX
                } else {
                    max as usize
                },
                counter,
            });
        }
        // The last of the rounds that must be is the one that a loop begins with.
        let plain = if max == UNBOUNDED {
            min.saturating_sub(1)
        } else {
            min
        };
        for _ in 0..plain {
            let before = self.here();
            self.round(repeat)?;
            // More of nothing is nothing.
            if self.here() == before {
                return Ok(());
            }
        }
        if max == UNBOUNDED {
            self.unbounded(repeat)
        } else {
            self.optional(repeat, max.saturating_sub(min))
        }
    }

    /// Once what is repeated. What its groups captured the last time is forgotten.
    fn round(&mut self, repeat: &Repeat) -> Done {
        let (first, last) = repeat.groups;
        if self.captures && first < last {
            self.push(Instruction::Clear(first * 2, last * 2))?;
        }
        self.node(&repeat.node)
    }

    /// Some more rounds, each of which need not be. One that takes nothing does not count.
    fn optional(&mut self, repeat: &Repeat, rounds: u32) -> Done {
        let slot = self.loop_slot(repeat);
        let mut splits = Vec::new();
        for _ in 0..rounds {
            splits.push(self.here());
            self.push(Instruction::Split(0, 0))?;
            let start = self.here();
            if let Some(slot) = slot {
                self.push(Instruction::Save(slot))?;
            }
            self.round(repeat)?;
            if let Some(slot) = slot {
                self.push(Instruction::Progress(slot))?;
            }
            if self.here() == start {
                break;
            }
        }
        for split in splits {
            self.patch(split, choice(repeat.greedy, split + 1, self.here()));
        }
        Ok(())
    }

    /// Any number of rounds, at least one if one must be. Only that one can take nothing.
    fn unbounded(&mut self, repeat: &Repeat) -> Done {
        let slot = self.loop_slot(repeat);
        let entry = self.here();
        if repeat.min == 0 {
            self.push(Instruction::Split(0, 0))?;
        } else if let Some(slot) = slot {
            self.push(Instruction::Clear(slot, slot + 1))?;
            self.push(Instruction::Jump(self.here() + 2))?;
        }
        let again = self.here();
        if let Some(slot) = slot {
            self.push(Instruction::Save(slot))?;
        }
        self.round(repeat)?;
        if let Some(slot) = slot {
            self.push(Instruction::Progress(slot))?;
        }
        let out = self.here() + 1;
        self.push(choice(repeat.greedy, again, out))?;
        if repeat.min == 0 {
            self.patch(entry, choice(repeat.greedy, again, out));
        }
        Ok(())
    }

    /// A slot for where a round began. Without captures it does not matter if a round takes nothing: it leads nowhere new.
    /// Neither does it for one character, which is never nothing.
    fn loop_slot(&mut self, repeat: &Repeat) -> Option<usize> {
        let needed = self.captures && !matches!(repeat.node, Node::Item(_));
        needed.then(|| {
            self.slots += 1;
            self.slots - 1
        })
    }
}

/// A choice between one more round and going on.
fn choice(greedy: bool, again: usize, out: usize) -> Instruction {
    if greedy {
        Instruction::Split(again, out)
    } else {
        Instruction::Split(out, again)
    }
}

/// The item that this is, if it is only one.
fn single_item(node: &Node) -> Option<Item> {
    match node {
        Node::Item(item) => Some(*item),
        Node::Group(_, node) => single_item(node),
        _ => None,
    }
}
