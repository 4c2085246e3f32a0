//! What the last snapshot of a session covers, and when another is due.

use allm_core::{Entry, Loaded, Snapshot, Version};

/// A snapshot is due when the entries since the last one hold this part of its bytes. A whole session is written each time,
/// so that a fixed number of runs or entries would make a long one cost more for each; like this every byte of the journal
/// costs a few of snapshots, however long it is, and opening reads little beside the snapshot.
const PART: u64 = 4;

/// The last snapshot that is known of, and what came after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// The version of the snapshot; 0 where there is none.
    until: Version,
    /// Its bytes.
    held: u64,
    /// The bytes of the entries after it.
    since: u64,
}

impl Covered {
    pub(crate) fn of(loaded: &Loaded) -> Self {
        let mut covered = loaded
            .snapshot
            .as_ref()
            .map_or_else(Self::default, Self::by);
        covered.add(&loaded.entries);
        covered
    }

    /// Nothing came after this one.
    pub(crate) fn by(snapshot: &Snapshot) -> Self {
        Self {
            until: snapshot.version,
            held: snapshot.bytes.len() as u64,
            since: 0,
        }
    }

    /// These came.
    pub(crate) fn add(&mut self, entries: &[Entry]) {
        let bytes: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
        self.since = self.since.saturating_add(bytes as u64);
    }

    /// How many versions the snapshot is behind this one.
    pub(crate) const fn behind(&self, version: Version) -> u64 {
        version.0.saturating_sub(self.until.0)
    }

    /// Whether there is enough for another one.
    pub(crate) const fn is_due(&self) -> bool {
        self.since > 0 && self.since.saturating_mul(PART) >= self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn covered(held: u64, since: u64) -> Covered {
        Covered {
            until: Version(7),
            held,
            since,
        }
    }

    /// S195
    #[test]
    fn s195_a_quarter_of_the_last_one_is_due() {
        assert!(covered(0, 1).is_due(), "there is none yet");
        assert!(covered(4000, 1000).is_due());
        assert!(!covered(4000, 999).is_due());
        assert!(!covered(0, 0).is_due(), "nothing came");
        assert!(covered(u64::MAX, u64::MAX).is_due());
        assert_eq!(covered(1, 1).behind(Version(10)), 3);
        assert_eq!(covered(1, 1).behind(Version(6)), 0);
    }
}
