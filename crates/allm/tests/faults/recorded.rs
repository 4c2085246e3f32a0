//! Errors that real providers sent, where a collection of them is at hand.

use std::path::PathBuf;

use serde_json::Value;

use super::ask;
use super::server::answer;
use super::wires::Wire;

/// Where the collection is, if there is one.
fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/wire");
    let place = std::env::var_os("ALLM_RECORDINGS").map_or_else(|| beside.into(), PathBuf::from);
    let folder = place.join("recordings");
    folder.is_dir().then_some(folder)
}

fn wire(dialect: &str) -> Wire {
    match dialect {
        "anthropic-messages" => Wire::Anthropic,
        "gemini" => Wire::Gemini,
        "openai-responses" => Wire::Responses,
        _ => Wire::Compat,
    }
}

/// P55: every one has a reason.
#[tokio::test(start_paused = true)]
#[allow(
    clippy::print_stderr,
    reason = "whoever runs the tests must see that it was skipped"
)]
async fn p55_recorded_errors() {
    let Some(folder) = folder() else {
        eprintln!("SKIPPED: no recordings beside the repository and none at ALLM_RECORDINGS");
        return;
    };
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        for line in std::fs::read_to_string(file.unwrap().path())
            .unwrap()
            .lines()
        {
            let record: Value = serde_json::from_str(line).unwrap();
            let response = &record["response"];
            let status = response["status"].as_u64().unwrap_or(200);
            if status < 400 || response["body_encoding"] != "utf-8" {
                continue;
            }
            let body = response["body"].as_str().unwrap_or_default();
            let wire = wire(record["dialect"].as_str().unwrap_or_default());
            let status = u16::try_from(status).unwrap();
            let (outcome, _) = ask(wire, answer(status, &[], body)).await;
            assert_ne!(outcome.reason, "unknown", "{} {status}", record["id"]);
            assert_ne!(outcome.reason, "ok", "{}", record["id"]);
            seen += 1;
        }
    }
    assert!(seen > 0, "there are recordings and no error among them");
}
