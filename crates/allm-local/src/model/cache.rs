//! What a model keeps of the tokens that it has read.

/// The keys and values of one head.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) keys: Vec<f32>,
    pub(crate) values: Vec<f32>,
}

/// What a model keeps of the tokens that it has read, for every layer and head.
#[derive(Debug)]
pub(crate) struct Cache {
    tokens: Vec<u32>,
    heads: Vec<Vec<Head>>,
    head_width: usize,
}

impl Cache {
    pub(crate) fn new(layers: usize, kv_heads: usize, head_width: usize) -> Self {
        let layer = || (0..kv_heads).map(|_| Head::default()).collect();
        Self {
            tokens: Vec::new(),
            heads: (0..layers).map(|_| layer()).collect(),
            head_width,
        }
    }

    /// The tokens that were read.
    #[cfg(test)]
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// How many tokens at the beginning are the same.
    pub(crate) fn common(&self, tokens: &[u32]) -> usize {
        let pairs = self.tokens.iter().zip(tokens);
        pairs.take_while(|(ours, theirs)| ours == theirs).count()
    }

    /// Forgets all but the first tokens.
    pub(crate) fn cut(&mut self, length: usize) {
        self.tokens.truncate(length);
        let length = self.tokens.len() * self.head_width;
        for head in self.heads.iter_mut().flatten() {
            head.keys.truncate(length);
            head.values.truncate(length);
        }
    }

    /// A copy of the first tokens.
    pub(crate) fn beginning(&self, length: usize) -> Self {
        let numbers = length.min(self.len()) * self.head_width;
        let first = |row: &[f32]| row.get(..numbers).unwrap_or_default().to_vec();
        let copy = |head: &Head| Head {
            keys: first(&head.keys),
            values: first(&head.values),
        };
        let layers = self.heads.iter();
        Self {
            tokens: self.tokens.iter().take(length).copied().collect(),
            heads: layers
                .map(|layer| layer.iter().map(copy).collect())
                .collect(),
            head_width: self.head_width,
        }
    }

    pub(super) fn heads(&mut self, layer: usize) -> Option<&mut [Head]> {
        self.heads.get_mut(layer).map(Vec::as_mut_slice)
    }

    /// Counts tokens whose keys and values are in all layers.
    pub(crate) fn read(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_cut_to_what_is_common() {
        let mut cache = Cache::new(2, 1, 4);
        for layer in 0..2 {
            for head in cache.heads(layer).unwrap() {
                head.keys.extend([1.0; 12]);
                head.values.extend([2.0; 12]);
            }
        }
        cache.read(&[7, 8, 9]);
        assert_eq!(cache.common(&[7, 8, 1, 2]), 2);
        cache.cut(2);
        cache.cut(5);
        assert_eq!(cache.tokens(), [7, 8]);
        for layer in 0..2 {
            for head in cache.heads(layer).unwrap() {
                assert_eq!((head.keys.len(), head.values.len()), (8, 8));
            }
        }
    }
}
