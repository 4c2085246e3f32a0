//! Numbers compared by their exact values.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::Number;

/// A number without the loss that a conversion to `f64` would bring.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exact {
    Integer(i128),
    Float(f64),
}

impl Exact {
    pub(crate) fn of(number: &Number) -> Exact {
        if let Some(integer) = number.as_i64() {
            Exact::Integer(integer.into())
        } else if let Some(integer) = number.as_u64() {
            Exact::Integer(integer.into())
        } else if let Some(float) = number.as_f64() {
            Exact::float(float)
        } else if number.to_string().starts_with('-') {
            // Only with `serde_json/arbitrary_precision`: larger than any float.
            Exact::Float(f64::NEG_INFINITY)
        } else {
            Exact::Float(f64::INFINITY)
        }
    }

    /// A float without a fraction becomes an integer, so that 1.0 and 1 are the same.
    fn float(float: f64) -> Exact {
        // Both limits are powers of two and have exact floats.
        let fits = float >= i128::MIN as f64 && float < -(i128::MIN as f64);
        if fits && float.fract() == 0.0 {
            Exact::Integer(float as i128)
        } else {
            Exact::Float(float)
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        match self {
            Exact::Integer(_) => true,
            Exact::Float(float) => float.is_finite() && float.fract() == 0.0,
        }
    }

    pub(crate) fn exceeds_63_bits(self) -> bool {
        match self {
            Exact::Integer(integer) => integer.unsigned_abs() >> 63 != 0,
            Exact::Float(float) => float.fract() == 0.0,
        }
    }

    pub(crate) fn compare(self, other: Exact) -> Ordering {
        match (self, other) {
            (Exact::Integer(a), Exact::Integer(b)) => a.cmp(&b),
            (Exact::Float(a), Exact::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (Exact::Integer(a), Exact::Float(b)) => compare_mixed(a, b),
            (Exact::Float(a), Exact::Integer(b)) => compare_mixed(b, a).reverse(),
        }
    }

    /// A count, as lengths are given. Fractions and negative numbers are none.
    pub(crate) fn count(self) -> Option<u64> {
        match self {
            Exact::Integer(integer) if integer < 0 => None,
            Exact::Integer(integer) => Some(u64::try_from(integer).unwrap_or(u64::MAX)),
            Exact::Float(float) if float > 0.0 && self.is_integer() => Some(u64::MAX),
            Exact::Float(_) => None,
        }
    }

    /// Whether this is a multiple of `divisor`: of integers as they are, of others in decimals as they are written.
    pub(crate) fn is_multiple_of(self, divisor: Exact) -> bool {
        match (self, divisor) {
            (Exact::Integer(value), Exact::Integer(divisor)) => {
                return value.checked_rem(divisor).is_none_or(|rest| rest == 0);
            }
            // The remainder of two floats is exact.
            (Exact::Float(value), Exact::Integer(divisor)) => return value % divisor as f64 == 0.0,
            (Exact::Float(value), Exact::Float(divisor)) if divisor.fract() == 0.0 => {
                return value % divisor == 0.0;
            }
            _ => {}
        }
        let (Some(value), Some(divisor)) = (Decimal::of(self), Decimal::of(divisor)) else {
            return false;
        };
        value.is_multiple_of(divisor)
    }
}

/// An integer against a float that has a fraction or is out of the range of integers.
fn compare_mixed(integer: i128, float: f64) -> Ordering {
    if float.fract() == 0.0 || !float.is_finite() {
        return if float > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        };
    }
    match integer.cmp(&(float as i128)) {
        Ordering::Equal if float.fract() > 0.0 => Ordering::Less,
        Ordering::Equal => Ordering::Greater,
        order => order,
    }
}

/// `digits * 10^exponent`; the sign does not matter to multiples.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    fn of(number: Exact) -> Option<Decimal> {
        match number {
            // What was written as a float has at most 17 digits; these are the ones that count.
            Exact::Integer(integer) if integer.unsigned_abs() >> 64 != 0 => {
                Decimal::of_float(integer as f64)
            }
            Exact::Integer(integer) => Some(Decimal {
                digits: integer.unsigned_abs(),
                exponent: 0,
            }),
            Exact::Float(float) => Decimal::of_float(float),
        }
    }

    /// The shortest decimal that means this float: 0.1 is one tenth here.
    fn of_float(float: f64) -> Option<Decimal> {
        if !float.is_finite() {
            return None;
        }
        let mut text = Text::default();
        write!(text, "{:e}", float.abs()).ok()?;
        let (mantissa, exponent) = text.as_str()?.split_once('e')?;
        let mut exponent: i32 = exponent.parse().ok()?;
        let mut digits: u128 = 0;
        let mut in_fraction = false;
        for character in mantissa.chars() {
            let Some(digit) = character.to_digit(10) else {
                in_fraction = true;
                continue;
            };
            digits = digits * 10 + u128::from(digit);
            exponent -= i32::from(in_fraction);
        }
        Some(Decimal { digits, exponent })
    }

    fn is_multiple_of(self, divisor: Decimal) -> bool {
        if self.digits == 0 || divisor.digits == 0 {
            return self.digits == 0;
        }
        let shift = self.exponent - divisor.exponent;
        if shift < 0 {
            // A divisor that is too large for this is larger than the value.
            let scaled = 10_u128
                .checked_pow(shift.unsigned_abs())
                .and_then(|power| power.checked_mul(divisor.digits));
            return scaled.is_some_and(|scaled| self.digits.is_multiple_of(scaled));
        }
        // Both factors stay below 2^64, and their product below 2^128.
        let mut rest = self.digits % divisor.digits;
        for _ in 0..shift {
            rest = rest * 10 % divisor.digits;
        }
        rest == 0
    }
}

/// Room for one float as text, so that a check allocates nothing.
#[derive(Default)]
struct Text {
    bytes: [u8; 32],
    length: usize,
}

impl Text {
    fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.bytes.get(..self.length)?).ok()
    }
}

impl std::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let room = self
            .bytes
            .get_mut(self.length..end)
            .ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
