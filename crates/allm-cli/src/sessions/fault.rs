//! What a session could not do, for a person.

use allm::{SessionError, SessionReason, StoreReason};

use crate::problem::Problem;

/// What went wrong with the session of this id.
pub(crate) fn told(id: &str, error: &SessionError) -> Problem {
    if let Some(reason) = error.store_reason()
        && let Some(problem) = of_store(id, reason, error)
    {
        return problem;
    }
    let version = || error.version.unwrap_or_default();
    match error.reason {
        SessionReason::ReplayDiverged => {
            let at = version();
            let what = format!("the journal of `{id}` does not lead where it says at version {at}");
            Problem::failed(what).advice(format!("`allm replay {id}` shows how far it is good"))
        }
        SessionReason::UnsupportedVersion | SessionReason::UnsupportedMachine => {
            let what =
                format!("the session `{id}` was written by another release of allm: {error}");
            Problem::failed(what).advice("use that release, or a newer one than this")
        }
        SessionReason::Busy => busy(id, error),
        SessionReason::ApprovalExpired => Problem::usage(format!(
            "it is too late to decide about this call of `{id}`"
        ))
        .advice(format!("go on without it: allm sessions resume {id}")),
        SessionReason::AlreadyDecided => Problem::usage(format!(
            "this call of `{id}` was decided before, and otherwise"
        ))
        .advice(format!("see by whom: allm sessions show {id}")),
        SessionReason::AlreadyAnswered => Problem::usage(format!(
            "this call of `{id}` was answered before, and otherwise"
        ))
        .advice(format!("see by whom: allm sessions show {id}")),
        SessionReason::NothingToResume => {
            Problem::usage(format!("the session `{id}` has nothing to go on with"))
                .advice(format!("say something: allm chat --resume {id}"))
        }
        SessionReason::InvalidArguments => {
            let mut what = error.message.clone();
            for fault in &error.faults {
                what = format!("{what}\n  at {}: {}", fault.path, fault.message);
            }
            Problem::usage(what)
        }
        SessionReason::UnknownCall
        | SessionReason::NotWaiting
        | SessionReason::WrongWait
        | SessionReason::ApprovalMismatch
        | SessionReason::InvalidState => Problem::usage(format!("`{id}`: {}", error.message))
            .advice(format!("see how it stands: allm sessions show {id}")),
        SessionReason::Invalid => Problem::usage(error.message.clone()),
        _ => Problem::failed(format!("`{id}`: {}", error.message)),
    }
}

fn of_store(id: &str, reason: StoreReason, error: &SessionError) -> Option<Problem> {
    Some(match reason {
        StoreReason::NotFound | StoreReason::Gone => {
            Problem::usage(format!("there is no session `{id}`"))
                .advice("see what there is: allm sessions list")
        }
        StoreReason::AlreadyExists => Problem::usage(format!("there is a session `{id}` already"))
            .advice("name another id with --as, or delete that one"),
        StoreReason::Corrupt => {
            let at = error.version.unwrap_or_default();
            Problem::failed(format!("the journal of `{id}` is damaged at version {at}"))
                .advice(format!("`allm replay {id}` shows how far it is good"))
        }
        reason => return of_machine(reason),
    })
}

/// What is wrong with the machine, whichever session it is.
pub(crate) fn of_machine(reason: StoreReason) -> Option<Problem> {
    Some(match reason {
        StoreReason::Full => Problem::failed("there is no room left on the disk of the sessions")
            .advice("make room, and do it again"),
        StoreReason::Unavailable => {
            Problem::failed("the database of sessions does not answer: another program holds it")
                .advice("close the program that holds the file, and do it again")
        }
        _ => return None,
    })
}

fn busy(id: &str, error: &SessionError) -> Problem {
    let what = match &error.held {
        Some(held) => format!(
            "another process drives the session `{id}` (writer {}, at least until {})",
            held.holder, held.expires_at
        ),
        None => format!("another process drives the session `{id}`"),
    };
    Problem::failed(what).advice(
        "wait until it is done; if it is dead, its hold ends by itself within half a minute",
    )
}
