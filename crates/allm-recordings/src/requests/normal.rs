//! One form for the requests of all wires, in which two requests that mean the same are nearly equal.
//!
//! Nothing is lost on the way: a member that has no place of its own stands in `with`, a block that has no type is
//! [`Block::Other`]. So what a request has and another has not is always seen.

mod anthropic;
mod chat;
mod gemini;
mod json;
mod responses;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::requests::Dialect;
pub(crate) use json::{compact, is_empty};

/// A request, as far as its conversation and its tools go.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Normal {
    /// What the application says outside the conversation.
    pub system: Vec<Block>,
    /// What is said, in order, one for each message of the wire.
    pub turns: Vec<Turn>,
    /// The tools.
    pub tools: Vec<Tool>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Side {
    /// The application.
    System,
    /// The person; with results on wires where results are a person's blocks.
    User,
    /// The model.
    Assistant,
    /// A tool, on wires where a result is a message of its own.
    Tool,
}

/// One message of a wire.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// Who speaks.
    pub side: Side,
    /// What is said.
    pub blocks: Vec<Block>,
    /// Members of the message that have no place of their own.
    pub with: Map<String, Value>,
    /// The messages or items as they were; not compared.
    #[serde(skip)]
    pub raw: Vec<Value>,
}

/// One thing that is said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// What stands with it: citations, a signature.
        with: Map<String, Value>,
    },
    /// A refusal.
    Refusal(String),
    /// Thinking, as the wire has it.
    Reasoning(Value),
    /// A call.
    Call {
        /// Its id, if the wire says one.
        id: Option<String>,
        /// The tool.
        name: String,
        /// The arguments; a text when they are no JSON.
        arguments: Value,
        /// What stands with it.
        with: Map<String, Value>,
    },
    /// What a call gave.
    Result {
        /// The id of the call, if the wire says one.
        id: Option<String>,
        /// The tool, if the wire says it.
        name: Option<String>,
        /// What it gave.
        content: Vec<Block>,
        /// Whether it failed, where the wire can say so.
        is_error: bool,
        /// What stands with it.
        with: Map<String, Value>,
    },
    /// A picture or a file.
    Media(Media),
    /// A block as it is.
    Other(Value),
}

/// A picture or a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Media {
    /// Whether it is a picture.
    pub is_image: bool,
    /// Its MIME type.
    pub mime: Option<String>,
    /// Where it is: base64 text, an address or an id.
    pub source: Held,
    /// Its name.
    pub name: Option<String>,
    /// What stands with it.
    pub with: Map<String, Value>,
}

/// Where a picture or a file is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Held {
    /// Here, as base64.
    Data(String),
    /// At an address.
    Url(String),
    /// With the provider.
    Id(String),
}

impl Default for Held {
    fn default() -> Self {
        Self::Url(String::new())
    }
}

/// A tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Tool {
    /// A function of the caller's.
    Function {
        /// Its name.
        name: String,
        /// What it does.
        description: String,
        /// The schema of its arguments.
        schema: Value,
        /// What stands with it.
        with: Map<String, Value>,
    },
    /// A tool of the provider's.
    Provider(Value),
}

impl Normal {
    /// The normal form of a body; `None` when it is no request of the wire.
    #[must_use]
    pub fn of(dialect: Dialect, body: &Value) -> Option<Self> {
        let body = body.as_object()?;
        match dialect {
            Dialect::OpenAiChat => chat::normal(body),
            Dialect::OpenAiResponses => responses::normal(body),
            Dialect::AnthropicMessages => anthropic::normal(body),
            Dialect::Gemini => gemini::normal(body),
        }
    }
}

impl Turn {
    pub(crate) fn new(side: Side, raw: &Value) -> Self {
        Self {
            side,
            blocks: Vec::new(),
            with: Map::new(),
            raw: vec![raw.clone()],
        }
    }

    /// The calls.
    pub fn calls(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call { id, name, .. } => Some((id.as_deref(), name.as_str())),
            _ => None,
        })
    }
}

impl Block {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text {
            text: text.to_owned(),
            with: Map::new(),
        }
    }

    pub(crate) fn is_result(&self) -> bool {
        matches!(self, Self::Result { .. })
    }

    /// What stands with it.
    pub(crate) fn with_mut(&mut self) -> Option<&mut Map<String, Value>> {
        match self {
            Self::Text { with, .. } | Self::Call { with, .. } | Self::Result { with, .. } => {
                Some(with)
            }
            Self::Media(media) => Some(&mut media.with),
            _ => None,
        }
    }
}
