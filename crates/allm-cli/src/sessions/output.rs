//! Where output goes, and how wide it may be.

use std::io::{ErrorKind, IsTerminal as _, Write as _};

use crate::problem::Problem;
use crate::terminal::Terminal;

/// Writes to standard output. Tells whether anybody still reads it: `head` that has seen enough is no failure.
pub(crate) fn print(text: &str) -> Result<bool, Problem> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Problem::failed(format!(
            "standard output cannot be written: {error}"
        ))),
    }
}

/// Says something on standard error.
pub(crate) fn tell(text: &str) {
    // There is nowhere else to say that it could not be said.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// How many columns there are: those of the terminal, or what `COLUMNS` says where there is none. `None` is no limit.
pub(crate) fn columns() -> Option<usize> {
    match std::io::stdout().is_terminal() {
        true => Some(Terminal::here().width()),
        false => std::env::var("COLUMNS").ok()?.parse().ok(),
    }
}
