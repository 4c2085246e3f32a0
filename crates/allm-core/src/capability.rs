//! What a model can do, and the refusal of what it cannot before anything is sent.

use serde::{Deserialize, Serialize};

use crate::data::{Part, Reasoning, Request, ResponseFormat};
use crate::error::{Fault, FaultCode, ValidationError, ValidationReason};
use crate::path::Path;

/// Whether a model can do something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    /// It can.
    Yes,
    /// It cannot; a request for it is refused.
    No,
    /// Nobody said; a request for it is sent.
    #[default]
    Unknown,
}

impl Support {
    /// Whether it is known that it cannot.
    #[must_use]
    pub const fn is_no(self) -> bool {
        matches!(self, Self::No)
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// This, or `base` where this is unknown.
    const fn or(self, base: Self) -> Self {
        match self {
            Self::Unknown => base,
            known => known,
        }
    }
}

/// How often a run may ask the model for its final answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passes {
    /// Once: tools and the form of the answer go into one call.
    One,
    /// A second time without tools, where the model cannot take both at once.
    Two,
}

/// What a model of a provider can do. Nothing is known by default, and what is unknown is never refused.
///
/// ```
/// use allm_core::{Capabilities, Passes, Request, Support};
///
/// let blind = Capabilities { vision: Support::No, ..Capabilities::default() };
/// assert!(blind.check(&Request::new("What do you see?"), Passes::One).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Capabilities {
    /// Calls tools.
    #[serde(skip_serializing_if = "Support::is_unknown")]
    pub tools: Support,
    /// Makes several calls in one answer.
    #[serde(skip_serializing_if = "Support::is_unknown")]
    pub parallel_tool_calls: Support,
    /// Answers with JSON that fits a schema.
    #[serde(skip_serializing_if = "Support::is_unknown")]
    pub json_schema: Support,
    /// Answers with some JSON object.
    #[serde(skip_serializing_if = "Support::is_unknown")]
    pub json_object: Support,
    /// Takes tools and a schema for the answer in one call.
    #[serde(skip_serializing_if = "Support::is_unknown")]
    pub tools_with_json_schema: Support,
    /// Sees images.
    #[serde(skip_serializing_if = "Support::is_unknown")]
    pub vision: Support,
    /// Reads files.
    #[serde(skip_serializing_if = "Support::is_unknown")]
    pub files: Support,
    /// Thinks before it answers.
    #[serde(skip_serializing_if = "Support::is_unknown")]
    pub reasoning: Support,
    /// Remembers prompts.
    #[serde(skip_serializing_if = "Support::is_unknown")]
    pub prompt_cache: Support,
    /// Answers bit by bit.
    #[serde(skip_serializing_if = "Support::is_unknown")]
    pub streaming: Support,
    /// The longest prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_input_tokens: Option<u64>,
    /// The longest answer, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

impl Capabilities {
    /// These facts, and those of `base` for every field that is unknown here.
    #[must_use]
    pub fn merged_over(&self, base: &Self) -> Self {
        Self {
            tools: self.tools.or(base.tools),
            parallel_tool_calls: self.parallel_tool_calls.or(base.parallel_tool_calls),
            json_schema: self.json_schema.or(base.json_schema),
            json_object: self.json_object.or(base.json_object),
            tools_with_json_schema: self.tools_with_json_schema.or(base.tools_with_json_schema),
            vision: self.vision.or(base.vision),
            files: self.files.or(base.files),
            reasoning: self.reasoning.or(base.reasoning),
            prompt_cache: self.prompt_cache.or(base.prompt_cache),
            streaming: self.streaming.or(base.streaming),
            max_input_tokens: self.max_input_tokens.or(base.max_input_tokens),
            max_output_tokens: self.max_output_tokens.or(base.max_output_tokens),
        }
    }

    /// Whether the request asks for tools and a schema together, and the model is known not to take both.
    #[must_use]
    pub fn needs_finalize_pass(&self, request: &Request) -> bool {
        self.tools_with_json_schema.is_no()
            && !request.tools.is_empty()
            && matches!(request.response_format, Some(ResponseFormat::JsonSchema(_)))
    }

    /// Refuses what the model is known not to do. The request is not changed.
    ///
    /// # Errors
    ///
    /// `unsupported_capability` with one fault for each thing that it cannot do.
    pub fn check(&self, request: &Request, passes: Passes) -> Result<(), ValidationError> {
        let mut faults = Vec::new();
        if self.tools.is_no() && !request.tools.is_empty() {
            faults.push(Fault::new("tools", FaultCode::ToolsUnsupported));
        }
        faults.extend(self.response_format(request, passes));
        if self.vision.is_no() || self.files.is_no() {
            self.media(request, &mut faults);
        }
        // Settings that say nothing ask for nothing.
        let thinks = request.reasoning.as_ref();
        if self.reasoning.is_no() && thinks.is_some_and(|asked| *asked != Reasoning::default()) {
            faults.push(Fault::new("reasoning", FaultCode::ReasoningUnsupported));
        }
        if let (Some(asked), Some(limit)) = (request.max_tokens, self.max_output_tokens)
            && u64::from(asked) > limit
        {
            faults.push(Fault::new("max_tokens", FaultCode::ExceedsModelLimit));
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(ValidationError::new(
            ValidationReason::UnsupportedCapability,
            faults,
        ))
    }

    fn response_format(&self, request: &Request, passes: Passes) -> Option<Fault> {
        let code = match request.response_format {
            Some(ResponseFormat::JsonSchema(_)) if self.json_schema.is_no() => {
                FaultCode::JsonSchemaUnsupported
            }
            Some(ResponseFormat::JsonObject) if self.json_object.is_no() => {
                FaultCode::JsonObjectUnsupported
            }
            _ if passes == Passes::One && self.needs_finalize_pass(request) => {
                FaultCode::NeedsFinalizePass
            }
            _ => return None,
        };
        Some(Fault::new("response_format", code))
    }

    fn media(&self, request: &Request, faults: &mut Vec<Fault>) {
        for (index, message) in request.messages.iter().enumerate() {
            for (part_index, part) in message.content.iter().enumerate() {
                let code = match part {
                    Part::Image(_) if self.vision.is_no() => FaultCode::VisionUnsupported,
                    Part::File(_) if self.files.is_no() => FaultCode::FilesUnsupported,
                    _ => continue,
                };
                let message = Path::from("messages").index(index);
                faults.push(Fault::new(message.field("content").index(part_index), code));
            }
        }
    }
}
