//! What is known of OpenAI's models by their names.

use allm_core::{Capabilities, Support};

const Y: Support = Support::Yes;
const N: Support = Support::No;
const U: Support = Support::Unknown;

/// A family of models: how its names begin, what it can do, and how many tokens it reads and writes at most.
struct Row(&'static str, [Support; 6], Option<u64>, Option<u64>);

/// The first row counts whose name is the model's, or is followed by `-` in it.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    //                        tools  schema object vision files  thinks
    Row("gpt-5-pro",         [Y,     Y,     Y,     Y,     Y,     Y], Some(400_000),   Some(272_000)),
    Row("gpt-5",             [Y,     Y,     Y,     Y,     Y,     Y], Some(400_000),   Some(128_000)),
    Row("gpt-5.1",           [Y,     Y,     Y,     Y,     Y,     Y], Some(400_000),   Some(128_000)),
    Row("gpt-5.2",           [Y,     Y,     Y,     Y,     Y,     Y], Some(400_000),   Some(128_000)),
    Row("gpt-4.1",           [Y,     Y,     Y,     Y,     Y,     N], Some(1_047_576), Some(32_768)),
    Row("gpt-4o-2024-05-13", [Y,     N,     Y,     Y,     U,     N], Some(128_000),   Some(4096)),
    Row("gpt-4o",            [Y,     Y,     Y,     Y,     Y,     N], Some(128_000),   Some(16_384)),
    Row("gpt-4-turbo",       [Y,     N,     Y,     Y,     U,     N], Some(128_000),   Some(4096)),
    Row("gpt-4-0125",        [Y,     N,     Y,     N,     U,     N], Some(128_000),   Some(4096)),
    Row("gpt-4-1106",        [Y,     N,     Y,     N,     U,     N], Some(128_000),   Some(4096)),
    Row("gpt-4-32k",         [Y,     N,     U,     N,     U,     N], Some(32_768),    Some(32_768)),
    Row("gpt-4",             [Y,     N,     U,     N,     U,     N], Some(8192),      Some(8192)),
    Row("gpt-3.5-turbo",     [Y,     N,     Y,     N,     U,     N], Some(16_385),    Some(4096)),
    Row("o4-mini",           [Y,     Y,     Y,     Y,     Y,     Y], Some(200_000),   Some(100_000)),
    Row("o3-mini",           [Y,     Y,     Y,     N,     U,     Y], Some(200_000),   Some(100_000)),
    Row("o3",                [Y,     Y,     Y,     Y,     Y,     Y], Some(200_000),   Some(100_000)),
    Row("o1-mini",           [N,     N,     U,     N,     U,     Y], Some(128_000),   Some(65_536)),
    Row("o1-preview",        [N,     N,     U,     N,     U,     Y], Some(128_000),   Some(32_768)),
    Row("o1",                [Y,     Y,     Y,     Y,     Y,     Y], Some(200_000),   Some(100_000)),
];

/// Models whose names begin like those of a family, and which do something else or less.
const SPECIAL: [&str; 9] = [
    "audio",
    "chat-latest",
    "deep-research",
    "image",
    "instruct",
    "realtime",
    "search",
    "transcribe",
    "tts",
];

/// What a model can do, with or without `ft:` before its name. Of a name that is not in the table nothing is known but
/// what holds for the API.
pub(super) fn of(model: &str) -> Capabilities {
    let name = model.to_ascii_lowercase();
    let name = name.strip_prefix("ft:").unwrap_or(&name);
    let name = name.split(':').next().unwrap_or_default();
    let of_the_api = Capabilities {
        streaming: Y,
        tools_with_json_schema: Y,
        ..Capabilities::default()
    };
    let is_special = SPECIAL.iter().any(|word| name.contains(word));
    let row = TABLE.iter().find(|Row(family, ..)| {
        let rest = name.strip_prefix(family);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    let Some(Row(_, can, input, output)) = row.filter(|_| !is_special) else {
        return of_the_api;
    };
    let [tools, json_schema, json_object, vision, files, reasoning] = *can;
    Capabilities {
        tools,
        json_schema,
        json_object,
        vision,
        files,
        reasoning,
        max_input_tokens: *input,
        max_output_tokens: *output,
        ..of_the_api
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C148, C152: what is said of a family is said of its dated and tuned models too, and of no other.
    #[test]
    fn c148_only_what_is_known_is_said() {
        for (name, output) in [
            ("gpt-4o", Some(16_384)),
            ("gpt-4o-mini-2024-07-18", Some(16_384)),
            ("gpt-4o-2024-05-13", Some(4096)),
            ("GPT-4.1-nano", Some(32_768)),
            ("ft:gpt-4.1-mini:org::id", Some(32_768)),
            ("gpt-4-0613", Some(8192)),
            ("gpt-4-turbo-2024-04-09", Some(4096)),
            ("gpt-5-nano", Some(128_000)),
            ("gpt-5-pro-2025-10-06", Some(272_000)),
            ("o3-pro", Some(100_000)),
            ("o1-mini", Some(65_536)),
            ("gpt-4o-audio-preview", None),
            ("gpt-4o-mini-search-preview", None),
            ("gpt-5-chat-latest", None),
            ("gpt-3.5-turbo-instruct", None),
            ("gpt-5.9-x", None),
            ("gpt-4ox", None),
            ("o33", None),
            ("mine", None),
        ] {
            let known = of(name);
            assert_eq!(known.max_output_tokens, output, "{name}");
            let is_known = output.is_some();
            assert_eq!(known.vision != U, is_known, "{name}");
            assert_eq!(known.reasoning != U, is_known, "{name}");
            assert_eq!(known.tools_with_json_schema, Y, "{name}");
        }
    }

    /// No row is hidden by one above it.
    #[test]
    fn every_row_counts() {
        for Row(name, can, ..) in TABLE {
            let known = of(name);
            assert_eq!([known.tools, known.json_schema], can[..2], "{name}");
            assert_eq!(known.reasoning, can[5], "{name}");
        }
    }
}
