//! What a kit found.

use std::fmt;

/// What a kit found: every behaviour that it knows, with what came of it.
///
/// `Display` is a table of all of them; [`assert`](Self::assert) shows only what failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a report does nothing until it is asserted or read"]
pub struct Report {
    kit: &'static str,
    checks: Vec<Check>,
}

/// One behaviour, and whether it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// A short name, unique in its kit.
    pub name: &'static str,
    /// Where the contract says so: numbers of `docs/contract`, or a page and its section.
    pub contract: &'static str,
    /// What is expected, in a sentence.
    pub behaviour: &'static str,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The behaviour is there.
    Passed,
    /// It is not.
    Failed {
        /// What should have been seen.
        expected: String,
        /// What was seen.
        found: String,
    },
    /// It could not be looked at.
    Skipped {
        /// Why not.
        why: String,
    },
}

impl Outcome {
    /// Whether the behaviour is there.
    #[must_use]
    pub const fn is_passed(&self) -> bool {
        matches!(self, Self::Passed)
    }

    /// Whether the behaviour is not there.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// Whether the behaviour could not be looked at.
    #[must_use]
    pub const fn is_skipped(&self) -> bool {
        matches!(self, Self::Skipped { .. })
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed { .. } => "FAILED",
            Self::Skipped { .. } => "skipped",
        }
    }
}

impl Report {
    pub(crate) fn new(kit: &'static str, checks: Vec<Check>) -> Self {
        Self { kit, checks }
    }

    /// Every behaviour of the kit, in its order.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// The check of this name.
    #[must_use]
    pub fn check(&self, name: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// The checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.outcome.is_failed())
    }

    /// The checks that could not be made.
    pub fn skipped(&self) -> impl Iterator<Item = &Check> {
        self.checks
            .iter()
            .filter(|check| check.outcome.is_skipped())
    }

    /// Whether nothing failed and something was looked at.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        self.failed().next().is_none() && self.checks.iter().any(|check| check.outcome.is_passed())
    }

    /// Goes on if nothing failed.
    ///
    /// # Panics
    ///
    /// With all failures at once if there are any, and when every check was skipped: such a test could not fail.
    #[track_caller]
    pub fn assert(&self) {
        if !self.is_passed() {
            fail(&Failures(self));
        }
    }

    /// Goes on if nothing failed and exactly the checks of these names were skipped.
    ///
    /// For a subject that is meant to express nearly everything: a check that begins to be skipped is seen.
    ///
    /// # Panics
    ///
    /// As [`assert`](Self::assert) does, and when another check was skipped, or one of these was not.
    #[track_caller]
    pub fn assert_skipping_only(&self, names: &[&str]) {
        self.assert();
        let skipped: Vec<_> = self.skipped().map(|check| check.name).collect();
        let differs = skipped.iter().any(|name| !names.contains(name))
            || names.iter().any(|name| !skipped.contains(name));
        if differs {
            fail(&format_args!(
                "the {} kit skipped {skipped:?} instead of {names:?}",
                self.kit
            ));
        }
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "that is how a test fails")]
fn fail(why: &dyn fmt::Display) {
    panic!("{why}");
}

/// Only what failed.
struct Failures<'a>(&'a Report);

impl fmt::Display for Failures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { kit, checks } = self.0;
        let failed = self.0.failed().count();
        if failed == 0 {
            writeln!(f, "the {kit} kit could look at nothing:")?;
            return self.0.skipped().try_for_each(|check| check.fmt(f));
        }
        writeln!(f, "the {kit} kit: {failed} of {} failed", checks.len())?;
        self.0.failed().try_for_each(|check| check.fmt(f))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            contract,
            behaviour,
            outcome,
        } = self;
        let word = outcome.word();
        writeln!(f, "  {word:<7}  {name} ({contract}): {behaviour}")?;
        match outcome {
            Outcome::Passed => Ok(()),
            Outcome::Failed { expected, found } => {
                writeln!(f, "             expected: {expected}")?;
                writeln!(f, "             found:    {found}")
            }
            Outcome::Skipped { why } => writeln!(f, "             because: {why}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |is: fn(&Outcome) -> bool| {
            let checks = self.checks.iter();
            checks.filter(|check| is(&check.outcome)).count()
        };
        writeln!(
            f,
            "the {} kit: {} passed, {} failed, {} skipped",
            self.kit,
            count(Outcome::is_passed),
            count(Outcome::is_failed),
            count(Outcome::is_skipped),
        )?;
        self.checks.iter().try_for_each(|check| check.fmt(f))
    }
}
