//! What is wrong with a call that only this wire can tell.

use allm_core::{
    Fault, FaultCode, ModelCall, Part, Path, ResponseFormat, Strict, ToolSpec, ValidationError,
    ValidationReason,
};
use serde_json::Value;

use super::messages::text_of;
use super::models::Model;
use super::request::tools::{Choice, loose_at};
use super::request::{Form, Thinking};
use super::schema::relaxed;
use crate::providers::translate::media::{self, IMAGES, MAX_IMAGE_BYTES, MediaRules, is_document};
use crate::providers::translate::notes::{Faults, part_path};

const MEDIA: MediaRules = MediaRules {
    images: IMAGES,
    max_image_bytes: MAX_IMAGE_BYTES,
    files: Some(is_document),
};

/// All faults of a call, in the order of the messages, the tools and the settings.
pub(super) fn check(call: &ModelCall) -> Result<(), ValidationError> {
    let request = &*call.request;
    let model = Model::of(&call.model.model);
    let mut faults = Faults::default();
    media::check(&request.messages, &MEDIA, &mut faults);
    files(call, &mut faults);
    tools(call, model, &mut faults);
    if request.temperature.is_some_and(|heat| heat > 1.0) {
        let reason = ValidationReason::InvalidRequest;
        faults.add(reason, "temperature", FaultCode::OutOfRange);
    }
    let choice = Choice::of(request);
    if matches!(choice, Choice::Unsayable) {
        faults.unsupported("tool_choice", "one tool, or all of them");
    }
    form(call, model, &mut faults);
    if let Thinking::Budget(budget) = Thinking::of(request.reasoning.as_ref(), model) {
        if request.max_tokens.is_some_and(|max| max <= budget) {
            let reason = ValidationReason::InvalidRequest;
            faults.add(reason, "max_tokens", FaultCode::BelowReasoningBudget);
        }
        if choice.is_forced() {
            faults.unsupported("tool_choice", "a model that thinks cannot be made to call");
        }
        if request
            .temperature
            .is_some_and(|heat| (heat - 1.0).abs() > f64::EPSILON && heat <= 1.0)
        {
            faults.unsupported("temperature", "a model that thinks has the temperature 1");
        }
    }
    faults.finish()
}

/// Files that say they are text and are not.
fn files(call: &ModelCall, faults: &mut Faults) {
    for (index, message) in call.request.messages.iter().enumerate() {
        for (at, part) in message.content.iter().enumerate() {
            let Part::File(file) = part else { continue };
            let mime = file.file.mime_type.as_deref().unwrap_or_default();
            let is_text = is_document(mime) && !mime.eq_ignore_ascii_case("application/pdf");
            if is_text && file.file.to_bytes().is_ok() && text_of(file).is_none() {
                let fault = Fault::new(part_path(index, at), FaultCode::UnsupportedMediaType);
                let fault = fault.detail("the text is not UTF-8");
                faults.put(ValidationReason::InvalidMessage, fault);
            }
        }
    }
}

fn tools(call: &ModelCall, model: Model, faults: &mut Faults) {
    for (index, tool) in call.request.tools.iter().enumerate() {
        let ToolSpec::Function(function) = tool else {
            continue;
        };
        if function.strict != Strict::Yes {
            continue;
        }
        let path = Path::from("tools").index(index);
        if !model.has_output_format() {
            faults.unsupported(path.field("strict"), "the model keeps to no schema exactly");
        } else if let Some(place) = loose_at(&function.schema) {
            let fault = Fault::new(path.field("schema"), FaultCode::NotStrict).detail(place);
            faults.put(ValidationReason::UnsupportedOption, fault);
        }
    }
}

fn form(call: &ModelCall, model: Model, faults: &mut Faults) {
    let request = &*call.request;
    if matches!(request.response_format, Some(ResponseFormat::JsonObject)) {
        faults.unsupported("response_format", "JSON needs a schema here");
    }
    let schema = || Path::from("response_format").field("schema");
    match Form::of(request, model) {
        Form::Free => {}
        Form::Native(format) => match relaxed(&format.schema) {
            Err(_) => faults.unsupported(schema(), "it points back to itself"),
            Ok(relaxed) => {
                if let (Strict::Yes, Some(first)) = (format.strict, relaxed.changed.first()) {
                    let fault = Fault::new(schema(), FaultCode::NotStrict).detail(first);
                    faults.put(ValidationReason::UnsupportedOption, fault);
                }
            }
        },
        Form::Tool(format) => {
            let thinking = Thinking::of(request.reasoning.as_ref(), model);
            if matches!(thinking, Thinking::Budget(_)) {
                faults.unsupported(
                    "response_format",
                    "this model cannot think and keep to a form",
                );
            }
            if format.strict == Strict::Yes {
                let path = Path::from("response_format").field("strict");
                faults.unsupported(path, "the model keeps to no schema exactly");
            }
            let root = format.schema.get("type").and_then(Value::as_str);
            if root.is_some_and(|root| root != "object") {
                faults.unsupported(schema(), "this model answers with objects only");
            }
        }
    }
}
