//! Images and files.

use std::path::Path as FsPath;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Map as JsonMap;

use super::Map;
use super::id::ProviderName;
use crate::error::{DataUriError, SourceError};
use crate::json::tagged::tagged;

/// Where the bytes of an image or a file are.
///
/// There is no path source: a stored thread can never make a process read a local file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Here.
    Bytes(Bytes),
    /// Here, as base64 text of the standard padded alphabet. Checked at validation, kept as given.
    Base64(String),
    /// At an `http` or `https` URL; never fetched by this library.
    Url(String),
    /// With a provider that already holds the file.
    Provider {
        /// The provider.
        provider: ProviderName,
        /// Its id of the file.
        id: String,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SourceForm {
    Bytes(BytesForm),
    Base64(Base64Form),
    Url(UrlForm),
    Provider(ProviderForm),
}

tagged!(SourceForm {
    "bytes" => Bytes(BytesForm),
    "base64" => Base64(Base64Form),
    "url" => Url(UrlForm),
    "provider" => Provider(ProviderForm),
});

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BytesForm {
    #[serde(with = "super::base64_text")]
    data: Bytes,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Base64Form {
    data: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlForm {
    url: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderForm {
    provider: ProviderName,
    id: String,
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self.clone() {
            Self::Bytes(data) => SourceForm::Bytes(BytesForm { data }),
            Self::Base64(data) => SourceForm::Base64(Base64Form { data }),
            Self::Url(url) => SourceForm::Url(UrlForm { url }),
            Self::Provider { provider, id } => SourceForm::Provider(ProviderForm { provider, id }),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match SourceForm::deserialize(deserializer)? {
            SourceForm::Bytes(form) => Self::Bytes(form.data),
            SourceForm::Base64(form) => Self::Base64(form.data),
            SourceForm::Url(form) => Self::Url(form.url),
            SourceForm::Provider(form) => Self::Provider {
                provider: form.provider,
                id: form.id,
            },
        })
    }
}

impl Source {
    /// The bytes, when they are here.
    ///
    /// # Errors
    ///
    /// [`SourceError::Remote`] for URL and provider sources, [`SourceError::InvalidBase64`] for undecodable text.
    pub fn to_bytes(&self) -> Result<Bytes, SourceError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::Base64(text) => STANDARD
                .decode(text)
                .map(Bytes::from)
                .map_err(|_| SourceError::InvalidBase64),
            Self::Url(_) | Self::Provider { .. } => Err(SourceError::Remote),
        }
    }

    fn to_data_uri(&self, mime_type: Option<&str>) -> Result<String, SourceError> {
        let payload = match self {
            Self::Bytes(bytes) => STANDARD.encode(bytes),
            Self::Base64(text) => text.clone(),
            Self::Url(_) | Self::Provider { .. } => return Err(SourceError::Remote),
        };
        let mime_type = mime_type.ok_or(SourceError::MissingMimeType)?;
        Ok(format!("data:{mime_type};base64,{payload}"))
    }
}

fn mime_of_extension(path: &FsPath) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "csv" => "text/csv",
        "md" => "text/markdown",
        _ => return None,
    })
}

fn split_data_uri(uri: &str) -> Result<(String, String), DataUriError> {
    let rest = uri.strip_prefix("data:").ok_or(DataUriError::NotADataUri)?;
    let (head, payload) = rest.split_once(',').ok_or(DataUriError::NotBase64Encoded)?;
    let head = head
        .strip_suffix(";base64")
        .ok_or(DataUriError::NotBase64Encoded)?;
    let mime = head.split(';').next().unwrap_or_default();
    if mime.is_empty() {
        return Err(DataUriError::MissingMimeType);
    }
    Ok((mime.to_owned(), payload.to_owned()))
}

/// The constructors and readers that images and files share.
macro_rules! media {
    ($name:ident, $noun:literal) => {
        impl $name {
            #[doc = concat!("Reads ", $noun, " from a path, now: what happens to it later changes nothing.")]
            ///
            /// The MIME type comes from the extension: png, jpg, jpeg, webp, gif, pdf, txt, csv, md; else none.
            ///
            /// # Errors
            ///
            /// That of the file system.
            pub fn from_path(path: impl AsRef<FsPath>) -> std::io::Result<Self> {
                let path = path.as_ref();
                let bytes = std::fs::read(path)?;
                let mime_type = mime_of_extension(path).map(str::to_owned);
                Ok(Self {
                    mime_type,
                    ..Self::new(Source::Bytes(bytes.into()))
                })
            }

            #[doc = concat!("From the bytes of ", $noun, ".")]
            pub fn from_bytes(bytes: impl Into<Bytes>, mime_type: impl Into<String>) -> Self {
                Self {
                    mime_type: Some(mime_type.into()),
                    ..Self::new(Source::Bytes(bytes.into()))
                }
            }

            /// From base64 text, kept as given and checked at validation.
            pub fn from_base64(text: impl Into<String>, mime_type: impl Into<String>) -> Self {
                Self {
                    mime_type: Some(mime_type.into()),
                    ..Self::new(Source::Base64(text.into()))
                }
            }

            /// From an `http` or `https` URL. It is not fetched and no MIME type is guessed.
            pub fn from_url(url: impl Into<String>) -> Self {
                Self::new(Source::Url(url.into()))
            }

            /// From `data:<mime>[;param…];base64,<payload>`; parameters are dropped, the payload is kept as it is.
            ///
            /// # Errors
            ///
            /// One of its own for each fault of the form.
            pub fn from_data_uri(uri: &str) -> Result<Self, DataUriError> {
                let (mime_type, payload) = split_data_uri(uri)?;
                Ok(Self::from_base64(payload, mime_type))
            }

            #[doc = concat!("Names ", $noun, " that a provider already holds; another provider refuses it.")]
            pub fn from_provider(provider: impl Into<ProviderName>, id: impl Into<String>) -> Self {
                Self::new(Source::Provider {
                    provider: provider.into(),
                    id: id.into(),
                })
            }

            /// The bytes, when they are here.
            ///
            /// # Errors
            ///
            /// [`SourceError::Remote`] and [`SourceError::InvalidBase64`].
            pub fn to_bytes(&self) -> Result<Bytes, SourceError> {
                self.source.to_bytes()
            }

            /// As a data URI; base64 text is passed on unchanged.
            ///
            /// # Errors
            ///
            /// [`SourceError::Remote`], reported before [`SourceError::MissingMimeType`].
            pub fn to_data_uri(&self) -> Result<String, SourceError> {
                self.source.to_data_uri(self.mime_type.as_deref())
            }
        }
    };
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Where its bytes are.
    pub source: Source,
    /// Its MIME type, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its width in pixels, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Its height in pixels, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// The caller's own; never sent.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
}

impl Image {
    /// A picture of which only the source is known.
    #[must_use]
    pub fn new(source: Source) -> Self {
        Self {
            source,
            mime_type: None,
            width: None,
            height: None,
            metadata: Map::new(),
        }
    }
}

media!(Image, "an image");

/// A file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Where its bytes are.
    pub source: Source,
    /// Its MIME type, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The caller's own; never sent.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
}

impl File {
    /// A file of which only the source is known.
    #[must_use]
    pub fn new(source: Source) -> Self {
        Self {
            source,
            mime_type: None,
            metadata: Map::new(),
        }
    }
}

media!(File, "a file");
