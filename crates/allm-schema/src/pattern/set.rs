//! Sets of characters.

use super::fold;
use super::property::Property;

/// The last code point.
const LAST: u32 = 0x10_ffff;

const DIGITS: &[(u32, u32)] = &[(0x30, 0x39)];
const WORD: &[(u32, u32)] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
/// The same without regard to case: two more characters are the same as `s` and `k`.
const WORD_IGNORING_CASE: &[(u32, u32)] = &[
    (0x30, 0x39),
    (0x41, 0x5a),
    (0x5f, 0x5f),
    (0x61, 0x7a),
    (0x17f, 0x17f),
    (0x212a, 0x212a),
];
const SPACE: &[(u32, u32)] = &[
    (0x9, 0xd),
    (0x20, 0x20),
    (0xa0, 0xa0),
    (0x1680, 0x1680),
    (0x2000, 0x200a),
    (0x2028, 0x2029),
    (0x202f, 0x202f),
    (0x205f, 0x205f),
    (0x3000, 0x3000),
    (0xfeff, 0xfeff),
];
const LINE_ENDS: &[(u32, u32)] = &[(0xa, 0xa), (0xd, 0xd), (0x2028, 0x2029)];

/// A set of characters.
#[derive(Debug)]
pub(super) struct Set {
    /// The answer for each character of ASCII, which is what most texts have.
    ascii: u128,
    contents: Contents,
    negated: bool,
}

/// What is put into a set. Surrogates can be in it; no text has them.
#[derive(Debug, Default)]
pub(super) struct Contents {
    ranges: Vec<(u32, u32)>,
    /// A property, and whether it is its absence that counts.
    properties: Vec<(Property, bool)>,
}

impl Set {
    /// Whether this character is in it.
    pub(super) fn contains(&self, character: char) -> bool {
        if character.is_ascii() {
            self.ascii >> u32::from(character) & 1 == 1
        } else {
            self.contents.contains(character) != self.negated
        }
    }

    /// What it costs to ask for a character, in steps.
    pub(super) fn cost(&self) -> usize {
        1 + self.contents.properties.len()
    }
}

impl Contents {
    /// What `.` stands for without the modifier `s`, and negated.
    pub(super) fn line_ends() -> Self {
        Self {
            ranges: LINE_ENDS.to_vec(),
            properties: Vec::new(),
        }
    }

    /// Puts a range of code points in.
    pub(super) fn add(&mut self, first: u32, last: u32) {
        self.ranges.push((first, last));
    }

    /// Puts in what `\d`, `\w`, `\s`, `\D`, `\W` or `\S` stand for.
    pub(super) fn add_class(&mut self, letter: char, ignore_case: bool) {
        let ranges = match letter.to_ascii_lowercase() {
            'd' => DIGITS,
            's' => SPACE,
            _ if ignore_case => WORD_IGNORING_CASE,
            _ => WORD,
        };
        if letter.is_ascii_lowercase() {
            self.ranges.extend_from_slice(ranges);
            return;
        }
        let mut next = 0;
        for (first, last) in ranges {
            self.add(next, first - 1);
            next = last + 1;
        }
        self.add(next, LAST);
    }

    /// Puts in what has a property, or what does not have it.
    pub(super) fn add_property(&mut self, property: Property, negated: bool) {
        if !self.properties.contains(&(property, negated)) {
            self.properties.push((property, negated));
        }
    }

    /// The only character in it, if there is just one.
    pub(super) fn single(&self) -> Option<char> {
        match (self.ranges.as_slice(), self.properties.is_empty()) {
            ([(first, last)], true) if first == last => char::from_u32(*first),
            _ => None,
        }
    }

    /// Puts in all that is the same without regard to case.
    pub(super) fn ignore_case(&mut self) {
        self.normalize();
        let mut more = Vec::new();
        for target in fold::targets() {
            let same = || std::iter::once(target).chain(fold::variants(target));
            if same().any(|character| self.contains(character)) {
                more.extend(same().map(|character| (u32::from(character), u32::from(character))));
            }
        }
        self.ranges.append(&mut more);
        self.normalize();
    }

    /// The set of all this, or of all else.
    pub(super) fn finish(mut self, negated: bool) -> Set {
        self.normalize();
        let mut ascii = 0;
        for character in 0..=0x7f_u8 {
            if self.contains(char::from(character)) != negated {
                ascii |= 1 << character;
            }
        }
        Set {
            ascii,
            contents: self,
            negated,
        }
    }

    /// Puts the ranges in order, so that they can be searched.
    fn normalize(&mut self) {
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, kept| {
            let touches = next.0 <= kept.1.saturating_add(1);
            if touches {
                kept.1 = kept.1.max(next.1);
            }
            touches
        });
    }

    /// Whether a character is in it. The ranges are in order.
    fn contains(&self, character: char) -> bool {
        let code = u32::from(character);
        let index = self.ranges.partition_point(|(_, last)| *last < code);
        self.ranges
            .get(index)
            .is_some_and(|(first, _)| *first <= code)
            || (self.properties.iter())
                .any(|(property, negated)| property.contains(character) != *negated)
    }
}
