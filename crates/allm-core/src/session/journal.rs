//! From entries to bytes and back.

use bytes::Bytes;

use super::apply::{Applied, EntryFacts};
use super::entry::{EntryBody, JournalEntry};
use super::state::Session;
use crate::data::{AppendId, Entry, InputId, Link, Loaded, Snapshot, Timestamp, Version, WriterId};
use crate::error::{JsonReason, SessionError, SessionReason, StoreError};
use crate::json;
use crate::run::Run;

/// What stands around the entries of one append.
#[derive(Clone, Debug)]
pub struct Append {
    /// Its id.
    pub id: AppendId,
    /// Who writes.
    pub writer: WriterId,
    /// When, by the store's clock.
    pub at: Timestamp,
    /// The caller's name for the input.
    pub input_id: Option<InputId>,
}

/// An entry that is ready to be stored, and what it brings about.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// For the store.
    pub entry: Entry,
    /// What can be told once it is stored.
    pub applied: Applied,
}

impl Session {
    /// Applies a body and gives the entry for the store, chained to `link`.
    ///
    /// # Errors
    ///
    /// `replay_diverged` when the body does not fit; `invalid` when something in it cannot be written as JSON. The
    /// session is as it was.
    pub fn seal(
        &mut self,
        body: &EntryBody,
        append: &Append,
        link: &Link,
    ) -> Result<Sealed, SessionError> {
        let mut next = self.clone();
        // The store's clock may step back; the times of a journal never do.
        let at = next
            .updated_at
            .map_or(append.at, |last| last.max(append.at));
        let facts = EntryFacts {
            at,
            machine: next.machine_for(body),
            input_id: append.input_id.clone(),
        };
        let applied = next.take_in(body, &facts)?;
        let entry = JournalEntry {
            version: next.version,
            at,
            writer: append.writer.clone(),
            machine: facts.machine,
            append_id: append.id,
            input_id: append.input_id.clone(),
            state_hash: next.state_hash()?,
            body: body.clone(),
        };
        let bytes = Bytes::from(json::to_vec(&entry)?);
        *self = next;
        Ok(Sealed {
            entry: Entry::following(link, body.class(), at, bytes),
            applied,
        })
    }

    /// A run ends under the rules that it began with.
    fn machine_for(&self, body: &EntryBody) -> u32 {
        match body {
            EntryBody::RunStarted(_) | EntryBody::Created(_) => Run::MACHINE,
            _ => self.machine,
        }
    }

    /// Applies a stored entry and checks that it leads where it says.
    ///
    /// # Errors
    ///
    /// `replay_diverged` when it does not; `unsupported_machine` for a run of rules that are no more.
    pub fn replay(&mut self, entry: &JournalEntry) -> Result<Applied, SessionError> {
        if entry.machine != Run::MACHINE {
            return Err(unsupported_machine(entry.version, entry.machine));
        }
        let diverged = || SessionError::diverged(entry.version);
        if entry.version != self.version.next() {
            return Err(diverged());
        }
        let facts = EntryFacts {
            at: entry.at,
            machine: entry.machine,
            input_id: entry.input_id.clone(),
        };
        let mut next = self.clone();
        let applied = next.take_in(&entry.body, &facts).map_err(|_| diverged())?;
        if next.state_hash()? != entry.state_hash {
            return Err(diverged());
        }
        *self = next;
        Ok(applied)
    }

    /// The session of a journal: its snapshot, if that is good, and what came after it.
    ///
    /// The chain is checked before anything is parsed. A bad snapshot is an error here; whoever has the whole journal
    /// tries again without it.
    ///
    /// # Errors
    ///
    /// `store` with `corrupt` for a bad chain, a gap or an entry that cannot be read; `unsupported_version` for an entry
    /// of a newer library; `replay_diverged` at the first entry that does not lead where it says.
    pub fn from_journal(loaded: &Loaded) -> Result<(Self, Link), SessionError> {
        let link = loaded.verify(&Link::START)?;
        let mut session = match &loaded.snapshot {
            None => Self::empty(loaded.head.id.clone()),
            Some(snapshot) => Self::from_snapshot(snapshot, loaded)?,
        };
        for entry in &loaded.entries {
            session.replay(&read(entry)?)?;
        }
        Ok((session, link))
    }

    fn from_snapshot(snapshot: &Snapshot, loaded: &Loaded) -> Result<Self, SessionError> {
        let corrupt = || SessionError::from(StoreError::corrupt(snapshot.version));
        let mut session = Self::from_json(&snapshot.bytes).map_err(|error| match error.reason {
            SessionReason::UnsupportedVersion | SessionReason::UnsupportedMachine => error,
            _ => corrupt(),
        })?;
        let fits = session.version == snapshot.version
            && session.id == loaded.head.id
            && session.uid == Some(loaded.head.uid)
            && session.state_hash()? == snapshot.state_hash;
        if fits { Ok(session) } else { Err(corrupt()) }
    }

    /// What a store keeps so that opening need not begin at the first entry.
    ///
    /// # Errors
    ///
    /// `invalid` when something in the session cannot be written as JSON.
    pub fn snapshot(&mut self, link: &Link) -> Result<Snapshot, SessionError> {
        Ok(Snapshot {
            version: self.version,
            state_hash: self.state_hash()?,
            bytes: Bytes::from(json::to_vec(self)?),
            chain: link.chain,
        })
    }
}

/// The rules by which this was written are no more, or not yet.
pub(super) fn unsupported_machine(version: Version, found: u32) -> SessionError {
    let message = format!(
        "version {version} was written under machine {found}, supported is {}",
        Run::MACHINE
    );
    SessionError {
        version: Some(version),
        found: Some(found.into()),
        oldest: Some(Run::MACHINE.into()),
        ..SessionError::new(SessionReason::UnsupportedMachine, message)
    }
}

/// Reads a stored entry.
///
/// # Errors
///
/// `unsupported_version` when a newer library wrote it; `store` with `corrupt` when it cannot be read or is not the one
/// that the store says.
pub fn read(entry: &Entry) -> Result<JournalEntry, SessionError> {
    let corrupt = || SessionError::from(StoreError::corrupt(entry.version));
    let read: JournalEntry = json::from_slice(&entry.bytes).map_err(|error| {
        if error.reason == JsonReason::UnsupportedVersion {
            SessionError {
                version: Some(entry.version),
                ..error.into()
            }
        } else {
            corrupt()
        }
    })?;
    let fits =
        read.version == entry.version && read.at == entry.at && read.body.class() == entry.class;
    if fits { Ok(read) } else { Err(corrupt()) }
}
