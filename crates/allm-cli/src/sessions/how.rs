//! How what a session waits for is given to it.

use allm::SessionId;
use allm::session::{OpenWait, Wait, WaitReason};

/// The command for each of these. Where there are several, it names the call.
pub(crate) fn each(id: &SessionId, waits: &[OpenWait]) -> Vec<String> {
    let named = |open: &OpenWait| match waits.len() {
        1 => String::new(),
        _ => format!(" --call {}", open.call),
    };
    let commands = waits.iter().map(|open| command(id, open, &named(open)));
    commands.collect()
}

/// The command that gives what the first of these waits for.
pub(crate) fn first(id: &SessionId, waits: &[OpenWait]) -> String {
    let first = each(id, waits).into_iter().next();
    first.unwrap_or_else(|| format!("allm sessions resume {id}"))
}

fn command(id: &SessionId, open: &OpenWait, named: &str) -> String {
    let call = open.call;
    match &open.wait {
        Wait::Approval(_) => format!(
            "allm sessions approve {id}{named} --resume, or allm sessions deny {id}{named} --resume"
        ),
        Wait::Question(_) => format!("allm sessions answer {id} \"…\"{named} --resume"),
        Wait::Result(result) if result.reason == WaitReason::UnknownOutcome => format!(
            "allm sessions rerun {id} {call} --resume, or allm sessions submit {id} {call} \"…\" --resume"
        ),
        _ => format!("allm sessions submit {id} {call} \"…\" --resume"),
    }
}
