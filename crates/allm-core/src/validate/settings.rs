//! The settings of a run.

use std::time::Duration;

use crate::data::ResponseFormat;
use crate::error::{Fault, FaultCode, ValidationError, ValidationReason};
use crate::path::Path;

/// Something that can be zero. An absent amount is not set, which is not zero.
pub trait Amount {
    /// Whether it is set, and zero.
    fn is_zero(&self) -> bool;
}

macro_rules! amounts {
    ($($number:ty),+) => {$(
        impl Amount for $number {
            fn is_zero(&self) -> bool {
                *self == 0
            }
        }
    )+};
}

amounts!(u32, u64, usize);

impl Amount for Duration {
    fn is_zero(&self) -> bool {
        Self::is_zero(self)
    }
}

impl<A: Amount> Amount for Option<A> {
    fn is_zero(&self) -> bool {
        self.as_ref().is_some_and(Amount::is_zero)
    }
}

/// Collects what is wrong with the settings of a run, so that all of it comes in one error.
///
/// ```
/// use std::time::Duration;
/// use allm_core::validate::SettingFaults;
///
/// let mut faults = SettingFaults::default();
/// faults.positive("max_turns", 0_u32);
/// faults.positive("tool_timeout", Some(Duration::ZERO));
/// let error = faults.finish().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "invalid_request: max_turns: must_be_positive; tool_timeout: must_be_positive"
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct SettingFaults(Vec<Fault>);

impl SettingFaults {
    /// Refuses zero.
    pub fn positive(&mut self, path: impl Into<Path>, amount: impl Amount) {
        if amount.is_zero() {
            self.0.push(Fault::new(path, FaultCode::MustBePositive));
        }
    }

    /// An amount of money is a finite number that is not below zero.
    pub fn amount_of_money(&mut self, path: impl Into<Path>, amount: Option<f64>) {
        if amount.is_some_and(|amount| !amount.is_finite() || amount < 0.0) {
            self.0.push(Fault::new(path, FaultCode::OutOfRange));
        }
    }

    /// Refuses `structured_finalize` without a form for the answer; plain text is none.
    pub fn structured_finalize(&mut self, format: Option<&ResponseFormat>) {
        if matches!(format, None | Some(ResponseFormat::Text)) {
            self.0.push(Fault::new(
                "structured_finalize",
                FaultCode::RequiresJsonSchema,
            ));
        }
    }

    /// What was found.
    ///
    /// # Errors
    ///
    /// `invalid_request` with all faults, in the order in which they were found.
    pub fn finish(self) -> Result<(), ValidationError> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(ValidationError::new(
            ValidationReason::InvalidRequest,
            self.0,
        ))
    }
}
