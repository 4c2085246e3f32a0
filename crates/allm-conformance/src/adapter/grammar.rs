//! Which events come, and in which order.

use allm_core::{Event, RawChunks};

use super::Look;
use super::play::{End, Played, REQUEST_ID, Stage};
use crate::finding::{Checked, Finding, Rule, expect};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "no_panic",
            contract: "core.md §9",
            behaviour: "nothing that the provider says makes the adapter panic",
        },
        no_panic,
    ),
    (
        Rule {
            name: "ends",
            contract: "C78",
            behaviour: "every stream comes to its end and stays there",
        },
        ends,
    ),
    (
        Rule {
            name: "one_terminal_event",
            contract: "C78",
            behaviour: "there is exactly one `message_completed` or `error`",
        },
        one_terminal_event,
    ),
    (
        Rule {
            name: "nothing_after_the_end",
            contract: "C78",
            behaviour: "no event follows `message_completed` or `error`",
        },
        nothing_after_the_end,
    ),
    (
        Rule {
            name: "tags",
            contract: "core.md §9",
            behaviour: "only the tags of providers are used",
        },
        tags,
    ),
    (
        Rule {
            name: "message_started",
            contract: "loop.md §15",
            behaviour: "an answer begins with its one `message_started`",
        },
        message_started,
    ),
    (
        Rule {
            name: "held_back",
            contract: "C74, C77",
            behaviour: "nothing comes before the first content: an error before it is the only event",
        },
        held_back,
    ),
    (
        Rule {
            name: "raw_chunks",
            contract: "C80",
            behaviour: "`raw_chunk` comes only when asked for",
        },
        raw_chunks,
    ),
    (
        Rule {
            name: "request_id",
            contract: "loop.md §14",
            behaviour: "`message_started` carries our id of the call",
        },
        request_id,
    ),
    (
        Rule {
            name: "json",
            contract: "C83",
            behaviour: "every event is equal after JSON",
        },
        json,
    ),
];

const PROVIDER_TAGS: [&str; 10] = [
    "message_started",
    "text_delta",
    "text_completed",
    "reasoning_delta",
    "tool_call_started",
    "tool_call_delta",
    "tool_call_completed",
    "message_completed",
    "raw_chunk",
    "error",
];

fn is_terminal(event: &Event) -> bool {
    matches!(event, Event::MessageCompleted(_) | Event::Error(_))
}

/// An error before any content has no message.
fn is_answer(played: &Played) -> bool {
    played
        .events
        .iter()
        .any(|event| !matches!(event, Event::Error(_)))
}

fn no_panic(stage: &Stage<'_>) -> Checked {
    for played in stage.played() {
        if let End::Panicked(text) = &played.end {
            return Err(Finding::failed("events", text).at(played));
        }
    }
    if stage.played().is_empty() {
        return Err(Finding::skipped("no scenario was played"));
    }
    Ok(())
}

fn ends(stage: &Stage<'_>) -> Checked {
    for played in stage.played() {
        let found = match &played.end {
            End::Ended | End::Panicked(_) => continue,
            End::Stuck => "no end",
            End::WentOn => "an event after the end of the stream",
        };
        let found = format!("{found}, after {}", played.tags());
        return Err(Finding::failed("the end of the stream", found).at(played));
    }
    if stage.played().is_empty() {
        return Err(Finding::skipped("no scenario was played"));
    }
    Ok(())
}

fn one_terminal_event(stage: &Stage<'_>) -> Checked {
    stage.each(
        |_| true,
        |played| {
            let count = played
                .events
                .iter()
                .filter(|event| is_terminal(event))
                .count();
            expect(count == 1, "one terminal event", || {
                format!("{count} in {}", played.tags())
            })
        },
    )
}

fn nothing_after_the_end(stage: &Stage<'_>) -> Checked {
    stage.each(
        |_| true,
        |played| {
            let mut after = played.events.iter().skip_while(|event| !is_terminal(event));
            // A second terminal event is the business of another rule.
            let extra = after.find(|event| !is_terminal(event));
            expect(extra.is_none(), "nothing after the end", || played.tags())
        },
    )
}

fn tags(stage: &Stage<'_>) -> Checked {
    stage.each(
        |_| true,
        |played| {
            let foreign = played
                .events
                .iter()
                .map(Event::tag)
                .find(|tag| !PROVIDER_TAGS.contains(tag));
            expect(foreign.is_none(), "the tags of providers", || played.tags())
        },
    )
}

fn message_started(stage: &Stage<'_>) -> Checked {
    stage.each(is_answer, |played| {
        let is_start = |event: &&Event| matches!(event, Event::MessageStarted(_));
        let count = played.events.iter().filter(is_start).count();
        let is_first = played.events.first().as_ref().is_some_and(is_start);
        expect(
            count == 1 && is_first,
            "one `message_started`, at the beginning",
            || played.tags(),
        )
    })
}

fn held_back(stage: &Stage<'_>) -> Checked {
    stage.each(is_answer, |played| {
        let content = played
            .events
            .iter()
            .find(|event| !matches!(event, Event::MessageStarted(_) | Event::RawChunk(_)));
        let is_error = matches!(content, Some(Event::Error(_)) | None);
        expect(!is_error, "content or the completion", || played.tags())
    })
}

fn raw_chunks(stage: &Stage<'_>) -> Checked {
    stage.each(
        |played| played.raw_chunks == RawChunks::Off,
        |played| {
            let is_raw = |event: &Event| matches!(event, Event::RawChunk(_));
            expect(!played.events.iter().any(is_raw), "no raw chunk", || {
                played.tags()
            })
        },
    )
}

fn request_id(stage: &Stage<'_>) -> Checked {
    stage.each(is_answer, |played| {
        for event in &played.events {
            if let Event::MessageStarted(started) = event {
                let found = started.request_id.as_str();
                expect(found == REQUEST_ID, REQUEST_ID, || found.to_owned())?;
            }
        }
        Ok(())
    })
}

fn json(stage: &Stage<'_>) -> Checked {
    stage.each(
        |_| true,
        |played| {
            for event in &played.events {
                let text = allm_core::json::to_string(event);
                let back = text
                    .as_deref()
                    .map(allm_core::json::from_str::<Event>)
                    .map_err(ToString::to_string);
                let is_equal = matches!(&back, Ok(Ok(back)) if back == event);
                expect(is_equal, "an equal event", || {
                    format!("`{}` came back as {back:?}", event.tag())
                })?;
            }
            Ok(())
        },
    )
}
