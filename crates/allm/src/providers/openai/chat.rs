//! OpenAI Chat Completions, and all who speak like it.

mod calls;
mod check;
mod chunk;
mod details;
mod messages;
mod request;
mod steady;
pub(crate) mod stream;
mod think;
mod usage;

use std::sync::Arc;

use allm_core::{ModelCall, ValidationError};

use super::model::Family;
use crate::providers::compat::profile::Profile;
use crate::providers::connection::{Connection, Outgoing};
use crate::providers::translate::media::{IMAGES, MediaRules, is_document};
use crate::wire::decode::late_decoder;

/// The wire's name, as in `Origin` and `Opaque`.
pub(crate) const WIRE: &str = "openai.chat";

/// What a call over this wire depends on besides the request.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) profile: Arc<Profile>,
    /// What the model's name tells, where the server is OpenAI's.
    pub(crate) family: Option<Family>,
}

/// What is wrong with a call.
pub(crate) fn check(
    connection: &Connection,
    call: &ModelCall,
    rules: &Rules,
) -> Result<(), ValidationError> {
    let media = MediaRules {
        images: IMAGES,
        max_image_bytes: connection.max_image_bytes,
        files: Some(is_document),
    };
    check::check(&call.request, rules, &media)
}

/// The request of a call.
pub(crate) fn outgoing(
    connection: &Connection,
    call: &ModelCall,
    rules: &Rules,
) -> Result<Outgoing, serde_json::Error> {
    let (body, warnings) = request::body(connection, call, rules)?;
    let profile = Arc::clone(&rules.profile);
    Ok(Outgoing {
        path: "/chat/completions".to_owned(),
        body,
        headers: Vec::new(),
        auth: None,
        wire: WIRE,
        decoder: late_decoder(move || stream::ChatDecoder::new(&profile)),
        warnings,
    })
}
