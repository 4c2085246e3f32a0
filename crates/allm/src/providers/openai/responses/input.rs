//! The conversation as this wire writes it: a list of items.

mod block;

use std::borrow::Cow;
use std::collections::BTreeMap;

use allm_core::{Message, Opaque, Part, Path, ProviderName, Role, ToolCall};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::kinds;
use crate::providers::translate::ids::IdRule;
use crate::providers::translate::notes::part_path;
use crate::providers::translate::opaque::raw;
use crate::providers::translate::turns::{self, Said, Turn};
use crate::providers::translate::written::{Page, Script, comma};
use block::{Block, Content, WithText};

/// Which ids of calls the API takes.
pub(super) const IDS: IdRule = IdRule::Any { max: 64 };

/// One item.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    Message(Words<'a>),
    Call(Call<'a>),
    Output(Output<'a>),
    Reasoning(Thought<'a>),
    /// As it came.
    Raw(&'a RawValue),
}

#[derive(Debug, Serialize)]
pub(super) struct Words<'a> {
    /// Written for an assistant: servers tell its items by it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    role: &'static str,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<Cow<'a, str>>,
}

#[derive(Debug)]
pub(super) struct Call<'a> {
    call_id: String,
    name: &'a str,
    arguments: &'a str,
    /// What it came with.
    members: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

impl Serialize for Call<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "function_call")?;
        map.serialize_entry("call_id", &self.call_id)?;
        map.serialize_entry("name", self.name)?;
        map.serialize_entry("arguments", self.arguments)?;
        for (name, value) in &self.members {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Output<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: String,
    output: Content<'a>,
}

/// What goes back of an item of reasoning, as it came.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Thought<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a RawValue,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    summary: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    encrypted_content: Option<&'a RawValue>,
}

impl Thought<'_> {
    /// Whether there is more to it than the name of what the provider keeps.
    fn says_something(&self) -> bool {
        let has_content = self.content.is_some_and(|content| {
            let blocks: Result<Vec<&RawValue>, _> = serde_json::from_str(content.get());
            blocks.is_ok_and(|blocks| !blocks.is_empty())
        });
        self.encrypted_content.is_some() || has_content
    }
}

/// Whether answers are kept with the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Yes,
    No,
}

/// Writes the items of a conversation.
pub(super) struct Writer<'a> {
    /// Those of the turn that is being written.
    items: Vec<Item<'a>>,
    stored: Stored,
}

/// What the bytes depend on besides the messages.
#[derive(PartialEq)]
pub(super) struct Key {
    pub(super) provider: ProviderName,
    pub(super) stored: Stored,
}

impl Writer<'_> {
    pub(super) fn new(stored: Stored) -> Self {
        Self {
            items: Vec::new(),
            stored,
        }
    }
}

impl<'a> Script<'a> for Writer<'a> {
    type Key = Key;
    type State = ();

    fn turn(&mut self, turn: &Turn<'a>, to: &mut Page<'a>) -> Result<(), serde_json::Error> {
        match turn {
            Turn::Message(said) => match said.message.role {
                Role::System => self.said("system", said.message),
                Role::User => self.said("user", said.message),
                Role::Assistant => self.assistant(*said, to),
                // It answers no call; the server will say so.
                Role::Tool => {
                    let id = said.message.tool_call_id.as_ref();
                    self.result(id.map_or("", |id| id.as_str()), said.message, to);
                }
            },
            Turn::Calls { said, results } => {
                self.assistant(*said, to);
                for result in results {
                    self.result(result.call.id.as_str(), result.message, to);
                }
            }
        }
        for item in self.items.drain(..) {
            comma(&mut to.bytes);
            serde_json::to_writer(&mut to.bytes, &item)?;
        }
        Ok(())
    }

    fn state(&self) {}
}

impl<'a> Writer<'a> {
    fn said(&mut self, role: &'static str, message: &'a Message) {
        self.items.push(Item::Message(Words {
            kind: None,
            role,
            content: Content::of(&message.content),
            phase: None,
        }));
    }

    fn result(&mut self, id: &str, message: &'a Message, to: &Page<'a>) {
        self.items.push(Item::Output(Output {
            kind: "function_call_output",
            call_id: to.ids.get(id).to_owned(),
            output: Content::of(&message.content),
        }));
    }

    /// What an assistant said and did, in the original order.
    fn assistant(&mut self, said: Said<'a>, to: &mut Page<'a>) {
        let start = self.items.len();
        let mut text = Text::default();
        for block in turns::blocks(said.message) {
            match block {
                turns::Block::Part(at, part) => self.part(said.index, at, part, &mut text, to),
                turns::Block::Call(at, call) => {
                    text.end(&mut self.items);
                    let call = written_call(said.index, at, call, to);
                    self.items.push(Item::Call(call));
                }
            }
        }
        text.end(&mut self.items);
        // Reasoning goes before what followed it; alone it is refused.
        while self.items.len() > start && matches!(self.items.last(), Some(Item::Reasoning(_))) {
            self.items.pop();
        }
        if self.items.len() == start {
            self.items.push(Item::Message(Words {
                kind: Some("message"),
                role: "assistant",
                content: Content::Text("".into()),
                phase: None,
            }));
        }
    }

    fn part(
        &mut self,
        message: usize,
        at: usize,
        part: &'a Part,
        text: &mut Text<'a>,
        to: &mut Page<'a>,
    ) {
        let path = || part_path(message, at);
        let own = to.opaques.own(part.attached(), path);
        match part {
            Part::Text(part) => {
                let with = own.and_then(with_text).unwrap_or_default();
                text.phase(with.phase, &mut self.items);
                if !part.text.is_empty() {
                    text.blocks.push(Block::said(&part.text, with.annotations));
                }
            }
            Part::Refusal(part) => text.blocks.push(Block::refused(&part.text)),
            Part::Image(_) | Part::File(_) => to.opaques.left.part(path()),
            Part::Reasoning(_) => {
                // Of what it does not keep, the provider refuses the bare name.
                let kept = self.stored == Stored::Yes;
                let thought = own.and_then(thought);
                if let Some(thought) = thought.filter(|it| kept || it.says_something()) {
                    text.end(&mut self.items);
                    self.items.push(Item::Reasoning(thought));
                }
            }
            Part::Opaque(_) => match own {
                Some(own) if own.kind == kinds::CONTENT => {
                    text.blocks.extend(raw(own).map(Block::Raw));
                }
                own => {
                    if let Some(item) = own.and_then(raw) {
                        text.end(&mut self.items);
                        self.items.push(Item::Raw(item));
                    }
                }
            },
            _ => {}
        }
    }
}

fn written_call<'a>(message: usize, at: usize, call: &'a ToolCall, to: &mut Page<'a>) -> Call<'a> {
    let own = to.opaques.own(call.opaque.as_deref(), || {
        let message = Path::from("messages").index(message);
        message.field("tool_calls").index(at)
    });
    let own = own.filter(|own| own.kind == kinds::CALL);
    let members = own.and_then(|own| serde_json::from_str(own.data.as_str()).ok());
    let arguments = match &*call.raw_arguments {
        "" => "{}",
        text => text,
    };
    Call {
        call_id: to.ids.get(call.id.as_str()).to_owned(),
        name: &call.name,
        arguments,
        members: members.unwrap_or_default(),
    }
}

/// The texts of an assistant that stand together.
#[derive(Default)]
struct Text<'a> {
    blocks: Vec<Block<'a>>,
    phase: Option<Cow<'a, str>>,
}

impl<'a> Text<'a> {
    /// What follows belongs to this phase.
    fn phase(&mut self, phase: Option<Cow<'a, str>>, items: &mut Vec<Item<'a>>) {
        if phase != self.phase {
            self.end(items);
            self.phase = phase;
        }
    }

    /// Something else follows.
    fn end(&mut self, items: &mut Vec<Item<'a>>) {
        let phase = self.phase.take();
        if !self.blocks.is_empty() {
            items.push(Item::Message(Words {
                kind: Some("message"),
                role: "assistant",
                content: Content::Blocks(std::mem::take(&mut self.blocks)),
                phase,
            }));
        }
    }
}

fn with_text(own: &Opaque) -> Option<WithText<'_>> {
    let own = Some(own).filter(|own| own.kind == kinds::TEXT)?;
    serde_json::from_str(own.data.as_str()).ok()
}

fn thought(own: &Opaque) -> Option<Thought<'_>> {
    let own = Some(own).filter(|own| own.kind == kinds::REASONING)?;
    serde_json::from_str(own.data.as_str()).ok()
}
