//! Journals, read and replayed from their first entry.

use std::sync::Arc;

use allm::session::{CallState, EntryBody, JournalEntry, Session as Data, read};
use allm::{Link, LoadFrom, SessionId, SessionStore, Version};

/// Every entry of a session, replayed: whoever wrote what, it is one lineage.
pub(crate) struct Journal {
    pub(crate) entries: Vec<JournalEntry>,
    pub(crate) session: Data,
}

impl Journal {
    pub(crate) async fn read(store: &Arc<dyn SessionStore>, id: &str) -> Self {
        let id = SessionId::new(id).expect("an id");
        let from = LoadFrom::After(Version(0));
        let loaded = store.load(&id, from).await.expect("a session");
        loaded.verify(&Link::START).expect("a whole chain");
        let mut session = Data::empty(id);
        let mut entries = Vec::new();
        for entry in &loaded.entries {
            let entry = read(entry).expect("an entry");
            session.replay(&entry).expect("it leads where it says");
            entries.push(entry);
        }
        assert_eq!(loaded.head.version, session.version());
        assert_eq!(loaded.head.status, session.status());
        assert!(entries.is_sorted_by_key(|entry| entry.at), "times go back");
        Self { entries, session }
    }

    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.entries.iter().map(|entry| entry.body.kind()).collect()
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.kinds().iter().filter(|found| **found == kind).count()
    }

    pub(crate) fn bodies(&self) -> impl Iterator<Item = &EntryBody> {
        self.entries.iter().map(|entry| &entry.body)
    }

    /// No call has two outcomes, and no attempt two intents.
    pub(crate) fn assert_one_outcome_each(&self) {
        let mut ended = std::collections::BTreeSet::new();
        let mut begun = std::collections::BTreeSet::new();
        for body in self.bodies() {
            match body {
                EntryBody::ToolOutcome(entry) => assert!(ended.insert(entry.call), "{entry:?}"),
                EntryBody::ToolIntent(entry) => {
                    assert!(!ended.contains(&entry.call), "{entry:?}");
                    assert!(begun.insert((entry.call, entry.attempt)), "{entry:?}");
                }
                _ => {}
            }
        }
    }

    /// What the calls of the last turn came to; what all calls did, if the model has answered since.
    pub(crate) fn outcomes(&self) -> Vec<String> {
        let Some(turn) = self.session.open_turn() else {
            let mut closed = std::collections::BTreeMap::new();
            for body in self.bodies() {
                if let EntryBody::ToolOutcome(entry) = body {
                    closed.insert(entry.call, entry.outcome.to_string());
                }
            }
            return closed.into_values().collect();
        };
        let shown = turn.calls().map(|call| match &call.state {
            CallState::Closed(outcome) => outcome.to_string(),
            other => format!("{other:?}"),
        });
        shown.collect()
    }

    /// What was said, as `role: text`.
    pub(crate) fn texts(&self) -> Vec<String> {
        texts(&self.session)
    }
}

pub(crate) fn texts(session: &Data) -> Vec<String> {
    let thread = session.thread();
    let show = |message: &Arc<allm::Message>| format!("{:?}: {}", message.role, message.text());
    thread.messages.iter().map(show).collect()
}
