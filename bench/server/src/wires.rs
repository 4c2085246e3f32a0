//! The four ways to say an answer.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use crate::answer::Answer;

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wire {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini.
    Gemini,
}

/// An event of a stream.
pub(crate) struct Event {
    pub(crate) name: Option<&'static str>,
    pub(crate) data: String,
    /// How it ends; Google ends lines as HTTP does.
    pub(crate) end: &'static str,
}

impl Event {
    fn data(data: impl Into<String>) -> Self {
        Self {
            name: None,
            data: data.into(),
            end: "\n\n",
        }
    }

    fn named(name: &'static str, data: impl Into<String>) -> Self {
        Self {
            name: Some(name),
            ..Self::data(data)
        }
    }
}

impl Wire {
    /// The wire that a path belongs to.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else if path.contains("enerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// The answer as a stream of events.
    pub(crate) fn stream(self, answer: &Answer) -> Vec<Event> {
        match self {
            Self::Chat => chat::stream(answer),
            Self::Responses => responses::stream(answer),
            Self::Anthropic => anthropic::stream(answer),
            Self::Gemini => gemini::stream(answer),
        }
    }

    /// The answer as one document.
    pub(crate) fn whole(self, answer: &Answer) -> String {
        match self {
            Self::Chat => chat::whole(answer),
            Self::Responses => responses::whole(answer),
            Self::Anthropic => anthropic::whole(answer),
            Self::Gemini => gemini::whole(answer),
        }
    }
}

/// A text as JSON writes it. Ours hold nothing but printable ASCII.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

/// Letters that make lengths hard to guess, as OpenAI sends them: others in every event, and not always as many.
fn obfuscation(number: usize) -> String {
    let mut state = (number as u32).wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let length = 4 + next() as usize % 13;
    let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    (0..length)
        .map(|_| char::from(letters[next() as usize % letters.len()]))
        .collect()
}
