//! The parts that a message is made of.

use serde::{Deserialize, Serialize};

use super::id::ProviderName;
use super::media::{File, Image};
use crate::json::RawJson;
use crate::json::tagged::tagged;

/// One part of a message's content.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Visible text.
    Text(TextPart),
    /// A picture.
    Image(ImagePart),
    /// A file.
    File(FilePart),
    /// Thinking; never part of the visible text.
    Reasoning(ReasoningPart),
    /// The provider's own refusal.
    Refusal(RefusalPart),
    /// A block made by a provider that has no type here.
    Opaque(OpaquePart),
}

tagged!(Part {
    "text" => Text(TextPart),
    "image" => Image(ImagePart),
    "file" => File(FilePart),
    "reasoning" => Reasoning(ReasoningPart),
    "refusal" => Refusal(RefusalPart),
    "opaque" => Opaque(OpaquePart),
});

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextPart {
            text: text.into(),
            opaque: None,
        })
    }

    /// A picture, with the detail left to the provider.
    #[must_use]
    pub fn image(image: Image) -> Self {
        Self::Image(ImagePart {
            image: Box::new(image),
            detail: Detail::Auto,
        })
    }

    /// A file without a name.
    #[must_use]
    pub fn file(file: File) -> Self {
        Self::File(FilePart {
            file: Box::new(file),
            name: None,
        })
    }

    /// A refusal.
    pub fn refusal(text: impl Into<String>) -> Self {
        Self::Refusal(RefusalPart { text: text.into() })
    }

    /// A block that only its provider understands.
    #[must_use]
    pub fn opaque(opaque: Opaque) -> Self {
        Self::Opaque(OpaquePart {
            opaque: Box::new(opaque),
        })
    }

    /// The visible text, when this is a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(part) => Some(&part.text),
            _ => None,
        }
    }

    /// What the provider attached to this part, if anything.
    #[must_use]
    pub fn attached(&self) -> Option<&Opaque> {
        match self {
            Self::Text(part) => part.opaque.as_deref(),
            Self::Reasoning(part) => part.opaque.as_deref(),
            Self::Opaque(part) => Some(&part.opaque),
            Self::Image(_) | Self::File(_) | Self::Refusal(_) => None,
        }
    }
}

/// Visible text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextPart {
    /// The text.
    pub text: String,
    /// What the provider attached: a signature, citations, a phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Box<Opaque>>,
}

/// A picture and how closely to look at it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagePart {
    /// The picture.
    pub image: Box<Image>,
    /// How closely the model should look.
    #[serde(default)]
    pub detail: Detail,
}

/// How closely a model looks at a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Detail {
    /// The provider decides.
    #[default]
    Auto,
    /// Few tokens.
    Low,
    /// Many tokens.
    High,
}

/// A file, with the name shown to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePart {
    /// The file.
    pub file: Box<File>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Thinking. The text may be absent or empty while the opaque value is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasoningPart {
    /// What may be read of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the text is the thinking itself.
    pub kind: ReasoningKind,
    /// What its provider wants back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Box<Opaque>>,
}

/// What a reasoning part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningKind {
    /// The thinking itself.
    Raw,
    /// A summary made by the provider.
    Summary,
    /// Withheld by the provider.
    Redacted,
}

/// The provider's refusal, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusalPart {
    /// The words.
    pub text: String,
}

/// A provider's block that has no type here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpaquePart {
    /// The block.
    pub opaque: Box<Opaque>,
}

/// Something only its provider understands, kept byte for byte.
///
/// Adapters send it back to the same provider and wire and drop it, with a warning, for any other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opaque {
    /// Who made it.
    pub provider: ProviderName,
    /// The wire format that it belongs to.
    pub wire: String,
    /// What it is, in the provider's words.
    pub kind: String,
    /// The exact JSON text.
    pub data: RawJson,
}
