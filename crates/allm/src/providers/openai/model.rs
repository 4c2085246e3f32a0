//! The names of OpenAI's models: one grammar for API, token field and reasoning.

/// What a model's name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// `gpt-<n>`, from 5 on.
    Gpt(u32),
    /// `o<n>`.
    O(u32),
    /// `o1-mini` and `o1-preview`, which came before the others of their kind could do all.
    EarlyO,
    /// `codex-…` and `computer-use-…`.
    Agent,
    /// `gpt-3.5…`, `gpt-4` and `gpt-4-…`, which know the old name of the token limit alone.
    Old,
    Other,
}

impl Family {
    /// Reads a model's name, in any case, with or without `ft:`.
    pub(crate) fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        let name = name.strip_prefix("ft:").unwrap_or(&name);
        // Behind a tuned model's base stand its owner and its own name.
        let name = name.split(':').next().unwrap_or_default();
        if name.starts_with("codex-") || name.starts_with("computer-use-") {
            return Self::Agent;
        }
        if name.starts_with("o1-mini") || name.starts_with("o1-preview") {
            return Self::EarlyO;
        }
        if let Some((number, _)) = name.strip_prefix('o').and_then(numbered) {
            return Self::O(number);
        }
        match name.strip_prefix("gpt-").and_then(numbered) {
            Some((35, _)) => Self::Old,
            Some((3, rest)) if rest.starts_with(".5") => Self::Old,
            Some((4, rest)) if rest.is_empty() || rest.starts_with('-') => Self::Old,
            Some((number, _)) if number >= 5 => Self::Gpt(number),
            _ => Self::Other,
        }
    }

    /// Whether `Auto` asks the Responses API.
    pub(crate) const fn prefers_responses(self) -> bool {
        matches!(self, Self::Gpt(_) | Self::O(_) | Self::Agent)
    }

    /// Whether it thinks, and can be told how hard.
    pub(crate) const fn reasons(self) -> bool {
        matches!(self, Self::Gpt(_) | Self::O(_) | Self::Agent)
    }

    /// Whether it knows `max_tokens` and not `max_completion_tokens`.
    pub(crate) const fn has_old_token_field(self) -> bool {
        matches!(self, Self::Old)
    }
}

/// A number that ends at `.`, `-` or the end, and what follows it.
fn numbered(text: &str) -> Option<(u32, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let ends = rest.is_empty() || rest.starts_with(['.', '-']);
    digits
        .parse()
        .ok()
        .filter(|_| ends)
        .map(|number| (number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p124_who_is_asked_by_responses() {
        for name in [
            "gpt-5",
            "gpt-5.6-luna",
            "gpt-6-sol",
            "gpt-10-x",
            "o3",
            "o4-mini",
            "GPT-5",
            "ft:gpt-5-mini:org",
            "o1",
            "codex-mini-latest",
            "computer-use-preview",
            "ft:o4-mini-2025-04-16:org:name:id",
        ] {
            assert!(Family::of(name).prefers_responses(), "{name}");
        }
    }

    #[test]
    fn p125_who_is_asked_by_chat_completions() {
        for name in [
            "gpt-4o",
            "gpt-4.1",
            "gpt-3.5-turbo",
            "gpt-35-turbo",
            "gpt-image-2",
            "chatgpt-4o-latest",
            "o1-mini",
            "o1-preview",
            "gpt-oss-120b",
            "gpt-5x",
            "omni",
            "o",
            "gpt-",
            "gpt-99999999999",
            "",
        ] {
            assert!(!Family::of(name).prefers_responses(), "{name}");
        }
    }

    #[test]
    fn p128_who_knows_only_the_old_field() {
        for name in [
            "gpt-3.5-turbo",
            "gpt-4",
            "gpt-4-turbo",
            "gpt-35-turbo",
            "ft:gpt-3.5-turbo:org",
        ] {
            assert!(Family::of(name).has_old_token_field(), "{name}");
        }
        for name in ["gpt-4o", "gpt-4.1", "gpt-5", "o3", "o1-mini", "mine"] {
            assert!(!Family::of(name).has_old_token_field(), "{name}");
        }
    }
}
