//! A session in a file: its whole journal, entry by entry, each with its hash.
//!
//! The bytes of an entry are JSON and stand in the file as they are, one entry to a line, so that the file can be read by
//! people and compared line by line, and nothing of the journal is lost.

use allm::session::{JournalEntry, Session};
use allm::{
    Entry, EntryClass, Hash, Link, Loaded, SessionError, SessionId, SessionUid, StoreError,
    Timestamp, Version, json,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::problem::Problem;

/// The number of the format.
const FORMAT: u64 = 1;
/// What the file says it is.
const TYPE: &str = "session_journal";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    v: u64,
    #[serde(rename = "type")]
    type_name: String,
    data: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DataForm {
    id: SessionId,
    uid: SessionUid,
    version: Version,
    #[serde(default)]
    snapshot: Option<SnapshotForm>,
    entries: Vec<EntryForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SnapshotForm {
    version: Version,
    state_hash: Hash,
    chain: Hash,
    session: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryForm {
    version: Version,
    class: EntryClass,
    at: Timestamp,
    chain: Hash,
    entry: Box<RawValue>,
}

/// A journal that was read from a file and is what it says it is: every hash was checked.
pub(super) struct JournalFile {
    pub(super) id: SessionId,
    pub(super) uid: SessionUid,
    pub(super) entries: Vec<Entry>,
    /// The session that the journal leads to.
    pub(super) session: Session,
    /// The version before which nothing but a snapshot is there.
    pub(super) trimmed: Option<Version>,
}

/// Writes what a store holds.
///
/// # Errors
///
/// `corrupt` for an entry that is no JSON; a bad chain.
pub(super) fn write(loaded: &Loaded) -> Result<String, SessionError> {
    loaded.verify(&Link::START)?;
    let head = &loaded.head;
    let mut text = format!(
        "{{\"v\":{FORMAT},\"type\":\"{TYPE}\",\"data\":{{\"id\":{},\"uid\":\"{}\",\"version\":{},\n",
        json::value_to_string(&head.id)?,
        head.uid,
        head.version
    );
    if let Some(snapshot) = &loaded.snapshot {
        let form = SnapshotForm {
            version: snapshot.version,
            state_hash: snapshot.state_hash,
            chain: snapshot.chain,
            session: raw(&snapshot.bytes, snapshot.version)?,
        };
        text.push_str(&format!(
            "\"snapshot\":{},\n",
            line(&form, snapshot.version)?
        ));
    }
    text.push_str("\"entries\":[\n");
    let mut lines = Vec::with_capacity(loaded.entries.len());
    for entry in &loaded.entries {
        let form = EntryForm {
            version: entry.version,
            class: entry.class,
            at: entry.at,
            chain: entry.chain,
            entry: raw(&entry.bytes, entry.version)?,
        };
        lines.push(line(&form, entry.version)?);
    }
    text.push_str(&lines.join(",\n"));
    text.push_str("\n]}}\n");
    Ok(text)
}

fn line(form: &impl Serialize, version: Version) -> Result<String, SessionError> {
    serde_json::to_string(form).map_err(|_| StoreError::corrupt(version).into())
}

fn raw(bytes: &[u8], version: Version) -> Result<Box<RawValue>, SessionError> {
    serde_json::from_slice(bytes).map_err(|_| StoreError::corrupt(version).into())
}

/// Reads a file and checks everything in it: the format, the chain, and where each entry leads.
pub(super) fn read(name: &str, text: &str) -> Result<JournalFile, Problem> {
    let wrong = |error: serde_json::Error| {
        Problem::usage(format!("{name} is no exported session: {error}"))
            .advice("`allm sessions export ID -o FILE` makes one")
    };
    let form: Form = serde_json::from_str(text).map_err(wrong)?;
    if form.type_name != TYPE {
        let found = crate::transcript::plain::one_line(&form.type_name);
        let what = format!("{name} is a `{found}` and no exported session");
        return Err(Problem::usage(what).advice("`allm sessions export ID -o FILE` makes one"));
    }
    if form.v != FORMAT {
        let what = format!(
            "{name} has format {}, and this allm reads format {FORMAT}",
            form.v
        );
        return Err(Problem::usage(what).advice("use a newer allm"));
    }
    let data: DataForm = serde_json::from_str(form.data.get()).map_err(wrong)?;
    let bad = |error: SessionError| damaged(name, &error);
    let mut link = match &data.snapshot {
        None => Link::START,
        Some(snapshot) => Link {
            version: snapshot.version,
            chain: snapshot.chain,
        },
    };
    let mut entries = Vec::with_capacity(data.entries.len());
    for form in data.entries {
        let entry = form.into_entry(&link);
        link = entry.verify(&link).map_err(|error| bad(error.into()))?;
        entries.push(entry);
    }
    let trimmed = data.snapshot.as_ref().map(|snapshot| snapshot.version);
    let mut session = match data.snapshot {
        None => Session::empty(data.id.clone()),
        Some(snapshot) => snapshot.into_session().map_err(bad)?,
    };
    for entry in &entries {
        let replayed = allm::session::read(entry).and_then(|entry| session.replay(&entry));
        replayed.map_err(bad)?;
    }
    if session.version() != data.version {
        return Err(bad(StoreError::corrupt(session.version().next()).into()));
    }
    if session.uid() != Some(data.uid) || *session.id() != data.id {
        let what = format!("{name} is damaged: it is of another session than it says");
        return Err(Problem::usage(what).advice("export it again"));
    }
    Ok(JournalFile {
        id: data.id,
        uid: data.uid,
        entries,
        session,
        trimmed,
    })
}

impl SnapshotForm {
    fn into_session(self) -> Result<Session, SessionError> {
        let mut session = Session::from_json(self.session.get().as_bytes())?;
        let fits = session.version() == self.version && session.state_hash()? == self.state_hash;
        match fits {
            true => Ok(session),
            false => Err(StoreError::corrupt(self.version).into()),
        }
    }
}

impl EntryForm {
    /// The entry with the bytes that its hash was taken of. A file that some program has laid out anew has others; those
    /// that we would write are then the ones.
    fn into_entry(self, previous: &Link) -> Entry {
        let mut bytes = self.entry.get().as_bytes().to_vec();
        if Hash::of(&previous.chain, &bytes) != self.chain
            && let Ok(read) = json::from_slice::<JournalEntry>(&bytes)
            && let Ok(written) = json::to_vec(&read)
        {
            bytes = written;
        }
        Entry {
            version: self.version,
            class: self.class,
            at: self.at,
            bytes: bytes.into(),
            chain: self.chain,
        }
    }
}

fn damaged(name: &str, error: &SessionError) -> Problem {
    use allm::SessionReason::{ReplayDiverged, UnsupportedMachine, UnsupportedVersion};
    match (error.reason, error.version) {
        (UnsupportedVersion | UnsupportedMachine, _) => {
            let what = format!(
                "{name} was written by another release of allm: {}",
                error.message
            );
            Problem::usage(what).advice("use that release, or a newer one than this")
        }
        (ReplayDiverged, Some(version)) => {
            let what = format!(
                "{name} is damaged: the entry at version {version} does not lead to the state that it names"
            );
            Problem::usage(what).advice("export it again")
        }
        (_, Some(version)) => {
            let what = format!(
                "{name} is damaged: the entry at version {version} is missing or fails its hash"
            );
            Problem::usage(what).advice("export it again")
        }
        _ => Problem::usage(format!("{name} is damaged: {}", error.message))
            .advice("export it again"),
    }
}
