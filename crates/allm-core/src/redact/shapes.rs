//! What keys look like.

use std::ops::Range;

/// What a key begins with, and how many characters must follow at least.
const SHAPES: &[(&str, usize)] = &[
    ("sk-", 6),
    ("sk_", 16),
    ("rk-", 6),
    ("org-", 6),
    ("AIza", 6),
    ("ya29.", 6),
    ("gsk_", 6),
    ("xai-", 6),
    ("hf_", 6),
    ("pa-", 6),
    ("r8_", 6),
    ("pplx-", 6),
    ("tgp_v1_", 6),
    ("apikey_", 16),
];

/// Everything in the text that looks like a key, in order.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut before = None;
    while let Some(rest) = text.get(from..) {
        let Some(next) = rest.chars().next() else {
            break;
        };
        let at_boundary = !before.is_some_and(is_word);
        let length = if at_boundary { key_length(rest) } else { None };
        match length {
            Some(length) => {
                found.push(from..from + length);
                from += length;
                // A key ends where no character of a key follows.
                before = None;
            }
            None => {
                from += next.len_utf8();
                before = Some(next);
            }
        }
    }
    found
}

/// How long the key is that the text begins with.
fn key_length(text: &str) -> Option<usize> {
    let first = text.as_bytes().first()?;
    if !matches!(
        first,
        b's' | b'r' | b'o' | b'A' | b'y' | b'g' | b'x' | b'h' | b'p' | b't' | b'a' | b'B' | b'b'
    ) {
        return None;
    }
    let shape = SHAPES.iter().find_map(|(prefix, least)| {
        let rest = text.strip_prefix(prefix)?;
        let length = leading(rest, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
        });
        (length >= *least).then_some(prefix.len() + length)
    });
    shape.or_else(|| bearer_length(text))
}

/// How long `Bearer <token>` is at the start of the text.
fn bearer_length(text: &str) -> Option<usize> {
    const WORD: usize = "bearer".len();
    let word = text
        .get(..WORD)
        .filter(|word| word.eq_ignore_ascii_case("bearer"))?;
    let rest = text.get(word.len()..)?;
    let space = leading(rest, |byte| matches!(byte, b' ' | b'\t'));
    let token = leading(rest.get(space..)?, |byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b'-')
    });
    (space > 0 && token > 0).then_some(WORD + space + token)
}

fn leading(text: &str, is: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| is(*byte)).count()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The whole base64 word around a place.
pub(super) fn base64_word(text: &str, place: Range<usize>) -> Range<usize> {
    let is_base64 = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
    };
    let bytes = text.as_bytes();
    let before = bytes.get(..place.start).unwrap_or_default();
    let after = bytes.get(place.end..).unwrap_or_default();
    let start = place.start
        - before
            .iter()
            .rev()
            .take_while(|byte| is_base64(byte))
            .count();
    let end = place.end + after.iter().take_while(|byte| is_base64(byte)).count();
    start..end
}
