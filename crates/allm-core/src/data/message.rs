//! Messages: one saying of one side.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Map as JsonMap;

use super::content::Content;
use super::finish::FinishReason;
use super::id::{ProviderName, ResponseId, ToolCallId};
use super::part::Part;
use super::tool_call::ToolCall;
use super::{Map, is_false};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The application, to the model.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool, answering a call.
    Tool,
}

/// One saying of one side of a conversation.
///
/// ```
/// use allm_core::Message;
///
/// assert_eq!(Message::user("hi").text(), "hi");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "exact"
    )]
    pub content: Vec<Part>,
    /// The calls that the model made; assistant only.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "exact"
    )]
    pub tool_calls: Vec<ToolCall>,
    /// The call that this answers; tool only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// Whether the result reports a failure; tool only.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// A display name; sent only where the wire has a field for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why the model stopped; assistant only, set by the loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// Where the message came from; assistant only, set by the adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Arc<Origin>>,
    /// The caller's own; never sent.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
}

/// Reads a list without room to grow: what is read is kept, often for long, and seldom added to.
fn exact<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let mut list = Vec::deserialize(deserializer)?;
    list.shrink_to_fit();
    Ok(list)
}

/// Where an assistant message came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The provider.
    pub provider: ProviderName,
    /// The wire format.
    pub wire: String,
    /// The model that really answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<ResponseId>,
}

impl Message {
    /// A message with nothing but its role and content.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self {
            role,
            content: content.into().into_parts(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            is_error: false,
            name: None,
            finish_reason: None,
            origin: None,
            metadata: Map::new(),
        }
    }

    /// The application speaks to the model.
    pub fn system(content: impl Into<Content>) -> Self {
        Self::new(Role::System, content)
    }

    /// The person speaks.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// The model speaks.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// A tool answers a call.
    pub fn tool_result(id: impl Into<ToolCallId>, content: impl Into<Content>) -> Self {
        Self {
            tool_call_id: Some(id.into()),
            ..Self::new(Role::Tool, content)
        }
    }

    /// A tool answers a call with pictures or files, after what it says if it says anything.
    pub(crate) fn tool_result_with(
        id: impl Into<ToolCallId>,
        content: &str,
        media: &[Part],
    ) -> Self {
        if media.is_empty() {
            return Self::tool_result(id, content);
        }
        let text = (!content.is_empty()).then(|| Part::text(content));
        let parts = text.into_iter().chain(media.iter().cloned());
        Self::tool_result(id, parts.collect::<Vec<_>>())
    }

    /// A tool answers a call with a failure.
    pub fn tool_error(id: impl Into<ToolCallId>, content: impl Into<Content>) -> Self {
        Self {
            is_error: true,
            ..Self::tool_result(id, content)
        }
    }

    /// This assistant message with these calls.
    #[must_use]
    pub fn with_tool_calls(mut self, calls: Vec<ToolCall>) -> Self {
        self.tool_calls = calls;
        self
    }

    /// The visible text: the text parts joined with nothing between them.
    #[must_use]
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Part::as_text).collect()
    }
}

impl From<&str> for Message {
    /// The person says this.
    fn from(text: &str) -> Self {
        Self::user(text)
    }
}

impl From<String> for Message {
    /// The person says this.
    fn from(text: String) -> Self {
        Self::user(text)
    }
}

impl From<Content> for Message {
    /// The person says this.
    fn from(content: Content) -> Self {
        Self::user(content)
    }
}
