//! Every recording, played over loopback HTTP to the adapter that a caller would have chosen.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use allm_recordings::kept;
use allm_recordings::play::{Player, ask, exclusion, folded};
use allm_recordings::record::DIALECTS;
use allm_recordings::server::{Cut, Keep, Server};
use allm_recordings::tasks::each;
use allm_recordings::{Record, Recordings, Verdict, recordings};

/// How many verdicts of a dialect may differ, in thousandths.
const MAY_DIFFER: usize = 5;

struct Stage {
    recordings: Arc<Recordings>,
    player: Player,
}

/// `None` when there are no recordings, which has been said then.
async fn stage() -> Option<Stage> {
    let recordings = Arc::new(recordings()?);
    let server = Server::start(Arc::clone(&recordings), Keep::Nothing).await;
    Some(Stage {
        recordings,
        player: Player::new(Arc::new(server)),
    })
}

impl Stage {
    fn playable(&self, dialect: &str) -> Vec<Arc<Record>> {
        let records = self.recordings.of(dialect);
        records
            .filter(|record| exclusion(record).is_none())
            .cloned()
            .collect()
    }

    /// Streams that are byte for byte as they were received, the shortest first.
    fn streams(&self, dialect: &str) -> Vec<Arc<Record>> {
        let mut streams = self.playable(dialect);
        streams.retain(|record| record.is_stream() && record.is_raw());
        streams.sort_by_key(|record| record.response.body.len());
        streams
    }
}

/// P20, P55
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_library_reads_what_the_providers_own_packages_read() {
    let Some(stage) = stage().await else { return };
    let mut listed = kept::disagreements();
    let mut faults = Vec::new();
    for dialect in DIALECTS {
        let verdicts = kept::verdicts(dialect);
        let mut excluded: BTreeMap<&str, usize> = BTreeMap::new();
        for why in stage
            .recordings
            .of(dialect)
            .filter_map(|record| exclusion(record))
        {
            *excluded.entry(why).or_default() += 1;
        }
        let player = stage.player.clone();
        let records = stage.playable(dialect);
        let total = records.len();
        let played = each(records, move |record: Arc<Arc<Record>>| {
            let player = player.clone();
            async move {
                let result = player.play(&record, Cut::Whole).await;
                (Arc::clone(&record), Verdict::of(&result))
            }
        })
        .await;
        let mut differing = 0;
        for (record, ours) in played {
            let id = &record.id;
            if let Some((reason, _)) = &ours.error
                && reason == "unknown"
            {
                faults.push(format!("{id}: the reason is unknown"));
            }
            let Some(theirs) = verdicts.get(&record.hash) else {
                faults.push(format!("{id}: no verdict is kept; run the reader"));
                continue;
            };
            let differences = ours.differences(theirs);
            let expected = listed.remove(id).unwrap_or_default();
            if !differences.is_empty() {
                differing += 1;
            }
            if differences != expected {
                faults.push(format!(
                    "{id} ({}): differs in {differences:?}, listed is {expected:?}\n  ours   {ours:?}\n  theirs {theirs:?}",
                    record.provider
                ));
            }
        }
        println!("{dialect}: {total} played, {differing} differ, excluded {excluded:?}");
        if differing * 1000 > total * MAY_DIFFER {
            faults.push(format!("{dialect}: {differing} of {total} differ"));
        }
    }
    listed.retain(|id, _| stage.recordings.by_id(id).is_some());
    faults.extend(
        listed
            .keys()
            .map(|id| format!("{id}: listed, but not played")),
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// P20: however a body is cut, the events are the same, and so is the answer.
async fn check_cuts(
    stage: &Stage,
    records: Vec<Arc<Record>>,
    cuts: fn(&Record) -> Vec<Cut>,
) -> usize {
    let player = stage.player.clone();
    let played = each(records, move |record: Arc<Arc<Record>>| {
        let player = player.clone();
        async move {
            let adapter = player.adapter(&record, Cut::Whole);
            let whole = ask(&*adapter, &record, Cut::Whole).await;
            let cuts = cuts(&record);
            for cut in &cuts {
                let again = ask(&*adapter, &record, *cut).await;
                assert_eq!(again, whole, "{} {}", record.id, cut.text());
            }
            cuts.len()
        }
    })
    .await;
    played.into_iter().sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p20_in_the_recorded_pieces() {
    let Some(stage) = stage().await else { return };
    for dialect in DIALECTS {
        let records = stage.playable(dialect);
        let count = records.len();
        check_cuts(&stage, records, |_| vec![Cut::Recorded]).await;
        println!("{dialect}: {count} answers in their recorded pieces");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p20_byte_by_byte() {
    let Some(stage) = stage().await else { return };
    for dialect in DIALECTS {
        let mut streams = stage.streams(dialect);
        streams.truncate(120);
        let count = streams.len();
        check_cuts(&stage, streams, |_| vec![Cut::Bytes]).await;
        println!("{dialect}: {count} streams byte by byte");
    }
}

/// The shortest streams of each dialect, so that this ends in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p20_in_two_pieces_at_every_byte() {
    let Some(stage) = stage().await else { return };
    for (dialect, count) in DIALECTS.into_iter().zip([50, 3, 66, 82]) {
        let mut streams = stage.streams(dialect);
        streams.truncate(count);
        let count = streams.len();
        let cuts = check_cuts(&stage, streams, |record| {
            (1..record.response.body.len()).map(Cut::At).collect()
        })
        .await;
        println!("{dialect}: {count} streams in two pieces, {cuts} cuts");
    }
}

/// P75: a body that is cut short is told as such, or nothing of the answer was in what is missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p75_no_quiet_success() {
    let Some(stage) = stage().await else { return };
    for dialect in DIALECTS {
        let mut records = stage.playable(dialect);
        records.retain(|record| record.response.status == 200 && record.is_raw());
        let player = stage.player.clone();
        let played = each(records, move |record: Arc<Arc<Record>>| {
            let player = player.clone();
            async move { check_short(&player, &record).await }
        })
        .await;
        let cuts: usize = played.iter().sum();
        println!(
            "{dialect}: {} bodies cut short at {cuts} places",
            played.len()
        );
    }
}

async fn check_short(player: &Player, record: &Record) -> usize {
    let adapter = player.adapter(record, Cut::Whole);
    let whole = folded(&ask(&*adapter, record, Cut::Whole).await);
    let places = short_places(&record.response.body);
    for at in &places {
        for (cut, expected) in [
            (Cut::End(*at), "interrupted"),
            (Cut::Break(*at), "network_error"),
        ] {
            if matches!(cut, Cut::End(_)) && finishes_often(record) {
                continue;
            }
            let short = folded(&ask(&*adapter, record, cut).await);
            let about = format!("{} {}", record.id, cut.text());
            if let Some(failure) = &short.error {
                // What fails as a whole may have said so before the cut.
                let own = whole.error.as_ref().map(|failure| failure.reason.as_str());
                let reason = failure.reason.as_str();
                assert!(
                    reason == expected || Some(reason) == own,
                    "{about}: {reason}"
                );
                continue;
            }
            assert_eq!(short.message, whole.message, "{about}");
            assert_eq!(short.finish_reason, whole.finish_reason, "{about}");
        }
    }
    places.len()
}

/// Every place of a short body; of others a few all over it, and those around the ends of its last lines.
fn short_places(body: &[u8]) -> Vec<usize> {
    if body.len() < 400 {
        return (0..body.len()).collect();
    }
    let spread = (0..5).map(|part| body.len() * part / 5);
    let ends = body.iter().enumerate().rev();
    let ends = ends.filter(|(_, byte)| **byte == b'\n').take(6);
    let around = ends.flat_map(|(at, _)| [at.saturating_sub(1), at]);
    let mut places: Vec<usize> = spread.chain(around).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Whether a body says more than once that it is finished: that there is more to come cannot be seen then.
fn finishes_often(record: &Record) -> bool {
    let body = String::from_utf8_lossy(&record.response.body);
    record.dialect == "gemini" && body.matches("\"finishReason\"").count() > 1
}
