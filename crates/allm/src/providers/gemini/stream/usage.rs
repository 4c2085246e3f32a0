//! What a call used, as chunk after chunk says it.

use allm_core::{Map, Usage};
use bytestring::ByteString;
use serde::Deserialize;
use serde_json::Value;

use crate::wire::answer::Answer;
use crate::wire::lenient::{Count, Object};

/// The counters so far. Every chunk says them anew.
#[derive(Default)]
pub(super) struct Counters {
    known: Known,
    /// The last statement, for what has no counter here.
    last: Option<ByteString>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Known {
    #[serde(default)]
    prompt_token_count: Count,
    #[serde(default)]
    tool_use_prompt_token_count: Count,
    #[serde(default)]
    candidates_token_count: Count,
    #[serde(default)]
    response_token_count: Count,
    #[serde(default)]
    thoughts_token_count: Count,
    #[serde(default)]
    cached_content_token_count: Count,
    #[serde(default)]
    total_token_count: Count,
}

impl Counters {
    /// Takes a statement; what it leaves out stays.
    pub(super) fn take(&mut self, text: ByteString) {
        let Ok(Object(Some(new))) = serde_json::from_str::<Object<Known>>(&text) else {
            return;
        };
        let old = self.known;
        let or = |new: Count, old: Count| Count(new.0.or(old.0));
        self.known = Known {
            prompt_token_count: or(new.prompt_token_count, old.prompt_token_count),
            tool_use_prompt_token_count: or(
                new.tool_use_prompt_token_count,
                old.tool_use_prompt_token_count,
            ),
            candidates_token_count: or(new.candidates_token_count, old.candidates_token_count),
            response_token_count: or(new.response_token_count, old.response_token_count),
            thoughts_token_count: or(new.thoughts_token_count, old.thoughts_token_count),
            cached_content_token_count: or(
                new.cached_content_token_count,
                old.cached_content_token_count,
            ),
            total_token_count: or(new.total_token_count, old.total_token_count),
        };
        self.last = Some(text);
    }

    /// The counters; `None` as long as nothing was said.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.last.as_ref()?;
        let known = &self.known;
        let candidates = known
            .candidates_token_count
            .0
            .or(known.response_token_count.0);
        let input = sum(
            known.prompt_token_count.0,
            known.tool_use_prompt_token_count.0,
        );
        let cached = known.cached_content_token_count.0;
        Some(Usage {
            input_tokens: input,
            output_tokens: sum(candidates, known.thoughts_token_count.0),
            total_tokens: known.total_token_count.0,
            cached_input_tokens: cached.filter(|part| input.is_none_or(|whole| *part <= whole)),
            reasoning_tokens: known.thoughts_token_count.0,
            ..Usage::default()
        })
    }

    /// Tells the counters and all else that the last statement says.
    pub(super) fn tell(&self, answer: &mut Answer) {
        let Some(mut usage) = self.usage() else {
            return;
        };
        let said = self.last.as_deref().map(serde_json::from_str::<Map>);
        let said = said.and_then(Result::ok).unwrap_or_default();
        usage.extra = said
            .into_iter()
            .filter(|(name, value)| !value.is_null() && !is_counted(name, value))
            .collect();
        if let (Some(part), None) = (
            self.known.cached_content_token_count.0,
            usage.cached_input_tokens,
        ) {
            let name = "cachedContentTokenCount";
            usage.extra.insert(name.to_owned(), part.into());
            answer.warn("usage_inconsistent", Some(name.to_owned()));
        }
        answer.usage(usage);
    }
}

/// Whether a field is in one of the counters.
fn is_counted(name: &str, value: &Value) -> bool {
    let named = matches!(
        name,
        "promptTokenCount"
            | "toolUsePromptTokenCount"
            | "candidatesTokenCount"
            | "responseTokenCount"
            | "thoughtsTokenCount"
            | "cachedContentTokenCount"
            | "totalTokenCount"
    );
    named && Count::deserialize(value).is_ok_and(|count| count.0.is_some())
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}
