//! The conversation as this wire writes it.

use std::borrow::Cow;

use allm_core::{
    FilePart, ImagePart, Message, Messages, Opaque, Part, ProviderName, Role, ToolCall,
};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::stream::DETAILS;
use crate::providers::compat::profile::{
    EmptyContent, MalformedBack, Profile, ReasoningBack, ReasoningBackField, ToolResultImages,
};
use crate::providers::translate::ids::Ids;
use crate::providers::translate::media::{self, Held, data_uri};
use crate::providers::translate::notes::{Warnings, part_path};
use crate::providers::translate::opaque::{Opaques, raw};
use crate::providers::translate::turns::{CallResult, Said, Turn, turns};

/// The messages of a body.
pub(super) type Conversation<'a> = Vec<Entry<'a>>;

/// A message: its fields in order.
#[derive(Debug)]
pub(super) struct Entry<'a>(Vec<(Cow<'a, str>, Field<'a>)>);

#[derive(Debug)]
enum Field<'a> {
    Null,
    Text(Cow<'a, str>),
    Value(Value),
    Raw(&'a RawValue),
}

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, field) in &self.0 {
            map.serialize_entry(name, field)?;
        }
        map.end()
    }
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Value(value) => value.serialize(serializer),
            Self::Raw(raw) => raw.serialize(serializer),
        }
    }
}

impl<'a> Entry<'a> {
    fn new(role: Cow<'a, str>) -> Self {
        let mut entry = Self(Vec::with_capacity(4));
        entry.put("role", Field::Text(role));
        entry
    }

    fn put(&mut self, name: impl Into<Cow<'a, str>>, field: Field<'a>) {
        self.0.push((name.into(), field));
    }

    fn name(&mut self, message: &'a Message) {
        if let Some(name) = &message.name {
            self.put("name", Field::Text(name.as_str().into()));
        }
    }
}

/// Writes a conversation.
struct Writer<'a, 'b> {
    profile: &'a Profile,
    provider: &'a ProviderName,
    wire: &'a str,
    ids: Ids<'a>,
    opaques: Opaques<'a>,
    /// The place of the last user message.
    last_user: Option<usize>,
    entries: Vec<Entry<'a>>,
    warnings: &'b mut Warnings,
}

/// The conversation for this server.
pub(super) fn conversation<'a>(
    messages: &'a Messages,
    provider: &'a ProviderName,
    wire: &'a str,
    profile: &'a Profile,
    warnings: &mut Warnings,
) -> Conversation<'a> {
    let mut writer = Writer {
        profile,
        provider,
        wire,
        ids: Ids::of(messages, profile.id_rule, provider, wire),
        opaques: Opaques::new(provider, wire),
        last_user: messages
            .iter()
            .rposition(|message| message.role == Role::User),
        entries: Vec::with_capacity(messages.len()),
        warnings,
    };
    for turn in turns(messages) {
        writer.turn(&turn);
    }
    writer.opaques.warn(writer.warnings);
    writer.entries
}

impl<'a> Writer<'a, '_> {
    fn turn(&mut self, turn: &Turn<'a>) {
        match turn {
            Turn::Message(said) => match said.message.role {
                Role::System => self.plain(*said, self.profile.system_role.as_ref()),
                Role::User => self.plain(*said, "user"),
                Role::Assistant => self.assistant(*said),
                // It answers no call; the server will say so.
                Role::Tool => {
                    let id = said
                        .message
                        .tool_call_id
                        .as_ref()
                        .map_or("", |id| id.as_str());
                    self.result(id, said.message);
                }
            },
            Turn::Calls { said, results } => {
                self.assistant(*said);
                for result in results {
                    self.result(result.call.id.as_str(), result.message);
                }
                self.follow_up(results);
            }
        }
    }

    fn plain(&mut self, said: Said<'a>, role: &'a str) {
        let mut entry = Entry::new(role.into());
        entry.put("content", content(&said.message.content));
        entry.name(said.message);
        self.entries.push(entry);
    }

    fn assistant(&mut self, said: Said<'a>) {
        let Said { index, message } = said;
        let mut entry = Entry::new("assistant".into());
        let mut texts = Vec::new();
        let mut refusal = Vec::new();
        let mut thoughts = Vec::new();
        let mut details = None;
        for (at, part) in message.content.iter().enumerate() {
            let own = self.opaques.own(part.attached(), || part_path(index, at));
            match part {
                Part::Text(part) => texts.push(part.text.as_str()),
                Part::Refusal(part) => refusal.push(part.text.as_str()),
                Part::Reasoning(part) => {
                    details = details.or(own.filter(|own| own.kind == DETAILS));
                    thoughts.extend(part.text.as_deref());
                }
                Part::Image(_) | Part::File(_) => self.warnings.dropped(part_path(index, at)),
                _ => {}
            }
        }
        for call in &message.tool_calls {
            self.opaques.own(call.opaque.as_deref(), || {
                allm_core::Path::from("messages")
                    .index(index)
                    .field("tool_calls")
            });
        }
        let thinking = self.thinking(said, &thoughts);
        let in_content = self.profile.reasoning_back_field == ReasoningBackField::Content;
        match (&thinking, joined(&texts)) {
            (Some(thinking), text) if in_content && !thinking.is_empty() => {
                let thought = json!({"type": "text", "text": thinking});
                let mut list = vec![json!({"type": "thinking", "thinking": [thought]})];
                list.extend(text.map(|text| json!({"type": "text", "text": text})));
                entry.put("content", Field::Value(list.into()));
            }
            (_, Some(text)) => entry.put("content", Field::Text(text)),
            (_, None) => {
                if let Some(field) = self.nothing(message, refusal.is_empty()) {
                    entry.put("content", field);
                }
            }
        }
        entry.name(message);
        if let Some(refusal) = joined(&refusal) {
            entry.put("refusal", Field::Text(refusal));
        }
        if let Some(thinking) = thinking {
            self.reasoning(&mut entry, thinking, details);
        }
        if !message.tool_calls.is_empty() {
            let calls = message.tool_calls.iter().map(|call| self.call(call));
            entry.put("tool_calls", Field::Value(calls.collect::<Vec<_>>().into()));
        }
        self.entries.push(entry);
    }

    /// What stands for a text that is not there.
    fn nothing(&self, message: &Message, no_refusal: bool) -> Option<Field<'a>> {
        if message.tool_calls.is_empty() {
            return no_refusal.then_some(Field::Text("".into()));
        }
        match self.profile.empty_content {
            EmptyContent::Omit => None,
            EmptyContent::Null => Some(Field::Null),
            EmptyContent::EmptyString => Some(Field::Text("".into())),
        }
    }

    /// The thinking that this server wants back with a message.
    fn thinking(&self, said: Said<'a>, thoughts: &[&'a str]) -> Option<String> {
        let origin = said.message.origin.as_ref();
        let own = origin
            .is_some_and(|origin| origin.provider == *self.provider && origin.wire == self.wire);
        let thoughts = if own {
            thoughts.concat()
        } else {
            String::new()
        };
        match self.profile.reasoning_back {
            ReasoningBack::Never => None,
            ReasoningBack::SinceLastUser => {
                let recent = self.last_user.is_none_or(|last| said.index > last);
                let wanted = recent && !said.message.tool_calls.is_empty();
                Some(thoughts).filter(|_| wanted && own)
            }
            ReasoningBack::Always { fill_empty } => Some(thoughts).filter(|_| own || fill_empty),
        }
    }

    fn reasoning(&self, entry: &mut Entry<'a>, thinking: String, details: Option<&'a Opaque>) {
        match &self.profile.reasoning_back_field {
            ReasoningBackField::Text(name) => {
                let fill =
                    self.profile.reasoning_back == ReasoningBack::Always { fill_empty: true };
                if fill || !thinking.is_empty() {
                    entry.put(name.as_ref(), Field::Text(thinking.into()));
                }
            }
            ReasoningBackField::Details => {
                if let Some(raw) = details.and_then(raw) {
                    entry.put(DETAILS, Field::Raw(raw));
                }
            }
            ReasoningBackField::Content => {}
        }
    }

    fn call(&self, call: &ToolCall) -> Value {
        let raw = call.raw_arguments.as_str();
        let malformed = call.arguments.is_none();
        let arguments = match self.profile.malformed_back {
            _ if raw.is_empty() => "{}",
            MalformedBack::EmptyObject if malformed => "{}",
            _ => raw,
        };
        let function = json!({"name": call.name, "arguments": arguments});
        json!({"id": self.ids.get(call.id.as_str()), "type": "function", "function": function})
    }

    fn result(&mut self, id: &str, message: &'a Message) {
        let id = self.ids.get(id).to_owned();
        let content = match self.profile.tool_result_images {
            ToolResultImages::Inline => content(&message.content),
            ToolResultImages::FollowUp => Field::Text(announced(&message.content, &id)),
        };
        let mut entry = Entry::new("tool".into());
        entry.put("tool_call_id", Field::Text(id.into()));
        entry.put("content", content);
        self.entries.push(entry);
    }

    /// The pictures and files of a turn's results.
    fn follow_up(&mut self, results: &[CallResult<'a>]) {
        if self.profile.tool_result_images == ToolResultImages::Inline {
            return;
        }
        let media: Vec<Value> = results
            .iter()
            .flat_map(|result| &result.message.content)
            .filter_map(|part| match part {
                Part::Image(image) => Some(image_block(image)),
                Part::File(file) => Some(file_block(file)),
                _ => None,
            })
            .collect();
        if !media.is_empty() {
            let mut entry = Entry::new("user".into());
            entry.put("content", Field::Value(media.into()));
            self.entries.push(entry);
        }
    }
}

/// The texts as one; `None` when there is nothing in them.
fn joined<'a>(texts: &[&'a str]) -> Option<Cow<'a, str>> {
    let text: Cow<'a, str> = match texts {
        [] => return None,
        [only] => (*only).into(),
        several => several.join("\n").into(),
    };
    Some(text).filter(|text| !text.is_empty())
}

/// One string for text alone, else a list of blocks.
fn content(parts: &[Part]) -> Field<'_> {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    if texts.len() == parts.len() {
        return Field::Text(joined(&texts).unwrap_or_default());
    }
    let blocks = parts.iter().filter_map(|part| match part {
        Part::Text(part) => Some(json!({"type": "text", "text": part.text})),
        Part::Image(image) => Some(image_block(image)),
        Part::File(file) => Some(file_block(file)),
        _ => None,
    });
    Field::Value(blocks.collect::<Vec<_>>().into())
}

/// The text of a result; what follows in a message of its own is announced.
fn announced<'a>(parts: &'a [Part], id: &str) -> Cow<'a, str> {
    let mut images = 0;
    let mut files = 0;
    let texts: Vec<Cow<'a, str>> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(part) => Some(part.text.as_str().into()),
            Part::Image(_) => {
                images += 1;
                Some(format!("[image {images} of call {id} follows]").into())
            }
            Part::File(_) => {
                files += 1;
                Some(format!("[file {files} of call {id} follows]").into())
            }
            _ => None,
        })
        .collect();
    match <[Cow<'a, str>; 1]>::try_from(texts) {
        Ok([only]) => only,
        Err(several) => several.join("\n").into(),
    }
}

fn image_block(part: &ImagePart) -> Value {
    let url: Cow<'_, str> = match Held::of(&part.image.source, part.image.mime_type.as_deref()) {
        Held::Data { mime, base64 } => data_uri(mime, &base64).into(),
        Held::Url(url) => url.into(),
        // Refused before.
        Held::Id(id) => id.into(),
    };
    let detail = media::detail(part.detail);
    json!({"type": "image_url", "image_url": {"url": url, "detail": detail}})
}

fn file_block(part: &FilePart) -> Value {
    let file = match Held::of(&part.file.source, part.file.mime_type.as_deref()) {
        Held::Data { mime, base64 } => {
            let name = part.name.as_deref().unwrap_or("file");
            json!({"filename": name, "file_data": data_uri(mime, &base64)})
        }
        Held::Id(id) => json!({"file_id": id}),
        // Refused before, where the server does not take it.
        Held::Url(url) => match &part.name {
            Some(name) => json!({"filename": name, "file_data": url}),
            None => json!({"file_data": url}),
        },
    };
    json!({"type": "file", "file": file})
}
