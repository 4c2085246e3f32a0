//! A conversation as the wire has it: users and assistants in turn, each with a list of blocks.

use std::borrow::Cow;

use allm_core::{
    FilePart, ImagePart, Map, Message, Messages, Opaque, Part, Path, ProviderName, Role, Source,
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::members::Members;
use crate::providers::translate::ids::{IdRule, Ids};
use crate::providers::translate::media::Held;
use crate::providers::translate::notes::{Warnings, part_path};
use crate::providers::translate::opaque::{Opaques, raw};
use crate::providers::translate::turns::{self, CallResult, Said, Turn, turns};

/// The ids that the wire accepts.
const IDS: IdRule = IdRule::Word { max: 64 };

/// A conversation.
pub(super) struct Conversation<'a> {
    /// What the application says; nothing when it is empty.
    pub(super) system: Option<String>,
    pub(super) messages: Vec<WireMessage<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct WireMessage<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Debug)]
enum Block<'a> {
    Text {
        text: &'a str,
        rest: Members,
    },
    /// An image or a document.
    Media {
        kind: &'static str,
        held: Held<'a>,
        /// The text of a document that is text.
        text: Option<Cow<'a, str>>,
        title: Option<&'a str>,
    },
    ToolUse {
        id: String,
        name: &'a str,
        input: Option<&'a Map>,
        rest: Members,
    },
    ToolResult {
        id: String,
        content: Vec<Block<'a>>,
        is_error: bool,
    },
    /// As it came.
    Raw(&'a RawValue),
}

impl<'a> Conversation<'a> {
    pub(super) fn of(
        messages: &'a Messages,
        provider: &'a ProviderName,
        wire: &'a str,
        warnings: &mut Warnings,
    ) -> Self {
        let mut writer = Writer {
            ids: Ids::of(messages, IDS, provider, wire),
            opaques: Opaques::new(provider, wire),
            system: Vec::new(),
            messages: Vec::new(),
        };
        for turn in turns(messages) {
            match turn {
                Turn::Message(said) => writer.message(said, warnings),
                Turn::Calls { said, results } => {
                    writer.message(said, warnings);
                    for result in results {
                        let CallResult { call, message, .. } = result;
                        writer.result(call.id.as_str(), message);
                    }
                }
            }
        }
        writer.opaques.warn(warnings);
        Self {
            system: (!writer.system.is_empty()).then(|| writer.system.join("\n\n")),
            messages: writer.messages,
        }
    }
}

struct Writer<'a> {
    ids: Ids<'a>,
    opaques: Opaques<'a>,
    system: Vec<String>,
    messages: Vec<WireMessage<'a>>,
}

impl<'a> Writer<'a> {
    /// Adds blocks; neighbours of one role are one message.
    fn add(&mut self, role: &'static str, blocks: Vec<Block<'a>>) {
        if blocks.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => self.messages.push(WireMessage {
                role,
                content: blocks,
            }),
        }
    }

    fn message(&mut self, said: Said<'a>, warnings: &mut Warnings) {
        let message = said.message;
        match message.role {
            Role::System => {
                let texts: Vec<&str> = message.content.iter().filter_map(Part::as_text).collect();
                let text = texts.join("\n");
                if !text.trim().is_empty() {
                    self.system.push(text);
                }
            }
            Role::User => self.add("user", content(message)),
            Role::Tool => {
                let id = message.tool_call_id.as_ref();
                self.result(id.map_or("", |id| id.as_str()), message);
            }
            Role::Assistant => {
                let mut blocks = Vec::new();
                for block in turns::blocks(message) {
                    match block {
                        turns::Block::Part(at, part) => {
                            let path = || part_path(said.index, at);
                            blocks.extend(self.said(part, path, warnings));
                        }
                        turns::Block::Call(at, call) => {
                            let path = || {
                                let message = Path::from("messages").index(said.index);
                                message.field("tool_calls").index(at)
                            };
                            let own = self.opaques.own(call.opaque.as_deref(), path);
                            blocks.push(Block::ToolUse {
                                id: self.ids.get(call.id.as_str()).to_owned(),
                                name: &call.name,
                                input: call.arguments.as_ref(),
                                rest: members(own),
                            });
                        }
                    }
                }
                self.add("assistant", blocks);
            }
        }
    }

    /// A part of what the model said.
    fn said(
        &mut self,
        part: &'a Part,
        path: impl FnOnce() -> Path,
        warnings: &mut Warnings,
    ) -> Option<Block<'a>> {
        match part {
            Part::Text(part) => {
                let own = self.opaques.own(part.opaque.as_deref(), path);
                text(&part.text, members(own))
            }
            Part::Refusal(part) => text(&part.text, Members::default()),
            Part::Reasoning(part) => {
                let own = self.opaques.own(part.opaque.as_deref(), path)?;
                raw(own).map(Block::Raw)
            }
            Part::Opaque(part) => {
                let own = self.opaques.own(Some(&part.opaque), path)?;
                raw(own).map(Block::Raw)
            }
            // Only users show images and files.
            _ => {
                warnings.dropped(path());
                None
            }
        }
    }

    fn result(&mut self, id: &str, message: &'a Message) {
        let result = Block::ToolResult {
            id: self.ids.get(id).to_owned(),
            content: content(message),
            is_error: message.is_error,
        };
        self.add("user", vec![result]);
    }
}

/// What a user or a tool says. Blocks without anything to read are refused by the wire.
fn content(message: &Message) -> Vec<Block<'_>> {
    let parts = message.content.iter();
    parts
        .filter_map(|part| match part {
            Part::Text(part) => text(&part.text, Members::default()),
            Part::Image(part) => Some(image(part)),
            Part::File(part) => Some(document(part)),
            _ => None,
        })
        .collect()
}

fn text(text: &str, rest: Members) -> Option<Block<'_>> {
    (!text.trim().is_empty()).then_some(Block::Text { text, rest })
}

fn image(part: &ImagePart) -> Block<'_> {
    Block::Media {
        kind: "image",
        held: Held::of(&part.image.source, part.image.mime_type.as_deref()),
        text: None,
        title: None,
    }
}

fn document(part: &FilePart) -> Block<'_> {
    let mime = part.file.mime_type.as_deref();
    let text = text_of(part);
    let held = match &text {
        // It is not needed a second time.
        Some(_) => Held::Url(""),
        None => Held::of(&part.file.source, mime),
    };
    Block::Media {
        kind: "document",
        held,
        text,
        title: part.name.as_deref(),
    }
}

/// The text of a file that is text and here; `None` for any other.
pub(super) fn text_of(part: &FilePart) -> Option<Cow<'_, str>> {
    let mime = part.file.mime_type.as_deref()?;
    if !mime.get(..5)?.eq_ignore_ascii_case("text/") {
        return None;
    }
    match &part.file.source {
        Source::Bytes(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        source => {
            let bytes = source.to_bytes().ok()?;
            String::from_utf8(bytes.to_vec()).ok().map(Cow::Owned)
        }
    }
}

/// The members that a provider attached.
fn members(own: Option<&Opaque>) -> Members {
    own.and_then(|own| serde_json::from_str(own.data.as_str()).ok())
        .unwrap_or_default()
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = match self {
            Self::Raw(raw) => return raw.serialize(serializer),
            _ => serializer.serialize_map(None)?,
        };
        match self {
            Self::Text { text, rest } => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
                write_rest(&mut map, rest)?;
            }
            Self::Media {
                kind,
                held,
                text,
                title,
            } => {
                map.serialize_entry("type", kind)?;
                map.serialize_entry("source", &MediaSource { held, text })?;
                if let Some(title) = title {
                    map.serialize_entry("title", title)?;
                }
            }
            Self::ToolUse {
                id,
                name,
                input,
                rest,
            } => {
                map.serialize_entry("type", "tool_use")?;
                map.serialize_entry("id", id)?;
                map.serialize_entry("name", name)?;
                match input {
                    Some(input) => map.serialize_entry("input", input)?,
                    None => map.serialize_entry("input", &Map::new())?,
                }
                write_rest(&mut map, rest)?;
            }
            Self::ToolResult {
                id,
                content,
                is_error,
            } => {
                map.serialize_entry("type", "tool_result")?;
                map.serialize_entry("tool_use_id", id)?;
                match &content[..] {
                    [] => {}
                    [Self::Text { text, .. }] => map.serialize_entry("content", text)?,
                    blocks => map.serialize_entry("content", blocks)?,
                }
                if *is_error {
                    map.serialize_entry("is_error", &true)?;
                }
            }
            Self::Raw(_) => {}
        }
        map.end()
    }
}

/// Writes what a provider attached, byte for byte.
fn write_rest<M: SerializeMap>(map: &mut M, rest: &Members) -> Result<(), M::Error> {
    for (name, value) in rest.pairs() {
        // It was read from JSON.
        if let Ok(value) = serde_json::from_str::<&RawValue>(value) {
            map.serialize_entry(name, value)?;
        }
    }
    Ok(())
}

struct MediaSource<'a> {
    held: &'a Held<'a>,
    text: &'a Option<Cow<'a, str>>,
}

impl Serialize for MediaSource<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match (self.text, self.held) {
            (Some(text), _) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("media_type", "text/plain")?;
                map.serialize_entry("data", text)?;
            }
            (None, Held::Data { mime, base64 }) => {
                map.serialize_entry("type", "base64")?;
                map.serialize_entry("media_type", mime)?;
                map.serialize_entry("data", base64)?;
            }
            (None, Held::Url(url)) => {
                map.serialize_entry("type", "url")?;
                map.serialize_entry("url", url)?;
            }
            (None, Held::Id(id)) => {
                map.serialize_entry("type", "file")?;
                map.serialize_entry("file_id", id)?;
            }
        }
        map.end()
    }
}
