//! What a conversation has used.

use allm::session::{self, EntryBody};
use allm::{LoadFrom, Usage, Version};

use crate::problem::Problem;

use super::conversation::Conversation;
use super::turn::Went;

impl Conversation {
    /// Shows tokens and costs, for each answer of the model and in sum.
    pub(super) async fn usage(&mut self) -> Result<Went, Problem> {
        let from = LoadFrom::After(Version(0));
        let loaded = self.sessions.store().load(self.session.id(), from).await?;
        for entry in &loaded.entries {
            match session::read(entry)?.body {
                EntryBody::ModelResponded(told) => {
                    let line = in_words(&told.response.usage);
                    self.display.tell(&format!("turn {}: {line}", told.turn));
                }
                EntryBody::ModelFailed(told) => {
                    let line = in_words(&told.usage);
                    self.display
                        .tell(&format!("turn {}, without an answer: {line}", told.turn));
                }
                _ => {}
            }
        }
        let usage = self.session.usage();
        let (sum, lost) = (in_words(&usage.models), usage.lost_calls);
        self.display.ask(&format!("in sum: {sum}"));
        if lost > 0 {
            self.display.note(&format!(
                "({lost} more calls of the model, whose answers a crash took)"
            ));
        }
        Ok(Went::Nowhere)
    }
}

fn unknown() -> String {
    "not known".to_owned()
}

fn in_words(usage: &Usage) -> String {
    let count = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |n| n.to_string());
    if usage.is_empty() {
        return unknown();
    }
    let mut text = format!(
        "{} tokens in, {} out",
        count(usage.input_tokens),
        count(usage.output_tokens)
    );
    if let Some(cached) = usage.cached_input_tokens.filter(|cached| *cached > 0) {
        text = format!("{text}, {cached} of those in from the cache");
    }
    if let Some(thought) = usage.reasoning_tokens.filter(|thought| *thought > 0) {
        text = format!("{text}, {thought} of those out for thinking");
    }
    match &usage.cost {
        Some(cost) => format!("{text}, {:.4} USD", cost.total),
        None => text,
    }
}
