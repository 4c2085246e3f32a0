//! What is kept of conversations, so that their beginnings are not read again.

use crate::model::Cache;

/// The conversations that were read last.
#[derive(Debug)]
pub(super) struct Caches {
    /// The one that was used last is the last.
    list: Vec<Cache>,
    limit: usize,
}

impl Caches {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            list: Vec::new(),
            limit: limit.max(1),
        }
    }

    /// A cache that has read the beginning of this prompt and nothing else; at least one token is left to read.
    pub(super) fn take(&mut self, prompt: &[u32], new: impl FnOnce() -> Cache) -> Cache {
        let common = |cache: &Cache| cache.common(prompt).min(prompt.len().saturating_sub(1));
        let best = self
            .list
            .iter()
            .enumerate()
            .max_by_key(|(_, cache)| common(cache));
        let Some((place, shared)) = best.map(|(place, cache)| (place, common(cache))) else {
            return new();
        };
        let length = self.list.get(place).map_or(0, Cache::len);
        if shared * 4 > length * 3 {
            // The conversation goes on: its last answer may be written a little differently.
            let mut cache = self.list.remove(place);
            cache.cut(shared);
            return cache;
        }
        // Another conversation that began alike: both are kept.
        let cache = self.list.get(place).map(|cache| cache.beginning(shared));
        if self.list.len() >= self.limit {
            self.list.remove(0);
        }
        cache.unwrap_or_else(new)
    }

    /// Keeps a cache for the next prompt.
    pub(super) fn put_back(&mut self, cache: Cache) {
        self.list.push(cache);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut cache: Cache, tokens: &[u32]) -> Cache {
        let known = cache.len();
        cache.read(&tokens[known..]);
        cache
    }

    fn new() -> Cache {
        Cache::new(1, 1, 1)
    }

    /// P250
    #[test]
    fn p250_a_conversation_goes_on_where_it_was() {
        let mut caches = Caches::new(2);
        let cache = caches.take(&[1, 2, 3, 4], new);
        assert_eq!(cache.tokens(), [0; 0]);
        caches.put_back(read(cache, &[1, 2, 3, 4, 5]));
        // Another one that begins alike.
        let cache = caches.take(&[1, 2, 9, 9, 9], new);
        assert_eq!(cache.tokens(), [1, 2]);
        caches.put_back(read(cache, &[1, 2, 9, 9, 9]));
        let cache = caches.take(&[1, 2, 3, 4, 5, 6], new);
        assert_eq!(cache.tokens(), [1, 2, 3, 4, 5]);
        caches.put_back(cache);
        // The same again: one token is left to read.
        assert_eq!(caches.take(&[1, 2, 9, 9, 9], new).tokens(), [1, 2, 9, 9]);
    }

    #[test]
    fn the_one_that_was_not_used_for_longest_goes() {
        let mut caches = Caches::new(2);
        for first in [1, 2, 3] {
            let cache = caches.take(&[first, 0, 0], new);
            caches.put_back(read(cache, &[first, 0, 0]));
        }
        assert_eq!(caches.list.len(), 2);
        assert_eq!(caches.take(&[1, 0, 0, 0], new).tokens(), [0; 0]);
    }
}
