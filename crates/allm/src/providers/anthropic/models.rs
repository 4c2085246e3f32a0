//! What is known of models by their names.

use allm_core::{Capabilities, Support};

const Y: Support = Support::Yes;
const N: Support = Support::No;
const U: Support = Support::Unknown;

/// From which version on, and what models can do since.
struct Row((u32, u32), [Support; 6]);

/// The first row counts that is not newer than the model. A schema for the answer is given to older models as a tool, and
/// so not beside other tools.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    //         tools  schema both   vision files  thinks
    Row((4, 5), [Y,     Y,     Y,     Y,     Y,     Y]),
    Row((3, 7), [Y,     Y,     N,     Y,     Y,     Y]),
    Row((3, 5), [Y,     Y,     N,     Y,     Y,     N]),
    Row((3, 0), [Y,     Y,     N,     Y,     U,     N]),
    Row((0, 0), [N,     N,     N,     N,     U,     N]),
];

/// A model of the Claude family, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Model {
    /// Major and minor; `None` for names of others.
    version: Option<(u32, u32)>,
    opus: bool,
}

impl Model {
    /// Reads a name in any of its spellings: `claude-sonnet-4-5`, `claude-3-7-sonnet-20250219`,
    /// `anthropic/claude-haiku-4.5`, `claude-opus-4-1@20250805`.
    pub(super) fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let own = name.split_once("claude").map(|(_, rest)| rest);
        let Some(own) = own else {
            return Self {
                version: None,
                opus: false,
            };
        };
        let words = || own.split(|c: char| !c.is_ascii_alphanumeric());
        let mut numbers = words().skip_while(|word| number(word).is_none());
        let major = numbers.next().and_then(number);
        let minor = numbers.next().and_then(number).unwrap_or_default();
        Self {
            version: major.map(|major| (major, minor)),
            opus: words().any(|word| word == "opus"),
        }
    }

    fn is_before(self, version: (u32, u32)) -> bool {
        self.version.is_some_and(|own| own < version)
    }

    fn is_from(self, version: (u32, u32)) -> bool {
        self.version.is_some_and(|own| own >= version)
    }

    /// Whether it decides itself how long to think.
    pub(super) fn thinks_adaptively(self) -> bool {
        self.is_from((4, 6))
    }

    /// Whether it takes a schema for its answer. Of a model that is not known it is expected.
    pub(super) fn has_output_format(self) -> bool {
        !self.is_before((4, 5))
    }

    /// The longest answer that it gives without further ado.
    pub(super) fn max_tokens(self) -> Option<u32> {
        Some(match self.version? {
            version if version < (3, 5) => 4096,
            version if version < (3, 7) => 8192,
            version if version < (4, 0) => 64_000,
            version if version < (4, 5) && self.opus => 32_000,
            version if version >= (4, 6) && self.opus => 128_000,
            _ => 64_000,
        })
    }

    pub(super) fn capabilities(self) -> Capabilities {
        let Some(version) = self.version else {
            return Capabilities {
                streaming: Y,
                ..Capabilities::default()
            };
        };
        let max_output = match version {
            // With a beta it gives more than it does by itself.
            version if ((3, 7)..(4, 0)).contains(&version) => Some(128_000),
            version if version < (4, 6) => self.max_tokens(),
            _ => None,
        };
        let known = TABLE.iter().find(|Row(first, _)| version >= *first);
        let can = known.map_or([U; 6], |Row(_, can)| *can);
        let [
            tools,
            json_schema,
            tools_with_json_schema,
            vision,
            files,
            reasoning,
        ] = can;
        Capabilities {
            tools,
            parallel_tool_calls: tools,
            json_schema,
            // What cannot be asked for on this wire is not the model's fault.
            json_object: U,
            tools_with_json_schema,
            vision,
            files,
            reasoning,
            prompt_cache: tools,
            streaming: Y,
            max_input_tokens: (version < (4, 0)).then_some(200_000),
            max_output_tokens: max_output.map(u64::from),
        }
    }
}

/// A number of a version. A date is none.
fn number(word: &str) -> Option<u32> {
    (word.len() <= 2).then(|| word.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (name, version) in [
            ("claude-sonnet-4-6", Some((4, 6))),
            ("claude-haiku-4-5-20251001", Some((4, 5))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("claude-opus-4-1@20250805", Some((4, 1))),
            ("claude-3-7-sonnet-latest", Some((3, 7))),
            ("claude-3-opus-20240229", Some((3, 0))),
            ("claude-2.1", Some((2, 1))),
            ("Claude-Sonnet-5", Some((5, 0))),
            ("claude-opus-10-12", Some((10, 12))),
            ("anthropic/claude-haiku-4.5", Some((4, 5))),
            ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", Some((3, 5))),
            ("claude", None),
            ("kimi-k2", None),
            ("claude-instant", None),
        ] {
            assert_eq!(Model::of(name).version, version, "{name}");
        }
    }

    #[test]
    fn p168_limits() {
        for (name, limit) in [
            ("claude-3-haiku-20240307", Some(4096)),
            ("claude-3-5-haiku-latest", Some(8192)),
            ("claude-3-7-sonnet-20250219", Some(64_000)),
            ("claude-opus-4-1", Some(32_000)),
            ("claude-sonnet-4-0", Some(64_000)),
            ("claude-haiku-4-5", Some(64_000)),
            ("claude-opus-4-6", Some(128_000)),
            ("claude-sonnet-5", Some(64_000)),
            ("other", None),
        ] {
            assert_eq!(Model::of(name).max_tokens(), limit, "{name}");
        }
    }

    /// P119: older models need a second pass; nothing is refused of models that are not known.
    #[test]
    fn p119_what_models_can_do() {
        let of = |name| Model::of(name).capabilities();
        assert_eq!(of("claude-sonnet-4-0").tools_with_json_schema, Support::No);
        assert_eq!(of("claude-sonnet-4-0").json_schema, Support::Yes);
        assert_eq!(of("claude-sonnet-4-5").tools_with_json_schema, Support::Yes);
        assert_eq!(of("claude-3-5-haiku-latest").reasoning, Support::No);
        assert_eq!(of("claude-2.1").tools, Support::No);
        assert_eq!(
            of("minimax-m2"),
            Capabilities {
                streaming: Support::Yes,
                ..Capabilities::default()
            }
        );
    }
}
