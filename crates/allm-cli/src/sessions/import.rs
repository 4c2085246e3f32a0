//! `allm sessions import`.
//!
//! A store takes a journal in two steps: the first entry makes the session, and one append takes all others. When the
//! second fails, the session is deleted again. A crash between them leaves a session with nothing but its first entry;
//! importing the same file under its own id again goes on from there.

use std::io::Read as _;
use std::path::Path;

use allm::session::{Annotated, Append, CallState, EntryBody, OpenTurn, Session, read};
use allm::{
    AppendId, Beginning, DeleteIf, Entry, Lease, Link, LoadFrom, NewSession, Position,
    SessionError, SessionId, SessionStatus, SessionUid, Sessions, StoreReason, Takeover, Version,
};

use super::journal_file::{self, JournalFile};
use super::{fault, find, output};
use crate::answer::note;
use crate::arguments::Common;
use crate::chat::facts::Facts;
use crate::config::{Ask, Config};
use crate::problem::{Exit, Problem};
use crate::store;

pub(super) async fn import(
    common: &Common,
    file: &Path,
    id: Option<String>,
) -> Result<Exit, Problem> {
    let (name, text) = contents(file)?;
    let journal = journal_file::read(&name, &text)?;
    let id = match id {
        None => journal.id.clone(),
        Some(id) => find::typed(&id)?,
    };
    let config = Config::load(common, Ask::Person)?;
    if journal.trimmed.is_some() {
        return begin_anew(common, &config, &name, &journal, &id).await;
    }
    let journal = match id == journal.id {
        true => journal,
        false => renamed(journal, &id)?,
    };
    let sessions = open(common, &config).await?;
    let count = journal.entries.len();
    let journal = without_agreement(journal, &sessions).await;
    let journal = journal.map_err(|error| fault::told(id.as_str(), &error))?;
    let imported = write(&sessions, &journal).await;
    imported.map_err(|error| fault::told(id.as_str(), &error))?;
    note(&format!("imported `{id}`, {count} entries"));
    if journal.entries.len() > count {
        note("what was always approved there is asked about again here");
    }
    Ok(Exit::Done)
}

async fn open(common: &Common, config: &Config) -> Result<Sessions, Problem> {
    let file = store::file(common.store.as_deref(), config)?;
    store::open(&file).await
}

fn contents(file: &Path) -> Result<(String, String), Problem> {
    let mut text = String::new();
    let (name, got) = if file == Path::new("-") {
        let got = std::io::stdin().lock().read_to_string(&mut text);
        ("standard input".to_owned(), got.map(drop))
    } else {
        let got = std::fs::read_to_string(file).map(|got| text = got);
        (file.display().to_string(), got)
    };
    match got {
        Ok(()) => Ok((name, text)),
        Err(error) => {
            let what = match error.kind() {
                std::io::ErrorKind::NotFound => format!("{name} is not there"),
                _ => format!("{name} cannot be read: {error}"),
            };
            Err(Problem::usage(what).advice("name a file that `allm sessions export` has written"))
        }
    }
}

/// A journal whose beginning was trimmed cannot be made again, because a store makes a session from its first entry.
/// What was said can: it becomes the beginning of a new session.
async fn begin_anew(
    common: &Common,
    config: &Config,
    name: &str,
    journal: &JournalFile,
    id: &SessionId,
) -> Result<Exit, Problem> {
    let session = &journal.session;
    if !session.waits().is_empty() || session.has_ready_call() || session.run().is_some() {
        let what = format!(
            "{name} has lost the beginning of its journal and is {}, so it cannot be imported",
            session.status().as_str().replace('_', " ")
        );
        return Err(Problem::usage(what).advice(
            "decide what it waits for, or let its run end, where it is; then export it again",
        ));
    }
    let metadata = session.metadata();
    let metadata = Facts::without_agreement(metadata).unwrap_or_else(|| metadata.clone());
    let mut beginning = Beginning::new()
        .thread(session.thread())
        .context(session.context().clone())
        .metadata(metadata);
    for (key, value) in session.tags() {
        beginning = beginning.tag(key, value);
    }
    let sessions = open(common, config).await?;
    let made = sessions.create_with(id.as_str(), beginning).await;
    made.map_err(|error| fault::told(id.as_str(), &error))?;
    output::tell(&format!(
        "allm: {name} has lost the beginning of its journal: `{id}` has what was said, in a journal of its own"
    ));
    Ok(Exit::Done)
}

/// The same journal under another id: another session, with a `uid` of its own. What happened is the same, and when, and
/// who wrote it; the hashes are others, because the id is in what they are taken of.
fn renamed(journal: JournalFile, id: &SessionId) -> Result<JournalFile, Problem> {
    let open = journal.session.open_turn().into_iter();
    let mut open = open.flat_map(OpenTurn::calls);
    if open.any(|call| matches!(call.state, CallState::Intended(_))) {
        // Its idempotency key is made from the `uid`: under another one the far side would not know it again.
        let what = format!(
            "a call of `{}` has begun and nobody knows how it ended, so it cannot be copied",
            journal.id
        );
        return Err(Problem::usage(what)
            .advice("import it under its own id, or go on with it first: allm sessions resume"));
    }
    let resealed = resealed(&journal, id);
    resealed.map_err(|error| fault::told(journal.id.as_str(), &error))
}

fn resealed(journal: &JournalFile, id: &SessionId) -> Result<JournalFile, SessionError> {
    let uid = SessionUid::from_bytes(random()?);
    let mut session = Session::empty(id.clone());
    let mut link = Link::START;
    let mut entries = Vec::with_capacity(journal.entries.len());
    for entry in &journal.entries {
        let mut entry = read(entry)?;
        if let EntryBody::Created(created) = &mut entry.body {
            created.uid = uid;
        }
        let append = Append {
            id: entry.append_id,
            writer: entry.writer,
            at: entry.at,
            input_id: entry.input_id,
        };
        let sealed = session.seal(&entry.body, &append, &link)?;
        link = sealed.entry.link();
        entries.push(sealed.entry);
    }
    Ok(JournalFile {
        id: id.clone(),
        uid,
        entries,
        session,
        trimmed: None,
    })
}

/// The same journal, and where somebody agreed to all calls of a tool one entry more, which takes that back: a file could
/// say so of anything. What is in the journal stays as it is, with its hashes.
async fn without_agreement(
    mut journal: JournalFile,
    sessions: &Sessions,
) -> Result<JournalFile, SessionError> {
    let Some(metadata) = Facts::without_agreement(journal.session.metadata()) else {
        return Ok(journal);
    };
    let Some(last) = journal.entries.last() else {
        return Ok(journal);
    };
    let body = Session::annotation_entry(Annotated {
        metadata: Some(metadata),
        ..Annotated::default()
    });
    let append = Append {
        id: AppendId::from_bytes(random()?),
        writer: sessions.writer().clone(),
        at: sessions.store().now().await?,
        input_id: None,
    };
    let link = last.link();
    let sealed = journal.session.seal(&body, &append, &link)?;
    journal.entries.push(sealed.entry);
    Ok(journal)
}

fn random() -> Result<[u8; 16], SessionError> {
    let mut bytes = [0; 16];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|_| {
        let message = "the machine gives no random numbers";
        SessionError::new(allm::SessionReason::Store, message)
    })?;
    Ok(bytes)
}

/// Makes the session, and appends all other entries in one step. On failure there is no session.
async fn write(sessions: &Sessions, journal: &JournalFile) -> Result<(), SessionError> {
    let Some((first, others)) = journal.entries.split_first() else {
        return Ok(());
    };
    let store = sessions.store();
    let whole = journal.session.head();
    let new = NewSession {
        id: journal.id.clone(),
        uid: journal.uid,
        first: first.clone(),
        // Until all is there, nobody should take it for something to go on with.
        head: match others.is_empty() {
            true => whole.clone(),
            false => allm::HeadUpdate::new(SessionStatus::Idle),
        },
    };
    match store.create(&new).await {
        Ok(_) => {}
        Err(error) if error.reason == StoreReason::AlreadyExists => {
            if others.is_empty() || !was_cut_off(sessions, &new).await? {
                return Err(error.into());
            }
        }
        Err(error) => return Err(error.into()),
    }
    if others.is_empty() {
        return Ok(());
    }
    let appended = append_all(sessions, &new, others, &whole).await;
    if appended.is_err() {
        let _ = store.delete(&new.id, DeleteIf::Force).await;
    }
    appended
}

/// Whether the session that is there is this one with its first entry alone: an import that a crash cut off.
async fn was_cut_off(sessions: &Sessions, new: &NewSession) -> Result<bool, SessionError> {
    let whole = LoadFrom::After(Version(0));
    let loaded = sessions.store().load(&new.id, whole).await?;
    Ok(loaded.head.uid == new.uid
        && loaded.head.lease.is_none()
        && loaded.entries == std::slice::from_ref(&new.first))
}

async fn append_all(
    sessions: &Sessions,
    new: &NewSession,
    entries: &[Entry],
    head: &allm::HeadUpdate,
) -> Result<(), SessionError> {
    let store = sessions.store();
    let (writer, ttl) = (sessions.writer(), Lease::DEFAULT_TTL);
    let lease = store
        .acquire(&new.id, writer, ttl, Takeover::IfExpired)
        .await?;
    let at = Position {
        id: new.id.clone(),
        uid: new.uid,
        version: new.first.version,
    };
    let append_id = AppendId::from_bytes(random()?);
    let appended = store
        .append(&at, Some(lease.fence), append_id, entries, head)
        .await;
    store.release(lease).await?;
    appended?;
    Ok(())
}
