//! The result of a call as a handler's reply.

use std::path::{Path, PathBuf};

use allm_core::limits::{MAX_TOOL_MEDIA, MAX_TOOL_MEDIA_PARTS};
use allm_core::{File, Hash, Image, Map, Part, ReportedError, ToolReply};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// What the handler says.
///
/// A result with structured content is that; a result of texts is the texts, joined by line feeds. What is no text is named
/// in one, and written to a file where there is a folder for it. Pictures and PDF files go to the model, too.
pub(super) fn of(result: CallToolResult, folder: Option<&Path>) -> ToolReply {
    let is_error = result.is_error == Some(true);
    let structured = result.structured_content.filter(|value| !value.is_null());
    let mut media = Media::default();
    let blocks = result.content.iter();
    let blocks: Vec<_> = blocks
        .map(|block| shown(block, folder, &mut media))
        .collect();
    let text = blocks.join("\n");
    if is_error {
        let said = match text.trim() {
            "" => "the tool failed and did not say why".to_owned(),
            _ => text,
        };
        let error = ReportedError::new(said);
        return ToolReply::Error(match structured {
            Some(details) => error.details(details),
            None => error,
        });
    }
    let media = media.parts;
    match structured {
        Some(value) if says_same(&result.content, &text, &value) => {
            ToolReply::ok_with(&value, media)
        }
        Some(value) => {
            let all = [
                ("structured".to_owned(), value),
                ("content".to_owned(), text.into()),
            ];
            ToolReply::ok_with(&Value::Object(Map::from_iter(all)), media)
        }
        None => ToolReply::ok_with(&text, media),
    }
}

/// Whether the content is the value once more, for those who do not know structured content: as JSON, or as the one
/// member that it has.
fn says_same(content: &[ContentBlock], text: &str, value: &Value) -> bool {
    let texts = content.iter().map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let Some(texts) = texts.collect::<Option<Vec<_>>>() else {
        return false;
    };
    let is = |text: &str, value: &Value| {
        value.as_str() == Some(text)
            || serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value)
    };
    let are = |value: &Value| match value {
        _ if is(text, value) => true,
        Value::Array(items) if items.len() == texts.len() => {
            texts.iter().zip(items).all(|(text, item)| is(text, item))
        }
        _ => false,
    };
    let only = value.as_object().filter(|object| object.len() == 1);
    let only = only.and_then(|object| object.values().next());
    text.trim().is_empty() || are(value) || only.is_some_and(are)
}

/// A block as text.
fn shown(block: &ContentBlock, folder: Option<&Path>, media: &mut Media) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => media.named("image", &image.mime_type, &image.data, folder),
        ContentBlock::Audio(audio) => media.named("audio", &audio.mime_type, &audio.data, folder),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource {uri}]\n{text}")
            }
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                let kind = mime_type.as_deref().unwrap_or("application/octet-stream");
                media.named(&format!("resource {uri}"), kind, blob, folder)
            }
            _ => "[a resource]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            let mut text = format!("[resource link {} {}", link.name, link.uri);
            if let Some(description) = &link.description {
                text.push_str(": ");
                text.push_str(description);
            }
            text.push(']');
            text
        }
        _ => "[content of a kind that is not known here]".to_owned(),
    }
}

/// What the model is given besides text.
#[derive(Default)]
struct Media {
    parts: Vec<Part>,
    bytes: usize,
}

impl Media {
    /// Something that is no text, by what it is, how large it is and where it is. It is taken along if it fits.
    fn named(&mut self, what: &str, kind: &str, data: &str, folder: Option<&Path>) -> String {
        let Ok(bytes) = STANDARD.decode(data) else {
            return format!("[{what}: {kind}, which cannot be read]");
        };
        let size = bytes.len();
        let name = match folder.map(|folder| written(folder, kind, &bytes)) {
            None => format!("[{what}: {kind}, {size} bytes]"),
            Some(Ok(file)) => format!("[{what}: {kind}, {size} bytes, in {}]", file.display()),
            Some(Err(error)) => {
                format!("[{what}: {kind}, {size} bytes, which could not be kept: {error}]")
            }
        };
        self.take(kind, bytes);
        name
    }

    /// Only what begins as a file of its kind does: what a model cannot read would fail every later request.
    fn take(&mut self, kind: &str, bytes: Vec<u8>) {
        let all = self.bytes.saturating_add(bytes.len());
        if self.parts.len() >= MAX_TOOL_MEDIA_PARTS || all > MAX_TOOL_MEDIA {
            return;
        }
        let kind = kind.split(';').next().unwrap_or_default();
        let kind = kind.trim().to_ascii_lowercase();
        let is_what_it_says = match kind.as_str() {
            "image/png" => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
            "image/jpeg" => bytes.starts_with(b"\xff\xd8\xff"),
            "image/gif" => bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a"),
            "image/webp" => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
            "application/pdf" => bytes.starts_with(b"%PDF-"),
            _ => false,
        };
        if !is_what_it_says {
            return;
        }
        self.bytes = all;
        self.parts.push(match kind.as_str() {
            "application/pdf" => Part::file(File::from_bytes(bytes, kind)),
            _ => Part::image(Image::from_bytes(bytes, kind)),
        });
    }
}

/// The file is named by its content: the server has no say in where it is.
fn written(folder: &Path, kind: &str, bytes: &[u8]) -> std::io::Result<PathBuf> {
    let mut name = Hash::of_bytes(bytes).to_string();
    name.truncate(32);
    let ending = kind.split(['/', ';', '+']).nth(1).unwrap_or_default();
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let ending = match ending {
        "plain" => "txt",
        "octet-stream" | "" => "bin",
        ending if ending.len() <= 16 && ending.chars().all(is_fit) => ending,
        _ => "bin",
    };
    let file = folder.join(format!("{name}.{ending}"));
    std::fs::create_dir_all(folder)?;
    std::fs::write(&file, bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests;
