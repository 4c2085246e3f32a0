//! A conversation as the wire has it: users and assistants in turn, each with a list of blocks.

use std::borrow::Cow;

use allm_core::json::Sorted;
use allm_core::{
    FilePart, ImagePart, Map, Message, Messages, Opaque, Part, Path, ProviderName, Role, Source,
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::members::Members;
use crate::providers::translate::ids::IdRule;
use crate::providers::translate::media::Held;
use crate::providers::translate::notes::part_path;
use crate::providers::translate::opaque::{Opaques, raw};
use crate::providers::translate::turns::{self, CallResult, Said, Turn};
use crate::providers::translate::written::{Page, Script, comma};

/// The ids that the wire accepts.
pub(super) const IDS: IdRule = IdRule::Word { max: 64 };

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
        id: &'a str,
        name: &'a str,
        input: Option<&'a Map>,
        rest: Members,
    },
    ToolResult {
        id: &'a str,
        content: Vec<Block<'a>>,
        is_error: bool,
    },
    /// As it came.
    Raw(&'a RawValue),
}

/// What the application says; nothing when it is empty.
pub(super) fn system(messages: &Messages) -> Option<String> {
    let messages = messages.iter();
    let system = messages.filter(|message| message.role == Role::System);
    let texts = system.filter_map(|message| {
        let texts: Vec<&str> = message.content.iter().filter_map(Part::as_text).collect();
        let text = texts.join("\n");
        (!text.trim().is_empty()).then_some(text)
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Writes the messages of a conversation. The list of blocks of the last one is left open: neighbours of one role are
/// one message.
pub(super) struct Writer {
    /// Whose message is open.
    role: Option<&'static str>,
}

impl Writer {
    pub(super) fn new(role: Option<&'static str>) -> Self {
        Self { role }
    }
}

type Done = Result<(), serde_json::Error>;

impl<'a> Script<'a> for Writer {
    /// To whom.
    type Key = ProviderName;
    /// Whose message is open.
    type State = Option<&'static str>;

    fn turn(&mut self, turn: &Turn<'a>, to: &mut Page<'a>) -> Done {
        match turn {
            Turn::Message(said) => self.message(*said, to),
            Turn::Calls { said, results } => {
                self.message(*said, to)?;
                for result in results {
                    let CallResult { call, message, .. } = result;
                    self.result(call.id.as_str(), message, to)?;
                }
                Ok(())
            }
        }
    }

    fn state(&self) -> Self::State {
        self.role
    }

    fn end(&self, to: &mut Vec<u8>) {
        if self.role.is_some() {
            to.extend_from_slice(b"]}");
        }
    }
}

impl Writer {
    /// Adds blocks to the message of this role.
    fn add(&mut self, role: &'static str, blocks: &[Block<'_>], to: &mut Vec<u8>) -> Done {
        if blocks.is_empty() {
            return Ok(());
        }
        if self.role != Some(role) {
            Script::end(self, to);
            comma(to);
            to.extend_from_slice(b"{\"role\":\"");
            to.extend_from_slice(role.as_bytes());
            to.extend_from_slice(b"\",\"content\":[");
            self.role = Some(role);
        }
        for block in blocks {
            comma(to);
            serde_json::to_writer(&mut *to, block)?;
        }
        Ok(())
    }

    fn message<'a>(&mut self, said: Said<'a>, to: &mut Page<'a>) -> Done {
        let message = said.message;
        match message.role {
            // It stands elsewhere.
            Role::System => Ok(()),
            Role::User => self.add("user", &content(message), &mut to.bytes),
            Role::Tool => {
                let id = message.tool_call_id.as_ref();
                self.result(id.map_or("", |id| id.as_str()), message, to)
            }
            Role::Assistant => {
                let mut blocks = Vec::new();
                for block in turns::blocks(message) {
                    match block {
                        turns::Block::Part(at, part) => {
                            let path = || part_path(said.index, at);
                            blocks.extend(said_part(part, path, &mut to.opaques));
                        }
                        turns::Block::Call(at, call) => {
                            let path = || {
                                let message = Path::from("messages").index(said.index);
                                message.field("tool_calls").index(at)
                            };
                            let own = to.opaques.own(call.opaque.as_deref(), path);
                            blocks.push(Block::ToolUse {
                                id: to.ids.get(call.id.as_str()),
                                name: &call.name,
                                input: call.arguments.as_deref(),
                                rest: members(own),
                            });
                        }
                    }
                }
                self.add("assistant", &blocks, &mut to.bytes)
            }
        }
    }

    fn result<'a>(&mut self, id: &str, message: &'a Message, to: &mut Page<'a>) -> Done {
        let result = Block::ToolResult {
            id: to.ids.get(id),
            content: content(message),
            is_error: message.is_error,
        };
        self.add("user", &[result], &mut to.bytes)
    }
}

/// A part of what the model said.
fn said_part<'a>(
    part: &'a Part,
    path: impl FnOnce() -> Path,
    opaques: &mut Opaques<'_>,
) -> Option<Block<'a>> {
    match part {
        Part::Text(part) => {
            let own = opaques.own(part.opaque.as_deref(), path);
            text(&part.text, members(own))
        }
        Part::Refusal(part) => text(&part.text, Members::default()),
        Part::Reasoning(part) => {
            let own = opaques.own(part.opaque.as_deref(), path)?;
            raw(own).map(Block::Raw)
        }
        Part::Opaque(part) => {
            let own = opaques.own(Some(&part.opaque), path)?;
            raw(own).map(Block::Raw)
        }
        // Only users show images and files.
        _ => {
            opaques.left.part(path());
            None
        }
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
                    Some(input) => map.serialize_entry("input", &Sorted(*input))?,
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
