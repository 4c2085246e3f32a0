//! Images and files: what is refused before anything is sent, and how what is here is written.

use std::borrow::Cow;

use allm_core::{Detail, FaultCode, Messages, Part, Role, Source, SourceError, ValidationReason};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::notes::{Faults, Warnings, part_path};
pub(crate) use crate::engine::media::is_in;

/// What a wire takes of images and files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MediaRules {
    /// The MIME types of images.
    pub(crate) images: &'static [&'static str],
    /// How many bytes an image may have that is sent along.
    pub(crate) max_image_bytes: usize,
    /// Which files; `None` for any.
    pub(crate) files: Option<fn(&str) -> bool>,
}

/// The images that every wire takes.
pub(crate) const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/gif"];
/// How large an image may be if nothing else is said.
pub(crate) const MAX_IMAGE_BYTES: usize = 20 << 20;

/// Whether a file is a PDF or text.
pub(crate) fn is_document(mime: &str) -> bool {
    mime.eq_ignore_ascii_case("application/pdf")
        || mime
            .get(..5)
            .is_some_and(|kind| kind.eq_ignore_ascii_case("text/"))
}

/// Where an image or a file is, as a wire has to say it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Held<'a> {
    /// Here.
    Data {
        mime: &'a str,
        base64: Cow<'a, str>,
    },
    Url(&'a str),
    /// With the provider, under its id.
    Id(&'a str),
}

impl<'a> Held<'a> {
    pub(crate) fn of(source: &'a Source, mime: Option<&'a str>) -> Self {
        let mime = mime.unwrap_or_default();
        match source {
            Source::Bytes(bytes) => Self::Data {
                mime,
                base64: STANDARD.encode(bytes).into(),
            },
            Source::Base64(text) => Self::Data {
                mime,
                base64: text.as_str().into(),
            },
            Source::Url(url) => Self::Url(url),
            Source::Provider { id, .. } => Self::Id(id),
            // A source of a kind that is not known yet has nothing that could be sent.
            _ => Self::Url(""),
        }
    }
}

/// `data:<mime>;base64,<payload>`.
pub(crate) fn data_uri(mime: &str, base64: &str) -> String {
    let mut uri = String::with_capacity(mime.len() + base64.len() + 13);
    for piece in ["data:", mime, ";base64,", base64] {
        uri.push_str(piece);
    }
    uri
}

/// The word for how closely to look.
pub(crate) const fn detail(detail: Detail) -> &'static str {
    match detail {
        Detail::Low => "low",
        Detail::High => "high",
        _ => "auto",
    }
}

/// Tells of a detail that a wire has no word for.
pub(crate) fn warn_detail(messages: &Messages, warnings: &mut Warnings) {
    if !is_in(messages) {
        return;
    }
    for (index, message) in messages.iter().enumerate() {
        for (at, part) in message.content.iter().enumerate() {
            if let Part::Image(image) = part
                && image.detail != Detail::Auto
            {
                warnings.dropped(part_path(index, at).field("detail"));
            }
        }
    }
}

/// Refuses every image and file that the wire does not take.
pub(crate) fn check(messages: &Messages, rules: &MediaRules, faults: &mut Faults) {
    if !is_in(messages) {
        return;
    }
    for (index, message) in messages.iter().enumerate() {
        for (at, part) in message.content.iter().enumerate() {
            for code in faults_of(part, message.role, rules) {
                faults.add(ValidationReason::InvalidMessage, part_path(index, at), code);
            }
        }
    }
}

fn faults_of(part: &Part, role: Role, rules: &MediaRules) -> Vec<FaultCode> {
    let (source, mime, is_image) = match part {
        Part::Image(part) => (&part.image.source, &part.image.mime_type, true),
        Part::File(part) => (&part.file.source, &part.file.mime_type, false),
        _ => return Vec::new(),
    };
    let mut codes = Vec::new();
    if is_image && role == Role::System {
        codes.push(FaultCode::ImageInSystemMessage);
    }
    let mime = mime.as_deref().filter(|mime| !mime.is_empty());
    let is_here = matches!(source, Source::Bytes(_) | Source::Base64(_));
    match mime {
        None if is_here => codes.push(FaultCode::MissingMimeType),
        Some(mime) if !is_taken(mime, is_image, rules) => {
            codes.push(FaultCode::UnsupportedMediaType);
        }
        _ => {}
    }
    match size(source) {
        Err(_) => codes.push(FaultCode::UnresolvableSource),
        Ok(Some(bytes)) if is_image && bytes > rules.max_image_bytes => {
            codes.push(FaultCode::TooLarge);
        }
        Ok(_) => {}
    }
    codes
}

fn is_taken(mime: &str, is_image: bool, rules: &MediaRules) -> bool {
    if is_image {
        return rules
            .images
            .iter()
            .any(|known| known.eq_ignore_ascii_case(mime));
    }
    rules.files.is_none_or(|takes| takes(mime))
}

/// How many bytes are sent along; `None` for what is elsewhere.
fn size(source: &Source) -> Result<Option<usize>, SourceError> {
    match source {
        Source::Bytes(bytes) => Ok(Some(bytes.len())),
        Source::Base64(text) => {
            if text.len() % 4 != 0 {
                return Err(SourceError::InvalidBase64);
            }
            let padding = text.bytes().rev().take(2).filter(|byte| *byte == b'=');
            Ok(Some((text.len() / 4 * 3).saturating_sub(padding.count())))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use allm_core::{File, Image, Message};

    use super::*;

    const RULES: MediaRules = MediaRules {
        images: IMAGES,
        max_image_bytes: 10,
        files: Some(is_document),
    };

    fn told(messages: Vec<Message>) -> Vec<String> {
        let mut faults = Faults::default();
        check(&messages.into(), &RULES, &mut faults);
        let error = faults.finish().err();
        error
            .into_iter()
            .flat_map(|error| error.faults)
            .map(|fault| fault.to_string())
            .collect()
    }

    fn image(bytes: usize, mime: &str) -> Part {
        Part::image(Image::from_bytes(vec![0; bytes], mime))
    }

    #[test]
    fn p106_types_and_sizes() {
        let base64 = |bytes: usize| {
            Part::image(Image::from_base64(
                STANDARD.encode(vec![0; bytes]),
                "image/png",
            ))
        };
        let nameless = Part::image(Image::new(Source::Bytes(vec![1].into())));
        let parts = vec![
            image(10, "image/png"),
            image(11, "IMAGE/PNG"),
            base64(10),
            base64(11),
            image(1, "image/svg+xml"),
            nameless,
            Part::image(Image::from_base64("AAA", "image/png")),
            Part::image(Image::from_url("https://h/x")),
            Part::file(File::from_bytes("x", "text/csv")),
            Part::file(File::from_bytes("x", "application/zip")),
        ];
        assert_eq!(
            told(vec![Message::user(parts)]),
            [
                "messages[0].content[1]: too_large",
                "messages[0].content[3]: too_large",
                "messages[0].content[4]: unsupported_media_type",
                "messages[0].content[5]: missing_mime_type",
                "messages[0].content[6]: unresolvable_source",
                "messages[0].content[9]: unsupported_media_type",
            ]
        );
    }

    #[test]
    fn p107_all_faults_with_their_places() {
        let svg = || image(1, "image/svg+xml");
        let messages = vec![
            Message::user(vec![Part::text("a"), svg()]),
            Message::user(vec![svg()]),
        ];
        assert_eq!(
            told(messages),
            [
                "messages[0].content[1]: unsupported_media_type",
                "messages[1].content[0]: unsupported_media_type",
            ]
        );
    }

    #[test]
    fn p105_bytes_base64_and_url() {
        let bytes = Source::Bytes(vec![1, 2].into());
        let text = Source::Base64("AQI=".to_owned());
        for source in [&bytes, &text] {
            let held = Held::of(source, Some("image/png"));
            let Held::Data { mime, base64 } = held else {
                panic!("{held:?}")
            };
            assert_eq!(data_uri(mime, &base64), "data:image/png;base64,AQI=");
        }
        let url = Source::Url("https://h/x".to_owned());
        assert_eq!(Held::of(&url, None), Held::Url("https://h/x"));
    }

    #[test]
    fn p109_a_detail_without_a_word_is_told_unless_auto() {
        let looked = |detail| {
            Part::Image(allm_core::ImagePart {
                image: Image::from_url("https://h/x").into(),
                detail,
            })
        };
        let messages = vec![Message::user(vec![
            looked(Detail::Auto),
            looked(Detail::High),
        ])]
        .into();
        let mut warnings = Warnings::default();
        warn_detail(&messages, &mut warnings);
        let paths: Vec<_> = warnings
            .finish()
            .into_iter()
            .map(|w| (w.code, w.path.map(|p| p.to_string())))
            .collect();
        let path = Some("messages[0].content[1].detail".to_owned());
        assert_eq!(paths, [("option_dropped".to_owned(), path)]);
    }
}
