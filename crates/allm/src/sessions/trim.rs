//! Dropping the beginning of a long journal.

use allm_core::session::{EntryBody, read};
use allm_core::{LoadFrom, SessionError, StoreError, StoreReason, Version};

use super::covered::Covered;
use super::durable::DurableSession;

impl DurableSession {
    /// Keeps the session as it stands, so that opening it need not begin at its first entry.
    ///
    /// # Errors
    ///
    /// What the store cannot do.
    pub async fn snapshot(&mut self) -> Result<(), SessionError> {
        let at = self.view().position()?;
        let link = self.view().link;
        let snapshot = self.view_mut().data.snapshot(&link)?;
        let covered = Covered::by(&snapshot);
        self.sessions().store().put_snapshot(&at, snapshot).await?;
        self.view_mut().covered = covered;
        Ok(())
    }

    /// Drops the entries before this version. A snapshot that covers them must be there and good, and none of them may
    /// belong to an open turn or an unfinished run. Not every run leaves a snapshot; [`snapshot`](Self::snapshot) does.
    ///
    /// # Errors
    ///
    /// `store` with `refused` when that does not hold; `conflict` when the session has gone on since it was read.
    pub async fn trim(&mut self, before: Version) -> Result<(), SessionError> {
        let refused =
            |message: &str| SessionError::from(StoreError::new(StoreReason::Refused, message));
        let store = std::sync::Arc::clone(self.sessions().store());
        let asking = self.sessions().asking_once();
        let loaded = asking.load(self.id(), LoadFrom::Snapshot).await?;
        let covers = |version: Version| version.next() >= before;
        match &loaded.snapshot {
            Some(snapshot) if covers(snapshot.version) => {
                allm_core::session::Session::from_journal(&loaded)?;
            }
            _ => return Err(refused("no snapshot covers what would be dropped")),
        }
        if before > self.settled_until().await? {
            return Err(refused(
                "an open turn or an unfinished run needs these entries",
            ));
        }
        let at = self.view().position()?;
        Ok(store.trim(&at, before).await?)
    }

    /// The first version that an open turn or an unfinished run needs; beyond the last one if there is none.
    async fn settled_until(&self) -> Result<Version, SessionError> {
        let end = self.version().next();
        let open = self.open_turn().filter(|turn| !turn.is_closed());
        if open.is_none() && self.run().is_none() {
            return Ok(end);
        }
        let asking = self.sessions().asking_once();
        let whole = LoadFrom::After(Version(0));
        let loaded = asking.load(self.id(), whole).await?;
        let mut first = end;
        for entry in loaded.entries.iter().rev() {
            let entry = read(entry)?;
            let of_run = matches!(
                (&entry.body, self.run()),
                (EntryBody::RunStarted(started), Some(state)) if started.run == state.id
            );
            let of_turn = matches!(
                (&entry.body, open),
                (EntryBody::ModelResponded(responded), Some(turn)) if responded.turn == turn.turn
            );
            if of_run || of_turn {
                first = first.min(entry.version);
            }
        }
        // What is not found was trimmed before, with a snapshot that had it.
        Ok(if first == end { Version(0) } else { first })
    }
}
