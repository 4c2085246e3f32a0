//! One entry after the other, and whether it is what its hashes say.

use allm::session::{EntryFacts, JournalEntry, Session, read};
use allm::{Entry, Hash, Link, Loaded, Version};

/// An entry that was played and is right.
pub(super) struct Played {
    pub(super) entry: JournalEntry,
    /// Where the chain stands after it.
    pub(super) link: Link,
}

/// An entry that is not right.
pub(super) struct Mismatch {
    pub(super) version: Version,
    pub(super) what: String,
    pub(super) expected: Option<String>,
    pub(super) found: Option<String>,
}

impl Mismatch {
    fn new(version: Version, what: impl Into<String>) -> Self {
        Self {
            version,
            what: what.into(),
            expected: None,
            found: None,
        }
    }

    pub(super) fn missing(version: Version) -> Self {
        Self::new(version, "the entry is missing")
    }

    fn between(mut self, expected: impl ToString, found: impl ToString) -> Self {
        self.expected = Some(expected.to_string());
        self.found = Some(found.to_string());
        self
    }
}

/// The session that the entries go on from.
pub(super) fn beginning(loaded: &Loaded) -> Result<Session, Mismatch> {
    let Some(snapshot) = &loaded.snapshot else {
        return Ok(Session::empty(loaded.head.id.clone()));
    };
    let version = snapshot.version;
    let mut session = Session::from_json(&snapshot.bytes)
        .map_err(|error| Mismatch::new(version, format!("the snapshot cannot be read: {error}")))?;
    let found = session
        .state_hash()
        .map_err(|error| Mismatch::new(version, error.to_string()))?;
    if session.version() == version && found == snapshot.state_hash {
        Ok(session)
    } else {
        let what = "the snapshot is not the state that it names";
        Err(Mismatch::new(version, what).between(snapshot.state_hash, found))
    }
}

/// Plays an entry: first its chain is compared, and then the state that it leads to.
pub(super) fn play(session: &mut Session, link: &Link, entry: &Entry) -> Result<Played, Mismatch> {
    let version = link.version.next();
    if entry.version != version {
        let what = "another entry stands here";
        return Err(Mismatch::new(version, what).between(version, entry.version));
    }
    let chain = Hash::of(&link.chain, &entry.bytes);
    if chain != entry.chain {
        let what = "its bytes are not those that the chain was made of";
        return Err(Mismatch::new(version, what).between(entry.chain, chain));
    }
    let read = read(entry).map_err(|error| Mismatch::new(version, error.to_string()))?;
    let before = session.clone();
    match session.replay(&read) {
        Ok(_) => Ok(Played {
            entry: read,
            link: entry.link(),
        }),
        Err(error) => Err(diverged(before, &read, &error)),
    }
}

/// What the entry leads to instead.
fn diverged(mut session: Session, entry: &JournalEntry, error: &allm::SessionError) -> Mismatch {
    let facts = EntryFacts {
        at: entry.at,
        machine: entry.machine,
        input_id: entry.input_id.clone(),
    };
    let version = entry.version;
    match session.apply(&entry.body, &facts) {
        Err(misfit) => Mismatch::new(version, format!("the entry does not fit: {}", misfit.what)),
        Ok(_) => match session.state_hash() {
            Ok(found) if found != entry.state_hash => {
                let what = "it does not lead to the state that it names";
                Mismatch::new(version, what).between(entry.state_hash, found)
            }
            _ => Mismatch::new(version, error.to_string()),
        },
    }
}
