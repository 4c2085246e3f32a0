//! Numbers: whole ones exactly while they fit, all others as floating point.

use std::cmp::Ordering;

use super::Fault;

/// How many digits of a number that is not whole are told: as many as floating point has for sure.
const DIGITS: usize = 15;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Whole(i128),
    Real(f64),
}

use Number::{Real, Whole};

impl Number {
    #[expect(
        clippy::cast_precision_loss,
        reason = "that is what leaving the whole numbers costs"
    )]
    pub(super) const fn real(self) -> f64 {
        match self {
            Whole(whole) => whole as f64,
            Real(real) => real,
        }
    }

    /// A real number that is whole, as such, if it fits.
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and fits")]
    pub(super) fn settled(real: f64) -> Self {
        // 2^127, which is one too large.
        const LIMIT: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
        match real.fract() == 0.0 && real.abs() < LIMIT {
            true => Whole(real as i128),
            false => Real(real),
        }
    }

    fn either(
        self,
        other: Self,
        whole: impl Fn(i128, i128) -> Option<i128>,
        real: impl Fn(f64, f64) -> f64,
    ) -> Self {
        if let (Whole(a), Whole(b)) = (self, other)
            && let Some(exact) = whole(a, b)
        {
            return Whole(exact);
        }
        Real(real(self.real(), other.real()))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.either(other, i128::checked_add, |a, b| a + b)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.either(other, i128::checked_sub, |a, b| a - b)
    }

    pub(super) fn times(self, other: Self) -> Self {
        self.either(other, i128::checked_mul, |a, b| a * b)
    }

    /// Whole where nothing is left over.
    pub(super) fn over(self, other: Self, column: usize) -> Result<Self, Fault> {
        if other.real() == 0.0 {
            return Err(Fault::new(column, "division by zero"));
        }
        let exact = |a: i128, b: i128| match a.checked_rem(b) {
            Some(0) => a.checked_div(b),
            _ => None,
        };
        Ok(self.either(other, exact, |a, b| a / b))
    }

    /// What is left over; it has the sign of the first number.
    pub(super) fn rest(self, other: Self, column: usize) -> Result<Self, Fault> {
        if other.real() == 0.0 {
            return Err(Fault::new(column, "division by zero"));
        }
        Ok(self.either(other, i128::checked_rem, |a, b| a % b))
    }

    pub(super) fn power(self, other: Self, column: usize) -> Result<Self, Fault> {
        if self.real() == 0.0 && other.real() < 0.0 {
            return Err(Fault::new(column, "division by zero"));
        }
        let exact = |a: i128, b: i128| a.checked_pow(u32::try_from(b).ok()?);
        Ok(self.either(other, exact, f64::powf))
    }

    pub(super) fn negative(self) -> Self {
        Whole(0).minus(self)
    }

    pub(super) fn absolute(self) -> Self {
        match self {
            Whole(whole) => whole.checked_abs().map_or(Real(self.real().abs()), Whole),
            Real(real) => Real(real.abs()),
        }
    }

    /// Whole for a square number.
    pub(super) fn root(self) -> Self {
        if let Whole(whole) = self
            && let Some(root) = whole.checked_isqrt()
            && root.checked_mul(root) == Some(whole)
        {
            return Whole(root);
        }
        Real(self.real().sqrt())
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Whole(a), Whole(b)) => a.cmp(&b),
            (a, b) => a.real().total_cmp(&b.real()),
        }
    }

    /// As text.
    pub(super) fn shown(self) -> Result<String, Fault> {
        let real = match self {
            Whole(whole) => return Ok(whole.to_string()),
            Real(real) => real,
        };
        if real.is_nan() {
            return Err(Fault::new(1, "the result is no real number"));
        }
        if real.is_infinite() {
            return Err(Fault::new(1, "the result is too large"));
        }
        let rounded = format!("{real:.*e}", DIGITS - 1).parse().unwrap_or(real);
        let size = rounded.abs();
        Ok(match rounded {
            0.0 => "0".to_owned(),
            _ if (1e-6..1e16).contains(&size) => rounded.to_string(),
            _ => format!("{rounded:e}"),
        })
    }
}
