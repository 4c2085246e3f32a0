//! Our JSON against `serde_json` on the same types.

use std::sync::Arc;

use allm_core::{ChatResult, HaltReason, Map, Thread, json};

use crate::script;
use crate::table::{PerUnit, Table};

pub(crate) fn measure(table: &mut Table) {
    let thread = script::thread(table.scaled(1000));
    let units = thread.len();
    let text = json::to_vec(&thread).expect("a thread can be written");
    let peer_text = serde_json::to_vec(&thread).expect("a thread can be written");

    let own = table.row("json: write a thread", "message", units, 25, || {
        json::to_vec(&thread)
    });
    let peer = table.row("  serde_json: the same", "message", units, 25, || {
        serde_json::to_vec(&thread)
    });
    table.ratio("json: write / serde_json", own, peer);

    let own = table.row("json: read a thread", "message", units, 25, || {
        json::from_slice::<Thread>(&text)
    });
    let peer = table.row("  serde_json: the same", "message", units, 25, || {
        serde_json::from_slice::<Thread>(&peer_text)
    });
    table.ratio("json: read / serde_json", own, peer);

    table.row("json: canonical", "message", units, 25, || {
        json::canonical(&thread)
    });

    let turns = table.scaled(400).max(4);
    let half = result(table, turns / 2);
    let whole = result(table, turns);
    table.ratio(
        "json: write a result, all / half the turns",
        whole.0,
        half.0,
    );
    table.ratio("json: read a result, all / half the turns", whole.1, half.1);
}

/// The result of a run: writing and reading it, per turn.
fn result(table: &mut Table, turns: usize) -> (PerUnit, PerUnit) {
    let run = script::driven(u32::try_from(turns).expect("a bench's size"));
    let result = ChatResult {
        thread: run.thread().clone(),
        final_response: run.steps().last().map(|step| step.response.clone()),
        steps: run.steps().iter().map(Arc::clone).collect(),
        halted_reason: HaltReason::Completed,
        pending_question: None,
        pending_tool_call_id: None,
        metadata: Map::new(),
    };
    let text = json::to_vec(&result).expect("a result can be written");
    let write = format!("json: write a result of {turns} turns");
    let write = table.row(write, "turn", turns, 9, || json::to_vec(&result));
    let read = format!("json: read a result of {turns} turns");
    let read = table.row(read, "turn", turns, 9, || {
        json::from_slice::<ChatResult>(&text)
    });
    (write, read)
}
