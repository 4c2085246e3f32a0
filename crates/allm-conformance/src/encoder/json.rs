//! What the default encoder shows.

use allm_core::ToolResultEncoder;
use serde_json::Value;

use super::{Look, failures, quietly, values};
use crate::finding::{Checked, Finding, Rule, expect, expect_eq, short};
use crate::wait::caught_now;

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "text_unchanged",
            contract: "L20",
            behaviour: "a string is its own text, the empty one too",
        },
        text_unchanged,
    ),
    (
        Rule {
            name: "compact_json",
            contract: "L68",
            behaviour: "every other value is compact JSON that decodes to it",
        },
        compact_json,
    ),
    (
        Rule {
            name: "stable_failures",
            contract: "L75",
            behaviour: "a failure is the stable JSON of its report",
        },
        stable_failures,
    ),
];

fn text_unchanged(encoder: &dyn ToolResultEncoder) -> Checked {
    for value in values::all() {
        if let (Value::String(text), Some(found)) = (&value, quietly(encoder, &value)) {
            expect_eq(&found.as_deref(), &Ok(text))?;
        }
    }
    Ok(())
}

fn compact_json(encoder: &dyn ToolResultEncoder) -> Checked {
    let values = values::all().into_iter().filter(|value| !value.is_string());
    for value in values {
        let Some(found) = quietly(encoder, &value) else {
            continue;
        };
        let Ok(text) = found else {
            return Err(Finding::failed(
                short(value.to_string()),
                format!("{found:?}"),
            ));
        };
        // Read the same way, so that a reader that rounds does not tell them apart.
        let back = serde_json::from_str::<Value>(&text).ok();
        let expected = value.to_string();
        let is_equal = back.is_some() && back == serde_json::from_str(&expected).ok();
        expect(is_equal && is_compact(&text), &short(expected), || text)?;
    }
    Ok(())
}

fn stable_failures(encoder: &dyn ToolResultEncoder) -> Checked {
    for (failure, report) in failures::all() {
        if let Ok(found) = caught_now(|| encoder.encode_failure(&failure, &report)) {
            expect_eq(&found, &Ok(report.to_content()))?;
        }
    }
    Ok(())
}

/// No white space outside of strings.
fn is_compact(text: &str) -> bool {
    let (mut is_inside, mut is_escaped) = (false, false);
    for character in text.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_inside,
            '"' => is_inside = !is_inside,
            ' ' | '\t' | '\r' | '\n' if !is_inside => return false,
            _ => {}
        }
    }
    true
}
