//! The vocabulary of a model, as the grammar sees it.

use std::sync::Arc;

use llguidance::toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use crate::tokenizer::Tokenizer;

struct Vocabulary {
    tokenizer: Arc<Tokenizer>,
    trie: TokTrie,
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        let encode = |text: &str| self.tokenizer.encode(text);
        self.trie.tokenize_with_greedy_fallback(bytes, encode)
    }
}

/// A token that is no text cannot be written by a grammar: it begins with a byte that no text has.
pub(super) fn environment(tokenizer: &Arc<Tokenizer>) -> TokEnv {
    let count = u32::try_from(tokenizer.len()).unwrap_or(u32::MAX);
    let words: Vec<Vec<u8>> = (0..count)
        .map(|token| match tokenizer.is_mark(token) {
            true => [&[TokTrie::SPECIAL_TOKEN_MARKER], tokenizer.piece(token)].concat(),
            false => tokenizer.piece(token).to_vec(),
        })
        .collect();
    let end = tokenizer.ends().first().copied().unwrap_or_default();
    let trie = TokTrie::from(&TokRxInfo::new(count, end), &words);
    Arc::new(Vocabulary {
        tokenizer: Arc::clone(tokenizer),
        trie,
    })
}
