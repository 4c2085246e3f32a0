//! Frames that are alike: the same text but for a few values.
//!
//! Nearly all frames of a stream say the same but for their delta. Once one of them was read in full, those that follow
//! are compared with it: a comparison costs a tenth of reading JSON. What does not fit is read in full again, so nothing
//! is taken for alike that a full reading would tell apart.

use bytestring::ByteString;
use serde_json::value::RawValue;

use super::sse::Seen;

/// What a decoder got used to: the shape of the last frame, and where its delta goes.
#[derive(Debug)]
pub(crate) struct Habit<T> {
    known: Option<(Shape, T)>,
    /// Whether anything came in this shape.
    used: bool,
    /// How many shapes were learnt in vain, one after the other.
    vain: u32,
    /// How many frames are not learnt from, because the last ones were not alike.
    pause: u32,
}

/// A text with places where the values may be others.
#[derive(Debug)]
pub(crate) struct Shape {
    /// What stands before each place, and what may stand in it.
    places: Vec<(Box<[u8]>, Place)>,
    /// What stands behind all of them.
    end: Box<[u8]>,
    /// The same frame with another place: the object that its delta is in.
    around: Option<Box<Self>>,
}

/// What may stand in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The text that is read.
    Delta,
    /// A text that nobody reads.
    Text,
    /// A whole number.
    Number,
    /// A whole number that is read.
    Index,
    /// An object that is read.
    Object,
}

/// How many digits of a number are taken without a closer look.
const DIGITS: usize = 15;
/// How long a pause may become, as a power of two.
const LONGEST_PAUSE: u32 = 8;

impl<T> Default for Habit<T> {
    fn default() -> Self {
        Self {
            known: None,
            used: false,
            vain: 0,
            pause: 0,
        }
    }
}

impl<T: Copy> Habit<T> {
    /// The delta of a frame of the known shape, and where it goes.
    pub(crate) fn read(&mut self, seen: &Seen<'_>) -> Option<(ByteString, T)> {
        let (shape, to) = self.known.as_ref()?;
        let (delta, _) = shape.read(seen)?;
        self.used = true;
        Some((delta, *to))
    }

    /// The delta of a frame of the known shape, and the [index](Shape::with_index) that stands in it.
    pub(crate) fn read_indexed(&mut self, seen: &Seen<'_>) -> Option<(ByteString, u64)> {
        let (shape, _) = self.known.as_ref()?;
        let (delta, index) = shape.read(seen)?;
        self.used = true;
        Some((delta, index?))
    }

    /// The [object](Shape::around) of a frame that is of the known shape but for it. Whether it is one has not been looked at.
    pub(crate) fn read_object(&mut self, seen: &Seen<'_>) -> Option<ByteString> {
        let (shape, _) = self.known.as_ref()?;
        let object = shape.around.as_ref()?.find(seen)?.object?;
        self.used = true;
        ByteString::try_from(seen.slice(object)).ok()
    }

    /// A frame is read in full, so what was known may no longer hold.
    pub(crate) fn forget(&mut self) {
        if self.known.take().is_none() {
            return;
        }
        self.vain = if self.used { 0 } else { self.vain + 1 };
        self.pause = (1 << self.vain.min(LONGEST_PAUSE)) - 1;
    }

    /// Gets used to a frame that did nothing but bring a delta, and may come again without doing anything else.
    pub(crate) fn learn(&mut self, to: T, shape: impl FnOnce() -> Option<Shape>) {
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        self.known = shape().map(|shape| (shape, to));
        self.used = false;
    }
}

impl Shape {
    /// The shape of a frame, given its delta and the values that do not matter, all of them slices of it.
    pub(crate) fn of(data: &str, delta: &str, loose: &[Option<&RawValue>]) -> Option<Self> {
        let delta = (delta, Place::Delta);
        Self::cut(data, &[delta], loose)
    }

    /// The same, with a number that says where the delta goes.
    pub(crate) fn with_index(
        data: &str,
        delta: &str,
        index: &RawValue,
        loose: &[Option<&RawValue>],
    ) -> Option<Self> {
        let index = index.get();
        number(index.as_bytes()).filter(|length| *length == index.len())?;
        Self::cut(data, &[(delta, Place::Delta), (index, Place::Index)], loose)
    }

    /// Also knows frames that differ in this object, which its delta is in.
    pub(crate) fn around(
        mut self,
        data: &str,
        object: &RawValue,
        loose: &[Option<&RawValue>],
    ) -> Option<Self> {
        let around = Self::cut(data, &[(object.get(), Place::Object)], loose)?;
        self.around = Some(Box::new(around));
        Some(self)
    }

    fn cut(data: &str, read: &[(&str, Place)], loose: &[Option<&RawValue>]) -> Option<Self> {
        let mut found = Vec::with_capacity(read.len() + loose.len());
        for (text, place) in read {
            found.push((offset(data, text)?, text.len(), *place));
        }
        for value in loose.iter().copied().flatten().map(RawValue::get) {
            let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
            let (text, place) = match inner {
                Some(inner) => (inner, Place::Text),
                None if number(value.as_bytes()) == Some(value.len()) => (value, Place::Number),
                None => continue,
            };
            found.push((offset(data, text)?, text.len(), place));
        }
        found.sort_unstable_by_key(|(begin, ..)| *begin);
        let mut places = Vec::with_capacity(found.len());
        let mut at = 0;
        for (begin, length, place) in found {
            places.push((data.as_bytes().get(at..begin)?.into(), place));
            at = begin + length;
        }
        let end = data.as_bytes().get(at..)?.into();
        let around = None;
        Some(Self {
            places,
            end,
            around,
        })
    }

    /// The delta of a frame of this shape, and its index if it has one.
    fn read(&self, seen: &Seen<'_>) -> Option<(ByteString, Option<u64>)> {
        let Found { delta, index, .. } = self.find(seen)?;
        let (from, length) = delta?;
        let delta = match length {
            Text::Plain(length) => ByteString::try_from(seen.slice(from.get(..length)?)).ok()?,
            // With its quotes.
            Text::Escaped(length) => {
                let begin = seen.data.len() - from.len();
                unescaped(seen.data.get(begin.checked_sub(1)?..=begin + length)?)?
            }
        };
        Some((delta, index))
    }

    /// What stands in the places of a frame of this shape.
    fn find<'a>(&self, seen: &Seen<'a>) -> Option<Found<'a>> {
        let mut rest = seen.data;
        let mut found = Found::default();
        for (before, place) in &self.places {
            rest = rest.strip_prefix(&**before)?;
            let length = match place {
                Place::Number => number(rest)?,
                Place::Index => {
                    let length = number(rest)?;
                    found.index = Some(value(rest.get(..length)?));
                    length
                }
                Place::Object => {
                    let length = object(rest)?;
                    found.object = Some(rest.get(..length)?);
                    length
                }
                Place::Text => match text(rest)? {
                    Text::Plain(length) => length,
                    Text::Escaped(_) => return None,
                },
                Place::Delta => {
                    let length = text(rest)?;
                    found.delta = Some((rest, length));
                    length.len()
                }
            };
            rest = rest.get(length..)?;
        }
        (*rest == *self.end).then_some(found)
    }
}

/// What stands in the places that are read.
#[derive(Default)]
struct Found<'a> {
    /// The text and all that follows it.
    delta: Option<(&'a [u8], Text)>,
    index: Option<u64>,
    object: Option<&'a [u8]>,
}

/// How long the text before the next quote is, and whether it has to be unescaped.
#[derive(Clone, Copy)]
enum Text {
    Plain(usize),
    Escaped(usize),
}

impl Text {
    const fn len(self) -> usize {
        match self {
            Self::Plain(length) | Self::Escaped(length) => length,
        }
    }
}

/// The text up to the quote that ends it; `None` if it has no end, or holds what no text may hold.
fn text(bytes: &[u8]) -> Option<Text> {
    let mut at = special(bytes)?;
    if bytes.get(at) == Some(&b'"') {
        return Some(Text::Plain(at));
    }
    loop {
        match bytes.get(at)? {
            b'"' => return Some(Text::Escaped(at)),
            b'\\' => at += 2,
            0..0x20 => return None,
            _ => at += 1,
        }
    }
}

/// Where the first quote, backslash or control character is. Eight bytes are looked at at once: deltas are too short for
/// what makes long searches fast.
fn special(bytes: &[u8]) -> Option<usize> {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = EACH << 7;
    // The lowest of the bits that this sets is right, those above it may not be.
    let below = |word: u64, limit: u8| word.wrapping_sub(EACH * u64::from(limit)) & !word & HIGH;
    let (words, rest) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = below(word, 0x20)
            | below(word ^ (EACH * u64::from(b'"')), 1)
            | below(word ^ (EACH * u64::from(b'\\')), 1);
        if found != 0 {
            return Some(place * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    Some(words.len() * 8 + rest.iter().position(is_special)?)
}

/// How long the whole number is with which the bytes begin.
fn number(bytes: &[u8]) -> Option<usize> {
    let length = bytes
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(bytes.len());
    let fits = match bytes.first() {
        Some(b'0') => length == 1,
        _ => (1..=DIGITS).contains(&length),
    };
    // What goes on is another kind of number.
    let goes_on = matches!(bytes.get(length), Some(b'.' | b'e' | b'E'));
    (fits && !goes_on).then_some(length)
}

/// How long what begins here is if it is an object, up to the brace that ends it.
fn object(bytes: &[u8]) -> Option<usize> {
    let mut depth = 1_u32;
    let mut at = bytes.starts_with(b"{").then_some(1)?;
    loop {
        match bytes.get(at)? {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b'"' => at += 1 + text(bytes.get(at + 1..)?)?.len(),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// What the digits of a [`number`] say.
fn value(digits: &[u8]) -> u64 {
    let add = |sum: u64, digit: &u8| sum * 10 + u64::from(digit - b'0');
    digits.iter().fold(0, add)
}

fn unescaped(quoted: &[u8]) -> Option<ByteString> {
    let text: String = serde_json::from_slice(quoted).ok()?;
    Some(ByteString::from(text))
}

/// Where a slice of a text begins in it.
fn offset(text: &str, slice: &str) -> Option<usize> {
    let begin = slice.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let is_inside = text.get(begin..begin.checked_add(slice.len())?) == Some(slice);
    is_inside.then_some(begin)
}

#[cfg(test)]
mod tests;
