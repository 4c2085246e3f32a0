//! What a server asks a person.

use allm_core::Map;
use rmcp::model::{ElicitRequestParams, ElicitResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// A question that waits for its answer. Dropping it declines it.
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) answer: oneshot::Sender<ElicitResult>,
}

impl Asked {
    pub(super) fn new(request: ElicitRequestParams) -> (Self, oneshot::Receiver<ElicitResult>) {
        let (answer, receiver) = oneshot::channel();
        let question = Question::of(request);
        (Self { question, answer }, receiver)
    }
}

/// What a server asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) message: String,
    pub(super) wants: Wants,
}

/// What the server wants of the person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Wants {
    /// Values that fit this schema of an object.
    Form(Value),
    /// That a page is opened, and something is done there.
    Url(String),
}

impl Question {
    pub(super) fn of(request: ElicitRequestParams) -> Self {
        match request {
            ElicitRequestParams::FormElicitationParams {
                message,
                requested_schema,
                ..
            } => Self {
                message,
                wants: Wants::Form(serde_json::to_value(requested_schema).unwrap_or_default()),
            },
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => Self {
                message,
                wants: Wants::Url(url),
            },
            // What else there may be is asked as a question to which the answer is yes or no.
            _ => Self {
                message: String::new(),
                wants: Wants::Form(json!({"type": "object", "properties": {}})),
            },
        }
    }

    /// What the person is asked; `wrong` is what was wrong with an earlier answer.
    pub(super) fn text(&self, server: &str, wrong: &[String]) -> String {
        let mut text = match self.message.trim() {
            "" => format!("The server {server} asks you to agree."),
            message => message.to_owned(),
        };
        if let Wants::Url(url) = &self.wants {
            text.push_str("\nOpen this page, and say when you are done: ");
            text.push_str(url);
        }
        if !wrong.is_empty() {
            text.push_str("\nThe answer did not fit: ");
            text.push_str(&wrong.join("; "));
        }
        text
    }

    /// For the user interface.
    pub(super) fn opts(&self, server: &str, wrong: &[String]) -> Map {
        let mut opts = Map::new();
        opts.insert("server".to_owned(), server.into());
        match &self.wants {
            Wants::Form(schema) => {
                opts.insert("mode".to_owned(), "form".into());
                opts.insert("schema".to_owned(), schema.clone());
            }
            Wants::Url(url) => {
                opts.insert("mode".to_owned(), "url".into());
                opts.insert("url".to_owned(), url.as_str().into());
            }
        }
        if !wrong.is_empty() {
            opts.insert("wrong".to_owned(), wrong.into());
        }
        opts
    }
}
