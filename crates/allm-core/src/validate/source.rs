//! The sources of images and files.

use super::faults::{Check, Faults};
use crate::data::{Part, ProviderName, Source};
use crate::error::{FaultCode, SourceError};
use crate::path::Path;

/// Checks the source of an image or a file against what every provider needs, and against the one it goes to.
pub(super) fn check(
    part: &Part,
    provider: Option<&ProviderName>,
    path: impl Fn() -> Path,
    faults: &mut Faults,
) {
    let (source, mime_type, is_image) = match part {
        Part::Image(part) => (&part.image.source, &part.image.mime_type, true),
        Part::File(part) => (&part.file.source, &part.file.mime_type, false),
        Part::Text(_) | Part::Reasoning(_) | Part::Refusal(_) | Part::Opaque(_) => return,
    };
    let mime_type = mime_type.as_deref().filter(|mime| !mime.is_empty());
    let mut fault = |code| faults.add(Check::Source, path(), code);

    if !is_resolvable(source) {
        fault(FaultCode::UnresolvableSource);
    }
    match (source, mime_type) {
        (Source::Bytes(_) | Source::Base64(_), None) => fault(FaultCode::MissingMimeType),
        (_, Some(mime)) if is_image && !is_image_type(mime) => {
            fault(FaultCode::UnsupportedMediaType);
        }
        _ => {}
    }
    if let (Source::Provider { provider: held, .. }, Some(provider)) = (source, provider)
        && held != provider
    {
        fault(FaultCode::WrongProvider);
    }
}

fn is_resolvable(source: &Source) -> bool {
    match source {
        Source::Url(url) => is_web_url(url),
        Source::Bytes(_) | Source::Provider { .. } => true,
        Source::Base64(_) => source.to_bytes() != Err(SourceError::InvalidBase64),
    }
}

/// Whether the text is an `http` or `https` URL with something behind the scheme.
fn is_web_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let has_host = !rest.is_empty() && !rest.starts_with(['/', '?', '#']);
    is_web && has_host && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn is_image_type(mime_type: &str) -> bool {
    mime_type
        .split_once('/')
        .is_some_and(|(kind, name)| kind.eq_ignore_ascii_case("image") && !name.is_empty())
}
