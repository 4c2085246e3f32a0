//! Tool calls, bit by bit and whole.

use std::collections::HashSet;

use allm_core::{Event, ToolCall, ToolCallId};

use super::Look;
use super::play::{Played, Stage};
use super::scenario::Scenario;
use crate::finding::{Checked, Rule, expect, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "call_order",
            contract: "core.md §9",
            behaviour: "a call is started once, then its pieces come, then it is completed at most once",
        },
        call_order,
    ),
    (
        Rule {
            name: "call_indexes",
            contract: "L280",
            behaviour: "calls are counted from 0 in the order of first sight",
        },
        call_indexes,
    ),
    (
        Rule {
            name: "call_names",
            contract: "L277",
            behaviour: "id and name of a call are the same in all its events and in the message",
        },
        call_names,
    ),
    (
        Rule {
            name: "call_pieces",
            contract: "L218",
            behaviour: "the pieces of the arguments make the argument text",
        },
        call_pieces,
    ),
    (
        Rule {
            name: "call_arguments",
            contract: "C13, C14",
            behaviour: "arguments are what the argument text says; malformed text is never `{}`",
        },
        call_arguments,
    ),
    (
        Rule {
            name: "calls_in_completion",
            contract: "core.md §9",
            behaviour: "`message_completed` holds every call that was completed, in order",
        },
        calls_in_completion,
    ),
    (
        Rule {
            name: "call_ids",
            contract: "C15",
            behaviour: "two calls do not share an id that the provider did not repeat",
        },
        call_ids,
    ),
    (
        Rule {
            name: "wire_ids",
            contract: "core.md §3",
            behaviour: "`wire_id` is the id as the provider sent it, and none where it sent none",
        },
        wire_ids,
    ),
    (
        Rule {
            name: "call_places",
            contract: "C16",
            behaviour: "`at` of a call is a place in the content, and never before that of an earlier call",
        },
        call_places,
    ),
    (
        Rule {
            name: "cut_call",
            contract: "C12, C76",
            behaviour: "a call that the answer's end cuts off is malformed, never one with arguments",
        },
        cut_call,
    ),
];

/// What an event says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Started,
    Piece,
    Completed,
}

struct Seen<'a> {
    kind: Kind,
    index: u32,
    id: &'a ToolCallId,
    name: Option<&'a str>,
    text: &'a str,
}

impl<'a> Seen<'a> {
    fn of(event: &'a Event) -> Option<Self> {
        match event {
            Event::ToolCallStarted(event) => Some(Self {
                kind: Kind::Started,
                index: event.index,
                id: &event.id,
                name: Some(&event.name),
                text: "",
            }),
            Event::ToolCallDelta(event) => Some(Self {
                kind: Kind::Piece,
                index: event.index,
                id: &event.id,
                name: None,
                text: &event.arguments_delta,
            }),
            Event::ToolCallCompleted(event) => Some(Self {
                kind: Kind::Completed,
                index: event.index,
                id: &event.id,
                name: Some(&event.name),
                text: &event.raw_arguments,
            }),
            _ => None,
        }
    }
}

fn seen(played: &Played) -> Vec<Seen<'_>> {
    played.events.iter().filter_map(Seen::of).collect()
}

/// The indexes in the order of first sight.
fn indexes(played: &Played) -> Vec<u32> {
    let mut indexes = Vec::new();
    for seen in seen(played) {
        if !indexes.contains(&seen.index) {
            indexes.push(seen.index);
        }
    }
    indexes
}

fn has_calls(played: &Played) -> bool {
    !seen(played).is_empty()
}

/// The calls in the message, where it has as many as the events.
fn in_message(played: &Played) -> &[ToolCall] {
    let calls = played.completion().map(|done| &*done.message.tool_calls);
    calls.unwrap_or_default()
}

fn call_order(stage: &Stage<'_>) -> Checked {
    stage.each(has_calls, |played| {
        for index in indexes(played) {
            let all = seen(played);
            let kinds: Vec<_> = all
                .iter()
                .filter(|seen| seen.index == index)
                .map(|seen| seen.kind)
                .collect();
            let is_ordered = match kinds.as_slice() {
                [Kind::Started, between @ .., Kind::Completed | Kind::Piece] => {
                    between.iter().all(|kind| *kind == Kind::Piece)
                }
                kinds => matches!(kinds, [Kind::Started]),
            };
            expect(is_ordered, "started, pieces, completed", || {
                format!("{kinds:?} of call {index}")
            })?;
        }
        Ok(())
    })
}

fn call_indexes(stage: &Stage<'_>) -> Checked {
    stage.each(has_calls, |played| {
        let found = indexes(played);
        let expected: Vec<u32> = (0..).take(found.len()).collect();
        expect_eq(&found, &expected)
    })
}

fn call_names(stage: &Stage<'_>) -> Checked {
    stage.each(has_calls, |played| {
        for (place, index) in indexes(played).into_iter().enumerate() {
            let all = seen(played);
            let mut ids = HashSet::new();
            let mut names = HashSet::new();
            for seen in all.iter().filter(|seen| seen.index == index) {
                ids.insert(seen.id.as_str());
                names.extend(seen.name);
            }
            if let Some(call) = in_message(played).get(place) {
                ids.insert(call.id.as_str());
                names.insert(&call.name);
            }
            expect(
                ids.len() == 1 && names.len() == 1,
                "one id and one name",
                || format!("{ids:?} and {names:?} of call {index}"),
            )?;
        }
        Ok(())
    })
}

fn completed(played: &Played) -> Vec<Seen<'_>> {
    let is_completed = |seen: &Seen<'_>| seen.kind == Kind::Completed;
    seen(played).into_iter().filter(is_completed).collect()
}

fn call_pieces(stage: &Stage<'_>) -> Checked {
    stage.of(Scenario::CallInPieces)?;
    stage.each(has_calls, |played| {
        for whole in completed(played) {
            let all = seen(played);
            let pieces: Vec<_> = all
                .iter()
                .filter(|seen| seen.index == whole.index && seen.kind == Kind::Piece)
                .map(|seen| seen.text)
                .collect();
            let text = pieces.concat();
            // A call without arguments has the text `{}`, whether or not the provider wrote it.
            let is_none = text.trim().is_empty() && whole.text == "{}";
            if !pieces.is_empty() && !is_none {
                expect_eq(text.as_str(), whole.text)?;
            }
        }
        let is_pieced = seen(played).iter().any(|seen| seen.kind == Kind::Piece);
        let must_be = played.scenario == Scenario::CallInPieces;
        expect(is_pieced || !must_be, "pieces", || played.tags())
    })
}

fn call_arguments(stage: &Stage<'_>) -> Checked {
    stage.each(has_calls, |played| {
        for event in &played.events {
            if let Event::ToolCallCompleted(call) = event {
                let read = ToolCall::new("", "", &*call.raw_arguments).arguments;
                expect_eq(&call.arguments, &read)?;
            }
        }
        for call in in_message(played).iter().filter(|call| !call.incomplete) {
            let read = ToolCall::new("", "", &*call.raw_arguments).arguments;
            expect_eq(&call.arguments, &read)?;
        }
        Ok(())
    })
}

fn calls_in_completion(stage: &Stage<'_>) -> Checked {
    let is_whole = |played: &Played| played.is_whole() && !completed(played).is_empty();
    stage.each(is_whole, |played| {
        let streamed = completed(played);
        let streamed: Vec<_> = streamed.iter().map(|call| (call.name, call.text)).collect();
        let calls = in_message(played).iter().filter(|call| !call.incomplete);
        let found: Vec<_> = calls
            .map(|call| (Some(&*call.name), &*call.raw_arguments))
            .collect();
        expect_eq(&found, &streamed)
    })
}

fn call_ids(stage: &Stage<'_>) -> Checked {
    let played = stage.of(Scenario::ParallelCalls)?;
    let calls = played.fold().message.tool_calls;
    let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
    let sent: Vec<_> = ids.iter().filter(|id| !id.is_empty()).collect();
    let different: HashSet<_> = sent.iter().collect();
    expect(different.len() == sent.len(), "different ids", || {
        format!("{ids:?}")
    })
}

fn wire_ids(stage: &Stage<'_>) -> Checked {
    stage.each(
        |played| !in_message(played).is_empty(),
        |played| {
            for call in in_message(played) {
                let found = call.wire_id.as_deref().unwrap_or_default();
                expect_eq(found, call.id.as_str())?;
            }
            Ok(())
        },
    )
}

fn call_places(stage: &Stage<'_>) -> Checked {
    stage.each(
        |played| !in_message(played).is_empty(),
        |played| {
            let parts = played.completion().map(|done| done.message.content.len());
            let parts = u32::try_from(parts.unwrap_or_default()).unwrap_or(u32::MAX);
            let places = in_message(played).iter();
            let places: Vec<_> = places.map(|call| call.at.unwrap_or(parts)).collect();
            let is_right = places.is_sorted() && places.iter().all(|place| *place <= parts);
            expect(is_right, "places in the content, in order", || {
                format!("{places:?} of {parts} parts")
            })
        },
    )
}

fn cut_call(stage: &Stage<'_>) -> Checked {
    let played = stage.of(Scenario::LengthInCall)?;
    let calls = played.fold().message.tool_calls;
    let with: Vec<_> = calls
        .iter()
        .filter(|call| call.arguments.is_some())
        .collect();
    expect(with.is_empty(), "no arguments", || format!("{with:?}"))
}
