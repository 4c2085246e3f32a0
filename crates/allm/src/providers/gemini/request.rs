//! From a request to a body.

mod contents;
mod settings;

use allm_core::{FaultCode, Path, ProviderName, Request, Role, ToolChoice, ToolSpec};
use allm_core::{ParallelCalls, ResponseFormat, Strict, ValidationError, ValidationReason};

use super::WIRE;
use super::model::is_third;
use super::openapi::{self, SchemaMode};
use crate::providers::translate::body::merge;
use crate::providers::translate::media::{self, MAX_IMAGE_BYTES, MediaRules};
use crate::providers::translate::notes::{Faults, Warnings};
use crate::providers::translate::turns::{Turn, turns};
use crate::providers::translate::written::{self, Body, Head, Recipient};
use contents::{Key, Writer};

/// What this wire takes of images and files.
const MEDIA: MediaRules = MediaRules {
    images: &[
        "image/png",
        "image/jpeg",
        "image/webp",
        "image/gif",
        "image/heic",
        "image/heif",
    ],
    max_image_bytes: MAX_IMAGE_BYTES,
    files: None,
};

/// What a body is made for.
pub(super) struct Target<'a> {
    pub(super) provider: &'a ProviderName,
    pub(super) model: &'a str,
    pub(super) schema_mode: SchemaMode,
}

/// Everything that cannot be said on this wire.
pub(super) fn check(request: &Request, mode: SchemaMode) -> Result<(), ValidationError> {
    let mut faults = Faults::default();
    media::check(&request.messages, &MEDIA, &mut faults);
    for turn in turns(&request.messages) {
        if let Turn::Message(said) = turn
            && said.message.role == Role::Tool
        {
            let path = Path::from("messages").index(said.index);
            let reason = ValidationReason::InvalidThread;
            faults.add(reason, path, FaultCode::OrphanToolResult);
        }
    }
    check_tools(request, mode, &mut faults);
    if mode == SchemaMode::OpenApi
        && let Some(ResponseFormat::JsonSchema(format)) = &request.response_format
        && let Err(why) = openapi::converted(&format.schema)
    {
        faults.unsupported(Path::from("response_format").field("schema"), why);
    }
    faults.finish()
}

fn check_tools(request: &Request, mode: SchemaMode, faults: &mut Faults) {
    for (index, tool) in request.tools.iter().enumerate() {
        let ToolSpec::Function(function) = tool else {
            continue;
        };
        let path = || Path::from("tools").index(index);
        if function.strict == Strict::Yes {
            faults.unsupported(path().field("strict"), "there are no strict tools here");
        }
        if mode == SchemaMode::OpenApi
            && let Err(why) = openapi::converted(&function.schema)
        {
            faults.unsupported(path().field("schema"), why);
        }
    }
    let forced = matches!(
        request.tool_choice,
        Some(ToolChoice::Required | ToolChoice::Tool(_) | ToolChoice::AnyOf(_))
    );
    if forced && request.tools.iter().all(|tool| tool.name().is_none()) {
        let reason = ValidationReason::InvalidRequest;
        faults.add(reason, "tool_choice", FaultCode::NoTools);
    }
    if request.parallel_tool_calls == Some(ParallelCalls::OneAtMost) {
        let why = "the number of calls cannot be limited here";
        faults.unsupported("parallel_tool_calls", why);
    }
}

/// The body; the same request always gives the same bytes.
pub(super) fn body(
    request: &Request,
    target: &Target<'_>,
    warnings: &mut Warnings,
) -> Result<Body, serde_json::Error> {
    let mut settings = settings::settings(request, target, warnings);
    merge(&mut settings, &request.extra);
    // The conversation is the request's, whatever `extra` says.
    settings.remove("contents");
    media::warn_detail(&request.messages, warnings);
    let is_third = is_third(target.model);
    let head = Head {
        settings: &settings,
        name: "contents",
        tools: None,
    };
    let to = Recipient {
        provider: target.provider,
        wire: WIRE,
        ids: None,
    };
    let key = Key {
        provider: target.provider.clone(),
        is_third,
    };
    let begin = |open: Option<_>| Writer::new(is_third, open.flatten());
    written::body(&head, &request.messages, to, key, begin, warnings)
}

#[cfg(test)]
mod tests;
