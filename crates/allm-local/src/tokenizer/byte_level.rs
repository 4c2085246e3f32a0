//! Byte-pair vocabularies over single bytes (`tokenizer.ggml.model` = `gpt2`).

use std::collections::HashMap;

use crate::error::{ModelError, ModelErrorKind};
use crate::gguf::Gguf;

use super::letters;
use super::merge::Merges;
use super::split::Splitter;

/// How a text is put together from bytes.
#[derive(Debug)]
pub(super) struct ByteLevel {
    /// The token of each byte. Some vocabularies leave out bytes that no text has.
    bytes: Vec<Option<u32>>,
    words: HashMap<Vec<u8>, u32>,
    merges: Merges,
    splitter: Splitter,
}

impl ByteLevel {
    /// With these words of the vocabulary, each as its bytes.
    pub(super) fn read(file: &Gguf, words: HashMap<Vec<u8>, u32>) -> Result<Self, ModelError> {
        let merges = file.needed("tokenizer.ggml.merges", file.texts("tokenizer.ggml.merges"))?;
        let splitter = file.needed("tokenizer.ggml.pre", file.text("tokenizer.ggml.pre"))?;
        let bytes = (0..=u8::MAX).map(|byte| words.get([byte].as_slice()).copied());
        let mut level = Self {
            bytes: bytes.collect(),
            splitter: Splitter::named(splitter)?,
            merges: Merges::default(),
            words,
        };
        let mut letters = level.bytes.iter().skip(usize::from(b' ')).take(95);
        if !letters.all(Option::is_some) {
            let message = "the model's vocabulary does not have every letter";
            return Err(ModelError::new(ModelErrorKind::Unsupported, message));
        }
        for (rank, merge) in (0..).zip(merges) {
            level.add_merge(rank, merge);
        }
        Ok(level)
    }

    fn add_merge(&mut self, rank: u32, merge: &str) {
        let find = |word: &str| self.words.get(&letters::bytes(word)?).copied();
        // The left word may begin with the letter of a space, never with a space.
        let Some((left, right)) = merge.split_once(' ') else {
            return;
        };
        let merged = [left, right].concat();
        if let (Some(left), Some(right), Some(merged)) = (find(left), find(right), find(&merged)) {
            self.merges.add((left, right), rank, merged);
        }
    }

    pub(super) fn encode_into(&self, text: &str, tokens: &mut Vec<u32>) {
        for word in self.splitter.words(text) {
            if self.splitter.whole_words
                && let Some(token) = self.words.get(word.as_bytes())
            {
                tokens.push(*token);
                continue;
            }
            let bytes = word
                .bytes()
                .filter_map(|byte| *self.bytes.get(usize::from(byte))?);
            let bytes: Vec<u32> = bytes.collect();
            tokens.extend(self.merges.merged(&bytes));
        }
    }
}
