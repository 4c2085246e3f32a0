//! The blocks of a message while they grow.

use allm_core::{Part, RawJson, ReasoningKind, ReasoningPart};
use bytestring::ByteString;
use serde_json::value::RawValue;

use super::event::Start;
use super::members::{Members, quoted};
use crate::wire::answer::{Answer, CallAt, PartAt, PartKind};
use crate::wire::lenient::Object;

/// A block of the message.
pub(super) struct Block {
    pub(super) index: u64,
    kind: Kind,
    /// All that the block says, but for what its part or its call has.
    members: Members,
    /// Argument text of a block that is no call of ours.
    input: String,
    /// Whether anything came after the start.
    grown: bool,
    stopped: bool,
}

enum Kind {
    Text(PartAt),
    Thinking(PartAt),
    Call(CallAt),
    /// The answer of a model that is made to answer through a tool.
    Answer(PartAt),
    /// A block without a type here, or thinking that was withheld.
    Opaque(PartAt, String),
}

/// What a decoder knows of the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The tool through which the model is made to answer.
    pub(crate) answer_tool: Option<String>,
    /// Whether summaries of the thinking were asked for.
    pub(crate) summaries: bool,
    /// Whether the limit of the answer is ours.
    pub(crate) default_max_tokens: bool,
}

impl Block {
    fn new(index: u64, kind: Kind, members: Members) -> Self {
        Self {
            index,
            kind,
            members,
            input: String::new(),
            grown: false,
            stopped: false,
        }
    }

    /// Opens the block that a start tells of; `None` when it tells of none.
    pub(super) fn start(
        index: u64,
        place: u64,
        raw: &RawValue,
        frame: &ByteString,
        asked: &Asked,
        answer: &mut Answer,
    ) -> Option<Self> {
        let Ok(Object(Some(start))) = serde_json::from_str::<Object<Start<'_>>>(raw.get()) else {
            return None;
        };
        let mut members: Members = serde_json::from_str(raw.get()).ok()?;
        let block = match start.kind.str() {
            "text" => {
                members.remove("type");
                members.remove("text");
                let at = answer.open(PartKind::Text, Some(place));
                answer.delta(at, start.text.slice_of(frame));
                Self::new(index, Kind::Text(at), members)
            }
            "thinking" => {
                let at = open_thinking(place, asked, answer);
                answer.delta(at, start.thinking.slice_of(frame));
                Self::new(index, Kind::Thinking(at), members)
            }
            "tool_use" => {
                for own in ["type", "id", "name"] {
                    members.remove(own);
                }
                let name = start.name.str();
                let kind = if asked.answer_tool.as_deref() == Some(name) {
                    Kind::Answer(answer.open(PartKind::Text, Some(place)))
                } else {
                    let at = answer.call(Some(place));
                    answer.call_name(at, name);
                    answer.call_id(at, start.id.str());
                    Kind::Call(at)
                };
                Self::new(index, kind, members)
            }
            other => {
                let part = opaque_part(answer, other, raw.get())?;
                let at = answer.part(part, Some(place));
                Self::new(index, Kind::Opaque(at, other.to_owned()), members)
            }
        };
        Some(block)
    }

    /// Opens the block that a piece belongs to, where no start told of it.
    pub(super) fn of_delta(
        index: u64,
        place: u64,
        delta: &str,
        asked: &Asked,
        answer: &mut Answer,
    ) -> Option<Self> {
        let mut members = Members::default();
        let kind = match delta {
            "text_delta" | "citations_delta" => {
                Kind::Text(answer.open(PartKind::Text, Some(place)))
            }
            "thinking_delta" | "signature_delta" => {
                members.set("type", quoted("thinking"));
                members.set("thinking", quoted(""));
                Kind::Thinking(open_thinking(place, asked, answer))
            }
            "input_json_delta" => Kind::Call(answer.call(Some(place))),
            _ => return None,
        };
        Some(Self::new(index, kind, members))
    }

    pub(super) fn is_answer(&self) -> bool {
        matches!(self.kind, Kind::Answer(_))
    }

    /// A piece of the visible text; `false` when this block has none.
    pub(super) fn text(&mut self, delta: ByteString, answer: &mut Answer) -> bool {
        let Kind::Text(at) = self.kind else {
            return false;
        };
        answer.delta(at, delta);
        true
    }

    /// A piece of the thinking; `false` when this block has none.
    pub(super) fn thinking(&mut self, delta: ByteString, answer: &mut Answer) -> bool {
        let Kind::Thinking(at) = self.kind else {
            return false;
        };
        self.grown |= !delta.is_empty();
        answer.delta(at, delta);
        true
    }

    /// A piece of argument text; `false` when this block has none.
    pub(super) fn arguments(&mut self, delta: ByteString, answer: &mut Answer) -> bool {
        match &self.kind {
            Kind::Call(at) => answer.arguments(*at, delta),
            Kind::Answer(at) => answer.delta(*at, delta),
            Kind::Opaque(..) => self.input.push_str(&delta),
            Kind::Text(_) | Kind::Thinking(_) => return false,
        }
        true
    }

    /// A piece of something else.
    pub(super) fn collect(&mut self, delta: Members) {
        for (name, piece) in delta.into_pairs() {
            match name.as_str() {
                "type" => continue,
                "citation" => self.members.push("citations", &piece),
                _ => self.members.grow(&name, &piece),
            }
            self.grown = true;
        }
    }

    /// Nothing more comes for this block.
    pub(super) fn stop(&mut self, answer: &mut Answer) {
        if std::mem::replace(&mut self.stopped, true) {
            return;
        }
        match &self.kind {
            Kind::Text(at) => {
                let at = *at;
                self.members.drop_empty();
                if let Some(data) = self.rest() {
                    let opaque = answer.opaque("text", data);
                    answer.attach(at, opaque);
                }
            }
            Kind::Thinking(at) => {
                let at = *at;
                if self.grown {
                    self.members.set("thinking", quoted(answer.text_of(at)));
                }
                // Without a signature it would be refused when it is sent back.
                let signed = self.members.get("signature");
                if signed.is_some_and(|signature| !matches!(signature, "\"\"" | "null"))
                    && let Some(data) = self.rest()
                {
                    let opaque = answer.opaque("thinking", data);
                    answer.attach(at, opaque);
                }
            }
            Kind::Call(at) => {
                let at = *at;
                let input = self.started_input();
                self.members.drop_empty();
                if let Some(data) = self.rest() {
                    let opaque = answer.opaque("tool_use", data);
                    answer.call_opaque(at, opaque);
                }
                if answer.arguments_of(at).is_empty() {
                    answer.arguments(at, input.into());
                }
                // A text without its last brace may have been cut; why the model stopped comes later and will tell.
                if answer.arguments_of(at).trim_end().ends_with('}') {
                    answer.complete_call(at);
                }
            }
            Kind::Answer(at) => {
                let at = *at;
                let input = self.started_input();
                if answer.text_of(at).is_empty() {
                    answer.delta(at, input.into());
                }
            }
            Kind::Opaque(at, kind) => {
                let (at, kind) = (*at, kind.clone());
                if !self.input.is_empty() && serde_json::from_str::<&RawValue>(&self.input).is_ok()
                {
                    let input = std::mem::take(&mut self.input);
                    self.members.set("input", input.trim());
                    self.grown = true;
                }
                if self.grown
                    && let Some(part) = opaque_part(answer, &kind, &self.members.to_json())
                {
                    answer.replace(at, part);
                }
            }
        }
    }

    /// The message is whole and was not cut: an answer without any text has an empty object.
    pub(super) fn settle_answer(&self, answer: &mut Answer) {
        if let Kind::Answer(at) = self.kind
            && answer.text_of(at).is_empty()
        {
            answer.delta(at, ByteString::from_static("{}"));
        }
    }

    /// The arguments that stood in the start, if any did.
    fn started_input(&mut self) -> String {
        let input = self.members.remove("input").unwrap_or_default();
        let inner = input.strip_prefix('{').and_then(|i| i.strip_suffix('}'));
        match inner {
            Some(inner) if !inner.trim().is_empty() => input,
            _ => String::new(),
        }
    }

    fn rest(&self) -> Option<RawJson> {
        if self.members.is_empty() {
            return None;
        }
        RawJson::new(self.members.to_json()).ok()
    }
}

fn open_thinking(place: u64, asked: &Asked, answer: &mut Answer) -> PartAt {
    let kind = if asked.summaries {
        ReasoningKind::Summary
    } else {
        ReasoningKind::Raw
    };
    answer.open(PartKind::Reasoning(kind), Some(place))
}

/// A block as it came, as a part.
fn opaque_part(answer: &mut Answer, kind: &str, text: &str) -> Option<Part> {
    let Ok(data) = RawJson::new(text) else {
        answer.warn("opaque_dropped", Some(kind.to_owned()));
        return None;
    };
    let opaque = answer.opaque(kind, data);
    Some(if kind == "redacted_thinking" {
        Part::Reasoning(ReasoningPart {
            text: None,
            kind: ReasoningKind::Redacted,
            opaque: Some(opaque.into()),
        })
    } else {
        Part::opaque(opaque)
    })
}
