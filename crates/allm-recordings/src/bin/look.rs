//! Shows what the library reads from recordings: one JSON object a line, for the records whose id or hash is named, or
//! for all of a dialect. What it shows holds the recorded texts; it is for looking, not for keeping.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool for those who work on the tests"
)]

use std::sync::Arc;

use allm_recordings::play::Player;
use allm_recordings::server::{Cut, Keep, Server};
use allm_recordings::verdict::{Verdict, calls_text};
use serde_json::json;

#[tokio::main]
async fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let Some(recordings) = allm_recordings::recordings() else {
        return;
    };
    let recordings = Arc::new(recordings);
    let server = Arc::new(Server::start(Arc::clone(&recordings), Keep::Nothing).await);
    let player = Player::new(server);
    for record in recordings.all() {
        let known = [&record.id, &record.hash, &record.dialect];
        if !names.iter().any(|name| known.contains(&name)) {
            continue;
        }
        let result = player.play(record, Cut::Whole).await;
        let verdict = Verdict::of(&result);
        let seen = match &result {
            Ok(answer) => json!({
                "text": answer.text(), "reasoning": answer.reasoning(), "refusal": answer.refusal(),
                "calls": calls_text(answer.tool_calls()), "raw": answer.raw_finish_reason,
                "failure": answer.error, "usage": answer.usage,
                "warnings": answer.warnings.iter().map(|warning| &warning.code).collect::<Vec<_>>(),
                "malformed": answer.tool_calls().iter().any(|call| call.arguments.is_none()),
            }),
            Err(error) => json!({"error": error.to_string(), "detail": format!("{error:?}")}),
        };
        let line = json!({"id": record.id, "hash": record.hash, "provider": record.provider,
            "dialect": record.dialect, "verdict": verdict, "seen": seen});
        println!("{line}");
    }
}
