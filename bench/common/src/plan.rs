//! What a client is asked to do.

use anyhow::{Context, bail};

/// The kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// S1: one stream of so many text deltas, one to a network chunk.
    Text,
    /// S1c: the same, many to a network chunk.
    Packed,
    /// S2: the arguments of one call in so many fragments.
    Arguments,
    /// S3: so many requests with a long thread, each answered in a few words.
    Request,
    /// S4: so many runs of eight calls and a final text.
    Calls,
    /// S5: so many streams at once, with gaps between their deltas.
    Gaps,
    /// S6: one run of so many turns with a call each.
    Loop,
}

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini's `streamGenerateContent`.
    Gemini,
}

/// One piece of work.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kind of work.
    pub scenario: Scenario,
    /// How the server is spoken to.
    pub wire: Wire,
    /// How much of it.
    pub count: usize,
    /// Where the server answers for this work, without a slash at the end and without the API's version.
    pub root: String,
}

impl Plan {
    /// Reads `<scenario> <wire> <url of the server> <count>`.
    ///
    /// # Errors
    ///
    /// When something is missing or not known.
    pub fn from_arguments() -> anyhow::Result<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let [scenario, wire, url, count] = arguments.as_slice() else {
            bail!("wanted: <scenario> <wire> <url of the server> <count>");
        };
        let count: usize = count.parse().context("the count is a number")?;
        let scenario = match scenario.as_str() {
            "text" => Scenario::Text,
            "packed" => Scenario::Packed,
            "arguments" => Scenario::Arguments,
            "request" => Scenario::Request,
            "calls" => Scenario::Calls,
            "gaps" => Scenario::Gaps,
            "loop" => Scenario::Loop,
            other => bail!("no scenario is called {other}"),
        };
        let wire = match wire.as_str() {
            "chat" => Wire::Chat,
            "responses" => Wire::Responses,
            "anthropic" => Wire::Anthropic,
            "gemini" => Wire::Gemini,
            other => bail!("no wire is called {other}"),
        };
        let path = match scenario {
            Scenario::Text => format!("text-{count}"),
            Scenario::Packed => format!("packed-{count}"),
            Scenario::Arguments => format!("arguments-{count}"),
            Scenario::Request => "text-10".to_owned(),
            Scenario::Calls => "calls-8".to_owned(),
            Scenario::Gaps => format!("gaps-{}", crate::DELTAS_OF_A_STREAM),
            Scenario::Loop => format!("loop-{count}"),
        };
        Ok(Self {
            scenario,
            wire,
            count,
            root: format!("{}/{path}", url.trim_end_matches('/')),
        })
    }

    /// A library does not do this work over this wire.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn unsupported<T>(&self) -> anyhow::Result<T> {
        bail!("not done: {:?} over {:?}", self.scenario, self.wire)
    }
}
