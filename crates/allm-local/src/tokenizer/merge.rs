//! Putting a word together from the tokens of a vocabulary, pair by pair.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Which pairs of tokens become one, and which pair goes first.
#[derive(Debug, Default)]
pub(crate) struct Merges(HashMap<(u32, u32), (u32, u32)>);

/// A token of a word that is being put together.
#[derive(Clone, Copy)]
struct Symbol {
    token: u32,
    before: Option<usize>,
    after: Option<usize>,
    /// Whether it was taken into the one before.
    gone: bool,
}

impl Merges {
    /// These two tokens become one; a lower rank goes first.
    pub(crate) fn add(&mut self, pair: (u32, u32), rank: u32, merged: u32) {
        self.0.entry(pair).or_insert((rank, merged));
    }

    /// Merges all that can be merged.
    pub(crate) fn merged(&self, tokens: &[u32]) -> Vec<u32> {
        let mut symbols: Vec<Symbol> = (0..)
            .zip(tokens)
            .map(|(place, token): (usize, _)| Symbol {
                token: *token,
                before: place.checked_sub(1),
                after: Some(place + 1).filter(|after| *after < tokens.len()),
                gone: false,
            })
            .collect();
        let mut waiting = BinaryHeap::new();
        for place in 0..symbols.len() {
            waiting.extend(self.candidate(&symbols, place));
        }
        // Of equal rank the leftmost goes first.
        while let Some(Reverse((_, left, pair, merged))) = waiting.pop() {
            let Some((right, after)) = still_there(&symbols, left, pair) else {
                continue;
            };
            if let Some(symbol) = symbols.get_mut(right) {
                symbol.gone = true;
            }
            if let Some(symbol) = symbols.get_mut(left) {
                symbol.token = merged;
                symbol.after = after;
            }
            if let Some(symbol) = after.and_then(|after| symbols.get_mut(after)) {
                symbol.before = Some(left);
            }
            let before = symbols.get(left).and_then(|symbol| symbol.before);
            waiting.extend(before.and_then(|before| self.candidate(&symbols, before)));
            waiting.extend(self.candidate(&symbols, left));
        }
        let there = symbols.iter().filter(|symbol| !symbol.gone);
        there.map(|symbol| symbol.token).collect()
    }

    fn candidate(&self, symbols: &[Symbol], left: usize) -> Option<Candidate> {
        let symbol = symbols.get(left)?;
        let right = symbols.get(symbol.after?)?;
        let pair = (symbol.token, right.token);
        let (rank, merged) = self.0.get(&pair)?;
        Some(Reverse((*rank, left, pair, *merged)))
    }
}

/// Rank, place of the left one, the pair, and what it becomes.
type Candidate = Reverse<(u32, usize, (u32, u32), u32)>;

/// The right one of a pair and who follows it, if the pair is as it was.
fn still_there(
    symbols: &[Symbol],
    left: usize,
    pair: (u32, u32),
) -> Option<(usize, Option<usize>)> {
    let symbol = symbols.get(left).filter(|symbol| !symbol.gone)?;
    let place = symbol.after?;
    let right = symbols.get(place)?;
    ((symbol.token, right.token) == pair).then_some((place, right.after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rank_goes_first_and_then_the_leftmost() {
        let mut merges = Merges::default();
        merges.add((1, 1), 0, 2);
        merges.add((2, 2), 1, 3);
        merges.add((0, 1), 2, 9);
        assert_eq!(merges.merged(&[1, 1, 1, 1, 1]), [3, 1]);
        assert_eq!(merges.merged(&[0, 1, 1, 0, 1]), [0, 2, 9]);
        assert_eq!(merges.merged(&[]), Vec::<u32>::new());
    }

    #[test]
    fn a_long_word_takes_no_square_of_its_length() {
        let mut merges = Merges::default();
        merges.add((1, 1), 0, 2);
        merges.add((2, 2), 1, 3);
        assert_eq!(merges.merged(&vec![1; 400_000]), vec![3; 100_000]);
    }
}
