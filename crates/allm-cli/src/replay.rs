//! `allm replay`: a stored conversation, played again from its journal.
//!
//! No model is asked and no tool is run: the machine takes the entries one by one, and after each it must be in the state
//! whose hash the entry has. The same journal gives the same output, byte for byte.

mod check;
mod words;

use std::io::BufRead as _;

use allm::session::Session;
use allm::{Hash, Link, LoadFrom, Loaded, SessionId, StoreReason, Version};
use serde_json::json;

use crate::answer::note;
use crate::arguments::{Common, Replay};
use crate::problem::{Exit, Problem};
use crate::sessions::output::print;
use crate::sessions::{Desk, fault, find};
use check::{Mismatch, Played};

pub(crate) async fn perform(common: &Common, asked: Replay) -> Result<Exit, Problem> {
    let desk = Desk::open(common).await?;
    let id = find::typed(&asked.id)?;
    let whole = LoadFrom::After(Version(0));
    let loaded = match desk.sessions.store().load(&id, whole).await {
        Ok(loaded) => loaded,
        Err(error) if error.reason == StoreReason::NotFound => {
            return Err(find::missing(&desk.sessions, &id).await);
        }
        Err(error) => return Err(fault::told(id.as_str(), &error.into())),
    };
    let last = asked.to.map_or(loaded.head.version, Version);
    let first = loaded
        .snapshot
        .as_ref()
        .map_or(Version(0), |snapshot| snapshot.version);
    if last > loaded.head.version || last < first || last == Version(0) {
        let what = format!("the session `{id}` has no version {last} to play to");
        let first = first.0.max(1);
        return Err(Problem::usage(what).advice(format!(
            "its journal goes from {first} to {}",
            loaded.head.version
        )));
    }
    play(&id, &loaded, last, &asked)
}

fn play(id: &SessionId, loaded: &Loaded, last: Version, asked: &Replay) -> Result<Exit, Problem> {
    let mut session = match check::beginning(loaded) {
        Ok(session) => session,
        Err(mismatch) => return differs(id, &mismatch, asked.json),
    };
    let mut link = Link::START;
    if let Some(snapshot) = &loaded.snapshot {
        link = snapshot.link();
        if !print(&begun(&session, &link, asked.json))? {
            return Ok(Exit::Done);
        }
    }
    let mut entries = loaded.entries.iter();
    while link.version < last {
        let Some(entry) = entries.next() else {
            let missing = Mismatch::missing(link.version.next());
            return differs(id, &missing, asked.json);
        };
        let played = match check::play(&mut session, &link, entry) {
            Ok(played) => played,
            Err(mismatch) => return differs(id, &mismatch, asked.json),
        };
        link = played.link;
        if !print(&step(&session, &played, asked.json))? {
            return Ok(Exit::Done);
        }
        if asked.step && link.version < last && !goes_on()? {
            return Ok(Exit::Done);
        }
    }
    if !asked.json {
        let status = status(&session);
        print(&format!(
            "✓ replayed to version {last}: every hash is right, status {status}\n"
        ))?;
    }
    Ok(Exit::Done)
}

fn status(session: &Session) -> String {
    session.status().as_str().replace('_', " ")
}

/// The first digits of a hash: enough to compare by eye.
fn short(hash: Hash) -> String {
    let text = hash.to_string();
    let digits = text.strip_prefix("sha256:").unwrap_or(&text);
    digits.get(..12).unwrap_or(digits).to_owned()
}

/// Where a journal begins whose first entries are no more.
fn begun(session: &Session, link: &Link, json: bool) -> String {
    let version = link.version;
    let messages = session.thread().len();
    if json {
        let line = json!({
            "version": version, "kind": "snapshot", "messages": messages,
            "status": session.status(), "chain": link.chain, "verified": true,
        });
        return format!("{line}\n");
    }
    format!(
        "#{version}  snapshot\n    the entries up to here were trimmed; what they led to, with {messages} messages, is kept\n    {} · chain {} ✓\n",
        status(session),
        short(link.chain)
    )
}

fn step(session: &Session, played: &Played, json: bool) -> String {
    let entry = &played.entry;
    let words = words::of(&entry.body);
    if json {
        let line = json!({
            "version": entry.version,
            "at": entry.at,
            "kind": entry.body.kind(),
            "what": words,
            "writer": entry.writer,
            "status": session.status(),
            "state_hash": entry.state_hash,
            "chain": played.link.chain,
            "verified": true,
        });
        return format!("{line}\n");
    }
    format!(
        "#{}  {}  {}\n    {words}\n    {} · state {} · chain {} ✓\n",
        entry.version,
        entry.at,
        entry.body.kind().replace('_', " "),
        status(session),
        short(entry.state_hash),
        short(played.link.chain)
    )
}

fn differs(id: &SessionId, mismatch: &Mismatch, json: bool) -> Result<Exit, Problem> {
    let Mismatch {
        version,
        what,
        expected,
        found,
    } = mismatch;
    let line = match json {
        true => format!(
            "{}\n",
            json!({
                "version": version, "verified": false, "fault": what,
                "expected": expected, "found": found,
            })
        ),
        false => format!("#{version}  ✗ {what}\n"),
    };
    print(&line)?;
    let mut told = format!("the journal of `{id}` is not right at version {version}: {what}");
    if let (Some(expected), Some(found)) = (expected, found) {
        told = format!("{told}\n  expected {expected}\n  found    {found}");
    }
    Err(Problem::failed(told)
        .advice("what comes before it is good; bring back a copy of the database to have the rest"))
}

/// Waits for Enter. `q`, or the end of the input, leaves.
fn goes_on() -> Result<bool, Problem> {
    let mut line = String::new();
    note("[Enter goes on, q leaves]");
    let read = std::io::stdin().lock().read_line(&mut line);
    let read = read.map_err(|error| Problem::failed(format!("nothing can be read: {error}")))?;
    Ok(read > 0 && !line.trim().eq_ignore_ascii_case("q"))
}
