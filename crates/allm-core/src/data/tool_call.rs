//! A model's wish to have a tool run.

use std::sync::Arc;

use bytestring::ByteString;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Map as JsonMap;

use super::arguments::{self, ArgumentLimits, MalformedArguments};
use super::id::{ToolCallId, ToolName};
use super::part::Opaque;
use super::{Map, is_false};
use crate::error::JsonError;

/// One call of a response. Its *index* is its place among the calls of that response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Unique inside its message.
    pub id: ToolCallId,
    /// The id exactly as the provider sent it; `None` when it sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_id: Option<ToolCallId>,
    /// The tool, as the model wrote it.
    pub name: ToolName,
    /// The arguments; `None` when the text is malformed, never a stand-in `{}`.
    #[serde(deserialize_with = "Option::deserialize")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub arguments: Option<Arc<Map>>,
    /// The provider's text exactly; `{}` for a call without arguments.
    pub raw_arguments: ByteString,
    /// Whether the answer ended before the call did.
    #[serde(default, skip_serializing_if = "is_false")]
    pub incomplete: bool,
    /// How many content parts stand before this call; `None` = after all content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// What the provider attached to the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Box<Opaque>>,
    /// The caller's own; never sent. The loop writes `original_id` and `original_name` when it repairs a call.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
}

impl ToolCall {
    /// A call as a provider sends it: the argument text is parsed here, once.
    ///
    /// Empty text, white space and `null` mean "no arguments".
    pub fn new(
        id: impl Into<ToolCallId>,
        name: impl Into<ToolName>,
        raw_arguments: impl Into<ByteString>,
    ) -> Self {
        Self::parsed(id, name, raw_arguments, ArgumentLimits::default())
    }

    /// Like [`new`](Self::new), with limits for the argument text.
    pub fn parsed(
        id: impl Into<ToolCallId>,
        name: impl Into<ToolName>,
        raw_arguments: impl Into<ByteString>,
        limits: ArgumentLimits,
    ) -> Self {
        let mut raw_arguments = raw_arguments.into();
        Self {
            arguments: read_arguments(&mut raw_arguments, limits),
            ..Self::unread(id.into(), name.into(), raw_arguments)
        }
    }

    /// A call whose argument text nobody has read.
    pub(crate) fn unread(id: ToolCallId, name: ToolName, raw_arguments: ByteString) -> Self {
        Self {
            id,
            wire_id: None,
            name,
            arguments: None,
            raw_arguments,
            incomplete: false,
            at: None,
            opaque: None,
            metadata: Map::new(),
        }
    }

    /// A call that the answer's end cut off: malformed, with the text that had come.
    pub fn cut_off(
        id: impl Into<ToolCallId>,
        name: impl Into<ToolName>,
        raw_arguments: impl Into<ByteString>,
    ) -> Self {
        Self {
            incomplete: true,
            ..Self::unread(id.into(), name.into(), raw_arguments.into())
        }
    }

    /// The tool's name as the model wrote it, before any repair.
    #[must_use]
    pub fn original_name(&self) -> &str {
        self.metadata
            .get(ORIGINAL_NAME)
            .and_then(serde_json::Value::as_str)
            .unwrap_or(&self.name)
    }

    /// What is wrong with the argument text, if it is malformed.
    #[must_use]
    pub fn fault(&self) -> Option<MalformedArguments> {
        if self.incomplete {
            return Some(MalformedArguments::Incomplete);
        }
        if self.arguments.is_some() {
            return None;
        }
        let fault = arguments::parse(&self.raw_arguments, ArgumentLimits::default()).err();
        // A text that is well-formed by the usual limits was refused by tighter ones.
        Some(fault.unwrap_or(MalformedArguments::TooLong {
            bytes: self.raw_arguments.len(),
        }))
    }

    /// The arguments as a type of the caller's.
    ///
    /// # Errors
    ///
    /// The path of the first fault; malformed arguments are a fault at the root.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, JsonError> {
        arguments::decode(self)
    }
}

/// The arguments that a text stands for, if it is not malformed. A text that means "none" becomes `{}`.
pub(crate) fn read_arguments(raw: &mut ByteString, limits: ArgumentLimits) -> Option<Arc<Map>> {
    let arguments = arguments::parse(raw, limits).ok()?;
    if arguments::means_none(raw) {
        *raw = ByteString::from_static("{}");
    }
    Some(Arc::new(arguments))
}

/// Where a repaired call keeps the id that the provider gave.
pub const ORIGINAL_ID: &str = "original_id";
/// Where a repaired call keeps the name that the model wrote.
pub const ORIGINAL_NAME: &str = "original_name";
