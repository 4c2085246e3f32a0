//! The texts in which a key may show.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::arch::all::packedpair::Pair;

use crate::keys::Secret;

/// A key as it may show. Made once for a key: it takes longer than a search.
pub(crate) struct Forms {
    /// As it is, URL-encoded, in hexadecimal, and escaped as in JSON.
    pub(super) plain: Vec<Form>,
    /// What every base64 text that holds the key has in it.
    pub(super) encoded: Vec<Form>,
    /// How long the longest is.
    pub(super) longest: usize,
}

/// One text in which a key may show.
pub(super) struct Form {
    text: Secret,
    /// Where the two of its bytes stand that are rarest in texts, the rarest first; `None` if it has fewer than two.
    rare: Option<(usize, usize)>,
}

/// Encoded forms of shorter keys would be found everywhere.
const SHORTEST_ENCODED: usize = 6;

impl Forms {
    pub(crate) fn of(key: &str) -> Self {
        let mut plain = vec![key.to_owned()];
        let mut encoded = Vec::new();
        let url = url_encoded(key);
        if url != key {
            plain.push(url.to_ascii_lowercase());
            plain.push(url);
        }
        // Inside JSON, and inside JSON that stands in a string of JSON.
        let escaped = json_escaped(key);
        if escaped != key {
            plain.push(json_escaped(&escaped));
            plain.push(escaped);
        }
        if key.len() >= SHORTEST_ENCODED {
            let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
            plain.push(hex.to_ascii_uppercase());
            plain.push(hex);
            encoded.extend((0..3).flat_map(|place| cores(key, place)));
            // Both alphabets write most keys alike.
            encoded.dedup();
        }
        let longest = plain.iter().chain(&encoded).map(String::len).max();
        Self {
            plain: plain.into_iter().map(Form::new).collect(),
            encoded: encoded.into_iter().map(Form::new).collect(),
            longest: longest.unwrap_or_default(),
        }
    }

    /// Whether the key stands in a text.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        let mut forms = self.plain.iter().chain(&self.encoded);
        forms.any(|form| form.find(text, 0).is_some())
    }
}

/// For texts below this, to prepare a fast search takes longer than a plain one.
const SHORT: usize = 4096;

impl Form {
    fn new(text: String) -> Self {
        let pair = Pair::new(text.as_bytes());
        Self {
            rare: pair.map(|pair| (pair.index1().into(), pair.index2().into())),
            text: Secret::new(text),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.text.expose().len()
    }

    /// Where it stands next in `text`, from `at` on.
    pub(super) fn find(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let found = match self.rare {
            Some(rare) if rest.len() < SHORT => self.find_by(rare, rest),
            _ => memchr::memmem::find(rest, self.text.expose().as_bytes()),
        };
        Some(at + found?)
    }

    /// The same, by its rare bytes.
    fn find_by(&self, (first, second): (usize, usize), text: &[u8]) -> Option<usize> {
        let form = self.text.expose().as_bytes();
        let last = text.len().checked_sub(form.len())?;
        let (rare, less_rare) = (form.get(first)?, form.get(second)?);
        let places = memchr::memchr_iter(*rare, text.get(first..=last + first)?);
        let mut places = places.filter(|place| text.get(place + second) == Some(less_rare));
        places.find(|place| {
            text.get(*place..)
                .is_some_and(|rest| rest.starts_with(form))
        })
    }
}

/// All but the unreserved characters as `%XX`.
fn url_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

/// As in a string of JSON. A key has only printable characters of ASCII.
fn json_escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// What stands in every base64 text that holds the key at a place of this remainder by 3: the characters that depend
/// on nothing before or after it.
fn cores(key: &str, place: usize) -> impl Iterator<Item = String> {
    let mut bytes = vec![0; place];
    bytes.extend_from_slice(key.as_bytes());
    let first = (place * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    [
        STANDARD_NO_PAD.encode(&bytes),
        URL_SAFE_NO_PAD.encode(&bytes),
    ]
    .into_iter()
    .filter_map(move |text| text.get(first..last).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a search of the standard library finds it, in short texts and in long ones.
    #[test]
    fn a_form_is_found_wherever_it_stands() {
        for form in ["k", "kk", "key", "\"k-1\"", "aaaa", "e e"] {
            for text in [
                "",
                "k",
                "a key",
                "keykey",
                "aaaaaaa",
                "xk-1\"k-1\"",
                "e e e e",
                "ke",
            ] {
                for rest in [0, SHORT] {
                    let text = format!("{text}{}", "-".repeat(rest));
                    for at in 0..=text.len().min(10) {
                        let expected = text.get(at..).and_then(|rest| rest.find(form));
                        let found = Form::new(form.to_owned()).find(text.as_bytes(), at);
                        assert_eq!(found, expected.map(|found| at + found), "{form} in {text}");
                    }
                }
            }
        }
    }
}
