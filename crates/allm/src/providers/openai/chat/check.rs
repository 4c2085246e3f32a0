//! What this wire refuses before anything is sent.

use allm_core::{Part, Request, Role, Source, ToolChoice, ValidationError};

use super::Rules;
use crate::providers::translate::media::{self, MediaRules};
use crate::providers::translate::notes::{Faults, part_path};
use crate::providers::translate::schema;

pub(super) fn check(
    request: &Request,
    rules: &Rules,
    media: &MediaRules,
) -> Result<(), ValidationError> {
    let mut faults = Faults::default();
    media::check(&request.messages, media, &mut faults);
    sources(request, rules, &mut faults);
    schema::check_strict(request, &mut faults);
    if matches!(request.tool_choice, Some(ToolChoice::AnyOf(_))) && !rules.profile.allowed_tools {
        faults.unsupported("tool_choice", "this server has no choice among some tools");
    }
    faults.finish()
}

/// Pictures are sent along or by URL, files are sent along or by id, to some servers by URL.
fn sources(request: &Request, rules: &Rules, faults: &mut Faults) {
    if !media::is_in(&request.messages) {
        return;
    }
    for (index, message) in request.messages.iter().enumerate() {
        // Pictures of an assistant are left out with a warning.
        if message.role == Role::Assistant {
            continue;
        }
        for (at, part) in message.content.iter().enumerate() {
            match part {
                Part::Image(image) if matches!(image.image.source, Source::Provider { .. }) => {
                    faults.unsupported(part_path(index, at), "a picture cannot be sent by its id");
                }
                Part::File(file)
                    if matches!(file.file.source, Source::Url(_)) && !rules.profile.file_urls =>
                {
                    faults.unsupported(part_path(index, at), "a file cannot be sent by its URL");
                }
                _ => {}
            }
        }
    }
}
