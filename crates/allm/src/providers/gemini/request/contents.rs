//! The conversation, as `contents`.

use std::borrow::Cow;

use allm_core::{Message, Opaque, Part, Path, ProviderName, Request, Role, Source, ToolCall};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::WIRE;
use super::super::stream::SIGNATURE;
use crate::providers::translate::media::Held;
use crate::providers::translate::notes::{Warnings, part_path};
use crate::providers::translate::opaque::{Opaques, raw};
use crate::providers::translate::turns::{Block, CallResult, Said, Turn, blocks, turns};

/// Stands for the signature of a call that another model made.
const SKIP: &str = "skip_thought_signature_validator";

/// What one side says.
#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    role: &'static str,
    parts: Vec<Entry<'a>>,
    /// Results stand alone: nothing is added to them.
    #[serde(skip)]
    is_results: bool,
}

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

/// Makes the contents of a conversation.
pub(super) struct Writer<'a> {
    opaques: Opaques<'a>,
    /// Whether the model is of the third generation or later.
    is_third: bool,
    contents: Vec<Content<'a>>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(provider: &'a ProviderName, is_third: bool) -> Self {
        Self {
            opaques: Opaques::new(provider, WIRE),
            is_third,
            contents: Vec::new(),
        }
    }

    pub(super) fn write(
        mut self,
        request: &'a Request,
        warnings: &mut Warnings,
    ) -> Vec<Content<'a>> {
        for turn in turns(&request.messages) {
            match turn {
                Turn::Message(said) => match said.message.role {
                    Role::User => self.add("user", plain_parts(said.message)),
                    Role::Assistant => self.assistant(said),
                    // System messages stand elsewhere; a result without a call was refused.
                    Role::System | Role::Tool => {}
                },
                Turn::Calls { said, results } => {
                    self.assistant(said);
                    self.results(said.message, &results);
                }
            }
        }
        self.opaques.warn(warnings);
        self.contents
    }

    /// Adds parts to what this side says, or begins a new content.
    fn add(&mut self, role: &'static str, parts: Vec<Entry<'a>>) {
        if parts.is_empty() {
            return;
        }
        match self.contents.last_mut() {
            Some(last) if last.role == role && !last.is_results => last.parts.extend(parts),
            _ => self.contents.push(Content {
                role,
                parts,
                is_results: false,
            }),
        }
    }

    fn assistant(&mut self, said: Said<'a>) {
        let Said { index, message } = said;
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut has_call = self.goes_on_after_a_call();
        for block in blocks(message) {
            match block {
                Block::Part(at, part) => {
                    let own = self.opaques.own(part.attached(), || part_path(index, at));
                    said_part(part, own, &mut entries);
                }
                Block::Call(number, call) => {
                    let path = || call_path(index, number);
                    let own = self.opaques.own(call.opaque.as_deref(), path);
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
        self.add("model", entries);
    }

    /// Whether what is added next belongs to a model turn that has a call already.
    fn goes_on_after_a_call(&self) -> bool {
        let is_call =
            |entry: &Entry<'_>| matches!(entry, Entry::Made(made) if made.function_call.is_some());
        self.contents
            .last()
            .is_some_and(|last| last.role == "model" && last.parts.iter().any(is_call))
    }

    /// All results of a turn, in one content.
    fn results(&mut self, asked: &'a Message, results: &[CallResult<'a>]) {
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
        if !parts.is_empty() {
            self.contents.push(Content {
                role: "user",
                parts,
                is_results: true,
            });
        }
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
