//! From text to tokens and back, by the vocabulary in a model's file.

mod byte_level;
pub(crate) mod letters;
mod merge;
mod sentence;
mod split;

use std::collections::HashMap;

use crate::error::{ModelError, ModelErrorKind};
use crate::gguf::Gguf;

use byte_level::ByteLevel;
use sentence::{Sentence, Words};

/// Stands inside a text where it must not be read as a token of its own. No text has this character: it is none.
pub(crate) const APART: char = '\u{fdd0}';

/// The vocabulary of a model, and how a text is put together from it.
#[derive(Debug)]
pub(crate) struct Tokenizer {
    pieces: Vec<Vec<u8>>,
    /// Tokens that are no text, such as the end of a turn, by their name.
    marks: Vec<(String, u32)>,
    /// Those after which an answer is over.
    ends: Vec<u32>,
    is_mark: Vec<bool>,
    way: Way,
    begin: Option<u32>,
    /// The tokens that templates may name.
    pub(crate) begin_text: String,
    pub(crate) end_text: String,
}

/// How a text is put together.
#[derive(Debug)]
enum Way {
    ByteLevel(ByteLevel),
    Sentence(Sentence),
}

/// The kinds of vocabularies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    ByteLevel,
    Sentence,
}

/// `tokenizer.ggml.token_type` of the token for what has none.
const UNKNOWN: i64 = 2;
/// Of a token that is no text.
const CONTROL: i64 = 3;
/// Of a token that is text, but always a token of its own.
const USER_DEFINED: i64 = 4;
/// Of a token that is never used.
const UNUSED: i64 = 5;
/// Of a token that is one byte.
const BYTE: i64 = 6;

/// What families of models end a turn with.
const END_NAMES: [&str; 6] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "</s>",
];

impl Tokenizer {
    pub(crate) fn read(file: &Gguf) -> Result<Self, ModelError> {
        let kind = file.needed("tokenizer.ggml.model", file.text("tokenizer.ggml.model"))?;
        let kind = match kind {
            "gpt2" => Kind::ByteLevel,
            "llama" => Kind::Sentence,
            _ => {
                let message = format!(
                    "the model's tokenizer is of the kind `{kind}`; understood are byte-pair encoding (`gpt2`) and SentencePiece (`llama`)"
                );
                return Err(ModelError::new(ModelErrorKind::Unsupported, message));
            }
        };
        let words = file.needed("tokenizer.ggml.tokens", file.texts("tokenizer.ggml.tokens"))?;
        let types = file.counts("tokenizer.ggml.token_type").unwrap_or_default();
        let types = types.into_iter().chain(std::iter::repeat(1));
        let typed = || (0..).zip(words.iter().copied()).zip(types.clone());
        let way = match kind {
            Kind::ByteLevel => {
                let mut texts = HashMap::with_capacity(words.len());
                for ((id, word), kind) in typed() {
                    if !is_name(word, kind) {
                        texts.entry(letters_of(word, kind)).or_insert(id);
                    }
                }
                Way::ByteLevel(ByteLevel::read(file, texts)?)
            }
            Kind::Sentence => Way::Sentence(Sentence::read(file, &sorted(typed()))?),
        };
        let mut tokenizer = Self {
            pieces: Vec::with_capacity(words.len()),
            marks: Vec::new(),
            ends: Vec::new(),
            is_mark: Vec::with_capacity(words.len()),
            way,
            begin: None,
            begin_text: String::new(),
            end_text: String::new(),
        };
        for ((id, word), kind) in typed() {
            tokenizer.add(id, word, kind);
        }
        tokenizer.find_ends(file, &words);
        Ok(tokenizer)
    }

    fn add(&mut self, id: u32, word: &str, kind: i64) {
        let (piece, is_mark) = match (&self.way, kind) {
            (_, CONTROL | UNUSED) | (Way::Sentence(_), UNKNOWN) => (word.as_bytes().to_vec(), true),
            (Way::ByteLevel(_), kind) => (letters_of(word, kind), false),
            (Way::Sentence(_), USER_DEFINED) => (word.as_bytes().to_vec(), false),
            (Way::Sentence(_), BYTE) => match sentence::byte(word) {
                Some(byte) => (vec![byte], false),
                None => (word.as_bytes().to_vec(), true),
            },
            (Way::Sentence(_), _) => (word.replace(sentence::SPACE, " ").into_bytes(), false),
        };
        if is_name(word, kind) || (is_mark && kind == UNKNOWN) {
            self.marks.push((word.to_owned(), id));
        }
        self.pieces.push(piece);
        self.is_mark.push(is_mark);
    }

    fn find_ends(&mut self, file: &Gguf, words: &[&str]) {
        let id = |key: &str| u32::try_from(file.count(key)?).ok();
        let word = |id: Option<u32>| words.get(usize::try_from(id?).ok()?).copied();
        // What such a file leaves unsaid is as in the first of its kind.
        let usual = |id: u32| matches!(self.way, Way::Sentence(_)).then_some(id);
        let begin = id("tokenizer.ggml.bos_token_id").or(usual(1));
        let end = id("tokenizer.ggml.eos_token_id").or(usual(2));
        let begins = file.flag("tokenizer.ggml.add_bos_token");
        let begins = begins.unwrap_or(matches!(self.way, Way::Sentence(_)));
        self.begin_text = word(begin).unwrap_or_default().to_owned();
        self.end_text = word(end).unwrap_or_default().to_owned();
        self.begin = begin.filter(|_| begins && !self.begin_text.is_empty());
        let named = self
            .marks
            .iter()
            .filter(|(name, _)| END_NAMES.contains(&&**name));
        let named = named.map(|(_, id)| *id);
        self.ends = end
            .into_iter()
            .chain(id("tokenizer.ggml.eot_token_id"))
            .chain(named)
            .collect();
        self.ends.sort_unstable();
        self.ends.dedup();
        // Longer names first: one may begin like another.
        self.marks
            .sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    }

    /// How many tokens there are.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The bytes that a token stands for; of a mark, its name.
    pub(crate) fn piece(&self, token: u32) -> &[u8] {
        let place = usize::try_from(token).unwrap_or(usize::MAX);
        self.pieces.get(place).map_or(&[], Vec::as_slice)
    }

    /// Whether a token is no text.
    pub(crate) fn is_mark(&self, token: u32) -> bool {
        let place = usize::try_from(token).unwrap_or(usize::MAX);
        self.is_mark.get(place).copied().unwrap_or(true)
    }

    /// The tokens after which an answer is over.
    pub(crate) fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// The same text, in which nothing is read as a mark.
    pub(crate) fn apart(&self, text: &str) -> String {
        let mut text = text.replace(APART, "");
        for (name, _) in &self.marks {
            if text.contains(name.as_str()) {
                let mut letters = name.chars();
                let first: String = letters.next().into_iter().chain([APART]).collect();
                text = text.replace(name.as_str(), &(first + letters.as_str()));
            }
        }
        text
    }

    /// Whether what begins, begins with a space that is no part of it.
    pub(crate) fn adds_space(&self) -> bool {
        match &self.way {
            Way::ByteLevel(_) => false,
            Way::Sentence(sentence) => sentence.adds_space,
        }
    }

    /// The tokens of a whole prompt, in which marks are read as such.
    pub(crate) fn prompt(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        if let Some(begin) = self.begin
            && !text.starts_with(&self.begin_text)
        {
            tokens.push(begin);
        }
        let mut rest = text;
        while let Some((before, mark, after)) = self.next_mark(rest) {
            self.begin_into(before, &mut tokens);
            tokens.push(mark);
            rest = after;
        }
        self.begin_into(rest, &mut tokens);
        tokens
    }

    /// The tokens of what stands between two marks.
    fn begin_into(&self, text: &str, tokens: &mut Vec<u32>) {
        let text = text.replace(APART, "");
        match self.adds_space() && !text.is_empty() {
            true => self.encode_into(&format!(" {text}"), tokens),
            false => self.encode_into(&text, tokens),
        }
    }

    fn next_mark<'t>(&self, text: &'t str) -> Option<(&'t str, u32, &'t str)> {
        let found = self.marks.iter().filter_map(|(name, id)| {
            let at = text.find(name.as_str())?;
            Some((at, name.len(), *id))
        });
        // Of those that begin at one place the longest, which comes first.
        let (at, length, id) =
            found.reduce(|best, next| if next.0 < best.0 { next } else { best })?;
        let (before, from) = text.split_at(at);
        Some((before, id, from.split_at(length).1))
    }

    /// The tokens of plain text.
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        self.encode_into(text, &mut tokens);
        tokens
    }

    fn encode_into(&self, text: &str, tokens: &mut Vec<u32>) {
        match &self.way {
            Way::ByteLevel(level) => level.encode_into(text, tokens),
            Way::Sentence(sentence) => sentence.encode_into(text, tokens),
        }
    }
}

/// Whether a word is looked for by its name.
fn is_name(word: &str, kind: i64) -> bool {
    matches!(kind, CONTROL | USER_DEFINED) && !word.is_empty()
}

/// The bytes of a word of a byte-level vocabulary.
fn letters_of(word: &str, kind: i64) -> Vec<u8> {
    let letters = match kind {
        CONTROL | USER_DEFINED | UNUSED => None,
        _ => letters::bytes(word),
    };
    letters.unwrap_or_else(|| word.as_bytes().to_vec())
}

/// The words of a SentencePiece vocabulary by what they are. No text becomes a mark, or a byte, by looking like one.
fn sorted<'f>(typed: impl Iterator<Item = ((u32, &'f str), i64)>) -> Words<'f> {
    let mut words = Words::default();
    for ((id, word), kind) in typed {
        words.count = id.saturating_add(1);
        match kind {
            UNKNOWN => words.unknown = words.unknown.or(Some(id)),
            BYTE => words
                .bytes
                .extend(sentence::byte(word).map(|byte| (id, byte))),
            CONTROL | USER_DEFINED | UNUSED => {}
            _ => words.texts.push((id, word)),
        }
    }
    words
}

#[cfg(test)]
mod tests;
