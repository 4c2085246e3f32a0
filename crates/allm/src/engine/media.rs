//! Pictures and files in the results of tools, for models that cannot be sent them.
//!
//! A person chooses the model for what is asked; nobody chooses what a tool replies with. So what does not fit is named in
//! words, and the run goes on. The thread keeps it, for a model that can.

use allm_core::{Message, Messages, Part, Path, Request, Role, Source};

/// Whether there is any.
pub(super) fn has_any(request: &Request) -> bool {
    let mut messages = request.messages.iter();
    is_in(&request.messages)
        && messages
            .any(|message| message.role == Role::Tool && message.content.iter().any(is_media))
}

/// Noted about messages without pictures and files.
struct OnlyWords;

/// Whether anybody shows a picture or a file. What is known of the beginning of a conversation is not looked at again.
pub(crate) fn is_in(messages: &Messages) -> bool {
    let known = messages.noted::<OnlyWords>();
    let known = known.map_or(0, |(_, known)| known);
    let mut new = messages.iter_from(known);
    let found = new.any(|message| message.content.iter().any(is_media));
    if !found && known < messages.len() {
        messages.note(OnlyWords);
    }
    found
}

/// The request, with words in the place of everything that is refused.
pub(super) fn named(request: &Request, is_refused: impl Fn(&Path, &Part) -> bool) -> Request {
    let messages = request.messages.iter().enumerate().map(|(index, message)| {
        let is_out = |at: usize, part: &Part| {
            let path = || {
                Path::from("messages")
                    .index(index)
                    .field("content")
                    .index(at)
            };
            message.role == Role::Tool && is_media(part) && is_refused(&path(), part)
        };
        let mut parts = message.content.iter().enumerate();
        if !parts.any(|(at, part)| is_out(at, part)) {
            return message.clone();
        }
        let text = message.text();
        let mut content = Vec::with_capacity(message.content.len());
        for (at, part) in message.content.iter().enumerate() {
            match is_out(at, part) {
                false => content.push(part.clone()),
                true => {
                    let words = words(part);
                    // Many tools say themselves what they give.
                    if !text.contains(&words) {
                        content.push(Part::text(words));
                    }
                }
            }
        }
        Message {
            content,
            ..Message::clone(message)
        }
        .into()
    });
    Request {
        messages: messages.collect(),
        ..request.clone()
    }
}

fn is_media(part: &Part) -> bool {
    matches!(part, Part::Image(_) | Part::File(_))
}

/// What it is, and how large.
fn words(part: &Part) -> String {
    let (what, source, mime) = match part {
        Part::Image(part) => ("image", &part.image.source, &part.image.mime_type),
        Part::File(part) => ("file", &part.file.source, &part.file.mime_type),
        _ => return String::new(),
    };
    let mime = mime.as_deref().unwrap_or("of an unknown type");
    let bytes = match source {
        Source::Bytes(bytes) => Some(bytes.len()),
        Source::Base64(_) => source.to_bytes().ok().map(|bytes| bytes.len()),
        _ => None,
    };
    match bytes {
        Some(bytes) => format!("[{what}: {mime}, {bytes} bytes]"),
        None => format!("[{what}: {mime}]"),
    }
}

#[cfg(test)]
mod tests;
