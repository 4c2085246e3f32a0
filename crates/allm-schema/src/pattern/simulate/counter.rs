//! How often a repeated character has been there.

use std::collections::VecDeque;

/// Where ways to match came to a repetition like `[a-z]{2,10}`, as numbers of characters read.
///
/// Since then every character was one that the repetition takes, so how often is the distance from there. All distances
/// grow together: the oldest place has the greatest one, and as long as that is not too great, it alone says whether there
/// were enough.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    /// Places that follow each other are one range, so that a search that begins everywhere needs only one.
    places: VecDeque<(usize, usize)>,
}

impl Counter {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Notes a place. Returns how many more ranges there are.
    pub(super) fn enter(&mut self, read: usize, max: usize) -> usize {
        match self.places.back_mut() {
            // The oldest never leaves.
            Some(_) if max == usize::MAX => 0,
            Some((_, last)) if *last + 1 == read => {
                *last = read;
                0
            }
            _ => {
                self.places.push_back((read, read));
                1
            }
        }
    }

    /// One more character is there: forgets places that are too far away. Returns how many ranges fewer there are.
    pub(super) fn advance(&mut self, read: usize, max: usize) -> usize {
        let oldest = read.saturating_sub(max);
        let mut gone = 0;
        while let Some((first, last)) = self.places.front_mut() {
            if *last >= oldest {
                *first = oldest.max(*first);
                break;
            }
            self.places.pop_front();
            gone += 1;
        }
        gone
    }

    /// A character that does not fit is there. Returns how many ranges fewer there are.
    pub(super) fn clear(&mut self) -> usize {
        let gone = self.places.len();
        self.places.clear();
        gone
    }

    /// How often the character has been there since the oldest place.
    pub(super) fn longest(&self, read: usize) -> Option<usize> {
        self.places.front().map(|(first, _)| read - first)
    }
}
