//! The conversation, as `contents`.

use std::borrow::Cow;

use allm_core::{Message, Opaque, Part, Path, ProviderName, Role, Source, ToolCall};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::WIRE;
use super::super::stream::SIGNATURE;
use crate::providers::translate::media::Held;
use crate::providers::translate::notes::part_path;
use crate::providers::translate::opaque::raw;
use crate::providers::translate::turns::{Block, CallResult, Said, Turn, blocks};
use crate::providers::translate::written::{Page, Script, comma};

/// Stands for the signature of a call that another model made.
const SKIP: &str = "skip_thought_signature_validator";

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Made(Box<Made<'a>>),
    /// As it came.
    Kept(&'a RawValue),
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Made<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<InlineData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<FileData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<Signature<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    file_uri: &'a str,
}

#[derive(Debug, Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    #[serde(serialize_with = "allm_core::json::sorted")]
    args: Cow<'a, allm_core::Map>,
}

#[derive(Debug, Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Outcome<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Made<'a>>,
}

/// What a call gave. Field names tell the model how it went.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome<'a> {
    Output(Told<'a>),
    Error(Told<'a>),
}

/// JSON as it is written, or text.
#[derive(Debug)]
enum Told<'a> {
    Json(Cow<'a, str>),
    Text(Cow<'a, str>),
}

impl Serialize for Told<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Json(text) => {
                let raw: &RawValue =
                    serde_json::from_str(text).map_err(serde::ser::Error::custom)?;
                raw.serialize(serializer)
            }
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Signature<'a> {
    Own(&'a RawValue),
    Skip(&'static str),
}

/// What the bytes depend on besides the messages.
#[derive(PartialEq)]
pub(super) struct Key {
    pub(super) provider: ProviderName,
    pub(super) is_third: bool,
}

/// The content whose list of parts is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    role: &'static str,
    /// Results stand alone: nothing is added to them.
    is_results: bool,
    has_call: bool,
}

/// Writes the contents of a conversation. The parts of the last one are left open: neighbours of one side are one
/// content.
pub(super) struct Writer {
    /// Whether the model is of the third generation or later.
    is_third: bool,
    open: Option<Open>,
}

impl Writer {
    pub(super) fn new(is_third: bool, open: Option<Open>) -> Self {
        Self { is_third, open }
    }
}

type Done = Result<(), serde_json::Error>;

impl<'a> Script<'a> for Writer {
    type Key = Key;
    type State = Option<Open>;

    fn turn(&mut self, turn: &Turn<'a>, to: &mut Page<'a>) -> Done {
        match turn {
            Turn::Message(said) => match said.message.role {
                Role::User => self.add("user", &plain_parts(said.message), &mut to.bytes),
                Role::Assistant => self.assistant(*said, to),
                // System messages stand elsewhere; a result without a call was refused.
                Role::System | Role::Tool => Ok(()),
            },
            Turn::Calls { said, results } => {
                self.assistant(*said, to)?;
                self.results(said.message, results, to)
            }
        }
    }

    fn state(&self) -> Self::State {
        self.open
    }

    fn end(&self, to: &mut Vec<u8>) {
        if self.open.is_some() {
            to.extend_from_slice(b"]}");
        }
    }
}

impl Writer {
    /// Begins a content.
    fn begin(&mut self, open: Open, to: &mut Vec<u8>) {
        Script::end(self, to);
        comma(to);
        to.extend_from_slice(b"{\"role\":\"");
        to.extend_from_slice(open.role.as_bytes());
        to.extend_from_slice(b"\",\"parts\":[");
        self.open = Some(open);
    }

    fn parts(&mut self, parts: &[Entry<'_>], to: &mut Vec<u8>) -> Done {
        for part in parts {
            comma(to);
            serde_json::to_writer(&mut *to, part)?;
        }
        Ok(())
    }

    /// Adds parts to what this side says, or begins a new content.
    fn add(&mut self, role: &'static str, parts: &[Entry<'_>], to: &mut Vec<u8>) -> Done {
        if parts.is_empty() {
            return Ok(());
        }
        let is_call =
            |entry: &Entry<'_>| matches!(entry, Entry::Made(made) if made.function_call.is_some());
        let has_call = parts.iter().any(is_call);
        match &mut self.open {
            Some(open) if open.role == role && !open.is_results => open.has_call |= has_call,
            _ => {
                let open = Open {
                    role,
                    is_results: false,
                    has_call,
                };
                self.begin(open, to);
            }
        }
        self.parts(parts, to)
    }

    fn assistant<'a>(&mut self, said: Said<'a>, to: &mut Page<'a>) -> Done {
        let Said { index, message } = said;
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut has_call = self.goes_on_after_a_call();
        for block in blocks(message) {
            match block {
                Block::Part(at, part) => {
                    let own = to.opaques.own(part.attached(), || part_path(index, at));
                    said_part(part, own, &mut entries);
                }
                Block::Call(number, call) => {
                    let path = || call_path(index, number);
                    let own = to.opaques.own(call.opaque.as_deref(), path);
                    let mut signature = own.and_then(raw).map(Signature::Own);
                    if self.is_third && !has_call && signature.is_none() {
                        signature = Some(Signature::Skip(SKIP));
                    }
                    has_call = true;
                    entries.push(Entry::Made(Box::new(Made {
                        function_call: Some(FunctionCall {
                            id: id_of(message, call),
                            name: &call.name,
                            args: match &call.arguments {
                                Some(arguments) if !call.incomplete => Cow::Borrowed(arguments),
                                _ => Cow::Owned(allm_core::Map::new()),
                            },
                        }),
                        thought_signature: signature,
                        ..Made::default()
                    })));
                }
            }
        }
        self.add("model", &entries, &mut to.bytes)
    }

    /// Whether what is added next belongs to a model turn that has a call already.
    fn goes_on_after_a_call(&self) -> bool {
        self.open
            .is_some_and(|open| open.role == "model" && open.has_call)
    }

    /// All results of a turn, in one content.
    fn results<'a>(
        &mut self,
        asked: &'a Message,
        results: &[CallResult<'a>],
        to: &mut Page<'a>,
    ) -> Done {
        let mut parts = Vec::new();
        let mut media = Vec::new();
        for result in results {
            let mut held: Vec<Made<'a>> = result.message.content.iter().filter_map(held).collect();
            if !self.is_third {
                media.append(&mut held);
            }
            let told = told(result.message);
            parts.push(Entry::Made(Box::new(Made {
                function_response: Some(FunctionResponse {
                    id: id_of(asked, result.call),
                    name: &result.call.name,
                    response: match result.message.is_error {
                        true => Outcome::Error(told),
                        false => Outcome::Output(told),
                    },
                    parts: held,
                }),
                ..Made::default()
            })));
        }
        parts.extend(media.into_iter().map(|made| Entry::Made(Box::new(made))));
        if parts.is_empty() {
            return Ok(());
        }
        let open = Open {
            role: "user",
            is_results: true,
            has_call: false,
        };
        self.begin(open, &mut to.bytes);
        self.parts(&parts, &mut to.bytes)
    }
}

/// The id that this wire gave a call; those of others mean nothing here.
fn id_of<'a>(message: &'a Message, call: &'a ToolCall) -> Option<&'a str> {
    let is_own = message
        .origin
        .as_ref()
        .is_some_and(|origin| origin.wire == WIRE);
    call.wire_id
        .as_deref()
        .filter(|id| is_own && !id.is_empty())
}

/// A part that an assistant said, with its signature.
fn said_part<'a>(part: &'a Part, own: Option<&'a Opaque>, entries: &mut Vec<Entry<'a>>) {
    let signature = own.filter(|opaque| opaque.kind == SIGNATURE).and_then(raw);
    let made = match part {
        Part::Text(part) => text(&part.text, signature, None),
        // Thinking goes back only as what its maker can check.
        Part::Reasoning(part) if signature.is_some() => text(
            part.text.as_deref().unwrap_or_default(),
            signature,
            Some(true),
        ),
        Part::Refusal(part) => text(&part.text, None, None),
        Part::Opaque(_) => {
            match (entries.last_mut(), signature) {
                // Of the picture or file before it.
                (Some(Entry::Made(last)), Some(signature)) => {
                    last.thought_signature = Some(Signature::Own(signature));
                }
                (_, None) => entries.extend(own.and_then(raw).map(Entry::Kept)),
                (_, Some(_)) => {}
            }
            None
        }
        part => held(part),
    };
    entries.extend(made.map(|made| Entry::Made(Box::new(made))));
}

fn text<'a>(
    text: &'a str,
    signature: Option<&'a RawValue>,
    thought: Option<bool>,
) -> Option<Made<'a>> {
    if text.is_empty() && signature.is_none() {
        return None;
    }
    Some(Made {
        text: Some(text.into()),
        thought,
        thought_signature: signature.map(Signature::Own),
        ..Made::default()
    })
}

fn plain_parts(message: &Message) -> Vec<Entry<'_>> {
    let made = message.content.iter().filter_map(|part| match part {
        Part::Text(part) => text(&part.text, None, None),
        part => held(part),
    });
    let mut entries: Vec<_> = made.map(|made| Entry::Made(Box::new(made))).collect();
    if entries.is_empty() {
        // A conversation without anything from a person is refused; an empty text is not.
        entries.push(Entry::Made(Box::new(Made {
            text: Some("".into()),
            ..Made::default()
        })));
    }
    entries
}

/// A picture or a file.
fn held(part: &Part) -> Option<Made<'_>> {
    let (source, mime): (&Source, &Option<String>) = match part {
        Part::Image(part) => (&part.image.source, &part.image.mime_type),
        Part::File(part) => (&part.file.source, &part.file.mime_type),
        _ => return None,
    };
    let mut made = Made::default();
    match Held::of(source, mime.as_deref()) {
        Held::Data { mime, base64 } => {
            made.inline_data = Some(InlineData {
                mime_type: mime,
                data: base64,
            });
        }
        Held::Url(file_uri) | Held::Id(file_uri) => {
            made.file_data = Some(FileData {
                mime_type: mime.as_deref(),
                file_uri,
            });
        }
    }
    Some(made)
}

/// The text of a result: JSON where it is JSON.
fn told(message: &Message) -> Told<'_> {
    let mut texts = message.content.iter().filter_map(Part::as_text);
    let text = match (texts.next(), texts.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(only), None) => Cow::Borrowed(only),
        (Some(first), Some(second)) => {
            let all: Vec<&str> = [first, second].into_iter().chain(texts).collect();
            Cow::Owned(all.join("\n"))
        }
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(_) => Told::Json(text),
        Err(_) => Told::Text(text),
    }
}

fn call_path(message: usize, call: usize) -> Path {
    Path::from("messages")
        .index(message)
        .field("tool_calls")
        .index(call)
}
