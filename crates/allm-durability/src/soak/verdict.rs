//! What is left after all that.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use allm::session::Outcome;
use allm::{LoadFrom, PageRequest, Role, SessionFilter, SessionStore, Version};

use crate::facts::Facts;
use crate::world::Seen;

/// What is left after all that.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// How many sessions there are.
    pub sessions: usize,
    /// How many programs were killed.
    pub kills: u64,
    /// How many entries all journals have.
    pub entries: u64,
    /// How many messages were taken for sure.
    pub taken: usize,
    /// How many appends were confirmed for sure.
    pub kept: usize,
    /// How often a run was taken over.
    pub recoveries: u64,
    /// How many calls nobody knows the outcome of.
    pub unknown: usize,
    /// How many calls took longer than they may: a busy machine has some.
    pub timed_out: usize,
    /// How long it took to end everything when nobody was killed any more.
    pub closing: Duration,
    /// Messages that were taken and are not there once.
    pub lost: Vec<String>,
    /// Appends that were confirmed and are not in the journal.
    pub forked: Vec<String>,
    /// Sessions that have not ended.
    pub unended: Vec<String>,
    /// What else should not be.
    pub violations: Vec<String>,
}

impl Verdict {
    /// Looks at everything. A journal whose chain does not hold is a panic.
    pub(super) async fn of(
        store: &dyn SessionStore,
        (kept, taken): &(PathBuf, PathBuf),
        seen: &Seen,
    ) -> Self {
        let mut verdict = Self::default();
        let mut confirmed = BTreeMap::<String, Vec<(u64, String)>>::new();
        for line in lines(kept) {
            let mut words = line.split(' ');
            let (Some(id), Some(version), Some(chain)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let version = version.parse().expect("a version");
            let of_session = confirmed.entry(id.to_owned()).or_default();
            of_session.push((version, chain.to_owned()));
            verdict.kept += 1;
        }
        let mut messages = BTreeMap::<String, Vec<String>>::new();
        for line in lines(taken) {
            if let Some((id, text)) = line.split_once(' ') {
                messages
                    .entry(id.to_owned())
                    .or_default()
                    .push(text.to_owned());
                verdict.taken += 1;
            }
        }
        let mut acted = BTreeMap::<&str, usize>::new();
        for hit in &seen.acted {
            *acted.entry(&hit.key).or_default() += 1;
        }
        let mut page = PageRequest::default();
        loop {
            let found = store
                .list(&SessionFilter::new(), page)
                .await
                .expect("a list");
            for head in found.items {
                let from = LoadFrom::After(Version(0));
                let loaded = store.load(&head.id, from).await.expect("a session");
                let id = head.id.to_string();
                let chains = confirmed.remove(&id).unwrap_or_default();
                for (version, chain) in chains {
                    let entry = loaded
                        .entries
                        .iter()
                        .find(|entry| entry.version.0 == version);
                    if entry.is_none_or(|entry| entry.chain.to_string() != chain) {
                        verdict.forked.push(format!("{id} at {version}"));
                    }
                }
                let facts = Facts::of(&loaded);
                verdict.look(&id, &facts, &messages.remove(&id).unwrap_or_default());
                verdict.count(&id, &facts, &acted);
                verdict.entries += head.version.0;
                verdict.sessions += 1;
            }
            match found.next {
                Some(cursor) => page = PageRequest::default().after(cursor),
                None => break,
            }
        }
        verdict.forked.extend(confirmed.into_keys());
        verdict.lost.extend(messages.into_keys());
        verdict
    }

    fn look(&mut self, id: &str, facts: &Facts, messages: &[String]) {
        let session = &facts.session;
        if session.run().is_some() || session.is_runnable() || !session.waits().is_empty() {
            self.unended.push(format!("{id}: {}", session.status()));
        }
        let mut said = BTreeMap::<String, usize>::new();
        let thread = session.thread();
        for message in thread.messages.iter().filter(|one| one.role == Role::User) {
            *said.entry(message.text()).or_default() += 1;
        }
        let lost = messages.iter().filter(|text| said.get(*text) != Some(&1));
        self.lost.extend(lost.map(|text| format!("{id}: {text}")));
        let doubled = said
            .iter()
            .filter(|(text, times)| **times > 1 && *text != "Yes");
        self.violations
            .extend(doubled.map(|(text, _)| format!("{id}: {text} stands there twice")));
        let violations = facts.violations.iter();
        self.violations
            .extend(violations.map(|violation| format!("{id}: {violation}")));
        self.recoveries += facts.recoveries;
    }

    /// The counts of S81.
    fn count(&mut self, id: &str, facts: &Facts, acted: &BTreeMap<&str, usize>) {
        for (call, intents) in &facts.intents {
            let outcome = facts.outcomes.get(call);
            self.unknown += usize::from(outcome == Some(&Outcome::UnknownOutcome));
            self.timed_out += usize::from(outcome == Some(&Outcome::TimedOut));
            let Some(intent) = intents.last() else {
                continue;
            };
            let times = acted.get(intent.key.as_str()).copied().unwrap_or(0);
            let is_ok = outcome == Some(&Outcome::Ok);
            let fits = match intent.effect.as_str() {
                "idempotent" => times >= 1,
                // S206: one whose intent was written when its time was over was not entered.
                "reconcile" if outcome == Some(&Outcome::TimedOut) => times <= 1,
                "reconcile" => times == 1 && is_ok,
                _ => times <= 1 && (!is_ok || times == 1),
            };
            if !fits {
                let tool = &intent.tool;
                let violation = format!("{id} {call}: {tool} acted {times} times: {outcome:?}");
                self.violations.push(violation);
            }
        }
    }
}

fn lines(path: &PathBuf) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

impl Verdict {
    /// Whether nothing is lost, forked, left or wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let bad = [&self.lost, &self.forked, &self.unended, &self.violations];
        bad.into_iter().all(Vec::is_empty)
    }
}
