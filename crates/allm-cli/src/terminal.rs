//! The terminal: whether there is one, its width, and whether it is shown colours.

pub(crate) mod state;
pub(crate) mod wrap;

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::os::fd::AsFd;

pub(crate) use wrap::Wrap;

use crate::problem::Problem;
use crate::transcript::plain::harmless;

/// Lines are made for at least this many columns; what is narrower is left to the terminal.
const NARROWEST: usize = 20;

/// The width that is taken where there is no terminal to ask.
const USUAL: usize = 80;

/// What is known of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Whether a person types.
    pub(crate) is_typed: bool,
    /// Whether a person reads.
    pub(crate) is_read: bool,
    /// Whether bold, dim and colours are shown.
    pub(crate) has_styles: bool,
}

impl Terminal {
    /// The terminal of this process.
    pub(crate) fn here() -> Self {
        let is_read = std::io::stdout().is_terminal();
        Self {
            is_typed: std::io::stdin().is_terminal(),
            is_read,
            has_styles: has_styles(is_read, |name| {
                let value = std::env::var_os(name).filter(|value| !value.is_empty());
                value.map(|value| value.to_string_lossy().into_owned())
            }),
        }
    }

    /// Whether questions can be asked and answered.
    pub(crate) fn is_interactive(self) -> bool {
        self.is_typed && self.is_read
    }

    /// Whether lines can be edited in it.
    #[expect(
        clippy::unused_self,
        reason = "it is the terminal's, though the environment is asked"
    )]
    pub(crate) fn is_edited(self) -> bool {
        let term = std::env::var("TERM").unwrap_or_default();
        !matches!(term.as_str(), "dumb" | "cons25" | "emacs")
    }

    /// How many columns there are now: the window may have been resized.
    #[expect(
        clippy::unused_self,
        reason = "it is the terminal's, though the system is asked"
    )]
    pub(crate) fn width(self) -> usize {
        columns(std::io::stdout())
    }
}

/// How many columns there are now in the terminal that this is.
pub(crate) fn columns(file: impl AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(file);
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    match columns {
        0 => USUAL,
        columns => columns.max(NARROWEST),
    }
}

/// Whether the terminal can do nothing but show what is written.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Asks a person at the terminal. Anything but yes is no.
pub(crate) fn agreed(question: &str) -> Result<bool, Problem> {
    let mut err = std::io::stderr();
    let mut line = String::new();
    let asked = write!(err, "{} [y/N] ", harmless(question))
        .and_then(|()| err.flush())
        .and_then(|()| std::io::stdin().lock().read_line(&mut line));
    asked.map_err(|error| Problem::failed(format!("nobody could be asked: {error}")))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Whether styles are shown: `NO_COLOR` forbids them, `CLICOLOR_FORCE` wants them, and else a terminal that is not dumb
/// has them, unless `CLICOLOR` is 0.
fn has_styles(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    if variable("NO_COLOR").is_some() {
        return false;
    }
    if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    is_terminal
        && variable("TERM").is_none_or(|term| term != "dumb")
        && variable("CLICOLOR").is_none_or(|value| value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_follow_the_conventions() {
        let with = |is_terminal, set: &[(&str, &str)]| {
            has_styles(is_terminal, |name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(with(true, &[]));
        assert!(with(true, &[("TERM", "xterm")]));
        assert!(!with(true, &[("TERM", "dumb")]));
        assert!(!with(true, &[("NO_COLOR", "1")]));
        assert!(!with(true, &[("NO_COLOR", "0"), ("CLICOLOR_FORCE", "1")]));
        assert!(!with(true, &[("CLICOLOR", "0")]));
        assert!(!with(false, &[]));
        assert!(with(false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!with(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(with(true, &[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")]));
    }
}
