//! What a server of the Chat Completions family does differently.

use std::borrow::Cow;

use allm_core::Support;

pub use crate::providers::translate::ids::IdRule;

/// What a server of the Chat Completions family does differently. Plain data: take the nearest one and change fields.
///
/// ```
/// use allm::{Compat, Profile, ThinkTags};
///
/// let mut profile = Profile::default();
/// profile.think_tags = ThinkTags::Split;
/// let server = Compat::new("mine", "http://localhost:9000/v1").profile(profile);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// Under which name the limit of tokens is sent.
    pub max_tokens_field: MaxTokensField,
    /// Whether `stream_options` is sent, which asks for usage.
    pub stream_options: bool,
    /// Under which name the seed is sent.
    pub seed_field: Cow<'static, str>,
    /// The word for "some tool must be called".
    pub required_word: Cow<'static, str>,
    /// Where thinking is read, the first that holds any; `reasoning_details` are always read.
    pub reasoning_in: Vec<ReasoningField>,
    /// Which thinking is sent back.
    pub reasoning_back: ReasoningBack,
    /// In which form thinking is sent back.
    pub reasoning_back_field: ReasoningBackField,
    /// How thinking is asked for.
    pub reasoning_request: ReasoningRequest,
    /// Where pictures of a tool's result go.
    pub tool_result_images: ToolResultImages,
    /// What stands for the text of an assistant message that has only calls.
    pub empty_content: EmptyContent,
    /// What is sent back for arguments that were malformed.
    pub malformed_back: MalformedBack,
    /// Whether answers can be bound to a schema.
    pub json_schema: Support,
    /// What becomes of `<think>…</think>` at the start of the text.
    pub think_tags: ThinkTags,
    /// Which ids of calls are accepted.
    pub id_rule: IdRule,
    /// The role of the application's messages.
    pub system_role: Cow<'static, str>,
    /// Whether a choice among some of the tools can be said (`allowed_tools`).
    pub allowed_tools: bool,
    /// Whether `prompt_cache_key` and its retention are sent.
    pub prompt_cache: bool,
    /// Whether `verbosity` is sent.
    pub verbosity: bool,
    /// Whether pictures are taken.
    pub images: Support,
    /// Whether a file may be sent by its URL.
    pub file_urls: bool,
}

impl Default for Profile {
    /// A server of which nothing is known.
    fn default() -> Self {
        Self {
            max_tokens_field: MaxTokensField::MaxTokens,
            stream_options: true,
            seed_field: "seed".into(),
            required_word: "required".into(),
            reasoning_in: vec![ReasoningField::ReasoningContent, ReasoningField::Reasoning],
            reasoning_back: ReasoningBack::Never,
            reasoning_back_field: ReasoningBackField::Text("reasoning_content".into()),
            reasoning_request: ReasoningRequest::Effort,
            tool_result_images: ToolResultImages::FollowUp,
            empty_content: EmptyContent::Omit,
            malformed_back: MalformedBack::Raw,
            json_schema: Support::Unknown,
            think_tags: ThinkTags::Keep,
            id_rule: IdRule::Any { max: 40 },
            system_role: "system".into(),
            allowed_tools: false,
            prompt_cache: false,
            verbosity: false,
            images: Support::Unknown,
            file_urls: false,
        }
    }
}

/// Under which name the limit of tokens is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxTokensField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// A field that thinking is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningField {
    /// `reasoning_content`.
    ReasoningContent,
    /// `reasoning`.
    Reasoning,
}

/// Which thinking is sent back to the server that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningBack {
    /// None.
    Never,
    /// That of messages with calls since the last user message.
    SinceLastUser,
    /// That of every message.
    Always {
        /// Whether a message without thinking gets an empty text.
        fill_empty: bool,
    },
}

/// In which form thinking is sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningBackField {
    /// As text, in the field of this name.
    Text(Cow<'static, str>),
    /// As `reasoning_details`, exactly as they came.
    Details,
    /// As `thinking` elements of a content list.
    Content,
}

/// How thinking is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningRequest {
    /// `reasoning_effort`.
    Effort,
    /// `reasoning: {effort, max_tokens}`.
    Object,
    /// Not at all.
    None,
}

/// Where pictures of a tool's result go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolResultImages {
    /// Into a user message after the results of the turn.
    FollowUp,
    /// Into the result.
    Inline,
}

/// What stands for the text of an assistant message that has only calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmptyContent {
    /// Nothing.
    Omit,
    /// `null`.
    Null,
    /// `""`.
    EmptyString,
}

/// What is sent back for arguments that were malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MalformedBack {
    /// The text as it was.
    Raw,
    /// `{}`.
    EmptyObject,
}

/// What becomes of `<think>…</think>` at the start of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkTags {
    /// It stays text.
    Keep,
    /// It becomes thinking, which is not sent back.
    Split,
}
