//! What can be told to be wrong with a request before a model is there.

use std::sync::OnceLock;

use allm_core::{
    Fault, FaultCode, Part, Path, Request, ResponseFormat, ToolChoice, ToolSpec, ValidationError,
    ValidationReason, Warning,
};

use crate::grammar::{Grammars, object};

/// All that a model in the process cannot do with a request.
pub(super) fn check(request: &Request) -> Result<(), ValidationError> {
    let mut faults = Vec::new();
    for (number, tool) in request.tools.iter().enumerate() {
        let path = Path::from("tools").index(number);
        match tool {
            ToolSpec::Function(function) => {
                let schema = path.field("schema");
                let about = format!("tool {}", function.name);
                if request.tool_choice != Some(ToolChoice::None) {
                    faults.extend(fault(&object(&function.schema), &schema, &about));
                }
            }
            _ => faults.push(
                Fault::new(path, FaultCode::Unsupported)
                    .detail("a model in the process has no tools of its provider"),
            ),
        }
    }
    if let Some(ResponseFormat::JsonSchema(format)) = &request.response_format {
        let path = Path::from("response_format").field("schema");
        let about = format!("format {}", format.name);
        faults.extend(fault(&format.schema, &path, &about));
    }
    for (number, message) in request.messages.iter().enumerate() {
        for (part_number, part) in message.content.iter().enumerate() {
            let code = match part {
                Part::Image(_) => FaultCode::VisionUnsupported,
                Part::File(_) => FaultCode::FilesUnsupported,
                _ => continue,
            };
            let path = Path::from("messages").index(number);
            faults.push(Fault::new(path.field("content").index(part_number), code));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(ValidationError::new(
        ValidationReason::UnsupportedOption,
        faults,
    ))
}

/// What the grammar cannot hold a model to.
fn fault(schema: &serde_json::Value, path: &Path, about: &str) -> Option<Fault> {
    static GRAMMARS: OnceLock<Option<Grammars>> = OnceLock::new();
    let grammars = GRAMMARS
        .get_or_init(|| Grammars::over_bytes().ok())
        .as_ref()?;
    let (place, what) = grammars.fault(schema)?;
    let detail = format!("{about}: no model can be held to this schema: {what}");
    Some(Fault::new(place.below(path), FaultCode::InvalidSchema).detail(detail))
}

/// The settings of a request that mean nothing to a model in the process.
pub(super) fn dropped(request: &Request) -> Vec<Warning> {
    let settings = [
        ("reasoning", request.reasoning.is_some()),
        ("verbosity", request.verbosity.is_some()),
        ("prompt_cache", request.prompt_cache.is_some()),
        ("service_tier", request.service_tier.is_some()),
        ("user", request.user.is_some()),
    ];
    let settings = settings.into_iter().filter(|(_, is_set)| *is_set);
    let settings = settings.map(|(name, _)| Path::from(name));
    let extra = request
        .extra
        .keys()
        .map(|key| Path::from("extra").field(key.clone()));
    let warning = |path| Warning {
        code: "option_dropped".to_owned(),
        path: Some(path),
        detail: None,
    };
    settings.chain(extra).map(warning).collect()
}
