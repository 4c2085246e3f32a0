//! Death at every position.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::sync::Arc;

use allm::session::{CallKey, Outcome, OutcomeSource};
use allm_durability::job::OldLease;
use allm_durability::stage::{End, Kind, Manner, Stage};
use allm_durability::world::Honesty;

const PROGRAM: &str = env!("CARGO_BIN_EXE_child");

async fn stage(kind: Kind, scenario: &str) -> Option<Arc<Stage>> {
    let stage = Stage::new(PROGRAM, kind, scenario).await?;
    Some(Arc::new(stage))
}

/// S80 to S82, S84 to S90, S98, S100, S154, S189 (`going`): checked by the world, by what every journal must hold, and by the end.
async fn everywhere(kind: Kind, scenario: &str) {
    let Some(stage) = stage(kind, scenario).await else {
        return;
    };
    stage.kill_everywhere(Manner::default()).await;
    println!("{kind:?} {scenario}: {} kills", stage.kills());
}

async fn twice(kind: Kind, scenario: &str) {
    let Some(stage) = stage(kind, scenario).await else {
        return;
    };
    stage.kill_twice(Manner::default()).await;
    println!("{kind:?} {scenario}: {} kills", stage.kills());
}

macro_rules! everywhere {
    ($($module:ident $kind:ident: $($scenario:ident)+;)+) => {$(
        mod $module {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $scenario() {
                    everywhere(Kind::$kind, stringify!($scenario)).await;
                }
            )+
        }
    )+};
}

// S174 is the last line.
everywhere! {
    sqlite Sqlite: text four five same guarded ask approval manual retry cancel finalize send going all;
    postgres Postgres: text four five same guarded ask approval manual retry cancel finalize send going all;
    host Host: text four five same guarded ask approval manual retry cancel finalize send going all;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s83_two_deaths_sqlite() {
    twice(Kind::Sqlite, "text").await;
    twice(Kind::Sqlite, "four").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s83_two_deaths_sqlite_ask() {
    twice(Kind::Sqlite, "ask").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s83_two_deaths_sqlite_approval() {
    twice(Kind::Sqlite, "approval").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s83_two_deaths_postgres() {
    twice(Kind::Postgres, "text").await;
    // Some thousand programs, each with connections of its own.
    if std::env::var_os("ALLM_KILL_PAIRS").is_some() {
        twice(Kind::Postgres, "four").await;
    }
}

/// Whoever takes over waits until the lease of the dead has run out.
async fn waited_for(scenario: &str) {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let Some(stage) = stage(kind, scenario).await else {
            continue;
        };
        let manner = Manner {
            lease: OldLease::Wait,
            ..Manner::default()
        };
        stage.kill_everywhere(manner).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s80_a_lease_that_is_waited_for() {
    waited_for("text").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s80_a_lease_that_is_waited_for_with_tools() {
    waited_for("four").await;
}

/// The end of a scenario with deaths at these positions.
async fn end(kind: Kind, scenario: &str, deaths: &[&str], honesty: Honesty) -> Option<End> {
    let stage = stage(kind, scenario).await?;
    let deaths: Vec<_> = deaths.iter().map(|death| (*death).to_owned()).collect();
    let manner = Manner {
        honesty,
        ..Manner::default()
    };
    Some(stage.play(&deaths, manner).await)
}

const KINDS: [Kind; 3] = [Kind::Sqlite, Kind::Postgres, Kind::Host];

const fn call(index: u32) -> CallKey {
    CallKey { turn: 1, index }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s88_who_cannot_tell_makes_it_unknown() {
    for (kind, honesty, probes) in [
        (Kind::Sqlite, Honesty::Unknown, 1),
        (Kind::Postgres, Honesty::Unknown, 1),
        (Kind::Sqlite, Honesty::Failing, 3),
    ] {
        let end = end(kind, "reconcile", &["entered a-recon-0"], honesty).await;
        let Some(end) = end else { continue };
        assert_eq!(end.facts.outcomes[&call(0)], Outcome::UnknownOutcome);
        assert_eq!(end.facts.outcomes[&call(1)], Outcome::Ok);
        assert_eq!(end.facts.sources[&call(0)], OutcomeSource::Recovery);
        assert_eq!(end.seen.entered("a-recon-0"), 1);
        assert_eq!(end.seen.probed.len(), probes);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s89_siblings_go_on_while_a_probe_waits() {
    for kind in KINDS {
        let deaths = ["entered a-recon_slow-0"];
        let Some(end) = end(kind, "slow", &deaths, Honesty::Truth).await else {
            continue;
        };
        let deadline = end.facts.intents[&call(0)][0].deadline;
        assert!(end.facts.outcome_at[&call(1)] < deadline);
        assert!(end.facts.outcome_at[&call(0)] >= deadline);
        // That the probe came later is seen by the world.
        assert_eq!(end.seen.violations, Vec::<String>::new());
        assert_eq!(end.seen.probed.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s91_two_of_five_outcomes_are_durable() {
    for kind in KINDS {
        let Some(stage) = stage(kind, "five").await else {
            continue;
        };
        let unkilled = stage.play(&[], Manner::default()).await;
        let deaths = ["outcomes 2".to_owned()];
        let end = stage.play(&deaths, Manner::default()).await;
        let death = end.deaths[0].facts.as_ref().unwrap();
        assert_eq!(death.outcomes.len(), 2);
        for key in death.outcomes.keys() {
            let (_, id) = &death.calls[key];
            assert_eq!(end.seen.entered(id), 1, "{id}");
        }
        let faults =
            allm_durability::checks::faults(&unkilled.facts, &end.facts, &end.deaths, &end.seen);
        assert_eq!(faults, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s98_a_lost_answer_is_asked_for_again() {
    for kind in KINDS {
        let Some(end) = end(kind, "four", &["heard"], Honesty::Truth).await else {
            continue;
        };
        assert_eq!(end.deaths[0].seen.entered, Vec::new());
        assert_eq!(end.facts.session.usage().lost_calls, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s99_a_deadly_tool_is_not_run_a_fourth_time() {
    for kind in KINDS {
        let deaths = ["entered a-idem-0"; 3];
        let Some(end) = end(kind, "deadly", &deaths, Honesty::Truth).await else {
            continue;
        };
        let failure = end.facts.session.failure().unwrap();
        assert_eq!(failure.kind, "crash_loop");
        assert_eq!(end.seen.entered("a-idem-0"), 3);
        assert_eq!(end.facts.intents[&call(0)].len(), 3);
        assert_eq!(end.facts.recoveries, 3);
    }
}
