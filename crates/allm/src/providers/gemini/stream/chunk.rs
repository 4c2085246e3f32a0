//! What is read of a chunk. Everything else in it may be anything.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::lenient::{Count, List, Object, Text};

/// A value of any type, as it came; `None` for null.
pub(super) type Raw<'a> = Option<&'a RawValue>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) candidates: List<Object<Candidate<'a>>>,
    #[serde(borrow, default)]
    pub(super) prompt_feedback: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) usage_metadata: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) model_version: Text<'a>,
    #[serde(borrow, default)]
    pub(super) response_id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) error: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(default)]
    pub(super) index: Count,
    #[serde(borrow, default)]
    pub(super) content: Object<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) finish_message: Text<'a>,
    #[serde(borrow, default)]
    pub(super) grounding_metadata: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) citation_metadata: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) url_context_metadata: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) safety_ratings: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) avg_logprobs: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) logprobs_result: Raw<'a>,
}

#[derive(Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow, default)]
    pub(super) parts: List<Object<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) thought: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) thought_signature: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) function_call: Object<FunctionCall<'a>>,
    #[serde(borrow, default)]
    pub(super) inline_data: Object<InlineData<'a>>,
}

impl Part<'_> {
    pub(super) fn is_thought(&self) -> bool {
        is_true(self.thought)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) args: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) partial_args: List<Object<PartialArg<'a>>>,
    #[serde(borrow, default)]
    will_continue: Raw<'a>,
}

impl FunctionCall<'_> {
    pub(super) fn will_continue(&self) -> bool {
        is_true(self.will_continue)
    }
}

/// A value for a place in the arguments.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialArg<'a> {
    #[serde(borrow, default)]
    pub(super) json_path: Text<'a>,
    #[serde(borrow, default)]
    pub(super) string_value: Text<'a>,
    #[serde(borrow, default)]
    pub(super) number_value: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) bool_value: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InlineData<'a> {
    #[serde(borrow, default)]
    pub(super) mime_type: Text<'a>,
    #[serde(borrow, default)]
    pub(super) data: Text<'a>,
}

/// The same chunk, with its parts as they came; read only when one of them has no type here.
#[derive(Deserialize)]
pub(super) struct RawChunk<'a> {
    #[serde(borrow, default)]
    pub(super) candidates: List<Object<RawCandidate<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct RawCandidate<'a> {
    #[serde(borrow, default)]
    pub(super) content: Object<RawContent<'a>>,
}

#[derive(Deserialize)]
pub(super) struct RawContent<'a> {
    #[serde(borrow, default)]
    pub(super) parts: List<Raw<'a>>,
}

/// Why the prompt was not answered.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback<'a> {
    #[serde(borrow, default)]
    pub(super) block_reason: Text<'a>,
}

fn is_true(raw: Raw<'_>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}
