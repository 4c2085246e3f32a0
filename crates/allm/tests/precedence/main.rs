//! The precedence rule as a matrix: every setting, each level and pair of levels, each entry point, awaited and streamed.
//!
//! A row says how a setting is set at each of its levels and how its effect is seen: in what the adapter was given, or in
//! what the run did. The rest is generated.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod drive;
mod merges;
mod request_rows;
mod row;
mod run_rows;
mod scene;
mod transport_rows;

use allm::Setting;

use drive::{Case, Entry, MODES, seen};
use row::{Levels, Row, Said};

fn rows() -> Vec<Row> {
    let mut rows = request_rows::rows();
    rows.extend(transport_rows::rows());
    rows.extend(run_rows::rows());
    rows
}

#[test]
fn every_setting_has_one_row() {
    let rows = rows();
    for setting in Setting::ALL {
        let found = rows.iter().filter(|row| row.setting == *setting).count();
        assert_eq!(found, 1, "rows of {setting:?}");
    }
}

/// C84, C85, L187: what the highest level says is what happens; `off` is one of the things that can be said.
#[tokio::test(start_paused = true)]
async fn c84_c85_l187_the_highest_level_decides() {
    let mut cases = 0;
    let mut wrong = Vec::new();
    for row in rows() {
        for entry in row.entries() {
            for levels in row.levels() {
                for mode in MODES.into_iter().filter(|mode| row.shows_in(*mode)) {
                    let case = Case {
                        row: &row,
                        levels,
                        entry,
                        mode,
                    };
                    let found = (row.observe)(&seen(&case).await);
                    let expected = (row.expected)(levels.decides());
                    cases += 1;
                    if found != expected {
                        wrong.push(format!("{case}: expected {expected:?}, found {found:?}"));
                    }
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(cases > 5_000, "only {cases} cases");
}

/// C88 spelled out: a setting of a request reaches every entry point, from the engine alone too.
#[test]
fn c88_every_setting_of_a_request_has_three_levels_and_three_entry_points() {
    for row in request_rows::rows() {
        let entries: Vec<Entry> = row.entries().collect();
        assert_eq!(
            entries,
            [Entry::Generate, Entry::Step, Entry::Chat],
            "{:?}",
            row.setting
        );
        let engine_alone = Levels {
            engine: Some(Said::Value(0)),
            ..Levels::default()
        };
        assert!(row.levels().contains(&engine_alone), "{:?}", row.setting);
        assert!(row.request.is_some(), "{:?}", row.setting);
    }
}

/// C90: no setting of the loop, the transport or telemetry is in what the adapter is given to send.
#[tokio::test(start_paused = true)]
async fn c90_only_what_is_meant_for_the_provider_is_in_the_request() {
    let others = transport_rows::rows().into_iter().chain(run_rows::rows());
    for row in others {
        for entry in row.entries().filter(|entry| *entry != Entry::Runner) {
            let sent = async |levels| {
                let case = Case {
                    row: &row,
                    levels,
                    entry,
                    mode: drive::Mode::Awaited,
                };
                let seen = seen(&case).await;
                let request = seen.notes.calls.first().map(|call| (*call.request).clone());
                let mut request = request.unwrap_or_else(|| panic!("{case}: no request"));
                if row.setting == Setting::StructuredFinalize {
                    // It moves the format to the second pass.
                    request.response_format = None;
                }
                serde_json::to_string(&request).unwrap()
            };
            let without = sent(Levels::default()).await;
            let said = Some(Said::Value(0));
            let at_call = Levels {
                call: said,
                ..Levels::default()
            };
            let at_engine = Levels {
                engine: said,
                ..Levels::default()
            };
            assert_eq!(sent(at_call).await, without, "{:?}", row.setting);
            if row.engine.is_some() {
                assert_eq!(sent(at_engine).await, without, "{:?}", row.setting);
            }
        }
    }
}
