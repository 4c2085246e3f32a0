//! What is wrong with a value that was given.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::reason::reasons;
use crate::path::Path;

reasons! {
    /// What kind of value is wrong.
    ValidationReason, retryable [] {
        /// A setting of a request.
        InvalidRequest => "invalid_request",
        /// A message.
        InvalidMessage => "invalid_message",
        /// A tool.
        InvalidTool => "invalid_tool",
        /// The order of the messages.
        InvalidThread => "invalid_thread",
        /// A session.
        InvalidSession => "invalid_session",
        /// Input for a session.
        InvalidSessionInput => "invalid_session_input",
        /// The model cannot do it.
        UnsupportedCapability => "unsupported_capability",
        /// The wire cannot say it.
        UnsupportedOption => "unsupported_option",
    }
}

reasons! {
    /// What is wrong at one place.
    FaultCode, retryable [] {
        /// Nothing is there.
        Empty => "empty",
        /// Something must be there.
        Required => "required",
        /// Something must not be there.
        NotAllowed => "not_allowed",
        /// This role cannot hold such a part.
        NotAllowedForRole => "not_allowed_for_role",
        /// A system message cannot hold an image.
        ImageInSystemMessage => "image_in_system_message",
        /// Bytes that cannot be had.
        UnresolvableSource => "unresolvable_source",
        /// Bytes without a MIME type.
        MissingMimeType => "missing_mime_type",
        /// A MIME type that is not accepted.
        UnsupportedMediaType => "unsupported_media_type",
        /// More than is accepted.
        TooLarge => "too_large",
        /// It belongs to another provider.
        WrongProvider => "wrong_provider",
        /// Twice in one message.
        Duplicate => "duplicate",
        /// Twice in one list of tools.
        DuplicateName => "duplicate_name",
        /// It does not agree with the rest.
        Contradiction => "contradiction",
        /// Outside its range.
        OutOfRange => "out_of_range",
        /// Zero.
        MustBePositive => "must_be_positive",
        /// Not more than the thinking may take.
        BelowReasoningBudget => "below_reasoning_budget",
        /// A call without an answer.
        UnansweredToolCall => "unanswered_tool_call",
        /// An answer without a call.
        OrphanToolResult => "orphan_tool_result",
        /// A second answer to one call.
        DuplicateToolResult => "duplicate_tool_result",
        /// An answer outside its block.
        MisplacedToolResult => "misplaced_tool_result",
        /// A text that breaks the rule for its kind.
        InvalidFormat => "invalid_format",
        /// A name that means something else.
        ReservedToolName => "reserved_tool_name",
        /// A schema that is not a JSON object.
        NotAnObject => "not_an_object",
        /// A schema that is none.
        InvalidSchema => "invalid_schema",
        /// A schema that points elsewhere; nothing is ever fetched.
        RemoteReference => "remote_reference",
        /// A summary that is not text.
        NotAString => "not_a_string",
        /// A schema that cannot be kept to strictly.
        NotStrict => "not_strict",
        /// No tool has this name.
        UnknownTool => "unknown_tool",
        /// There are no tools.
        NoTools => "no_tools",
        /// A key that belongs to the library.
        ReservedKey => "reserved_key",
        /// `structured_finalize` needs a response format.
        RequiresJsonSchema => "requires_json_schema",
        /// The model has no tools.
        ToolsUnsupported => "tools_unsupported",
        /// The model has no schemas for answers.
        JsonSchemaUnsupported => "json_schema_unsupported",
        /// The model has no JSON answers.
        JsonObjectUnsupported => "json_object_unsupported",
        /// The model sees no images.
        VisionUnsupported => "vision_unsupported",
        /// The model reads no files.
        FilesUnsupported => "files_unsupported",
        /// The model has no reasoning.
        ReasoningUnsupported => "reasoning_unsupported",
        /// More than the model gives.
        ExceedsModelLimit => "exceeds_model_limit",
        /// Less than the provider takes.
        BelowProviderMinimum => "below_provider_minimum",
        /// The model cannot take tools and a schema in one call.
        NeedsFinalizePass => "needs_finalize_pass",
        /// The wire has no such option.
        Unsupported => "unsupported",
    }
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Where.
    #[serde(default, skip_serializing_if = "Path::is_root")]
    pub path: Path,
    /// What.
    pub code: FaultCode,
    /// More about it; never content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Fault {
    /// A fault without detail.
    pub fn new(path: impl Into<Path>, code: FaultCode) -> Self {
        Self {
            path: path.into(),
            code,
            detail: None,
        }
    }

    /// With more about it.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.code)?;
        match &self.detail {
            Some(detail) => write!(f, " ({})", super::text::one_line(detail)),
            None => Ok(()),
        }
    }
}

/// All that is wrong with a value, found before anything is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidationError {
    /// The kind of the first fault.
    pub reason: ValidationReason,
    /// Every fault, in the order of the contract.
    pub faults: Vec<Fault>,
}

impl ValidationError {
    /// An error with these faults.
    #[must_use]
    pub fn new(reason: ValidationReason, faults: Vec<Fault>) -> Self {
        Self { reason, faults }
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        write!(f, "{}", self.reason)?;
        for (number, fault) in self.faults.iter().take(SHOWN).enumerate() {
            f.write_str(if number == 0 { ": " } else { "; " })?;
            write!(f, "{fault}")?;
        }
        match self.faults.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for ValidationError {}
