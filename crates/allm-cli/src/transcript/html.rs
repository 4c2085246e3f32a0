//! A transcript as one page for a browser: everything in it, everything escaped, no script.

use std::fmt::Write as _;

use allm::{Part, Role};

use super::items::{Call, Item, Note, NoteKind, Said, Step, What};
use super::plain::{harmless, one_line};
use super::text::{summary, title, trimmed};
use super::{Transcript, media, words};

const STYLE: &str = include_str!("page.css");

/// Nothing is fetched and nothing is run, also if something should have got through.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

pub(super) fn page(transcript: &Transcript) -> String {
    let id = escaped(&one_line(&transcript.id));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Session {id}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>Session {id}</h1>\n"
    );
    // Writing to a text does not fail, here and below.
    let _ = writeln!(page, "<p>{}</p>", escaped(&summary(transcript).join(" · ")));
    for (key, value) in &transcript.tags {
        let (key, value) = (one_line(key), one_line(value));
        let _ = writeln!(
            page,
            "<p class=\"tag\">{}: {}</p>",
            escaped(&key),
            escaped(&value)
        );
    }
    if let Some(version) = transcript.trimmed {
        let _ = writeln!(page, "<p>{}</p>", escaped(&trimmed(version)));
    }
    page.push_str("</header>\n<main>\n");
    for item in &transcript.items {
        page.push_str(&match item {
            Item::Said(said) => self::said(said),
            Item::Call(call) => self::call(call),
            Item::Note(note) => self::note(note),
        });
    }
    page.push_str("</main>\n");
    if !transcript.waits.is_empty() {
        page.push_str("<footer>\n<h2>Waits for</h2>\n<ul>\n");
        for wait in &transcript.waits {
            let words = escaped(&words::wait_in_words(wait));
            let _ = writeln!(page, "<li><code>{}</code> {words}</li>", wait.call);
        }
        page.push_str("</ul>\n</footer>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// Text as HTML, also inside a quoted attribute.
fn escaped(text: &str) -> String {
    let text = harmless(text);
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character => escaped.push(character),
        }
    }
    escaped
}

fn time(at: allm::Timestamp, shown: &str) -> String {
    format!("<time datetime=\"{at}\">{shown}</time>")
}

fn said(said: &Said) -> String {
    let class = match said.who {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut html = format!(
        "<section class=\"{class}\">\n<h2>{}</h2>\n",
        escaped(&title(said))
    );
    let mut facts = Vec::new();
    facts.extend(
        said.at
            .map(|at| time(at, &format!("{} UTC", words::second(at)))),
    );
    facts.extend(words::tokens(&said.usage).map(|tokens| escaped(&tokens)));
    if !facts.is_empty() {
        let _ = writeln!(html, "<p class=\"facts\">{}</p>", facts.join(" · "));
    }
    for part in &said.parts {
        html.push_str(&self::part(part));
    }
    html.push_str("</section>\n");
    html
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(part) => block("text", &part.text),
        Part::Refusal(part) => block("refusal", &part.text),
        Part::Reasoning(part) if part.text.is_some() => {
            let text = escaped(part.text.as_deref().unwrap_or_default());
            let summary = "<summary>reasoning</summary>";
            format!(
                "<details class=\"reasoning\">{summary}<div class=\"text\">{text}</div></details>\n"
            )
        }
        other => {
            let Some(words) = media::in_words(other) else {
                return String::new();
            };
            let words = escaped(&words);
            let picture = match other {
                Part::Image(part) => media::inline(&part.image),
                _ => None,
            };
            match picture {
                Some(address) => format!("<p><img src=\"{address}\" alt=\"{words}\"></p>\n"),
                None => format!("<p class=\"media\">{words}</p>\n"),
            }
        }
    }
}

fn block(class: &str, text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("<div class=\"{class}\">{}</div>\n", escaped(text)),
    }
}

fn call(call: &Call) -> String {
    let outcome = call.outcome();
    let state = match outcome {
        Some(outcome) => words::outcome(outcome),
        None => "open",
    };
    let took = call
        .took()
        .map(|took| format!(" after {}", words::duration(took)));
    let mut html = format!(
        "<details class=\"call {}\">\n<summary><code>{}</code> {}{}</summary>\n",
        outcome.map_or("open", |outcome| outcome.as_str()),
        escaped(&one_line(&call.tool)),
        escaped(state),
        took.unwrap_or_default(),
    );
    if let Some(key) = call.key {
        let _ = writeln!(html, "<p class=\"facts\">{key}</p>");
    }
    let _ = writeln!(html, "<pre>{}</pre>", escaped(&call.arguments));
    html.push_str("<ol>\n");
    for step in &call.steps {
        html.push_str(&self::step(step));
    }
    html.push_str("</ol>\n</details>\n");
    html
}

fn step(step: &Step) -> String {
    let words = escaped(&one_line(&words::step(step)));
    let mut html = match step.at {
        Some(at) => format!("<li>{} {words}\n", time(at, &words::clock(at))),
        None => format!("<li>{words}\n"),
    };
    match &step.what {
        What::ApprovalAsked { id, .. } => {
            let _ = writeln!(html, "<p class=\"facts\">{id}</p>");
        }
        What::Edited { arguments, .. } => {
            let _ = writeln!(html, "<pre>{}</pre>", escaped(arguments));
        }
        What::Asked { question } => html.push_str(&block("text", question)),
        What::Late { content, .. } => html.push_str(&block("text", content)),
        What::Answered { parts, .. } | What::Ended { parts, .. } => {
            parts
                .iter()
                .for_each(|part| html.push_str(&self::part(part)));
        }
        _ => {}
    }
    html.push_str("</li>\n");
    html
}

fn note(note: &Note) -> String {
    let class = match note.kind {
        NoteKind::Failure => "failure",
        NoteKind::Halt => "halt",
        NoteKind::Information => "information",
    };
    let text = escaped(&one_line(&note.text));
    let at = note.at.map(|at| time(at, &words::clock(at)));
    format!(
        "<p class=\"note {class}\">{} {text}</p>\n",
        at.unwrap_or_default()
    )
}
