//! Tools: what a model may call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map as JsonMap, Value};

use super::effect::Effect;
use super::id::ToolName;
use super::settings::Strict;
use super::tool_spec::{FunctionSpec, ToolSpec};
use super::{Map, is_false};
use crate::handler::{IntoBlocking, IntoHandler, ToolHandler};

/// A tool: what the model is told of it, and, where the library runs it, its handler.
///
/// Everything but the handler is data: JSON leaves the handler out, and two tools are equal when their data is.
///
/// ```
/// use allm_core::{Effect, Tool};
/// use serde_json::json;
///
/// let tool = Tool::new("get_weather", "Returns the weather for a city.", json!({
///     "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]
/// }))
/// .effect(Effect::Pure);
/// assert_eq!(tool.name, "get_weather");
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`; not `auto`, `none`, `required`.
    pub name: ToolName,
    /// What it does; may be empty.
    pub description: String,
    /// The JSON Schema of its arguments; `{}` accepts any object. Shared, because tools are cloned with every request.
    #[serde(serialize_with = "crate::json::sorted")]
    pub schema: Arc<Value>,
    /// Whether the provider must keep to the schema exactly.
    #[serde(default = "Strict::no", skip_serializing_if = "Strict::is_no")]
    pub strict: Strict,
    /// Left to the caller: the library never runs it in auto mode.
    #[serde(default, skip_serializing_if = "is_false")]
    pub manual: bool,
    /// Whether a person must agree before it runs.
    #[serde(default, skip_serializing_if = "ApprovalRule::is_never")]
    pub approval: ApprovalRule,
    /// Sent as a stub; the model asks `tool_help` for the rest.
    #[serde(default, skip_serializing_if = "is_false")]
    pub compact: bool,
    /// For the stub of a compact tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What running it again would do.
    #[serde(default, skip_serializing_if = "Effect::is_at_most_once")]
    pub effect: Effect,
    /// This tool's own time limit.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::data::millis::option"
    )]
    pub timeout: Option<Duration>,
    /// The caller's own; never sent.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
    /// What runs when the model calls it. Not part of the data.
    #[serde(skip)]
    pub handler: Option<Arc<dyn ToolHandler>>,
}

/// Whether a person must agree before a tool runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApprovalRule {
    /// No.
    #[default]
    Never,
    /// For every call.
    Always,
}

impl ApprovalRule {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn is_never(&self) -> bool {
        *self == Self::Never
    }
}

impl Tool {
    /// A tool without a handler.
    pub fn new(
        name: impl Into<ToolName>,
        description: impl Into<String>,
        schema: impl Into<Arc<Value>>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            schema: schema.into(),
            strict: Strict::No,
            manual: false,
            approval: ApprovalRule::Never,
            compact: false,
            summary: None,
            effect: Effect::AtMostOnce,
            timeout: None,
            metadata: Map::new(),
            handler: None,
        }
    }

    /// Whether the provider must keep to the schema exactly. The stub of a compact tool is never strict.
    #[must_use]
    pub fn strict(mut self, strict: Strict) -> Self {
        self.strict = strict;
        self
    }

    /// Leaves its calls to the caller.
    #[must_use]
    pub fn manual(mut self) -> Self {
        self.manual = true;
        self
    }

    /// Whether a person must agree before it runs.
    ///
    /// Without a session a gated call is left to the caller like that of a manual tool; run it with the tool runner once
    /// somebody has agreed.
    #[must_use]
    pub fn approval(mut self, rule: ApprovalRule) -> Self {
        self.approval = rule;
        self
    }

    /// Whether its calls are left open for the caller in auto mode: it is manual, or a person must agree first.
    #[must_use]
    pub fn waits_for_caller(&self) -> bool {
        self.manual || self.approval == ApprovalRule::Always
    }

    /// Sends it as a stub.
    #[must_use]
    pub fn compact(mut self) -> Self {
        self.compact = true;
        self
    }

    /// What the stub says of it.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// What running it again would do.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Its own time limit, in whole milliseconds (a fraction counts as one more).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        let millis = timeout.as_nanos().div_ceil(1_000_000);
        self.timeout = Some(match u64::try_from(millis) {
            // The largest number stands for "no limit" in JSON.
            Err(_) | Ok(u64::MAX) => Duration::MAX,
            Ok(millis) => Duration::from_millis(millis),
        });
        self
    }

    /// What runs when the model calls it: an async function or closure of the arguments, or of the arguments and a
    /// [`ToolContext`](crate::ToolContext).
    ///
    /// ```
    /// use allm_core::Tool;
    /// use serde_json::json;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct City { name: String }
    ///
    /// let tool = Tool::new("greet", "Greets a city.", json!({"type": "object"}))
    ///     .handler(|city: City| async move { Ok::<_, std::fmt::Error>(format!("Hello, {}", city.name)) });
    /// ```
    #[must_use]
    pub fn handler<M>(self, handler: impl IntoHandler<M>) -> Self {
        self.with_handler(Arc::new(handler.into_handler()))
    }

    /// What runs when the model calls it: a synchronous function or closure of the arguments, or of the arguments and a
    /// [`ToolContext`](crate::ToolContext). It runs off the async threads and cannot be stopped, only abandoned.
    #[must_use]
    pub fn blocking<M>(self, handler: impl IntoBlocking<M>) -> Self {
        self.with_handler(Arc::new(handler.into_blocking()))
    }

    /// What runs when the model calls it.
    #[must_use]
    pub fn with_handler(mut self, handler: Arc<dyn ToolHandler>) -> Self {
        self.handler = Some(handler);
        self
    }

    /// The caller's own facts about it.
    #[must_use]
    pub fn metadata(mut self, metadata: Map) -> Self {
        self.metadata = metadata;
        self
    }

    /// What the provider is told, in full.
    #[must_use]
    pub fn spec(&self) -> ToolSpec {
        ToolSpec::Function(FunctionSpec {
            name: self.name.clone(),
            description: self.description.clone(),
            schema: Arc::clone(&self.schema),
            strict: self.strict,
        })
    }
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        // Taken apart, so that a new field cannot be forgotten here.
        let Self {
            name,
            description,
            schema,
            strict,
            manual,
            approval,
            compact,
            summary,
            effect,
            timeout,
            metadata,
            handler: _,
        } = self;
        *name == other.name
            && *description == other.description
            && *schema == other.schema
            && *strict == other.strict
            && *manual == other.manual
            && *approval == other.approval
            && *compact == other.compact
            && *summary == other.summary
            && *effect == other.effect
            && *timeout == other.timeout
            && *metadata == other.metadata
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .field("description", &self.description)
            .field("schema", &self.schema)
            .field("strict", &self.strict)
            .field("manual", &self.manual)
            .field("approval", &self.approval)
            .field("compact", &self.compact)
            .field("summary", &self.summary)
            .field("effect", &self.effect)
            .field("timeout", &self.timeout)
            .field("metadata", &self.metadata)
            .field("handler", &self.handler.as_ref().map(|_| "…"))
            .finish()
    }
}
