//! The parts of an answer.

use allm_core::{
    Event, Opaque, Part, PartId, ReasoningDelta, ReasoningKind, ReasoningPart, RefusalPart,
    TextDelta, TextPart,
};
use bytestring::ByteString;

use super::Answer;

/// Which part of an answer, by the order in which they were opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartAt(usize);

/// What a part holds that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Text,
    Reasoning(ReasoningKind),
    Refusal,
}

/// A part of the answer.
pub(super) struct PartSlot {
    pub(super) id: PartId,
    pub(super) place: u64,
    content: Content,
    opaque: Option<Box<Opaque>>,
}

enum Content {
    Grows(PartKind, String),
    Whole(Part),
    Taken,
}

impl PartSlot {
    pub(super) fn is_text(&self) -> bool {
        matches!(self.content, Content::Grows(PartKind::Text, _))
    }

    /// The part, unless there is nothing in it.
    pub(super) fn take(&mut self) -> Option<Part> {
        let opaque = self.opaque.take();
        match &mut self.content {
            Content::Grows(kind, text) => {
                let text = std::mem::take(text);
                if text.is_empty() && opaque.is_none() {
                    return None;
                }
                Some(match kind {
                    PartKind::Text => Part::Text(TextPart { text, opaque }),
                    PartKind::Reasoning(kind) => Part::Reasoning(ReasoningPart {
                        text: Some(text).filter(|text| !text.is_empty()),
                        kind: *kind,
                        opaque,
                    }),
                    PartKind::Refusal => Part::Refusal(RefusalPart { text }),
                })
            }
            Content::Whole(_) => match std::mem::replace(&mut self.content, Content::Taken) {
                Content::Whole(part) => Some(part),
                Content::Grows(..) | Content::Taken => None,
            },
            Content::Taken => None,
        }
    }
}

impl Answer {
    /// Opens a part that grows. `place` orders parts and calls where the wire numbers them.
    pub(crate) fn open(&mut self, kind: PartKind, place: Option<u64>) -> PartAt {
        self.add(Content::Grows(kind, String::new()), place)
    }

    /// Adds a part that is whole.
    pub(crate) fn part(&mut self, part: Part, place: Option<u64>) -> PartAt {
        self.begin();
        self.add(Content::Whole(part), place)
    }

    fn add(&mut self, content: Content, place: Option<u64>) -> PartAt {
        let place = self.place(place);
        let at = self.parts.len();
        if at == 0 {
            // Most answers have one part, and room for one is a quarter of what is made otherwise.
            self.parts.reserve_exact(1);
        }
        self.parts.push(PartSlot {
            id: PartId::from(format!("p{at}")),
            place,
            content,
            opaque: None,
        });
        PartAt(at)
    }

    /// A piece of a part that grows. Empty pieces are nothing.
    pub(crate) fn delta(&mut self, at: PartAt, delta: ByteString) {
        if delta.is_empty() {
            return;
        }
        self.begin();
        let Some(slot) = self.parts.get_mut(at.0) else {
            return;
        };
        let Content::Grows(kind, text) = &mut slot.content else {
            return;
        };
        text.push_str(&delta);
        let id = Some(slot.id.clone());
        match kind {
            PartKind::Text => self
                .events
                .push_back(Event::TextDelta(TextDelta { id, delta })),
            PartKind::Reasoning(_) => {
                self.events
                    .push_back(Event::ReasoningDelta(ReasoningDelta { id, delta }));
            }
            // There is no event for it; the completion has it.
            PartKind::Refusal => {}
        }
    }

    /// What a part has so far.
    pub(crate) fn text_of(&self, at: PartAt) -> &str {
        match self.parts.get(at.0).map(|slot| &slot.content) {
            Some(Content::Grows(_, text)) => text,
            _ => "",
        }
    }

    /// The whole text of a part. What goes beyond the pieces is a last piece; what contradicts them replaces them.
    pub(crate) fn settle(&mut self, at: PartAt, whole: &str) {
        let so_far = self.text_of(at);
        if let Some(rest) = whole.strip_prefix(so_far) {
            let rest = ByteString::from(rest);
            return self.delta(at, rest);
        }
        if let Some(PartSlot {
            content: Content::Grows(_, text),
            ..
        }) = self.parts.get_mut(at.0)
        {
            whole.clone_into(text);
        }
    }

    /// What the provider wants back with a part.
    pub(crate) fn attach(&mut self, at: PartAt, opaque: Opaque) {
        self.begin();
        if let Some(slot) = self.parts.get_mut(at.0) {
            slot.opaque = Some(Box::new(opaque));
        }
    }

    /// Replaces a part by a whole one.
    pub(crate) fn replace(&mut self, at: PartAt, part: Part) {
        self.begin();
        if let Some(slot) = self.parts.get_mut(at.0) {
            slot.content = Content::Whole(part);
        }
    }
}
