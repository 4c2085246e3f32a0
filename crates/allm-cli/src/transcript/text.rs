//! A transcript for a terminal.

use std::fmt::Write as _;

use allm::{Part, Role};

use super::items::{Call, Item, Note, NoteKind, Said, What};
use super::plain::{harmless, indented, one_line};
use super::{Transcript, media, words};

pub(super) fn page(transcript: &Transcript) -> String {
    let mut page = head(transcript);
    for item in &transcript.items {
        page.push('\n');
        match item {
            Item::Said(said) => page.push_str(&self::said(said)),
            Item::Call(call) => page.push_str(&self::call(call)),
            Item::Note(note) => page.push_str(&self::note(note)),
        }
    }
    if !transcript.waits.is_empty() {
        page.push('\n');
    }
    for wait in &transcript.waits {
        // Writing to a text does not fail, here and below.
        let _ = writeln!(
            page,
            "… {} waits for {}",
            wait.call,
            words::wait_in_words(wait)
        );
    }
    page
}

fn head(transcript: &Transcript) -> String {
    let mut head = format!("Session {}\n", one_line(&transcript.id));
    let _ = writeln!(head, "{}", summary(transcript).join(" · "));
    for (key, value) in &transcript.tags {
        let _ = writeln!(head, "{}: {}", one_line(key), one_line(value));
    }
    if let Some(version) = transcript.trimmed {
        let _ = writeln!(head, "{}", trimmed(version));
    }
    head
}

/// How a session stands, piece by piece.
pub(super) fn summary(transcript: &Transcript) -> Vec<String> {
    let mut pieces = vec![transcript.status.as_str().replace('_', " ")];
    pieces.push(match transcript.messages {
        1 => "1 message".to_owned(),
        messages => format!("{messages} messages"),
    });
    if let Some(at) = transcript.created_at {
        pieces.push(format!("began {} UTC", words::second(at)));
    }
    if let Some(at) = transcript.updated_at {
        pieces.push(format!("last {} UTC", words::second(at)));
    }
    pieces.extend(words::used(&transcript.usage));
    pieces
}

/// That the beginning of a journal is not kept.
pub(super) fn trimmed(version: allm::Version) -> String {
    format!("Up to version {version} only the conversation itself is kept.")
}

/// Who speaks, and what is known of it.
pub(super) fn title(said: &Said) -> String {
    let mut title = words::role(said.who).to_owned();
    if let Some(model) = &said.model {
        let _ = write!(title, " ({})", one_line(model));
    }
    if said.partial {
        title.push_str(", broken off");
    }
    title
}

fn said(said: &Said) -> String {
    let mut text = format!("── {}", title(said));
    if let Some(at) = said.at {
        let _ = write!(text, " · {}", words::second(at));
    }
    if said.who == Role::Assistant
        && let Some(tokens) = words::tokens(&said.usage)
    {
        let _ = write!(text, " · {tokens}");
    }
    text.push('\n');
    for part in &said.parts {
        text.push_str(&self::part(part));
    }
    text
}

fn part(part: &Part) -> String {
    let text = match part {
        Part::Text(part) => harmless(&part.text).into_owned(),
        Part::Refusal(part) => format!("[refused] {}", harmless(&part.text)),
        Part::Reasoning(part) if part.text.is_some() => {
            let text = part.text.as_deref().unwrap_or_default();
            return indented(&harmless(text), "~ ");
        }
        other => match media::in_words(other) {
            Some(words) => words,
            None => return String::new(),
        },
    };
    ended(text)
}

/// With a line feed at its end.
pub(super) fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn call(call: &Call) -> String {
    let arguments = one_line(&call.arguments);
    let mut text = format!("→ {}({arguments})", one_line(&call.tool));
    if let Some(key) = call.key {
        let _ = write!(text, "  {key}");
    }
    text.push('\n');
    for step in &call.steps {
        let line = match step.at {
            Some(at) => format!("{} {}", words::clock(at), one_line(&words::step(step))),
            None => one_line(&words::step(step)),
        };
        let _ = writeln!(text, "  {line}");
        text.push_str(&indented(&carried(&step.what), "    "));
    }
    text
}

/// What a step of a call brings with it.
pub(super) fn carried(what: &What) -> String {
    match what {
        What::ApprovalAsked { id, .. } => id.to_string(),
        What::Edited { arguments, .. } => one_line(arguments),
        What::Asked { question } => harmless(question).into_owned(),
        What::Answered { parts, .. } | What::Ended { parts, .. } => {
            parts.iter().map(part).collect()
        }
        What::Late { content, .. } => harmless(content).into_owned(),
        _ => String::new(),
    }
}

fn note(note: &Note) -> String {
    let mark = match note.kind {
        NoteKind::Failure => '✗',
        NoteKind::Halt => '■',
        NoteKind::Information => '·',
    };
    let text = one_line(&note.text);
    match note.at {
        Some(at) => format!("{mark} {} {text}\n", words::clock(at)),
        None => format!("{mark} {text}\n"),
    }
}
