//! What the answer says.

use allm_core::{Event, Role, Usage};

use super::Look;
use super::play::{Played, Stage};
use super::scenario::{Ending, REFUSAL, Scenario, TOOL};
use crate::finding::{Checked, Rule, expect, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "content",
            contract: "C70",
            behaviour: "the answer holds the text and the calls that the provider sent",
        },
        content,
    ),
    (
        Rule {
            name: "finish_reason",
            contract: "C54, C55, C57",
            behaviour: "the finish reason is the one of the scenario",
        },
        finish_reason,
    ),
    (
        Rule {
            name: "refusal",
            contract: "C57",
            behaviour: "a refusal is a part of its own, in the provider's words",
        },
        refusal,
    ),
    (
        Rule {
            name: "usage",
            contract: "C60, C61",
            behaviour: "input and output are the whole counts; what was not sent is unknown",
        },
        usage,
    ),
    (
        Rule {
            name: "usage_once",
            contract: "C82",
            behaviour: "usage comes once, with the completion",
        },
        usage_once,
    ),
    (
        Rule {
            name: "usage_consistent",
            contract: "core.md §8",
            behaviour: "cached tokens are part of the input, and thinking is part of the output",
        },
        usage_consistent,
    ),
    (
        Rule {
            name: "origin",
            contract: "core.md §3",
            behaviour: "the message is the assistant's, says who made it, and has no metadata",
        },
        origin,
    ),
];

fn content(stage: &Stage<'_>) -> Checked {
    stage.each(Played::is_whole, |played| {
        let response = played.fold();
        if let Some(text) = played.scenario.text() {
            expect_eq(response.text().as_str(), text)?;
        }
        let Some(expected) = played.scenario.calls() else {
            return Ok(());
        };
        let calls = response.tool_calls().iter();
        let found: Vec<_> = calls
            .map(|call| (&*call.name, &*call.raw_arguments))
            .collect();
        let expected: Vec<_> = expected.iter().map(|raw| (TOOL, *raw)).collect();
        let is_equal = found.len() == expected.len()
            && found.iter().zip(&expected).all(|(found, expected)| {
                found.0 == expected.0 && is_same_json(found.1, expected.1)
            });
        expect(is_equal, &format!("{expected:?}"), || format!("{found:?}"))
    })
}

/// A wire that sends arguments as an object has no text to keep.
fn is_same_json(found: &str, expected: &str) -> bool {
    let read = |text| serde_json::from_str::<serde_json::Value>(text).ok();
    found == expected || read(found).is_some_and(|found| Some(found) == read(expected))
}

fn finish_reason(stage: &Stage<'_>) -> Checked {
    stage.each(Played::is_whole, |played| {
        let Ending::Whole(expected) = played.scenario.ending() else {
            return Ok(());
        };
        let found = played.fold().finish_reason;
        expect_eq(&found, &Some(expected))
    })
}

fn refusal(stage: &Stage<'_>) -> Checked {
    let response = stage.of(Scenario::Refusal)?.fold();
    expect_eq(&response.refusal(), &Some(REFUSAL))
}

fn usage(stage: &Stage<'_>) -> Checked {
    let found = stage.of(Scenario::Usage)?.fold().usage;
    let io = (found.input_tokens, found.output_tokens);
    expect_eq(&io, &(Some(20), Some(10)))?;
    // Some wires do not tell these apart.
    let is_right = |found: Option<u64>, sent| found.is_none_or(|found| found == sent);
    let parts = (found.cached_input_tokens, found.reasoning_tokens);
    let holds = is_right(parts.0, 5) && is_right(parts.1, 4);
    expect(holds, "5 cached and 4 thinking tokens", || {
        format!("{parts:?}")
    })
}

fn usage_once(stage: &Stage<'_>) -> Checked {
    stage.each(
        |played| played.completion().is_some(),
        |played| {
            let has_usage = |event: &Event| match event {
                Event::RawChunk(chunk) => chunk.usage.is_some(),
                _ => false,
            };
            let is_twice = played.events.iter().any(has_usage);
            expect(!is_twice, "usage with the completion only", || {
                "usage with a raw chunk of an answer that was completed".to_owned()
            })
        },
    )
}

fn usage_consistent(stage: &Stage<'_>) -> Checked {
    stage.each(
        |played| !played.fold().usage.is_empty(),
        |played| {
            let found = played.fold().usage;
            let Usage {
                input_tokens,
                output_tokens,
                cached_input_tokens,
                cache_write_input_tokens,
                reasoning_tokens,
                ..
            } = &found;
            let cached = cached_input_tokens.unwrap_or(0);
            let cached = cached.saturating_add(cache_write_input_tokens.unwrap_or(0));
            let holds = input_tokens.is_none_or(|input| cached <= input)
                && output_tokens.is_none_or(|output| reasoning_tokens.unwrap_or(0) <= output);
            expect(holds, "parts within the whole", || format!("{found:?}"))
        },
    )
}

fn origin(stage: &Stage<'_>) -> Checked {
    stage.each(Played::is_whole, |played| {
        let message = played.fold().message;
        let provider = message
            .origin
            .as_ref()
            .map(|origin| origin.provider.as_str());
        expect_eq(&provider, &Some(&*played.provider))?;
        let is_right = message.role == Role::Assistant && message.metadata.is_empty();
        expect(is_right, "an assistant message without metadata", || {
            format!("{:?} with {:?}", message.role, message.metadata)
        })
    })
}
