//! The blocks that messages and results are made of.

use std::borrow::Cow;

use allm_core::{FilePart, ImagePart, Part};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::providers::translate::media::{self, Held, data_uri};

/// What a message or a result holds.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Block<'a> {
    Typed(Typed<'a>),
    /// As it came.
    Raw(&'a RawValue),
}

/// A block; what it has not is left out.
#[derive(Debug, Default, Serialize)]
pub(super) struct Typed<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_url: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_id: Option<&'a str>,
}

/// What goes back with a text.
#[derive(Default, Deserialize)]
pub(super) struct WithText<'a> {
    #[serde(borrow, default)]
    pub(super) annotations: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) phase: Option<Cow<'a, str>>,
}

impl<'a> Content<'a> {
    /// One text where there is nothing else, else a list of blocks.
    pub(super) fn of(parts: &'a [Part]) -> Self {
        let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
        match texts.as_slice() {
            texts if texts.len() < parts.len() => {
                Self::Blocks(parts.iter().filter_map(Block::given).collect())
            }
            [only] => Self::Text((*only).into()),
            several => Self::Text(several.join("\n").into()),
        }
    }
}

impl<'a> Block<'a> {
    /// A text of the assistant.
    pub(super) fn said(text: &'a str, annotations: Option<&'a RawValue>) -> Self {
        Self::Typed(Typed {
            kind: "output_text",
            text: Some(text),
            annotations,
            ..Typed::default()
        })
    }

    /// A refusal of the assistant.
    pub(super) fn refused(text: &'a str) -> Self {
        Self::Typed(Typed {
            kind: "refusal",
            refusal: Some(text),
            ..Typed::default()
        })
    }

    /// Something that is given to the model.
    fn given(part: &'a Part) -> Option<Self> {
        let block = match part {
            Part::Text(part) => Typed {
                kind: "input_text",
                text: Some(&part.text),
                ..Typed::default()
            },
            Part::Image(part) => image(part),
            Part::File(part) => file(part),
            _ => return None,
        };
        Some(Self::Typed(block))
    }
}

fn image(part: &ImagePart) -> Typed<'_> {
    let block = Typed {
        kind: "input_image",
        detail: Some(media::detail(part.detail)),
        ..Typed::default()
    };
    match Held::of(&part.image.source, part.image.mime_type.as_deref()) {
        Held::Data { mime, base64 } => Typed {
            image_url: Some(data_uri(mime, &base64).into()),
            ..block
        },
        Held::Url(url) => Typed {
            image_url: Some(url.into()),
            ..block
        },
        Held::Id(id) => Typed {
            file_id: Some(id),
            ..block
        },
    }
}

fn file(part: &FilePart) -> Typed<'_> {
    let block = Typed {
        kind: "input_file",
        ..Typed::default()
    };
    match Held::of(&part.file.source, part.file.mime_type.as_deref()) {
        Held::Data { mime, base64 } => Typed {
            // The API wants a name for what is sent along.
            filename: Some(part.name.as_deref().unwrap_or(name_of(mime))),
            file_data: Some(data_uri(mime, &base64)),
            ..block
        },
        Held::Url(url) => Typed {
            file_url: Some(url),
            ..block
        },
        Held::Id(id) => Typed {
            file_id: Some(id),
            ..block
        },
    }
}

/// A name for a file that has none. By its end the API tells what it is.
fn name_of(mime: &str) -> &'static str {
    const OFFICE: &str = "application/vnd.openxmlformats-officedocument.";
    match mime.to_ascii_lowercase().as_str() {
        "application/pdf" => "file.pdf",
        "application/json" => "file.json",
        "application/msword" => "file.doc",
        mime => match mime.strip_prefix(OFFICE) {
            Some("wordprocessingml.document") => "file.docx",
            Some("presentationml.presentation") => "file.pptx",
            Some("spreadsheetml.sheet") => "file.xlsx",
            _ => "file.txt",
        },
    }
}
