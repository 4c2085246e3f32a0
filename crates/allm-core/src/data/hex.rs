//! Lower-case hex text of a fixed number of bytes.

use std::fmt;

/// A text that is not lower-case hex of the expected length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidHex {
    digits: usize,
}

impl fmt::Display for InvalidHex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} lower-case hex digits", self.digits)
    }
}

impl std::error::Error for InvalidHex {}

/// Writes two digits a byte.
pub(crate) fn write(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = String::with_capacity(bytes.len() * 2);
    push(&mut text, bytes);
    f.write_str(&text)
}

/// Adds two digits a byte, without the machinery of formatting, which costs more than the hash that is written.
pub(crate) fn push(text: &mut String, bytes: &[u8]) {
    /// As long as the longest hash.
    const AT_ONCE: usize = 32;
    let mut digits = [0; 2 * AT_ONCE];
    for bytes in bytes.chunks(AT_ONCE) {
        let (pairs, _) = digits.as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(bytes) {
            *pair = [of_half(byte >> 4), of_half(byte & 15)];
        }
        let written = digits.get(..2 * bytes.len()).map(str::from_utf8);
        text.push_str(written.and_then(Result::ok).unwrap_or_default());
    }
}

const fn of_half(half: u8) -> u8 {
    match half {
        0..=9 => b'0' + half,
        _ => b'a' + (half - 10),
    }
}

/// Reads exactly `N` bytes. Upper case is refused, so that one value has one text.
pub(crate) fn read<const N: usize>(text: &str) -> Result<[u8; N], InvalidHex> {
    let invalid = InvalidHex { digits: 2 * N };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return Err(invalid);
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high).ok_or(invalid)? << 4 | digit(*low).ok_or(invalid)?;
    }
    Ok(bytes)
}

const fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

/// `Display`, `Debug`, `FromStr` and serde of a type whose text is `prefix` and the hex of its one field.
macro_rules! hex_text {
    ($name:ident, $prefix:literal) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($prefix)?;
                crate::data::hex::write(&self.0, f)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::data::hex::InvalidHex;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                // Without its prefix no text is right; the empty one has the wrong length for sure.
                crate::data::hex::read(text.strip_prefix($prefix).unwrap_or_default()).map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(|error| {
                    serde::de::Error::custom(format_args!(
                        concat!("not a ", stringify!($name), ": {}"),
                        error
                    ))
                })
            }
        }
    };
}
pub(crate) use hex_text;
