//! A long run: whether a late turn costs what an early one costs.

use allm_core::json;

use crate::counting::{Cost, counted};
use crate::script::{self, Hashing};
use crate::table::{PerUnit, Table};

/// So many turns are taken together, at the beginning and at the end.
const SPAN: usize = 10;

pub(crate) fn measure(table: &mut Table) {
    let turns = table.scaled(400).max(2 * SPAN);
    for (name, hashing) in [
        ("run: a turn", Hashing::Not),
        ("run: a turn, state hashed each input", Hashing::EachInput),
    ] {
        let (early, late) = ends(table, name, turns, |run, inputs| {
            script::drive(run, inputs, hashing);
        });
        table.ratio(&format!("{name}: late / early"), late, early);
    }

    let (early, late) = (script::driven(5), script::driven(count(turns)));
    let early = command(table, "run: command, early", &early);
    let late = command(table, "run: command, late", &late);
    table.ratio("run: command, late / early", late, early);

    let half = document(table, turns / 2);
    let whole = document(table, turns);
    table.ratio("run: write per turn, all / half the turns", whole.0, half.0);
    table.ratio("run: read per turn, all / half the turns", whole.1, half.1);
}

/// The first and the last turns of a run, each turn measured by itself.
fn ends(
    table: &mut Table,
    name: &str,
    turns: usize,
    mut drive: impl FnMut(&mut allm_core::Run, Vec<allm_core::run::Input>),
) -> (PerUnit, PerUnit) {
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for _ in 0..table.repetitions(25) {
        let mut run = script::started(count(turns + 1));
        let costs: Vec<Cost> = (0..count(turns))
            .map(|number| {
                let inputs = script::turn(number);
                counted(|| drive(&mut run, inputs)).1
            })
            .collect();
        early.push(costs.iter().take(SPAN).copied().sum());
        late.push(costs.iter().rev().take(SPAN).copied().sum());
    }
    let early = table.note(format!("{name}, 1-10"), "turn", SPAN, early);
    let last = format!("{name}, {}-{turns}", turns - SPAN + 1);
    let late = table.note(last, "turn", SPAN, late);
    (early, late)
}

fn command(table: &mut Table, name: &str, run: &allm_core::Run) -> PerUnit {
    let calls = table.scaled(1000);
    table.row(name, "call", calls, 15, || {
        (0..calls).for_each(|_| drop(std::hint::black_box(run.command())));
    })
}

/// A stored run: writing and reading it, per turn.
fn document(table: &mut Table, turns: usize) -> (PerUnit, PerUnit) {
    let run = script::driven(count(turns));
    let text = json::to_vec(&run).expect("a run can be written");
    let write = format!("run: write, {turns} turns");
    let write = table.row(write, "turn", turns, 9, || json::to_vec(&run));
    let read = format!("run: read, {turns} turns");
    let read = table.row(read, "turn", turns, 9, || {
        json::from_slice::<allm_core::Run>(&text)
    });
    (write, read)
}

fn count(turns: usize) -> u32 {
    u32::try_from(turns).expect("a bench's size")
}
