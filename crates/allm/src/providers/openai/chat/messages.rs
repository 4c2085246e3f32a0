//! The conversation as this wire writes it.

use std::borrow::Cow;
use std::sync::Arc;

use allm_core::json::Sorted;
use allm_core::{
    FilePart, ImagePart, Message, Messages, Opaque, Part, ProviderName, Role, ToolCall,
};
use serde_json::{Value, json};

use super::stream::DETAILS;
use crate::providers::compat::profile::{
    EmptyContent, MalformedBack, Profile, ReasoningBack, ReasoningBackField, ToolResultImages,
};
use crate::providers::translate::media::{self, Held, data_uri};
use crate::providers::translate::notes::part_path;
use crate::providers::translate::opaque::raw;
use crate::providers::translate::turns::{CallResult, Said, Turn};
use crate::providers::translate::written::{Page, Script, comma, string};

/// What the bytes depend on besides the messages.
#[derive(PartialEq)]
pub(super) struct Key {
    provider: ProviderName,
    profile: Arc<Profile>,
    /// The place of the last user message, where it matters.
    last_user: Option<usize>,
}

/// Writes a conversation for this server.
pub(super) struct Writer<'a> {
    profile: &'a Profile,
    provider: &'a ProviderName,
    wire: &'a str,
    /// The place of the last user message, where it matters.
    last_user: Option<usize>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        messages: &Messages,
        provider: &'a ProviderName,
        wire: &'a str,
        profile: &'a Profile,
    ) -> Self {
        let matters = profile.reasoning_back == ReasoningBack::SinceLastUser;
        let is_user = |message: &Arc<Message>| message.role == Role::User;
        Self {
            profile,
            provider,
            wire,
            last_user: matters
                .then(|| messages.iter().rposition(is_user))
                .flatten(),
        }
    }

    pub(super) fn key(&self, profile: &Arc<Profile>) -> Key {
        Key {
            provider: self.provider.clone(),
            profile: Arc::clone(profile),
            last_user: self.last_user,
        }
    }
}

type Done = Result<(), serde_json::Error>;

impl<'a> Script<'a> for Writer<'a> {
    type Key = Key;
    type State = ();

    fn turn(&mut self, turn: &Turn<'a>, to: &mut Page<'a>) -> Done {
        match turn {
            Turn::Message(said) => match said.message.role {
                Role::System => plain(&mut to.bytes, said.message, &self.profile.system_role),
                Role::User => plain(&mut to.bytes, said.message, "user"),
                Role::Assistant => self.assistant(*said, to),
                // It answers no call; the server will say so.
                Role::Tool => {
                    let id = said.message.tool_call_id.as_ref();
                    self.result(id.map_or("", |id| id.as_str()), said.message, to)
                }
            },
            Turn::Calls { said, results } => {
                self.assistant(*said, to)?;
                for result in results {
                    self.result(result.call.id.as_str(), result.message, to)?;
                }
                self.follow_up(results, to)
            }
        }
    }

    fn state(&self) {}
}

/// Begins a message with its role.
fn begin(to: &mut Vec<u8>, role: &str) -> Done {
    comma(to);
    to.extend_from_slice(b"{\"role\":");
    string(to, role)
}

/// Writes the name of the next field.
fn field(to: &mut Vec<u8>, name: &str) -> Done {
    to.push(b',');
    string(to, name)?;
    to.push(b':');
    Ok(())
}

fn text_field(to: &mut Vec<u8>, name: &str, text: &str) -> Done {
    field(to, name)?;
    string(to, text)
}

fn name(to: &mut Vec<u8>, message: &Message) -> Done {
    match &message.name {
        Some(name) => text_field(to, "name", name),
        None => Ok(()),
    }
}

fn plain(to: &mut Vec<u8>, message: &Message, role: &str) -> Done {
    begin(to, role)?;
    content(to, &message.content)?;
    name(to, message)?;
    to.push(b'}');
    Ok(())
}

impl<'a> Writer<'a> {
    fn assistant(&self, said: Said<'a>, to: &mut Page<'a>) -> Done {
        let Said { index, message } = said;
        let mut texts = Texts::default();
        let mut refusal = Texts::default();
        let mut thoughts = Vec::new();
        let mut details = None;
        for (at, part) in message.content.iter().enumerate() {
            let own = to.opaques.own(part.attached(), || part_path(index, at));
            match part {
                Part::Text(part) => texts.add(&part.text),
                Part::Refusal(part) => refusal.add(&part.text),
                Part::Reasoning(part) => {
                    details = details.or(own.filter(|own| own.kind == DETAILS));
                    thoughts.extend(part.text.as_deref());
                }
                Part::Image(_) | Part::File(_) => to.opaques.left.part(part_path(index, at)),
                _ => {}
            }
        }
        for call in &message.tool_calls {
            to.opaques.own(call.opaque.as_deref(), || {
                allm_core::Path::from("messages")
                    .index(index)
                    .field("tool_calls")
            });
        }
        let thinking = self.thinking(said, &thoughts);
        let in_content = self.profile.reasoning_back_field == ReasoningBackField::Content;
        let bytes = &mut to.bytes;
        begin(bytes, "assistant")?;
        match (&thinking, texts.joined()) {
            (Some(thinking), text) if in_content && !thinking.is_empty() => {
                let thought = json!({"type": "text", "text": thinking});
                let mut list = vec![json!({"type": "thinking", "thinking": [thought]})];
                list.extend(text.map(|text| json!({"type": "text", "text": text})));
                value_field(bytes, "content", &list.into())?;
            }
            (_, Some(text)) => text_field(bytes, "content", text)?,
            (_, None) => self.nothing(bytes, message, refusal.0.is_none())?,
        }
        name(bytes, message)?;
        if let Some(refusal) = refusal.joined() {
            text_field(bytes, "refusal", refusal)?;
        }
        if let Some(thinking) = thinking {
            self.reasoning(bytes, &thinking, details)?;
        }
        if !message.tool_calls.is_empty() {
            field(bytes, "tool_calls")?;
            bytes.push(b'[');
            for call in &message.tool_calls {
                comma(bytes);
                self.call(bytes, call, to.ids.get(call.id.as_str()))?;
            }
            bytes.push(b']');
        }
        bytes.push(b'}');
        Ok(())
    }

    /// What stands for a text that is not there.
    fn nothing(&self, to: &mut Vec<u8>, message: &Message, no_refusal: bool) -> Done {
        if message.tool_calls.is_empty() {
            return match no_refusal {
                true => text_field(to, "content", ""),
                false => Ok(()),
            };
        }
        match self.profile.empty_content {
            EmptyContent::Omit => Ok(()),
            EmptyContent::Null => value_field(to, "content", &Value::Null),
            EmptyContent::EmptyString => text_field(to, "content", ""),
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

    fn reasoning(&self, to: &mut Vec<u8>, thinking: &str, details: Option<&Opaque>) -> Done {
        match &self.profile.reasoning_back_field {
            ReasoningBackField::Text(name) => {
                let fill =
                    self.profile.reasoning_back == ReasoningBack::Always { fill_empty: true };
                if fill || !thinking.is_empty() {
                    text_field(to, name, thinking)?;
                }
            }
            ReasoningBackField::Details => {
                if let Some(raw) = details.and_then(raw) {
                    field(to, DETAILS)?;
                    to.extend_from_slice(raw.get().as_bytes());
                }
            }
            ReasoningBackField::Content => {}
        }
        Ok(())
    }

    /// A call; the order of the fields is that of the alphabet, as everywhere in values.
    fn call(&self, to: &mut Vec<u8>, call: &ToolCall, id: &str) -> Done {
        let raw = &*call.raw_arguments;
        let malformed = call.arguments.is_none();
        let arguments = match self.profile.malformed_back {
            _ if raw.is_empty() => "{}",
            MalformedBack::EmptyObject if malformed => "{}",
            _ => raw,
        };
        to.extend_from_slice(b"{\"function\":{\"arguments\":");
        string(to, arguments)?;
        text_field(to, "name", &call.name)?;
        to.extend_from_slice(b"},\"id\":");
        string(to, id)?;
        to.extend_from_slice(b",\"type\":\"function\"}");
        Ok(())
    }

    fn result(&self, id: &str, message: &Message, to: &mut Page<'a>) -> Done {
        let Page { bytes, ids, .. } = to;
        let id = ids.get(id);
        begin(bytes, "tool")?;
        text_field(bytes, "tool_call_id", id)?;
        match self.profile.tool_result_images {
            ToolResultImages::Inline => content(bytes, &message.content)?,
            ToolResultImages::FollowUp => {
                text_field(bytes, "content", &announced(&message.content, id))?;
            }
        }
        bytes.push(b'}');
        Ok(())
    }

    /// The pictures and files of a turn's results.
    fn follow_up(&self, results: &[CallResult<'a>], to: &mut Page<'a>) -> Done {
        if self.profile.tool_result_images == ToolResultImages::Inline {
            return Ok(());
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
            begin(&mut to.bytes, "user")?;
            value_field(&mut to.bytes, "content", &media.into())?;
            to.bytes.push(b'}');
        }
        Ok(())
    }
}

/// Texts that become one.
#[derive(Default)]
struct Texts<'a>(Option<Cow<'a, str>>);

impl<'a> Texts<'a> {
    fn add(&mut self, text: &'a str) {
        match &mut self.0 {
            None => self.0 = Some(text.into()),
            Some(texts) => {
                let texts = texts.to_mut();
                texts.push('\n');
                texts.push_str(text);
            }
        }
    }

    /// The texts as one; `None` when there is nothing in them.
    fn joined(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }
}

fn value_field(to: &mut Vec<u8>, name: &str, value: &Value) -> Done {
    field(to, name)?;
    serde_json::to_writer(to, &Sorted(value))
}

/// The content: one string for text alone, else a list of blocks.
fn content(to: &mut Vec<u8>, parts: &[Part]) -> Done {
    let mut texts = Texts::default();
    for part in parts {
        match part.as_text() {
            Some(text) => texts.add(text),
            None => return value_field(to, "content", &blocks(parts)),
        }
    }
    text_field(to, "content", texts.joined().unwrap_or_default())
}

fn blocks(parts: &[Part]) -> Value {
    let blocks = parts.iter().filter_map(|part| match part {
        Part::Text(part) => Some(json!({"type": "text", "text": part.text})),
        Part::Image(image) => Some(image_block(image)),
        Part::File(file) => Some(file_block(file)),
        _ => None,
    });
    blocks.collect::<Vec<_>>().into()
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
