//! Signals that end the program.

use std::time::Duration;

use allm::Sessions;
use tokio::signal::unix::{SignalKind, signal};

use crate::problem::Problem;
use crate::terminal::state;

/// How long a run that goes on may take to come to a place where it can be left.
const GRACE: Duration = Duration::from_millis(200);

/// How long is waited for the database, all in all.
const LONGEST: Duration = Duration::from_secs(2);

/// When the program is told to end, or its terminal goes, the terminal is put back and the conversation left so that
/// anyone can go on with it at once.
pub(crate) fn end_cleanly(sessions: Sessions) -> Result<(), Problem> {
    for (kind, code) in [
        (SignalKind::terminate(), 128 + 15),
        (SignalKind::hangup(), 128 + 1),
    ] {
        let failed = |error| Problem::failed(format!("signals cannot be listened to: {error}"));
        let mut told = signal(kind).map_err(failed)?;
        let sessions = sessions.clone();
        tokio::spawn(async move {
            if told.recv().await.is_none() {
                return;
            }
            state::restore();
            leave(&sessions).await;
            // What was left has come to its end, and the next prompt may be on its way.
            state::restore_for_good();
            std::process::exit(code);
        });
    }
    Ok(())
}

/// Leaves whatever is being driven where it is, and gives it back.
pub(crate) async fn leave(sessions: &Sessions) {
    let _ = tokio::time::timeout(LONGEST, sessions.shutdown(GRACE)).await;
}
