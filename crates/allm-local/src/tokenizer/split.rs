//! Cutting a text into words, before each is put together from tokens.

use regex::Regex;

use crate::error::{ModelError, ModelErrorKind};

/// Cuts a text into words in the way that a vocabulary was made with.
#[derive(Debug)]
pub(crate) struct Splitter {
    word: Regex,
    digits: Digits,
    /// Whether white space that ends in a line end is a word of its own kind.
    lines: bool,
    /// Whether a word that is in the vocabulary is taken as it is.
    pub(crate) whole_words: bool,
}

/// Whether each digit is cut off before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digits {
    Apart,
    Together,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";
const SHORT: &str = r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]";
const REST: &str = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";

impl Splitter {
    /// The way with this name in `tokenizer.ggml.pre`.
    pub(crate) fn named(name: &str) -> Result<Self, ModelError> {
        let (pattern, digits, lines, whole_words) = match name {
            "gpt-2" => (GPT2.to_owned(), Digits::Together, false, false),
            "smollm" => (GPT2.to_owned(), Digits::Apart, false, false),
            "llama-bpe" | "llama3" | "llama-v3" => {
                let words = r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}";
                (
                    format!("{SHORT}{words}{REST}"),
                    Digits::Together,
                    true,
                    true,
                )
            }
            "qwen2" => {
                let words = r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}";
                (
                    format!("{SHORT}{words}{REST}"),
                    Digits::Together,
                    true,
                    false,
                )
            }
            _ => {
                let message = format!(
                    "the model's tokenizer cuts words in the way `{name}`; known are gpt-2, smollm, llama-bpe, qwen2"
                );
                return Err(ModelError::new(ModelErrorKind::Unsupported, message));
            }
        };
        let word = Regex::new(&pattern).map_err(|error| {
            ModelError::new(ModelErrorKind::Unsupported, "a pattern for words").because(error)
        })?;
        Ok(Self {
            word,
            digits,
            lines,
            whole_words,
        })
    }

    /// The words of a text, in order; together they are the text.
    pub(crate) fn words<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut words = Vec::new();
        match self.digits {
            Digits::Together => self.cut(text, &mut words),
            Digits::Apart => {
                let mut rest = text;
                while let Some(at) = rest.find(char::is_numeric) {
                    let (before, from) = rest.split_at(at);
                    self.cut(before, &mut words);
                    let length = from.chars().next().map_or(0, char::len_utf8);
                    let (digit, after) = from.split_at(length);
                    self.cut(digit, &mut words);
                    rest = after;
                }
                self.cut(rest, &mut words);
            }
        }
        words
    }

    fn cut<'t>(&self, mut text: &'t str, words: &mut Vec<&'t str>) {
        while let Some(found) = self.word.find(text) {
            let end = found.end().max(1);
            let (word, rest) = text.split_at(end);
            let word = match self.given_back(word, rest) {
                Some(last) => text.split_at(last).0,
                None => word,
            };
            words.push(word);
            text = text.split_at(word.len()).1;
        }
        if !text.is_empty() {
            words.push(text);
        }
    }

    /// The pattern `\s+(?!\S)`: white space before a word leaves its last character to it.
    fn given_back(&self, word: &str, rest: &str) -> Option<usize> {
        let (last, character) = word.char_indices().next_back()?;
        let is_space = word.chars().all(char::is_whitespace);
        let is_line = self.lines && matches!(character, '\r' | '\n');
        (is_space && !is_line && last > 0 && !rest.is_empty()).then_some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
        Splitter::named(name).unwrap().words(text)
    }

    #[test]
    fn the_last_space_belongs_to_the_word() {
        assert_eq!(words("gpt-2", "a   b"), ["a", "  ", " b"]);
        assert_eq!(words("gpt-2", "a\n\n b "), ["a", "\n\n", " b", " "]);
        assert_eq!(words("gpt-2", "it's 123!?"), ["it", "'s", " 123", "!?"]);
        assert_eq!(words("gpt-2", "x\n\ty"), ["x", "\n", "\t", "y"]);
    }

    #[test]
    fn digits_stand_apart() {
        let expected = ["in", " ", "1", "9", "9", "5", "½", ".", " ", "7", " days"];
        assert_eq!(words("smollm", "in 1995½. 7 days"), expected);
        assert_eq!(words("smollm", "a  1"), ["a", "  ", "1"]);
    }

    #[test]
    fn lines_are_words() {
        let expected = ["Don", "'T", " \n", " ", " go", " ", "123", "4", "!\n"];
        assert_eq!(words("llama-bpe", "Don'T \n  go 1234!\n"), expected);
        assert_eq!(words("qwen2", "12"), ["1", "2"]);
    }

    #[test]
    fn an_unknown_way_is_told() {
        let error = Splitter::named("strange").unwrap_err();
        assert!(error.to_string().contains("`strange`"));
    }
}
