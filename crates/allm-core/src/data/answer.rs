//! A person's answer to a question of a tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::Content;
use super::part::Part;

/// Who gets a person's answer to a question of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerTo {
    /// The model: the call is closed, and the answer is a user message.
    #[default]
    Model,
    /// The tool: the call stays open, and its handler is called again with the answer.
    Tool,
}

impl AnswerTo {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    pub(crate) fn is_model(&self) -> bool {
        *self == Self::Model
    }
}

/// What a person answered a handler that asked to go on: see
/// [`ToolReply::ask_and_go_on`](crate::ToolReply::ask_and_go_on).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Answer {
    /// What the person said.
    pub content: Vec<Part>,
    /// What the handler gave along with its question.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::data::present"
    )]
    #[serde(serialize_with = "crate::json::sorted")]
    pub state: Option<Value>,
}

impl Answer {
    /// What a person said, to a handler that kept no state.
    pub fn new(content: impl Into<Content>) -> Self {
        Self {
            content: content.into().into_parts(),
            state: None,
        }
    }

    /// With what the handler gave along with its question.
    #[must_use]
    pub fn state(mut self, state: Value) -> Self {
        self.state = Some(state);
        self
    }

    /// The text of the answer; other parts are left out.
    #[must_use]
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Part::as_text).collect()
    }
}
