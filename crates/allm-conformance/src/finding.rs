//! What a single check says, before it stands in a report.

use std::fmt::{self, Debug};

use crate::report::{Check, Outcome};

/// Why a subject cannot show a behaviour. The check is then skipped, and the report says why.
///
/// ```
/// use allm_conformance::CannotExpress;
///
/// let reason = CannotExpress::because("a child process cannot panic");
/// assert_eq!(reason.to_string(), "a child process cannot panic");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotExpress(String);

impl CannotExpress {
    /// Says why.
    pub fn because(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for CannotExpress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CannotExpress {}

/// Why a check did not pass.
#[derive(Debug)]
pub(crate) enum Finding {
    Skipped(String),
    Failed { expected: String, found: String },
}

pub(crate) type Checked = Result<(), Finding>;

impl From<CannotExpress> for Finding {
    fn from(reason: CannotExpress) -> Self {
        Self::Skipped(reason.0)
    }
}

impl Finding {
    pub(crate) fn failed(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Failed {
            expected: expected.into(),
            found: short(found.into()),
        }
    }

    pub(crate) fn skipped(why: impl Into<String>) -> Self {
        Self::Skipped(why.into())
    }

    /// The same, with where it was seen.
    pub(crate) fn at(self, place: &dyn fmt::Display) -> Self {
        match self {
            Self::Failed { expected, found } => Self::Failed {
                expected,
                found: format!("{place}: {found}"),
            },
            skipped => skipped,
        }
    }
}

/// A behaviour that is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) contract: &'static str,
    pub(crate) behaviour: &'static str,
}

impl Rule {
    pub(crate) fn came_to(self, checked: Checked) -> Check {
        Check {
            name: self.name,
            contract: self.contract,
            behaviour: self.behaviour,
            outcome: match checked {
                Ok(()) => Outcome::Passed,
                Err(Finding::Skipped(why)) => Outcome::Skipped { why },
                Err(Finding::Failed { expected, found }) => Outcome::Failed { expected, found },
            },
        }
    }
}

/// Fails with what was found, unless it holds.
pub(crate) fn expect(holds: bool, expected: &str, found: impl FnOnce() -> String) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Finding::failed(expected, found()))
    }
}

/// Fails unless both are equal.
pub(crate) fn expect_eq<T: PartialEq + Debug + ?Sized>(found: &T, expected: &T) -> Checked {
    if found == expected {
        Ok(())
    } else {
        Err(Finding::failed(
            short(format!("{expected:?}")),
            format!("{found:?}"),
        ))
    }
}

/// A text that fits a report.
pub(crate) fn short(text: String) -> String {
    const LONGEST: usize = 600;
    if text.len() <= LONGEST {
        return text;
    }
    let total = text.len();
    let kept = text.get(..text.floor_char_boundary(LONGEST));
    format!("{}… ({total} bytes)", kept.unwrap_or_default())
}
