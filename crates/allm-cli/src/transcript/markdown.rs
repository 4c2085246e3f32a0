//! A transcript for a document. What was said is taken as Markdown, because models and people write it; what tools got
//! and gave stands in blocks of code.

use std::fmt::Write as _;

use allm::Part;

use super::items::{Call, Item, Note, NoteKind, Said, What};
use super::plain::{harmless, one_line};
use super::text::{carried, ended, summary, title, trimmed};
use super::{Transcript, media, words};

pub(super) fn page(transcript: &Transcript) -> String {
    let mut page = format!("# Session {}\n\n", code(&transcript.id));
    // Writing to a text does not fail, here and below.
    let _ = writeln!(page, "{}", summary(transcript).join(" · "));
    for (key, value) in &transcript.tags {
        let _ = writeln!(page, "\n- {}: {}", code(key), code(value));
    }
    if let Some(version) = transcript.trimmed {
        let _ = writeln!(page, "\n*{}*", trimmed(version));
    }
    for item in &transcript.items {
        page.push('\n');
        match item {
            Item::Said(said) => page.push_str(&self::said(said)),
            Item::Call(call) => page.push_str(&self::call(call)),
            Item::Note(note) => page.push_str(&self::note(note)),
        }
    }
    if !transcript.waits.is_empty() {
        page.push_str("\n## Waits for\n\n");
    }
    for wait in &transcript.waits {
        let words = code(&words::wait_in_words(wait));
        let _ = writeln!(page, "- {}: {words}", code(&wait.call.to_string()));
    }
    page
}

/// A piece of code in a line, whatever is in it.
fn code(text: &str) -> String {
    let text = one_line(text);
    let ticks = "`".repeat(longest_run(&text) + 1);
    // A tick at the edge would be taken for one of ours.
    if text.starts_with('`') || text.ends_with('`') {
        format!("{ticks} {text} {ticks}")
    } else {
        format!("{ticks}{text}{ticks}")
    }
}

/// A block of code, whatever is in it.
fn block(kind: &str, text: &str) -> String {
    let text = ended(harmless(text).into_owned());
    let ticks = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{ticks}{kind}\n{text}{ticks}\n")
}

/// How many ticks stand together at most.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|character| character != '`');
    runs.map(str::len).max().unwrap_or_default()
}

fn said(said: &Said) -> String {
    let mut text = format!("## {}\n", title(said));
    let mut facts = Vec::new();
    facts.extend(said.at.map(|at| format!("{} UTC", words::second(at))));
    facts.extend(words::tokens(&said.usage));
    if !facts.is_empty() {
        let _ = writeln!(text, "\n*{}*", facts.join(" · "));
    }
    for part in &said.parts {
        let part = match part {
            Part::Text(part) => harmless(&part.text).into_owned(),
            Part::Refusal(part) => format!("**Refused:** {}", harmless(&part.text)),
            Part::Reasoning(part) if part.text.is_some() => {
                let text = harmless(part.text.as_deref().unwrap_or_default()).into_owned();
                text.lines().map(|line| format!("> {line}\n")).collect()
            }
            other => match media::in_words(other) {
                Some(words) => code(&words),
                None => continue,
            },
        };
        let _ = write!(text, "\n{}", ended(part));
    }
    text
}

fn call(call: &Call) -> String {
    let mut text = format!("### → {}", code(&call.tool));
    if let Some(key) = call.key {
        let _ = write!(text, " {key}");
    }
    let _ = write!(text, "\n\n{}", block("json", &call.arguments));
    for step in &call.steps {
        let line = one_line(&words::step(step));
        let _ = match step.at {
            Some(at) => write!(text, "\n- {} {}\n", words::clock(at), escaped(&line)),
            None => write!(text, "\n- {}\n", escaped(&line)),
        };
        let carried = carried(&step.what);
        match &step.what {
            What::ApprovalAsked { .. } => {}
            _ if carried.is_empty() => {}
            _ => text.push_str(&format!("\n{}", block("", &carried))),
        }
    }
    text
}

fn note(note: &Note) -> String {
    let text = escaped(&one_line(&note.text));
    let text = match note.kind {
        NoteKind::Failure => format!("**{text}**"),
        _ => format!("*{text}*"),
    };
    match note.at {
        Some(at) => format!("{} {text}\n", words::clock(at)),
        None => format!("{text}\n"),
    }
}

/// Text that is no Markdown, as Markdown.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(
            character,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!'
        ) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_code() {
        assert_eq!(code("plain"), "`plain`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("``x`"), "``` ``x` ```");
        assert_eq!(block("", "a\n```\nb"), "````\na\n```\nb\n````\n");
        assert_eq!(block("json", "{}"), "```json\n{}\n```\n");
        assert_eq!(escaped("<b>*x*_"), "\\<b\\>\\*x\\*\\_");
    }
}
