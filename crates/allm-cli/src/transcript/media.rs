//! Pictures and files of a message: what is said of them, and which of them a page can show.

use allm::{File, FilePart, Image, Part, ReasoningKind, Source};

use super::plain;

/// The largest picture that is put into a page.
const INLINE: usize = 512 * 1024;

/// The kinds of pictures that a browser shows and that can hold no script.
const SHOWN: [&str; 5] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
];

/// A part that is no text, in words; `None` for text.
pub(super) fn in_words(part: &Part) -> Option<String> {
    match part {
        Part::Image(part) => Some(image(&part.image)),
        Part::File(part) => Some(file(part)),
        Part::Reasoning(part) if part.kind == ReasoningKind::Redacted => {
            Some("[reasoning that the provider does not show]".to_owned())
        }
        // What only a provider can read says nothing to people.
        _ => None,
    }
}

fn image(image: &Image) -> String {
    let kind = image.mime_type.as_deref().unwrap_or("picture");
    format!("[picture: {}]", described(kind, &image.source))
}

fn file(part: &FilePart) -> String {
    let File {
        source, mime_type, ..
    } = &*part.file;
    let kind = mime_type.as_deref().unwrap_or("unknown kind");
    let what = described(kind, source);
    match &part.name {
        Some(name) => format!("[file {}: {what}]", plain::one_line(name)),
        None => format!("[file: {what}]"),
    }
}

fn described(kind: &str, source: &Source) -> String {
    let kind = plain::one_line(kind);
    match source {
        Source::Url(url) => format!("{kind}, {}", plain::one_line(url)),
        Source::Provider { provider, id } => {
            let id = plain::one_line(id);
            format!("{kind}, kept by {provider} as {id}")
        }
        source => match source.to_bytes() {
            Ok(bytes) => format!("{kind}, {} bytes", bytes.len()),
            Err(_) => kind,
        },
    }
}

/// A picture as a `data:` address, if it is small and of a kind that can only be looked at.
pub(super) fn inline(image: &Image) -> Option<String> {
    let kind = image.mime_type.as_deref()?;
    let kind = SHOWN.iter().find(|shown| **shown == kind)?;
    let bytes = image.to_bytes().ok()?;
    if bytes.len() > INLINE {
        return None;
    }
    // Written anew from the bytes, so that nothing else can be in it.
    Image::from_bytes(bytes, *kind).to_data_uri().ok()
}
