//! The Responses API of OpenAI and of those who speak it.

mod input;
mod request;
pub(crate) mod stream;

use allm_core::{FaultCode, ModelCall, ValidationError, ValidationReason};

use super::model::Family;
use crate::providers::connection::{Connection, Outgoing};
use crate::providers::translate::media::{self, IMAGES, MediaRules, is_document};
use crate::providers::translate::notes::Faults;
use crate::providers::translate::schema;
use crate::wire::decode::late_decoder;

/// The wire's name, as in `Origin` and `Opaque`.
pub(crate) const WIRE: &str = "openai.responses";

/// The smallest limit of tokens that the API takes.
const MIN_TOKENS: u32 = 16;

/// What opaque values are.
mod kinds {
    /// A whole item of reasoning.
    pub(super) const REASONING: &str = "reasoning";
    /// What goes with a text: annotations, and the phase of its message.
    pub(super) const TEXT: &str = "message";
    /// What a call carries beyond what is known of calls.
    pub(super) const CALL: &str = "function_call";
    /// A block inside a message that has no type here.
    pub(super) const CONTENT: &str = "message_content";
}

/// Whether a file is one that the API reads: PDF, text, and what office programs write.
fn is_readable(mime: &str) -> bool {
    let mime = mime.to_ascii_lowercase();
    let office = [
        "vnd.openxmlformats-officedocument.",
        "vnd.oasis.opendocument.",
        "vnd.ms-",
    ];
    let kind = mime.strip_prefix("application/");
    is_document(&mime)
        || kind.is_some_and(|kind| {
            matches!(kind, "json" | "rtf" | "xml" | "msword")
                || office.iter().any(|prefix| kind.starts_with(prefix))
        })
}

/// What is wrong with a call.
pub(crate) fn check(connection: &Connection, call: &ModelCall) -> Result<(), ValidationError> {
    let request = &*call.request;
    let rules = MediaRules {
        images: IMAGES,
        max_image_bytes: connection.max_image_bytes,
        files: Some(is_readable),
    };
    let mut faults = Faults::default();
    media::check(&request.messages, &rules, &mut faults);
    schema::check_strict(request, &mut faults);
    if !request.stop.is_empty() {
        faults.unsupported("stop", "the Responses API has no stop texts");
    }
    if request.max_tokens.is_some_and(|limit| limit < MIN_TOKENS) {
        faults.add(
            ValidationReason::InvalidRequest,
            "max_tokens",
            FaultCode::BelowProviderMinimum,
        );
    }
    faults.finish()
}

/// The request of a call.
pub(crate) fn outgoing(
    connection: &Connection,
    call: &ModelCall,
    family: Family,
) -> Result<Outgoing, serde_json::Error> {
    let (body, warnings) = request::body(&connection.name, call, family)?;
    Ok(Outgoing {
        path: "/responses".to_owned(),
        body,
        headers: Vec::new(),
        auth: None,
        wire: WIRE,
        decoder: late_decoder(stream::ResponsesDecoder::default),
        warnings,
    })
}
