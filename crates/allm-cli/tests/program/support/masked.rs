//! Text with what differs from run to run made equal.

use std::path::Path;

/// Compares a masked text with the file of this name in `expected`. `ALLM_BLESS=1` writes a file that is not there.
pub(crate) fn assert_expected(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/program/expected")
        .join(name);
    let text = masked(text);
    if !file.exists() && std::env::var_os("ALLM_BLESS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&file).unwrap(), "{name}");
}

/// The text without the digits of random ids, short hashes, seconds of a time and durations.
pub(crate) fn masked(text: &str) -> String {
    let text = times(&ids(text));
    let mut masked = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        let bare = word.trim_end();
        let is_hash = bare.len() == 12 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        match is_hash {
            true => masked.push_str(&word.replace(bare, "…")),
            false => masked.push_str(word),
        }
    }
    masked
}

fn ids(text: &str) -> String {
    let mut pieces = text.split("apr_");
    let mut masked = pieces.next().unwrap().to_owned();
    for piece in pieces {
        masked.push_str("apr_…");
        masked.push_str(&piece[32..]);
    }
    masked
}

/// Time goes on while a test runs: `09:00:01.250Z` is `09:00:…Z`, and `after 0.3 s` is `after … s`.
fn times(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let bytes = rest.as_bytes();
        let digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
        let is = |place: usize, wanted: u8| bytes.get(place) == Some(&wanted);
        let is_time = digit(0) && digit(1) && is(2, b':') && digit(3) && digit(4) && is(5, b':');
        let length = if is_time && digit(6) && digit(7) {
            masked.push_str(&rest[..6]);
            masked.push('…');
            match is(8, b'.') && digit(9) {
                true => 12,
                false => 8,
            }
        } else if rest.starts_with("after ") && digit(6) {
            masked.push_str("after …");
            rest.find(" s").unwrap()
        } else {
            masked.push(character);
            character.len_utf8()
        };
        rest = &rest[length..];
    }
    masked
}
