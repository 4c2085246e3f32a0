//! What a journal says.

use std::collections::{BTreeMap, BTreeSet};

use allm::session::{
    CallKey, CallState, EntryBody, Outcome, OutcomeSource, Session, ToolIntent, Wait, WaitKind,
    read,
};
use allm::{Loaded, SessionStatus, Timestamp, WriterId};
use serde_json::{Value, json};

/// What a journal says, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The session.
    pub session: Session,
    /// The intents of each call, in order.
    pub intents: BTreeMap<CallKey, Vec<ToolIntent>>,
    /// The calls whose last attempt came to a question.
    pub asked: BTreeSet<CallKey>,
    /// The calls that a person has answered.
    pub answered: BTreeSet<CallKey>,
    /// What each call came to.
    pub outcomes: BTreeMap<CallKey, Outcome>,
    /// When it was written down.
    pub outcome_at: BTreeMap<CallKey, Timestamp>,
    /// Who told.
    pub sources: BTreeMap<CallKey, OutcomeSource>,
    /// The tool and the provider's id of each call.
    pub calls: BTreeMap<CallKey, (String, String)>,
    /// Where it stopped on the way, one after the other: the status and the waits.
    pub stops: Vec<Stop>,
    /// How often a run was taken over.
    pub recoveries: u64,
    /// How many model calls were lost by that.
    pub lost_calls: u64,
    /// Who has written in it.
    pub writers: BTreeSet<WriterId>,
    /// What no journal may say.
    pub violations: Vec<String>,
}

/// Where a session stopped.
pub type Stop = (SessionStatus, Vec<String>);

impl Facts {
    /// What a program that died left behind, as a later journal shows it. A server may commit what it was sent after the
    /// program has died, and after somebody has looked.
    ///
    /// # Panics
    ///
    /// As [`of`](Self::of).
    #[must_use]
    pub fn left_behind(&self, later: &Loaded) -> Self {
        let is_its = |entry: &allm::Entry| {
            let read = read(entry).expect("an entry can be read");
            entry.version <= self.session.version() || self.writers.contains(&read.writer)
        };
        let mut left = later.clone();
        let count = left
            .entries
            .iter()
            .take_while(|entry| is_its(entry))
            .count();
        left.entries.truncate(count);
        if let Some(last) = left.entries.last() {
            left.head.version = last.version;
        }
        Self::of(&left)
    }

    /// Reads a whole journal and checks everything that must hold of any.
    ///
    /// # Panics
    ///
    /// When the chain does not hold or an entry does not lead where it says.
    #[must_use]
    pub fn of(loaded: &Loaded) -> Self {
        loaded.verify(&allm::Link::START).expect("the chain holds");
        let mut facts = Self {
            session: Session::empty(loaded.head.id.clone()),
            intents: BTreeMap::new(),
            asked: BTreeSet::new(),
            answered: BTreeSet::new(),
            outcomes: BTreeMap::new(),
            outcome_at: BTreeMap::new(),
            sources: BTreeMap::new(),
            calls: BTreeMap::new(),
            stops: Vec::new(),
            recoveries: 0,
            lost_calls: 0,
            writers: BTreeSet::new(),
            violations: Vec::new(),
        };
        let entries: Vec<_> = loaded
            .entries
            .iter()
            .map(|entry| read(entry).expect("an entry can be read"))
            .collect();
        let mut plans: BTreeMap<u32, u32> = BTreeMap::new();
        facts.writers = entries.iter().map(|entry| entry.writer.clone()).collect();
        for (place, entry) in entries.iter().enumerate() {
            if facts.session.updated_at().is_some_and(|at| entry.at < at) {
                facts.violations.push("time went back".to_owned());
            }
            if let EntryBody::CallsPlanned(planned) = &entry.body {
                *plans.entry(planned.turn).or_default() += 1;
            }
            if let EntryBody::ToolOutcome(outcome) = &entry.body {
                facts.outcome_at.insert(outcome.call, entry.at);
            }
            facts.note(&entry.body);
            facts.session.replay(entry).expect("it leads where it says");
            facts.look();
            let next = entries.get(place + 1);
            if next.is_none_or(|next| next.append_id != entry.append_id) {
                facts.note_stop();
            }
        }
        // S100: nobody is asked twice whether a call may be run.
        if plans.values().any(|plans| *plans != 1) {
            facts.violations.push("a turn was planned twice".to_owned());
        }
        if facts.session.usage().lost_calls != facts.lost_calls {
            facts.violations.push("a lost call was not counted".into());
        }
        facts
    }

    fn note(&mut self, body: &EntryBody) {
        match body {
            EntryBody::ToolIntent(intent) => {
                // S90
                if self.outcomes.contains_key(&intent.call) {
                    let violation = format!("{} was begun after its outcome", intent.call);
                    self.violations.push(violation);
                }
                let intents = self.intents.entry(intent.call).or_default();
                // S86
                let attempt = intents.last().map_or(0, |last| last.attempt) + 1;
                let same_key = intents.last().is_none_or(|last| last.key == intent.key);
                if intent.attempt != attempt || !same_key {
                    let violation = format!("{}: another attempt or key", intent.call);
                    self.violations.push(violation);
                }
                intents.push((**intent).clone());
                self.asked.remove(&intent.call);
            }
            EntryBody::Answered(answered) => {
                self.answered.insert(answered.call);
            }
            EntryBody::ToolOutcome(outcome) => {
                self.sources.insert(outcome.call, outcome.source);
            }
            EntryBody::Recovered(recovered) => {
                self.recoveries += 1;
                self.lost_calls += u64::from(recovered.lost_model_call);
            }
            _ => {}
        }
    }

    fn look(&mut self) {
        let Some(turn) = self.session.open_turn() else {
            return;
        };
        for (key, call) in turn.keyed() {
            let name = call.call.original_name().to_owned();
            let id = call.call.id.to_string();
            self.calls.insert(key, (name, id));
            if matches!(&call.state, CallState::Waiting(Wait::Question(_))) {
                self.asked.insert(key);
            }
            let Some(outcome) = call.outcome() else {
                continue;
            };
            let former = self.outcomes.insert(key, outcome);
            if former.is_some_and(|former| former != outcome) {
                let violation = format!("the outcome of {key} changed");
                self.violations.push(violation);
            }
        }
    }

    fn note_stop(&mut self) {
        let session = &self.session;
        if session.run().is_some() || session.is_runnable() {
            return;
        }
        let kind = |kind| match kind {
            WaitKind::Question => "question",
            WaitKind::Approval => "approval",
            WaitKind::Result => "result",
            _ => "something else",
        };
        let waits = session.waits().into_iter();
        let waits = waits.map(|wait| format!("{} {}", wait.call, kind(wait.wait.kind())));
        let stop = (session.status(), waits.collect());
        if self.stops.last() != Some(&stop) {
            self.stops.push(stop);
        }
    }

    /// The calls that were begun and of which nobody knows what they came to, of tools with this effect.
    pub fn open_intents<'a>(&'a self, effect: &'a str) -> impl Iterator<Item = CallKey> + 'a {
        let open = self.intents.iter().filter(move |(key, intents)| {
            let last = intents.last();
            !self.outcomes.contains_key(key)
                && !self.asked.contains(key)
                && last.is_some_and(|last| last.effect.as_str() == effect)
        });
        open.map(|(key, _)| *key)
    }

    /// How the session stands at last, without what differs from run to run: times, ids, hashes, versions.
    #[must_use]
    pub fn end(&self) -> Value {
        let session = &self.session;
        json!({
            "status": session.status().as_str(),
            "last_halt": session.last_halt().map(ToString::to_string),
            "turn": session.turn(),
            "inbox": session.inbox().len(),
            "waits": session.waits().len(),
            "failure": session.failure().map(|failure| failure.kind.clone()),
            "messages": self.messages(),
        })
    }

    /// The conversation.
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        let thread = self.session.thread();
        let messages = thread.messages.iter();
        let as_json = |message: &std::sync::Arc<allm::Message>| {
            serde_json::to_value(&**message).expect("a message is JSON")
        };
        messages.map(as_json).collect()
    }
}
