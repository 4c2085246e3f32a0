//! `contentEncoding` and `contentMediaType`, which drafts 6 and 7 check.

use serde_json::Value;

use crate::node::Content;

/// An encoding of RFC 4648.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Base64,
    Base64Url,
    Base32,
    Base32Hex,
    Base16,
}

impl Encoding {
    pub(crate) fn named(name: &str) -> Option<Encoding> {
        match name {
            "base64" => Some(Encoding::Base64),
            "base64url" => Some(Encoding::Base64Url),
            "base32" => Some(Encoding::Base32),
            "base32hex" => Some(Encoding::Base32Hex),
            "base16" => Some(Encoding::Base16),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Encoding::Base64 => "base64",
            Encoding::Base64Url => "base64url",
            Encoding::Base32 => "base32",
            Encoding::Base32Hex => "base32hex",
            Encoding::Base16 => "base16",
        }
    }

    /// How many bits a character carries, and how many characters a group has.
    fn shape(self) -> (u32, usize) {
        match self {
            Encoding::Base64 | Encoding::Base64Url => (6, 4),
            Encoding::Base32 | Encoding::Base32Hex => (5, 8),
            Encoding::Base16 => (4, 2),
        }
    }

    fn digit(self, byte: u8) -> Option<u32> {
        let digit = match (self, byte) {
            (Encoding::Base64 | Encoding::Base64Url, b'A'..=b'Z') => byte - b'A',
            (Encoding::Base64 | Encoding::Base64Url, b'a'..=b'z') => byte - b'a' + 26,
            (Encoding::Base64 | Encoding::Base64Url, b'0'..=b'9') => byte - b'0' + 52,
            (Encoding::Base64, b'+') | (Encoding::Base64Url, b'-') => 62,
            (Encoding::Base64, b'/') | (Encoding::Base64Url, b'_') => 63,
            (Encoding::Base32, b'A'..=b'Z') => byte - b'A',
            (Encoding::Base32, b'2'..=b'7') => byte - b'2' + 26,
            (Encoding::Base32Hex, b'0'..=b'9') | (Encoding::Base16, b'0'..=b'9') => byte - b'0',
            (Encoding::Base32Hex, b'A'..=b'V') => byte - b'A' + 10,
            (Encoding::Base16, b'A'..=b'F') => byte - b'A' + 10,
            (Encoding::Base16, b'a'..=b'f') => byte - b'a' + 10,
            _ => return None,
        };
        Some(digit.into())
    }

    /// The bytes that a text stands for. Padding must be there, and bits that carry nothing must be 0.
    fn decode(self, text: &str) -> Option<Vec<u8>> {
        let (bits, group) = self.shape();
        if !text.len().is_multiple_of(group) {
            return None;
        }
        let digits = text.trim_end_matches('=');
        let padding = text.len() - digits.len();
        let mut bytes = Vec::with_capacity(digits.len());
        let (mut held, mut count) = (0_u32, 0_u32);
        for byte in digits.bytes() {
            held = held << bits | self.digit(byte)?;
            count += bits;
            if count >= 8 {
                count -= 8;
                bytes.push(u8::try_from(held >> count).ok()?);
                held &= (1 << count) - 1;
            }
        }
        // A last character that carries not one bit of a byte should not be there.
        let sound = held == 0 && count < bits && padding < group;
        sound.then_some(bytes)
    }
}

impl Content {
    pub(crate) fn accepts(self, text: &str) -> bool {
        match self.encoding {
            None => !self.is_json || is_json(text.as_bytes()),
            Some(encoding) => encoding.decode(text).is_some_and(|bytes| {
                !self.is_json || std::str::from_utf8(&bytes).is_ok() && is_json(&bytes)
            }),
        }
    }
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Value>(bytes).is_ok()
}
