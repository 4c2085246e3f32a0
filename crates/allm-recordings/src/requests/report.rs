//! What came of all requests, as tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::case::How;
use super::classes::{classes, classify};
use super::conversation::Player;
use super::dialect::Dialect;

/// What came of all requests.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many requests were compared.
    pub compared: BTreeMap<(How, Dialect), usize>,
    /// How many of them are equal without any class.
    pub equal: BTreeMap<(How, Dialect), usize>,
    /// How many conversations were gone on with.
    pub conversations: BTreeMap<Dialect, BTreeSet<String>>,
    /// How many requests differ in a class.
    pub classes: BTreeMap<&'static str, BTreeMap<(How, Dialect), usize>>,
    /// The requests that differ in another way: the record, and where.
    pub unclassified: Vec<String>,
    left_out: BTreeMap<(&'static str, Dialect), usize>,
}

impl Report {
    /// The report on what was played.
    #[must_use]
    pub fn of(player: &Player) -> Self {
        let mut report = Self::default();
        for case in &player.cases {
            let key = (case.how, case.dialect);
            *report.compared.entry(key).or_default() += 1;
            if case.how == How::Continued {
                let conversation = case.record.conversation.clone();
                let conversations = report.conversations.entry(case.dialect).or_default();
                conversations.insert(conversation.unwrap_or_else(|| case.record.id.clone()));
            }
            match classify(case) {
                Ok(names) => {
                    if names.is_empty() {
                        *report.equal.entry(key).or_default() += 1;
                    }
                    for name in names {
                        let counts = report.classes.entry(name).or_default();
                        *counts.entry(key).or_default() += 1;
                    }
                }
                Err(left) => {
                    let place = match (&left.recorded, &left.ours) {
                        (recorded, ours) if recorded.system != ours.system => "system".to_owned(),
                        (recorded, ours) if recorded.tools != ours.tools => "tools".to_owned(),
                        (recorded, ours) => {
                            let pairs = recorded.turns.iter().zip(&ours.turns);
                            let same = pairs.take_while(|(one, other)| one == other).count();
                            format!("turn {same}")
                        }
                    };
                    let line = format!("{} ({:?}): {place}", case.record.id, case.how);
                    report.unclassified.push(line);
                }
            }
        }
        for ((dialect, why), records) in &player.left_out {
            report.left_out.insert((why, *dialect), records.len());
        }
        report
    }

    /// The tables of all counts.
    #[must_use]
    pub fn tables(&self) -> String {
        let mut text = String::new();
        for (how, title) in [
            (
                How::Continued,
                "Conversations that the library went on with",
            ),
            (How::History, "Requests that hold answers themselves"),
            (How::First, "Requests without an answer"),
        ] {
            self.table(how, title, &mut text);
        }
        text.push_str("### Left out\n\n");
        head("why", &mut text);
        let reasons: BTreeSet<&str> = self.left_out.keys().map(|(why, _)| *why).collect();
        for why in reasons {
            row(why, |dialect| self.left_out.get(&(why, dialect)), &mut text);
        }
        text
    }

    fn table(&self, how: How, title: &str, text: &mut String) {
        let _ = writeln!(text, "### {title}\n");
        head("", text);
        if how == How::Continued {
            let counts: BTreeMap<Dialect, usize> = self
                .conversations
                .iter()
                .map(|(dialect, conversations)| (*dialect, conversations.len()))
                .collect();
            row("conversations", |dialect| counts.get(&dialect), text);
        }
        row(
            "requests",
            |dialect| self.compared.get(&(how, dialect)),
            text,
        );
        row("equal", |dialect| self.equal.get(&(how, dialect)), text);
        for class in classes() {
            if let Some(counts) = self.classes.get(class.name)
                && counts.keys().any(|(other, _)| *other == how)
            {
                let name = format!("`{}`", class.name);
                row(&name, |dialect| counts.get(&(how, dialect)), text);
            }
        }
        text.push('\n');
    }
}

/// What each class is.
#[must_use]
pub fn legend() -> String {
    let mut text = String::from("| class | what it is |\n|---|---|\n");
    for class in classes() {
        let _ = writeln!(text, "| `{}` | {} |", class.name, class.why);
    }
    text
}

fn head(first: &str, text: &mut String) {
    let names = Dialect::ALL.map(Dialect::name).join(" | ");
    let _ = writeln!(text, "| {first} | {names} |\n|---|---|---|---|---|");
}

fn row<'a>(name: &str, count: impl Fn(Dialect) -> Option<&'a usize>, text: &mut String) {
    let counts = Dialect::ALL.map(|dialect| {
        let count = count(dialect).copied().unwrap_or_default();
        if count == 0 {
            "–".to_owned()
        } else {
            count.to_string()
        }
    });
    let _ = writeln!(text, "| {name} | {} |", counts.join(" | "));
}
