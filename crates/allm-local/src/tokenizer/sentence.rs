//! SentencePiece vocabularies (`tokenizer.ggml.model` = `llama`): pieces with scores, and bytes for what has none.

use std::collections::HashMap;

use crate::error::{ModelError, ModelErrorKind};
use crate::gguf::Gguf;

use super::merge::Merges;

/// What a space is written as in such a vocabulary.
pub(super) const SPACE: char = '\u{2581}';

/// How a text is put together from characters: of all neighbours that make a piece, those that make the one with the
/// highest score become one, until no two are left that make any.
#[derive(Debug)]
pub(super) struct Sentence {
    /// The number of each character: its token, or one behind all tokens if it has none and is only a part of pieces.
    characters: HashMap<char, u32>,
    /// The characters behind all tokens, and where they begin.
    parts: Vec<char>,
    count: u32,
    merges: Merges,
    bytes: Vec<Option<u32>>,
    unknown: Option<u32>,
    /// Whether a text begins with a space that nobody wrote.
    pub(super) adds_space: bool,
}

/// The words of a vocabulary by what they are.
#[derive(Debug, Default)]
pub(super) struct Words<'f> {
    /// How many tokens there are.
    pub(super) count: u32,
    /// Those that are text.
    pub(super) texts: Vec<(u32, &'f str)>,
    pub(super) bytes: Vec<(u32, u8)>,
    pub(super) unknown: Option<u32>,
}

const SCORES: &str = "tokenizer.ggml.scores";

impl Sentence {
    pub(super) fn read(file: &Gguf, words: &Words<'_>) -> Result<Self, ModelError> {
        let scores = file.needed(SCORES, file.reals(SCORES))?;
        let space = file.flag("tokenizer.ggml.add_space_prefix");
        let sentence = Self::new(words, &scores, space.unwrap_or(true));
        let mut letters = (b' '..=b'~').map(|byte| sentence.has(char::from(byte)));
        if letters.all(|is_there| is_there) {
            return Ok(sentence);
        }
        let message = "the model's vocabulary does not have every letter";
        Err(ModelError::new(ModelErrorKind::Unsupported, message))
    }

    fn new(words: &Words<'_>, scores: &[f32], adds_space: bool) -> Self {
        let mut bytes = vec![None; 256];
        for (id, byte) in &words.bytes {
            if let Some(token) = bytes.get_mut(usize::from(*byte)) {
                token.get_or_insert(*id);
            }
        }
        let mut sentence = Self {
            characters: HashMap::new(),
            parts: Vec::new(),
            count: words.count,
            merges: Merges::default(),
            bytes,
            unknown: words.unknown,
            adds_space,
        };
        let mut known: HashMap<&str, u32> = HashMap::with_capacity(words.texts.len());
        for (id, text) in &words.texts {
            known.entry(text).or_insert(*id);
        }
        for (text, id) in &known {
            if let Some(character) = only(text) {
                sentence.characters.insert(character, *id);
            }
        }
        for (text, id) in by_score(&words.texts, scores) {
            for (place, _) in text.char_indices().skip(1) {
                let (left, right) = text.split_at(place);
                let mut number = |part: &str| match known.get(part) {
                    Some(id) => Some(*id),
                    None => Some(sentence.part(only(part)?)),
                };
                if let (Some(left), Some(right)) = (number(left), number(right)) {
                    sentence.merges.add((left, right), id.rank, id.token);
                }
            }
        }
        sentence
    }

    /// The number of a character that is no token.
    fn part(&mut self, character: char) -> u32 {
        let next = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        let next = self.count.saturating_add(next);
        let parts = &mut self.parts;
        *self.characters.entry(character).or_insert_with(|| {
            parts.push(character);
            next
        })
    }

    fn has(&self, character: char) -> bool {
        let is_token = |character| {
            let token = self.characters.get(&character);
            token.is_some_and(|token| *token < self.count)
        };
        let byte = u8::try_from(character).ok();
        let byte = byte.and_then(|byte| *self.bytes.get(usize::from(byte))?);
        let character = if character == ' ' { SPACE } else { character };
        byte.is_some() || is_token(character)
    }

    pub(super) fn encode_into(&self, text: &str, tokens: &mut Vec<u32>) {
        let mut run = Vec::new();
        for character in text.chars() {
            let number = match character {
                ' ' => self.characters.get(&SPACE),
                // Only as bytes is it told from a space.
                SPACE => None,
                character => self.characters.get(&character),
            };
            match number {
                Some(number) => run.push(*number),
                None => {
                    self.merge_into(&mut run, tokens);
                    self.bytes_into(character, tokens);
                }
            }
        }
        self.merge_into(&mut run, tokens);
    }

    fn merge_into(&self, run: &mut Vec<u32>, tokens: &mut Vec<u32>) {
        for number in self.merges.merged(&std::mem::take(run)) {
            let part = number.checked_sub(self.count);
            let part = part.and_then(|part| self.parts.get(usize::try_from(part).ok()?));
            match part {
                None => tokens.push(number),
                Some(character) => self.bytes_into(*character, tokens),
            }
        }
    }

    fn bytes_into(&self, character: char, tokens: &mut Vec<u32>) {
        let mut room = [0; 4];
        let bytes = character.encode_utf8(&mut room).bytes();
        let bytes = bytes.map(|byte| *self.bytes.get(usize::from(byte))?);
        match bytes.collect::<Option<Vec<u32>>>() {
            Some(bytes) => tokens.extend(bytes),
            None => tokens.extend(self.unknown),
        }
    }
}

/// The character of a text that has one.
fn only(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|_| characters.as_str().is_empty())
}

struct Ranked {
    token: u32,
    rank: u32,
}

/// The texts with their place among the scores; the same score is the same place.
fn by_score<'f>(texts: &[(u32, &'f str)], scores: &[f32]) -> Vec<(&'f str, Ranked)> {
    let score = |token: u32| {
        let place = usize::try_from(token).unwrap_or(usize::MAX);
        scores.get(place).copied().unwrap_or(f32::NEG_INFINITY)
    };
    let mut order: Vec<f32> = texts.iter().map(|(token, _)| score(*token)).collect();
    order.sort_by(|left, right| right.total_cmp(left));
    order.dedup_by(|left, right| left.total_cmp(right).is_eq());
    let ranked = texts.iter().map(|(token, text)| {
        let own = score(*token);
        let rank = order.binary_search_by(|other| own.total_cmp(other));
        let rank = u32::try_from(rank.unwrap_or_else(|place| place)).unwrap_or(u32::MAX);
        (
            *text,
            Ranked {
                token: *token,
                rank,
            },
        )
    });
    ranked.collect()
}

/// The byte that a token like `<0x0A>` stands for.
pub(super) fn byte(word: &str) -> Option<u8> {
    let digits = word.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests;
