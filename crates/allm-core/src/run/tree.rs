//! One hash over a list whose entries change one at a time.

use crate::data::Hash;

/// A binary tree of hashes over a list: each node is the hash of the two below it, and one without a neighbour goes up as
/// it is. The shape follows from the length alone, so equal lists have equal roots, however they came about. A changed
/// entry costs the logarithm of the length.
#[derive(Clone, Debug)]
pub(super) struct HashTree {
    /// The entries, then each level above them, the root last.
    levels: Vec<Vec<Hash>>,
}

impl HashTree {
    pub(super) fn new(entries: Vec<Hash>) -> Self {
        let mut levels = vec![entries];
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let level = below.chunks(2).map(node).collect();
            levels.push(level);
        }
        Self { levels }
    }

    /// Puts another entry at this place.
    pub(super) fn set(&mut self, place: usize, entry: Hash) {
        let (mut place, mut hash) = (place, entry);
        for level in &mut self.levels {
            let Some(slot) = level.get_mut(place) else {
                return;
            };
            *slot = hash;
            let pair = place - place % 2;
            let end = level.len().min(pair + 2);
            hash = level.get(pair..end).map_or(Hash::ZERO, node);
            place /= 2;
        }
    }

    /// Zero for an empty list.
    pub(super) fn root(&self) -> Hash {
        let top = self.levels.last().and_then(|level| level.first());
        top.copied().unwrap_or(Hash::ZERO)
    }
}

fn node(pair: &[Hash]) -> Hash {
    match pair {
        [left, right] => Hash::of(left, right.as_bytes()),
        [alone] => *alone,
        _ => Hash::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize) -> Hash {
        Hash::of_bytes(&number.to_le_bytes())
    }

    #[test]
    fn a_changed_tree_is_the_tree_of_the_changed_list() {
        for length in 0..40 {
            let mut entries: Vec<Hash> = (0..length).map(entry).collect();
            let mut tree = HashTree::new(entries.clone());
            for place in (0..length).rev() {
                let before = tree.root();
                tree.set(place, entry(place + 1000));
                if let Some(slot) = entries.get_mut(place) {
                    *slot = entry(place + 1000);
                }
                assert_ne!(tree.root(), before);
                assert_eq!(tree.root(), HashTree::new(entries.clone()).root());
            }
            tree.set(length, entry(0));
            assert_eq!(tree.root(), HashTree::new(entries).root());
        }
    }
}
