//! `allm sessions delete`.

use std::io::IsTerminal as _;

use allm::{DeleteIf, LoadFrom, SessionId, SessionReason, StoreReason, Version};

use super::{Desk, fault, find};
use crate::arguments::Common;
use crate::hold::Holder;
use crate::problem::{Exit, Problem};
use crate::terminal;

/// Deletes sessions: all that were named, or none if one of them is not there. At a terminal it asks first; a script has
/// said what it wants.
pub(super) async fn delete(
    common: &Common,
    ids: &[String],
    force: bool,
    yes: bool,
) -> Result<Exit, Problem> {
    let desk = Desk::open(common).await?;
    let mut found: Vec<SessionId> = Vec::new();
    for id in ids {
        let id = find::typed(id)?;
        let from = LoadFrom::After(Version(u64::MAX));
        match desk.sessions.store().load(&id, from).await {
            Ok(_) if found.contains(&id) => {}
            Ok(_) if !force && desk.holder(&id).await? != Holder::Nobody => {
                let what = format!("another process drives the session `{id}`");
                return Err(Problem::failed(what)
                    .advice("wait until it is done, or delete it all the same with --force"));
            }
            Ok(_) => found.push(id),
            Err(error) if error.reason == StoreReason::NotFound => {
                return Err(find::missing(&desk.sessions, &id).await);
            }
            // What cannot be read can be deleted.
            Err(error) if error.reason == StoreReason::Corrupt => found.push(id),
            Err(error) => return Err(fault::told(id.as_str(), &error.into())),
        }
    }
    if !yes && std::io::stdin().is_terminal() && !agreed(&found)? {
        return Ok(Exit::Interrupted);
    }
    let condition = match force {
        true => DeleteIf::Force,
        false => DeleteIf::Any,
    };
    for id in &found {
        match desk.sessions.delete(id, condition).await {
            Ok(()) => {}
            // Somebody else was faster.
            Err(error) if error.store_reason() == Some(StoreReason::NotFound) => {}
            Err(error) if error.reason == SessionReason::Busy => {
                return Err(
                    fault::told(id.as_str(), &error).advice("delete it all the same with --force")
                );
            }
            Err(error) => return Err(fault::told(id.as_str(), &error)),
        }
    }
    Ok(Exit::Done)
}

fn agreed(ids: &[SessionId]) -> Result<bool, Problem> {
    let what = match ids {
        [one] => format!("the session `{one}`"),
        several => format!("{} sessions", several.len()),
    };
    terminal::agreed(&format!("Delete {what}? It cannot be undone."))
}
