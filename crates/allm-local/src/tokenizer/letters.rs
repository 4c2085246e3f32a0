//! The letters that byte-level vocabularies write bytes with.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The letter that stands for a byte: itself where it can be printed, else one from U+0100 on.
pub(crate) fn letter(byte: u8) -> char {
    let is_itself = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if is_itself(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|byte| !is_itself(*byte)).count();
    let before = u32::try_from(before).unwrap_or_default();
    char::from_u32(0x100 + before).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The bytes that a word of a vocabulary stands for; `None` if it holds another letter.
pub(crate) fn bytes(word: &str) -> Option<Vec<u8>> {
    word.chars().map(byte).collect()
}

fn byte(letter: char) -> Option<u8> {
    static BYTES: OnceLock<HashMap<char, u8>> = OnceLock::new();
    let bytes = BYTES.get_or_init(|| {
        (0..=u8::MAX)
            .map(|byte| (self::letter(byte), byte))
            .collect()
    });
    bytes.get(&letter).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_letter_of_its_own() {
        let letters: std::collections::HashSet<_> = (0..=u8::MAX).map(letter).collect();
        assert_eq!(letters.len(), 256);
        assert_eq!((letter(b' '), letter(b'\n'), letter(0xad)), ('Ġ', 'Ċ', 'Ń'));
        assert_eq!(bytes("ĠaÃ¶"), Some(" aö".as_bytes().to_vec()));
        assert_eq!(bytes("漢"), None);
    }
}
