//! What the library sends, held against what was recorded.
//!
//! Every conversation is played: the recorded answers are read by the adapters, and what the library sends next is
//! compared with what the recorded client sent next. `requests.md` has the counts; with `ALLM_RECORDINGS_WRITE=1` they
//! are written anew.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use allm::{Request, Thread};
use allm_recordings::recordings;
use allm_recordings::requests::bodies::{self, Line};
use allm_recordings::requests::case::{Case, How};
use allm_recordings::requests::conversation::Player;
use allm_recordings::requests::report::{Report, legend};
use allm_recordings::requests::{Dialect, Schemas};

const BEGIN: &str = "<!-- counts -->\n";
const END: &str = "<!-- end of counts -->\n";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("requests.md")
}

async fn played() -> Option<Player> {
    let mut player = Player::new(recordings()?).await;
    for dialect in Dialect::ALL {
        player.play(dialect).await;
    }
    Some(player)
}

/// P96, P98, P132, P133, P134, P162, P166, P171, P172, P173, P191, P192, P194, P195, P196, P218: a thread that the
/// library read means the same on its way back as what the recorded client sent.
#[tokio::test]
async fn conversations() {
    let Some(player) = played().await else {
        return;
    };
    let report = Report::of(&player);
    let tables = report.tables();
    println!("{tables}");
    for (record, how, why) in &player.refused {
        println!("refused: {record} ({how:?}): {why}");
    }
    assert_eq!(report.unclassified, Vec::<String>::new());
    let conversations: usize = report.conversations.values().map(|some| some.len()).sum();
    assert!(conversations >= 300, "{conversations} conversations");
    // What is read from a request has nothing that a client could have changed on the way.
    for (name, counts) in &report.classes {
        let by_client = name.starts_with("client_");
        let elsewhere = counts.keys().any(|(how, _)| *how != How::Continued);
        assert!(!by_client || !elsewhere, "{name} is not the client's doing");
    }
    check_page(&format!("{tables}\n### Classes\n\n{}", legend()));
}

/// The counts on the page are those of this run, unless it has other recordings.
fn check_page(counts: &str) {
    let page = page();
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    if std::env::var_os("ALLM_RECORDINGS_WRITE").is_some() {
        std::fs::write(&page, format!("{before}{BEGIN}{counts}{END}{after}")).unwrap();
        return;
    }
    let requests = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("| requests"));
        lines.map(str::to_owned).collect()
    };
    if requests(written) == requests(counts) {
        assert_eq!(written, counts, "requests.md has other counts");
    } else {
        println!("other recordings than those that requests.md tells of");
    }
}

/// P91: equal requests give equal bytes on every wire, also when the thread was stored in between.
#[tokio::test]
async fn p91_the_same_bytes() {
    let Some(player) = played().await else {
        return;
    };
    let mut sent = 0;
    for case in player
        .cases
        .iter()
        .filter(|case| case.how == How::Continued)
    {
        let thread = Thread {
            messages: case.request.messages.clone(),
            ..Thread::default()
        };
        let stored = allm::json::to_string(&StoredThread(thread)).unwrap();
        let StoredThread(thread) = allm::json::from_str(&stored).unwrap();
        let mut again = Request::clone(&case.request);
        again.messages = thread.messages;
        let again: Request = serde_json::from_str(&serde_json::to_string(&again).unwrap()).unwrap();
        let again = Arc::new(again);
        for dialect in Dialect::ALL {
            let (provider, model) = peer(case, dialect);
            let first = player
                .bytes(dialect, provider, model, Arc::clone(&case.request))
                .await;
            let second = player
                .bytes(dialect, provider, model, Arc::clone(&case.request))
                .await;
            let third = player
                .bytes(dialect, provider, model, Arc::clone(&again))
                .await;
            assert!(first.is_some(), "{}", case.record.id);
            assert_eq!(first, second, "{} on {}", case.record.id, dialect.name());
            assert_eq!(
                first,
                third,
                "{} on {}, stored",
                case.record.id,
                dialect.name()
            );
            sent += 1;
        }
    }
    println!("{sent} requests on all wires, each sent three times");
}

/// A thread as a document of its own.
#[derive(serde::Serialize, serde::Deserialize)]
struct StoredThread(Thread);

impl allm::json::Document for StoredThread {
    const TYPE: &'static str = "thread";
}

/// Whom a case is sent to on a wire.
fn peer(case: &Case, dialect: Dialect) -> (&str, &'static str) {
    match dialect {
        _ if dialect == case.dialect => (case.record.provider.as_str(), "gpt-5"),
        Dialect::OpenAiChat => ("openai", "gpt-4.1"),
        Dialect::OpenAiResponses => ("openai", "gpt-5"),
        Dialect::AnthropicMessages => ("anthropic", "claude-sonnet-4-5"),
        Dialect::Gemini => ("gemini", "gemini-3-flash"),
    }
}

/// P98: what the library sends is what the providers' own schemas allow, also for threads that began on another wire.
#[tokio::test]
async fn p98_schemas() {
    let (Some(player), Some(schemas)) = (played().await, Schemas::load()) else {
        return;
    };
    let mut lines: Vec<Line> = Vec::new();
    for case in &player.cases {
        lines.push(Line {
            dialect: case.dialect,
            id: format!("{} ({:?})", case.record.id, case.how),
            body: serde_json::from_slice(&case.bytes).unwrap(),
        });
        if case.how != How::Continued {
            continue;
        }
        // Another provider's tools are refused before anything is sent.
        let mut request = Request::clone(&case.request);
        request.tools.retain(|tool| tool.name().is_some());
        let request = Arc::new(request);
        for dialect in Dialect::ALL
            .into_iter()
            .filter(|other| *other != case.dialect)
        {
            let (provider, model) = peer(case, dialect);
            let bytes = player
                .bytes(dialect, provider, model, Arc::clone(&request))
                .await;
            lines.push(Line {
                dialect,
                id: format!("{} on {}", case.record.id, dialect.name()),
                body: serde_json::from_slice(&bytes.unwrap()).unwrap(),
            });
        }
    }
    let mut faults: Vec<String> = Vec::new();
    let mut checked = 0;
    for line in &lines {
        checked += usize::from(matches!(
            line.dialect,
            Dialect::OpenAiChat | Dialect::OpenAiResponses
        ));
        for fault in schemas.faults(line.dialect, &line.body) {
            faults.push(format!("{}: {fault}", line.id));
        }
    }
    println!("{checked} bodies checked against OpenAI's schemas");
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(bodies::check("recorded", &lines), Vec::<String>::new());
}
