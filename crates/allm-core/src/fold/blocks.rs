//! The text and the thinking of an answer, block by block.

use std::collections::BTreeMap;

use crate::data::{Part, PartId, ReasoningKind, ReasoningPart};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BlockKind {
    Text,
    Reasoning,
}

#[derive(Clone, Debug)]
struct Block {
    kind: BlockKind,
    id: Option<PartId>,
    text: String,
}

/// The blocks in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    /// Of all but the first: most answers have one block, and a map takes more room than it.
    places: BTreeMap<(BlockKind, Option<PartId>), usize>,
    /// The block that the last piece went to; the next one most often goes there too.
    latest: usize,
}

impl Blocks {
    pub(super) fn append(&mut self, kind: BlockKind, id: Option<&PartId>, piece: &str) {
        let is_it = |block: &Block| block.kind == kind && block.id.as_ref() == id;
        if !self.blocks.get(self.latest).is_some_and(is_it) {
            self.latest = match self.blocks.first() {
                Some(first) if is_it(first) => 0,
                _ => self.place(kind, id),
            };
        }
        if let Some(block) = self.blocks.get_mut(self.latest) {
            block.text.push_str(piece);
        }
    }

    /// The place of a block that is not the first, or of a new one.
    fn place(&mut self, kind: BlockKind, id: Option<&PartId>) -> usize {
        let place = self.blocks.len();
        if place > 0 {
            let known = *self.places.entry((kind, id.cloned())).or_insert(place);
            if known < place {
                return known;
            }
        } else {
            // Most answers have no other.
            self.blocks.reserve_exact(1);
        }
        self.blocks.push(Block {
            kind,
            id: id.cloned(),
            text: String::new(),
        });
        place
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The text blocks as parts, or one part of the authoritative text.
    pub(super) fn text_parts(&self, whole: Option<&str>) -> Vec<Part> {
        if let Some(whole) = whole {
            return vec![Part::text(whole)];
        }
        let texts = self
            .blocks
            .iter()
            .filter(|block| block.kind == BlockKind::Text);
        texts.map(|block| Part::text(&*block.text)).collect()
    }

    /// All blocks as parts. An authoritative text takes the place of the first text block.
    pub(super) fn parts(&self, whole: Option<&str>) -> Vec<Part> {
        let mut parts = Vec::with_capacity(self.blocks.len());
        let mut whole = whole;
        let replaced = whole.is_some();
        for block in &self.blocks {
            match block.kind {
                BlockKind::Reasoning => parts.push(Part::Reasoning(ReasoningPart {
                    text: Some(block.text.clone()),
                    kind: ReasoningKind::Raw,
                    opaque: None,
                })),
                BlockKind::Text if replaced => parts.extend(whole.take().map(Part::text)),
                BlockKind::Text => parts.push(Part::text(&*block.text)),
            }
        }
        parts.extend(whole.map(Part::text));
        parts
    }
}
