//! What a stub says of its tool: a summary and the names of the arguments.

use std::borrow::Cow;

use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use crate::data::Tool;
use crate::json::sorted_entries;

/// The longest summary made from a description, in characters as a reader counts them.
const LONGEST: usize = 160;
const DOTS: &str = "...";

/// The tool's own summary, else the first sentence of its description.
pub(super) fn summary(tool: &Tool) -> Cow<'_, str> {
    match &tool.summary {
        Some(summary) if !summary.trim().is_empty() => Cow::Borrowed(summary),
        _ => shorten(first_sentence(&tool.description)),
    }
}

/// The first line, up to the first stop that ends a sentence: one inside a number or a name does not.
fn first_sentence(description: &str) -> &str {
    let line = description.trim().lines().next().unwrap_or_default();
    let end = line
        .match_indices(['.', '!', '?'])
        .map(|(at, stop)| line.split_at(at + stop.len()))
        .find(|(_, rest)| rest.is_empty() || rest.starts_with(char::is_whitespace));
    end.map_or(line, |(sentence, _)| sentence).trim_end()
}

fn shorten(sentence: &str) -> Cow<'_, str> {
    if sentence.graphemes(true).nth(LONGEST).is_none() {
        return Cow::Borrowed(sentence);
    }
    let kept = sentence.graphemes(true).take(LONGEST - DOTS.len());
    Cow::Owned(kept.chain([DOTS]).collect())
}

/// The names of the arguments, required ones first; `None` if the schema does not list them.
pub(super) fn signature(schema: &Value) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    if properties.is_empty() {
        return Some("Args: none".to_owned());
    }
    let mut required: Vec<&str> = Vec::new();
    let listed = schema.get("required").and_then(Value::as_array);
    for name in listed.into_iter().flatten().filter_map(Value::as_str) {
        if properties.contains_key(name) && !required.contains(&name) {
            required.push(name);
        }
    }
    // The map's own order depends on how serde_json was built.
    let optional: Vec<&str> = sorted_entries(properties)
        .into_iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !required.contains(name))
        .collect();

    let required = required.join(", ");
    let optional = optional.join(", ");
    Some(match (required.is_empty(), optional.is_empty()) {
        (_, true) => format!("Args: {required}"),
        (true, false) => format!("Args: [{optional}]"),
        (false, false) => format!("Args: {required} [{optional}]"),
    })
}
