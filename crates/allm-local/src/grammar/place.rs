//! Where in a JSON text one is, byte by byte.

/// So many digits a number may have: with as many, numbers that differ are different values for everybody who reads them,
/// so that a bound that is kept in writing is kept in the value.
const MOST_DIGITS: usize = 15;
/// So many digits its exponent may have: with more it may be no number that a computer knows.
const MOST_IN_EXPONENT: usize = 2;

/// Where in a JSON text one is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    in_text: bool,
    is_escaped: bool,
    /// How many digits of a number were before, without those of its exponent.
    digits: usize,
    /// How many digits of its exponent, if that has begun.
    exponent: Option<usize>,
}

impl Place {
    /// Whether one is inside a text.
    pub(super) const fn in_text(self) -> bool {
        self.in_text
    }

    /// Whether one is inside a number that has digits already.
    pub(super) const fn in_number(self) -> bool {
        self.digits > 0
    }

    /// Where one is after these bytes.
    pub(super) fn after(self, bytes: &[u8]) -> Self {
        bytes.iter().fold(self, |place, byte| place.next(*byte))
    }

    fn next(self, byte: u8) -> Self {
        if self.in_text {
            let is_end = byte == b'"' && !self.is_escaped;
            return Self {
                in_text: !is_end,
                is_escaped: byte == b'\\' && !self.is_escaped,
                ..Self::default()
            };
        }
        match (byte, self.exponent) {
            (b'"', _) => Self {
                in_text: true,
                ..Self::default()
            },
            (b'0'..=b'9', None) => Self {
                digits: self.digits + 1,
                ..self
            },
            (b'0'..=b'9', Some(digits)) => Self {
                exponent: Some(digits + 1),
                ..self
            },
            (b'.', None) => self,
            (b'e' | b'E', None) if self.in_number() => Self {
                exponent: Some(0),
                ..self
            },
            (b'+' | b'-', Some(0)) => self,
            _ => Self::default(),
        }
    }

    /// Whether these bytes make a number longer than it may be.
    pub(super) fn overflows(self, bytes: &[u8]) -> bool {
        let mut place = self;
        bytes.iter().any(|byte| {
            // After a point there must be a digit.
            let has_room = *byte != b'.' || place.digits < MOST_DIGITS;
            place = place.next(*byte);
            let is_short = place.digits <= MOST_DIGITS && place.exponent <= Some(MOST_IN_EXPONENT);
            !(has_room && is_short)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        Place::default().after(text.as_bytes())
    }

    #[test]
    fn texts_and_numbers_are_known() {
        assert!(place(r#"{"a"#).in_text() && place(r#"{"a\""#).in_text());
        assert!(!place(r#"{"a\\""#).in_text() && !place("{}").in_text());
        assert!(place(r#"{"a": 1"#).in_number() && place("[-1.5e").in_number());
        assert!(!place("[true").in_number() && !place("[1, ").in_number());
        assert!(!place(r#"["12"#).in_number());
    }

    /// P269
    #[test]
    fn p269_a_number_has_fifteen_digits_and_two_in_its_exponent() {
        let overflows = |before: &str, more: &str| place(before).overflows(more.as_bytes());
        assert!(!overflows("[", "123456789012345") && overflows("[", "1234567890123456"));
        assert!(!overflows("[0.12345678901234", ", 5") && overflows("[0.12345678901234", "56"));
        assert!(overflows("[123456789012345", ".") && !overflows("[123456789012345", "e5"));
        assert!(!overflows("[1e-9", "9]") && overflows("[1e-9", "99"));
        assert!(!overflows(r#"[""#, "12345678901234567890"));
    }
}
