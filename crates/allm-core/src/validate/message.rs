//! One message.

use std::collections::HashSet;

use super::faults::{Check, Faults, Place};
use super::source;
use crate::data::{Message, Part, ProviderName, Role, ToolCallId};
use crate::error::{FaultCode, ValidationError, ValidationReason};

/// Checks one message alone: its parts, its sources and its calls.
///
/// # Errors
///
/// `invalid_message`, with paths from the message on, such as `content[0]`.
pub fn message(message: &Message) -> Result<(), ValidationError> {
    let mut faults = Faults::default();
    check(message, Place::Root, None, &mut faults);
    faults.finish().map_err(|error| ValidationError {
        reason: ValidationReason::InvalidMessage,
        ..error
    })
}

/// Checks a message that stands at `place`, and its sources against the provider that it goes to, if that is known.
pub(super) fn check(
    message: &Message,
    place: Place,
    provider: Option<&ProviderName>,
    faults: &mut Faults,
) {
    if is_empty(message) {
        faults.add(
            Check::EmptyContent,
            place.field("content"),
            FaultCode::Empty,
        );
    }
    for (index, part) in message.content.iter().enumerate() {
        let path = || place.field("content").index(index);
        if let Some(code) = not_allowed(message.role, part) {
            faults.add(Check::PartForRole, path(), code);
        }
        source::check(part, provider, path, faults);
    }
    answered_call(message, place, faults);
    if message.role != Role::Assistant && !message.tool_calls.is_empty() {
        faults.add(
            Check::FieldForRole,
            place.field("tool_calls"),
            FaultCode::NotAllowed,
        );
    }
    if message.role != Role::Tool && message.is_error {
        faults.add(
            Check::FieldForRole,
            place.field("is_error"),
            FaultCode::NotAllowed,
        );
    }
    calls(message, place, faults);
}

/// Whether a person or the application says nothing. A model and a tool may.
fn is_empty(message: &Message) -> bool {
    match message.role {
        Role::User => message
            .content
            .iter()
            .all(|part| part.as_text().is_some_and(str::is_empty)),
        Role::System => message
            .content
            .iter()
            .all(|part| part.as_text().is_none_or(str::is_empty)),
        Role::Assistant | Role::Tool => false,
    }
}

fn not_allowed(role: Role, part: &Part) -> Option<FaultCode> {
    match part {
        Part::Image(_) if role == Role::System => Some(FaultCode::ImageInSystemMessage),
        Part::File(_) if role == Role::System => Some(FaultCode::NotAllowedForRole),
        Part::Reasoning(_) | Part::Refusal(_) | Part::Opaque(_) if role != Role::Assistant => {
            Some(FaultCode::NotAllowedForRole)
        }
        _ => None,
    }
}

/// A tool message names the call that it answers, no other message does.
pub(super) fn answered_call(message: &Message, place: Place, faults: &mut Faults) {
    let code = match (message.role, &message.tool_call_id) {
        (Role::Tool, Some(id)) if !id.is_empty() => return,
        (Role::Tool, _) => FaultCode::Required,
        (_, None) => return,
        (_, Some(_)) => FaultCode::NotAllowed,
    };
    faults.add(Check::AnsweredCall, place.field("tool_call_id"), code);
}

fn calls(message: &Message, place: Place, faults: &mut Faults) {
    let parts = message.content.len();
    let mut ids: HashSet<&ToolCallId> = HashSet::with_capacity(message.tool_calls.len());
    let mut least = 0;
    for (index, call) in message.tool_calls.iter().enumerate() {
        let mut fault = |field: &'static str, code| {
            let path = place.field("tool_calls").index(index).field(field);
            faults.add(Check::Call, path, code);
        };
        if call.id.is_empty() {
            fault("id", FaultCode::Empty);
        } else if !ids.insert(&call.id) {
            fault("id", FaultCode::Duplicate);
        }
        if call.name.is_empty() {
            fault("name", FaultCode::Empty);
        }
        // A call without a place stands after all content, so no later call can stand before a part.
        let at = call.at.map_or(Some(parts), |at| usize::try_from(at).ok());
        match at {
            Some(at) if (least..=parts).contains(&at) => least = at,
            _ => fault("at", FaultCode::OutOfRange),
        }
    }
}
