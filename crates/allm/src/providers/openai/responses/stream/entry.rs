//! The items of an answer while it grows.

use allm_core::{Opaque, Part, ReasoningKind, ReasoningPart};
use bytestring::ByteString;

use super::super::kinds;
use super::item::{Item, ItemKind, Piece};
use crate::wire::answer::{Answer, CallAt, PartAt, PartKind};

/// How an event names its item.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    /// The item's place; what counts.
    pub(super) index: Option<u64>,
    /// Used only where the place is missing: some servers change ids on the way.
    pub(super) id: Option<&'a str>,
}

/// The items so far.
#[derive(Default)]
pub(super) struct Entries {
    entries: Vec<Entry>,
}

type Rule<'a> = dyn Fn(&Entry, u64, &Item<'_>) -> bool + 'a;

struct Entry {
    index: Option<u64>,
    /// The place among all items: the index, unless another item has it.
    order: u64,
    id: Option<String>,
    done: bool,
    growth: Growth,
}

/// What an item became in the answer.
enum Growth {
    Message(Vec<Block>),
    Call(CallAt),
    Reasoning(Option<Thought>),
    Other,
}

#[derive(Clone, Copy)]
struct Block {
    index: u64,
    at: PartAt,
    kind: PartKind,
}

#[derive(Clone, Copy)]
struct Thought {
    at: PartAt,
    kind: ReasoningKind,
    /// Which piece of the thinking came last.
    piece: (ReasoningKind, u64),
}

impl Entry {
    fn kind(&self) -> ItemKind {
        match self.growth {
            Growth::Message(_) => ItemKind::Message,
            Growth::Call(_) => ItemKind::Call,
            Growth::Reasoning(_) => ItemKind::Reasoning,
            Growth::Other => ItemKind::Other,
        }
    }

    /// The place of a block of this item among all parts and calls.
    fn place(&self, block: u64) -> Option<u64> {
        const BLOCKS: u32 = 20;
        let order = self.order.min(u64::MAX >> (BLOCKS + 1));
        Some((order << BLOCKS) + block.min((1 << BLOCKS) - 1))
    }

    fn is_named(&self, item: &Item<'_>, answer: &Answer) -> bool {
        let same_id = self.id.is_some() && self.id.as_deref() == item.fields.id.get();
        let same_call = match self.growth {
            Growth::Call(at) => {
                item.kind == ItemKind::Call
                    && item.fields.call_id.get().is_some()
                    && item.fields.call_id.get() == answer.call_id_of(at)
            }
            _ => false,
        };
        same_id || same_call
    }
}

impl Entries {
    /// Which item an event of this kind is about; the latest fitting one, or a new one.
    fn find(&mut self, key: Key<'_>, kind: ItemKind, answer: &mut Answer) -> usize {
        let fits = |entry: &Entry| {
            entry.kind() == kind
                && match (key.index, key.id) {
                    (Some(index), _) => entry.index == Some(index),
                    (None, Some(id)) => entry.id.as_deref() == Some(id),
                    (None, None) => !entry.done,
                }
        };
        match self.entries.iter().rposition(fits) {
            Some(at) => at,
            None => self.open(key, kind, answer),
        }
    }

    fn open(&mut self, key: Key<'_>, kind: ItemKind, answer: &mut Answer) -> usize {
        let free = |order: &u64| self.entries.iter().all(|entry| entry.order != *order);
        let orders = self.entries.iter().map(|entry| entry.order);
        let next = orders.max().map_or(0, |last| last.saturating_add(1));
        let order = key.index.filter(free).unwrap_or(next);
        let mut entry = Entry {
            index: key.index,
            order,
            id: key.id.map(str::to_owned),
            done: false,
            growth: match kind {
                ItemKind::Message => Growth::Message(Vec::new()),
                ItemKind::Reasoning => Growth::Reasoning(None),
                ItemKind::Call | ItemKind::Other => Growth::Other,
            },
        };
        if kind == ItemKind::Call {
            entry.growth = Growth::Call(answer.call(entry.place(0)));
        }
        self.entries.push(entry);
        self.entries.len() - 1
    }

    /// The block of a message that an event is about.
    pub(super) fn block(
        &mut self,
        key: Key<'_>,
        index: u64,
        kind: PartKind,
        answer: &mut Answer,
    ) -> PartAt {
        let at = self.find(key, ItemKind::Message, answer);
        self.block_of(at, index, kind, answer)
    }

    fn block_of(&mut self, at: usize, index: u64, kind: PartKind, answer: &mut Answer) -> PartAt {
        let place = self.entries.get(at).and_then(|entry| entry.place(index));
        let Some(Growth::Message(blocks)) = self.entries.get_mut(at).map(|entry| &mut entry.growth)
        else {
            return answer.open(kind, place);
        };
        let known = blocks
            .iter()
            .rfind(|block| block.index == index && block.kind == kind);
        if let Some(block) = known {
            return block.at;
        }
        let at = answer.open(kind, place);
        blocks.push(Block { index, at, kind });
        at
    }

    /// A piece of reasoning, and the part that it went to.
    pub(super) fn thought(
        &mut self,
        key: Key<'_>,
        kind: ReasoningKind,
        piece: u64,
        delta: ByteString,
        answer: &mut Answer,
    ) -> Option<PartAt> {
        if delta.is_empty() {
            return None;
        }
        let at = self.find(key, ItemKind::Reasoning, answer);
        let thought = self.thought_of(at, kind, answer);
        if thought.piece != (kind, piece) && !answer.text_of(thought.at).is_empty() {
            answer.delta(thought.at, ByteString::from_static("\n\n"));
        }
        answer.delta(thought.at, delta);
        if let Some(Growth::Reasoning(Some(thought))) =
            self.entries.get_mut(at).map(|entry| &mut entry.growth)
        {
            thought.piece = (kind, piece);
        }
        Some(thought.at)
    }

    /// The reasoning of an item; its kind is that of what came first.
    fn thought_of(&mut self, at: usize, kind: ReasoningKind, answer: &mut Answer) -> Thought {
        let place = self.entries.get(at).and_then(|entry| entry.place(0));
        let growth = self.entries.get_mut(at).map(|entry| &mut entry.growth);
        let mut open = || Thought {
            at: answer.open(PartKind::Reasoning(kind), place),
            kind,
            piece: (kind, 0),
        };
        match growth {
            Some(Growth::Reasoning(thought)) => *thought.get_or_insert_with(open),
            _ => open(),
        }
    }

    /// The call that an event is about.
    pub(super) fn call(&mut self, key: Key<'_>, answer: &mut Answer) -> CallAt {
        let at = self.find(key, ItemKind::Call, answer);
        self.call_of(at, answer)
    }

    fn call_of(&mut self, at: usize, answer: &mut Answer) -> CallAt {
        match self.entries.get(at) {
            Some(Entry {
                growth: Growth::Call(at),
                ..
            }) => *at,
            entry => answer.call(entry.and_then(|entry| entry.place(0))),
        }
    }

    /// An item is announced.
    pub(super) fn added(&mut self, index: Option<u64>, item: &Item<'_>, answer: &mut Answer) {
        let key = Key {
            index,
            id: item.fields.id.get(),
        };
        let mut at = self.find(key, item.kind, answer);
        if self.entries.get(at).is_some_and(|entry| entry.done) {
            at = self.open(key, item.kind, answer);
        }
        self.rename(at, item);
        if item.kind == ItemKind::Call {
            let call = self.call_of(at, answer);
            answer.call_name(call, item.fields.name.str());
            // The item's own id may still change.
            answer.call_id(call, item.fields.call_id.str());
        }
    }

    /// An item is told whole.
    pub(super) fn done(&mut self, index: Option<u64>, item: &Item<'_>, answer: &mut Answer) {
        let key = Key {
            index,
            id: item.fields.id.get(),
        };
        let mut at = self.find(key, item.kind, answer);
        if let Some(entry) = self.entries.get(at)
            && entry.done
        {
            if entry.is_named(item, answer) {
                return;
            }
            at = self.open(key, item.kind, answer);
        }
        self.whole(
            at,
            item,
            item.fields.status.get() == Some("incomplete"),
            answer,
        );
    }

    /// All items are told once more: what was never seen is added, what was never done is completed.
    pub(super) fn settle(&mut self, items: &[Item<'_>], answer: &mut Answer) {
        let matches = self.matches(items, answer);
        for ((index, item), at) in (0..).zip(items).zip(matches) {
            let at = match at {
                Some(at) if self.entries.get(at).is_some_and(|entry| entry.done) => continue,
                Some(at) => at,
                None => {
                    let key = Key {
                        index: Some(index),
                        id: None,
                    };
                    self.open(key, item.kind, answer)
                }
            };
            let open = matches!(item.fields.status.get(), Some("incomplete" | "in_progress"));
            self.whole(at, item, open, answer);
        }
    }

    /// Which entry each item is: by name, else by place, else the next of its kind.
    fn matches(&self, items: &[Item<'_>], answer: &Answer) -> Vec<Option<usize>> {
        let mut matches: Vec<Option<usize>> = vec![None; items.len()];
        let mut free: Vec<bool> = vec![true; self.entries.len()];
        let rules: [&Rule<'_>; 3] = [
            &|entry, _, item| entry.is_named(item, answer),
            &|entry, index, _| entry.index == Some(index),
            &|_, _, _| true,
        ];
        for rule in rules {
            for ((index, item), found) in (0..).zip(items).zip(&mut matches) {
                if found.is_some() {
                    continue;
                }
                *found = self.entries.iter().zip(&free).position(|(entry, free)| {
                    *free && entry.kind() == item.kind && rule(entry, index, item)
                });
                if let Some(free) = found.and_then(|at| free.get_mut(at)) {
                    *free = false;
                }
            }
        }
        matches
    }

    fn rename(&mut self, at: usize, item: &Item<'_>) {
        if let Some(entry) = self.entries.get_mut(at)
            && let Some(id) = item.fields.id.to_owned()
        {
            entry.id = Some(id);
        }
    }

    /// Takes what a whole item says. One that is still open is no finished call.
    fn whole(&mut self, at: usize, item: &Item<'_>, open: bool, answer: &mut Answer) {
        self.rename(at, item);
        if let Some(entry) = self.entries.get_mut(at) {
            entry.done = true;
        }
        match item.kind {
            ItemKind::Message => self.whole_message(at, item, answer),
            ItemKind::Call => self.whole_call(at, item, open, answer),
            ItemKind::Reasoning => self.whole_reasoning(at, item, answer),
            ItemKind::Other => {
                let place = self.entries.get(at).and_then(|entry| entry.place(0));
                if let Some(data) = item.to_json() {
                    let opaque = answer.opaque(item.fields.kind.str(), data);
                    answer.part(Part::opaque(opaque), place);
                }
            }
        }
    }

    fn whole_message(&mut self, at: usize, item: &Item<'_>, answer: &mut Answer) {
        for (index, block, raw) in item.blocks() {
            match block.kind.get() {
                Some("output_text" | "text") => {
                    self.whole_text(at, index, item, &block, answer);
                }
                Some("refusal") => {
                    if let Some(text) = block.refusal.get() {
                        let at = self.block_of(at, index, PartKind::Refusal, answer);
                        answer.settle(at, text);
                    }
                }
                Some(_) => {
                    let place = self.entries.get(at).and_then(|entry| entry.place(index));
                    if let Ok(data) = allm_core::RawJson::new(raw.get()) {
                        let opaque = answer.opaque(kinds::CONTENT, data);
                        answer.part(Part::opaque(opaque), place);
                    }
                }
                None => {}
            }
        }
    }

    fn whole_text(
        &mut self,
        at: usize,
        index: u64,
        item: &Item<'_>,
        block: &Piece<'_>,
        answer: &mut Answer,
    ) {
        let at = self.block_of(at, index, PartKind::Text, answer);
        if let Some(text) = block.text.get() {
            answer.settle(at, text);
        }
        if !answer.text_of(at).is_empty()
            && let Some(data) = item.with_text(block)
        {
            let opaque = answer.opaque(kinds::TEXT, data);
            answer.attach(at, opaque);
        }
    }

    fn whole_call(&mut self, at: usize, item: &Item<'_>, open: bool, answer: &mut Answer) {
        let call = self.call_of(at, answer);
        answer.call_name(call, item.fields.name.str());
        answer.call_id(call, item.call_id().unwrap_or_default());
        if let Some(arguments) = item.arguments() {
            answer.settle_arguments(call, &arguments);
        }
        if let Some(data) = item.call_members() {
            let opaque = answer.opaque(kinds::CALL, data);
            answer.call_opaque(call, opaque);
        }
        if !open {
            answer.complete_call(call);
        }
    }

    fn whole_reasoning(&mut self, at: usize, item: &Item<'_>, answer: &mut Answer) {
        let opaque: Option<Opaque> = item
            .to_json()
            .map(|data| answer.opaque(kinds::REASONING, data));
        let (summary, thinking) = (item.summary(), item.thinking());
        let (kind, text) = if summary.is_empty() && !thinking.is_empty() {
            (ReasoningKind::Raw, thinking)
        } else {
            (ReasoningKind::Summary, summary)
        };
        let thought = self.thought_of(at, kind, answer);
        if text.is_empty() || thought.kind == kind {
            if !text.is_empty() {
                answer.settle(thought.at, &text);
            }
            if let Some(opaque) = opaque {
                answer.attach(thought.at, opaque);
            }
        } else {
            // The thinking came in pieces, and a summary of it at the end.
            let part = ReasoningPart {
                text: Some(text),
                kind,
                opaque: opaque.map(Box::new),
            };
            answer.replace(thought.at, Part::Reasoning(part));
        }
    }

    /// Whether the model refused.
    pub(super) fn has_refusal(&self, answer: &Answer) -> bool {
        self.entries.iter().any(|entry| match &entry.growth {
            Growth::Message(blocks) => blocks.iter().any(|block| {
                block.kind == PartKind::Refusal && !answer.text_of(block.at).is_empty()
            }),
            _ => false,
        })
    }
}
