//! What is known of a model by its name.

use allm_core::{Capabilities, Support};

/// The path of a model, as the API has it: `models/…` or `tunedModels/…`.
pub(super) const PREFIXES: [&str; 2] = ["models/", "tunedModels/"];

/// The number of a model's generation, such as 2.5; `None` for names that tell none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Generation {
    major: u32,
    minor: u32,
}

const THIRD: Generation = Generation { major: 3, minor: 0 };

impl Generation {
    pub(super) fn of(model: &str) -> Option<Self> {
        let name = plain(model).to_ascii_lowercase();
        let number = name.strip_prefix("gemini-")?.split('-').next()?;
        let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

/// Whether a model is of the third generation or a later one.
pub(super) fn is_third(model: &str) -> bool {
    Generation::of(model).is_some_and(|generation| generation >= THIRD)
}

/// The name without what stands before it in paths.
pub(super) fn plain(model: &str) -> &str {
    let mut prefixes = PREFIXES.into_iter();
    prefixes
        .find_map(|prefix| model.strip_prefix(prefix))
        .unwrap_or(model)
}

const Y: Support = Support::Yes;
const N: Support = Support::No;

/// From which generation on, what models can do since, and how many tokens they write at most.
struct Row((u32, u32), [Support; 6], u64);

/// The first row counts that is not newer than the model. Of older ones nothing is known.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    //         tools  schema both   vision files  thinks
    Row((3, 0), [Y,     Y,     Y,     Y,     Y,     Y], 65_536),
    Row((2, 5), [Y,     Y,     N,     Y,     Y,     Y], 65_536),
    Row((1, 5), [Y,     Y,     N,     Y,     Y,     N], 8192),
];

/// Models that make something else than text, or can do less.
const SPECIAL: [&str; 7] = [
    "image",
    "tts",
    "live",
    "audio",
    "embedding",
    "computer",
    "thinking",
];

pub(super) fn capabilities(model: &str) -> Capabilities {
    let name = plain(model).to_ascii_lowercase();
    let is_special = SPECIAL.iter().any(|word| name.contains(word));
    let generation = Generation::of(model).filter(|_| !is_special);
    let row = generation.and_then(|Generation { major, minor }| {
        let mut rows = TABLE.iter();
        rows.find(|Row(first, ..)| (major, minor) >= *first)
    });
    let Some(Row(_, can, output)) = row else {
        return Capabilities::default();
    };
    let [
        tools,
        json_schema,
        tools_with_json_schema,
        vision,
        files,
        reasoning,
    ] = *can;
    Capabilities {
        tools,
        parallel_tool_calls: tools,
        json_schema,
        json_object: Y,
        tools_with_json_schema,
        vision,
        files,
        reasoning,
        streaming: Y,
        max_output_tokens: Some(*output),
        ..Capabilities::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations() {
        for (model, wanted) in [
            ("gemini-2.5-flash", Some((2, 5))),
            ("models/gemini-3-pro-preview", Some((3, 0))),
            ("Gemini-3.1-pro", Some((3, 1))),
            ("gemini-10-x", Some((10, 0))),
            ("gemini-flash-latest", None),
            ("gemma-3", None),
            ("tunedModels/mine", None),
        ] {
            let found = Generation::of(model).map(|g| (g.major, g.minor));
            assert_eq!(found, wanted, "{model}");
        }
        assert!(is_third("gemini-3-flash"));
        assert!(!is_third("gemini-2.5-pro"));
    }

    /// P119: what the loop needs a second pass for.
    #[test]
    fn p119_tools_with_a_schema() {
        let of = |model| capabilities(model).tools_with_json_schema;
        assert_eq!(of("gemini-3-pro"), Support::Yes);
        assert_eq!(of("gemini-2.5-pro"), Support::No);
        assert_eq!(of("gemini-flash-latest"), Support::Unknown);
    }

    #[test]
    fn who_thinks() {
        for (model, wanted) in [
            ("gemini-2.0-flash", Support::No),
            ("gemini-2.5-flash", Support::Yes),
            ("gemini-2.0-flash-thinking-exp", Support::Unknown),
            ("gemini-2.5-flash-image", Support::Unknown),
            ("gemini-1.5-pro", Support::No),
            ("gemini-1.0-pro", Support::Unknown),
        ] {
            assert_eq!(capabilities(model).reasoning, wanted, "{model}");
        }
    }
}
