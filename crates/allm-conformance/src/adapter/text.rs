//! Text and thinking, bit by bit and whole.

use allm_core::{Event, Part, PartId};

use super::Look;
use super::play::{Played, Stage, fold};
use super::scenario::{Scenario, THOUGHT};
use crate::finding::{Checked, Rule, expect, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "text_completed",
            contract: "C71",
            behaviour: "`text_completed` comes at most once, directly before `message_completed`, with all text",
        },
        text_completed,
    ),
    (
        Rule {
            name: "text_pieces",
            contract: "L217",
            behaviour: "the pieces of the text make the text",
        },
        text_pieces,
    ),
    (
        Rule {
            name: "part_ids",
            contract: "C72",
            behaviour: "pieces of different blocks carry different ids",
        },
        part_ids,
    ),
    (
        Rule {
            name: "without_deltas",
            contract: "C70, L215",
            behaviour: "the answer is the same without its deltas",
        },
        without_deltas,
    ),
    (
        Rule {
            name: "reasoning",
            contract: "C81",
            behaviour: "thinking is streamed, kept, and no part of the text",
        },
        reasoning,
    ),
];

fn text_completed(stage: &Stage<'_>) -> Checked {
    stage.each(Played::is_whole, |played| {
        let events = || played.events.iter().enumerate();
        let places: Vec<_> = events()
            .filter_map(|(place, event)| match event {
                Event::TextCompleted(completed) => Some((place, &completed.text)),
                _ => None,
            })
            .collect();
        let is_before = |place: usize| {
            let next = played.events.get(place + 1);
            matches!(next, Some(Event::MessageCompleted(_)))
        };
        match places.as_slice() {
            [] => Ok(()),
            [(place, text)] => {
                expect(
                    is_before(*place),
                    "`text_completed` directly before the completion",
                    || played.tags(),
                )?;
                expect_eq(*text, &played.fold().text())
            }
            _ => expect(false, "one `text_completed`", || played.tags()),
        }
    })
}

fn pieces(played: &Played) -> Vec<(Option<&PartId>, &str)> {
    fn piece(event: &Event) -> Option<(Option<&PartId>, &str)> {
        match event {
            Event::TextDelta(delta) => Some((delta.id.as_ref(), &delta.delta)),
            _ => None,
        }
    }
    played.events.iter().filter_map(piece).collect()
}

fn text_pieces(stage: &Stage<'_>) -> Checked {
    stage.each(
        |played| played.is_whole() && !pieces(played).is_empty(),
        |played| {
            let text: String = pieces(played).into_iter().map(|(_, piece)| piece).collect();
            expect_eq(&text, &played.fold().text())
        },
    )
}

fn part_ids(stage: &Stage<'_>) -> Checked {
    let played = stage.of(Scenario::TextAroundCall)?;
    let pieces = pieces(played);
    expect(!pieces.is_empty(), "pieces of text", || played.tags())?;
    let mut ids: Vec<_> = pieces.iter().map(|(id, _)| *id).collect();
    ids.dedup();
    let content = played.fold().message.content;
    let texts = content.iter().filter(|part| matches!(part, Part::Text(_)));
    let blocks = texts.count();
    let is_right = ids.iter().all(Option::is_some) && ids.len() == blocks;
    expect(is_right, "an id for each block", || {
        format!("{ids:?} for {blocks} blocks")
    })
}

fn without_deltas(stage: &Stage<'_>) -> Checked {
    stage.each(Played::is_whole, |played| {
        let is_delta = |event: &&Event| {
            matches!(
                event,
                Event::TextDelta(_) | Event::ReasoningDelta(_) | Event::ToolCallDelta(_)
            )
        };
        let without = fold(played.events.iter().filter(|event| !is_delta(event)));
        expect_eq(&without, &played.fold())
    })
}

fn reasoning(stage: &Stage<'_>) -> Checked {
    let played = stage.of(Scenario::Reasoning)?;
    let piece = |event: &Event| match event {
        Event::ReasoningDelta(delta) => Some(delta.delta.to_string()),
        _ => None,
    };
    let streamed: String = played.events.iter().filter_map(piece).collect();
    let response = played.fold();
    let found = (streamed, response.reasoning());
    expect_eq(&found, &(THOUGHT.to_owned(), THOUGHT.to_owned()))?;
    let is_free = !response.text().contains(THOUGHT);
    expect(is_free, "text without thinking", || response.text())
}
