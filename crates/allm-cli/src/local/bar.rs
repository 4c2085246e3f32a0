//! How far the fetching of a model is, on one line of the terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use allm_local::models::Progress;

use crate::terminal;

/// How long a state stays on the screen at least, when nobody knows how many there will be.
const PAUSE: Duration = Duration::from_millis(100);

/// A line of the terminal that says how far it is; nothing where there is no terminal.
#[derive(Clone)]
pub(super) struct Bar(Arc<Mutex<State>>);

struct State {
    how: How,
    drawn: Option<(Shown, Instant)>,
}

/// How it is told.
#[derive(Clone, Copy, PartialEq)]
enum How {
    /// On one line, again and again.
    Drawn,
    /// A line for each thing that begins: the terminal cannot take a line away.
    Lines,
    /// Not at all.
    Not,
}

/// What a line tells; the same is not drawn twice.
#[derive(Clone, Copy, PartialEq)]
struct Shown {
    said: &'static str,
    percent: Option<u64>,
}

impl Bar {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            how: match io::stderr().is_terminal() {
                true if terminal::is_dumb() => How::Lines,
                true => How::Drawn,
                false => How::Not,
            },
            drawn: None,
        })))
    }

    pub(super) fn show(&self, progress: Progress) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.how == How::Not {
            return;
        }
        let (said, done, total) = match progress {
            Progress::Waiting => ("waiting for another program that fetches it", 0, None),
            Progress::Downloading { done, total } => ("downloading", done, total),
            Progress::Unpacking { done, total } => ("unpacking", done, Some(total)),
            _ => return,
        };
        let percent = total.and_then(|total| percent(done, total));
        let shown = Shown { said, percent };
        if state.how == How::Lines {
            if state.drawn.is_none_or(|(last, _)| last.said != said) {
                state.drawn = Some((shown, Instant::now()));
                let size = total.map_or_else(String::new, |total| format!(" {}", megabytes(total)));
                let _ = writeln!(io::stderr(), "{said}{size}");
            }
            return;
        }
        // Nothing that is held back now would be shown later, when a download stands still: every percent is drawn.
        let is_told = state
            .drawn
            .is_some_and(|(last, at)| last == shown && (percent.is_some() || at.elapsed() < PAUSE));
        if is_told {
            return;
        }
        state.drawn = Some((shown, Instant::now()));
        let line = line(said, done, total, terminal::columns(io::stderr()));
        let _ = write!(io::stderr(), "\r\x1b[K{line}");
        let _ = io::stderr().flush();
    }

    /// Takes the line away, for good: what comes later is not shown.
    pub(super) fn end(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.how == How::Drawn && state.drawn.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
            let _ = io::stderr().flush();
        }
        state.how = How::Not;
    }
}

/// A line that leaves room for the `^C` that a terminal shows, and the last column free: what goes on in the next line
/// would not be taken away.
fn line(said: &str, done: u64, total: Option<u64>, columns: usize) -> String {
    let room = columns.saturating_sub("^C".len() + 1);
    let line = match total.and_then(|total| Some((total, percent(done, total)?))) {
        Some((total, percent)) => {
            let text = format!("{percent:3} % of {}", megabytes(total));
            let bar = bar(percent, room.saturating_sub(said.len() + text.len() + 2));
            format!("{said} {bar}{text}")
        }
        _ if done > 0 => format!("{said} {}", megabytes(done)),
        _ => said.to_owned(),
    };
    line.chars().take(room).collect()
}

/// How much is done; nothing when there is nothing to do.
fn percent(done: u64, total: u64) -> Option<u64> {
    let percent = done.saturating_mul(100).checked_div(total)?;
    Some(percent.min(100))
}

/// A bar for what is done, with a space after it; nothing where there is no room for one.
fn bar(percent: u64, room: usize) -> String {
    const WIDEST: usize = 40;
    const NARROWEST: usize = 8;
    let width = room.saturating_sub(2).min(WIDEST);
    if width < NARROWEST {
        return String::new();
    }
    let done = usize::try_from(percent).unwrap_or(100) * width / 100;
    format!("[{}{}] ", "=".repeat(done), " ".repeat(width - done))
}

/// A size, for people.
pub(super) fn megabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_add(50_000) / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        assert_eq!(
            line("downloading", 46_400_000, Some(92_871_040), 80),
            format!(
                "downloading [{}{}]  49 % of 92.9 MB",
                "=".repeat(19),
                " ".repeat(21)
            )
        );
        assert_eq!(
            line("downloading", 1_250_000, None, 80),
            "downloading 1.3 MB"
        );
        assert_eq!(line("waiting", 0, None, 80), "waiting");
        assert_eq!(
            line("unpacking", 5, Some(5), 80),
            format!("unpacking [{}] 100 % of 0.0 MB", "=".repeat(40))
        );
    }

    #[test]
    fn a_line_fits_into_the_terminal() {
        for columns in 20..120 {
            let line = line("downloading", 46_400_000, Some(92_871_040), columns);
            assert!(line.len() + 2 < columns, "{columns}: {line}");
            assert_eq!(line.contains('['), columns >= 42, "{columns}: {line}");
        }
        assert_eq!(
            line("waiting for another program that fetches it", 0, None, 20),
            "waiting for anoth"
        );
    }
}
