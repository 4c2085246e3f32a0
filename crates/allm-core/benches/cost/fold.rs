//! Deltas through the fold.

use allm_core::{Event, Fold, ReasoningDelta, TextDelta};

use crate::script;
use crate::table::Table;

pub(crate) fn measure(table: &mut Table) {
    let count = table.scaled(100_000);
    let text: Vec<Event> = script::pieces(count).map(Event::text_delta).collect();
    row(table, "fold: text deltas", &text);

    let arguments: Vec<Event> = script::pieces(count)
        .map(|piece| script::call_delta(0, piece))
        .collect();
    row(table, "fold: argument deltas", &arguments);

    let mixed: Vec<Event> = script::pieces(count).zip(0..).map(mixed).collect();
    row(
        table,
        "fold: deltas of two texts, thinking, two calls",
        &mixed,
    );

    let mut fold = Fold::new();
    text.iter().for_each(|event| fold.push(event));
    table.row(
        "fold: the answer of all text deltas",
        "delta",
        count,
        9,
        || fold.response(),
    );
}

fn mixed((piece, number): (bytestring::ByteString, u32)) -> Event {
    let text = |id: &str| {
        Event::TextDelta(TextDelta {
            id: Some(id.into()),
            delta: piece.clone(),
        })
    };
    match number % 5 {
        0 => text("a"),
        1 => text("b"),
        2 => Event::ReasoningDelta(ReasoningDelta {
            id: None,
            delta: piece,
        }),
        3 => script::call_delta(0, piece),
        _ => script::call_delta(1, piece),
    }
}

fn row(table: &mut Table, name: &str, events: &[Event]) {
    table.row(name, "delta", events.len(), 15, || {
        let mut fold = Fold::new();
        events.iter().for_each(|event| fold.push(event));
        fold
    });
}
