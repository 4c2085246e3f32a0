//! The answer of a run on standard output, as it comes, and notes about it on standard error.

use std::io::{self, IsTerminal as _, Write as _};

use allm::{Event, ExecutionResult};
use serde_json::Value;

use crate::problem::Problem;
use crate::terminal::Terminal;
use crate::transcript::plain::{cut, harmless, one_line};

/// Whether what was said could be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Whole,
    /// Whoever read it has gone away.
    Unread,
}

/// Standard output.
pub(crate) struct Answer {
    /// Whether a person reads it in a terminal.
    pub(crate) is_read: bool,
    /// Whether the last thing that was said ended its line.
    at_line_start: bool,
    failed: Option<io::Error>,
}

impl Answer {
    pub(crate) fn here() -> Self {
        Self {
            is_read: io::stdout().is_terminal(),
            at_line_start: true,
            failed: None,
        }
    }

    /// Says what a model said: it makes a terminal do nothing, and a pipe gets it as it is.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        match self.is_read {
            true => self.write(&harmless(text)),
            false => self.write(text),
        }
    }

    /// Writes it at once: whoever reads may be a person.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(error) = &self.failed {
            return Err(error.kind().into());
        }
        self.at_line_start = text.ends_with('\n');
        let mut stdout = io::stdout().lock();
        let said = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        said.map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            kind.into()
        })
    }

    /// The next thing begins a line.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        match self.at_line_start {
            true => Ok(()),
            false => self.write("\n"),
        }
    }

    /// Ends the last line, and tells whether all that was said could be.
    pub(crate) fn end(&mut self) -> Result<Written, Problem> {
        let ended = self.end_line();
        // The first failure is the one that tells; later ones only say that there was one.
        match (ended, self.failed.take()) {
            (Ok(()), None) => Ok(Written::Whole),
            (_, Some(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Written::Unread),
            (_, Some(error)) | (Err(error), None) => Err(Problem::failed(format!(
                "the answer cannot be written: {error}"
            ))),
        }
    }
}

/// Tells a person in front of a terminal what happens besides the answer; a script is not told.
pub(crate) fn note_event(event: &Event) {
    let text = match event {
        Event::ToolExecutionStarted(started) => {
            let arguments = Value::Object((*started.arguments).clone()).to_string();
            format!("→ {}({arguments})", started.name)
        }
        Event::ToolExecutionCompleted(ended) => match &ended.result {
            ExecutionResult::Error(failure) => {
                format!("✗ {}: {}", ended.name, failure.message)
            }
            _ => format!("✓ {}", ended.name),
        },
        Event::AttemptReset(_) => "(the answer was lost; asking again)".to_owned(),
        _ => return,
    };
    note(&cut(&one_line(&text), Terminal::here().width()));
}

/// Says something to the person in front of the terminal; a script is not told.
pub(crate) fn note(text: &str) {
    if io::stderr().is_terminal() {
        // A note that cannot be made is no loss.
        let _ = writeln!(io::stderr(), "{text}");
    }
}
