//! The stretch of a string that stands in JSON as it is.

/// How many bytes are looked at together.
const WORD: usize = size_of::<u64>();

/// How long the beginning is that needs no escape: up to the first quote, backslash or control character.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<WORD>();
    let plain = words
        .iter()
        .take_while(|word| !any_escaped(u64::from_ne_bytes(**word)))
        .count();
    // The word in which one is, or what is too short for a word.
    let next = words.get(plain).map_or(rest, |word| word.as_slice());
    let within = next.iter().take_while(|byte| !is_escaped(**byte)).count();
    plain * WORD + within
}

/// Whether a byte cannot stand in a string as it is.
const fn is_escaped(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f)
}

/// Whether one of eight bytes cannot. Subtracting from each byte borrows into its highest bit where the byte is smaller, and a
/// byte that equals another is zero after the exclusive or. A borrow may reach the byte above it, but only if there is a
/// true one below, and the question is whether there is any.
const fn any_escaped(word: u64) -> bool {
    const fn all(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; WORD])
    }
    const HIGHEST: u64 = all(0x80);
    const fn below(word: u64, limit: u8) -> u64 {
        word.wrapping_sub(all(limit)) & !word & HIGHEST
    }
    let control = below(word, 0x20);
    let quote = below(word ^ all(b'"'), 1);
    let backslash = below(word ^ all(b'\\'), 1);
    (control | quote | backslash) != 0
}
