//! What a person says: lines that are edited in a terminal, or read from a pipe.

mod editor;

use std::io::BufRead as _;
use std::path::PathBuf;
use std::sync::mpsc;
use std::task::{Context, Waker};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::problem::Problem;
use crate::terminal::Terminal;

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A line, or several.
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the pipe.
    End,
}

/// How it is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// What stands before the line.
    pub(crate) prompt: String,
    /// What stands in it already.
    pub(crate) initial: String,
    /// Whether it is something that is said to the model: it is remembered, may have several lines, and its commands are
    /// completed.
    pub(crate) is_message: bool,
}

impl Asked {
    /// What is said to the model.
    pub(crate) fn message(prompt: impl Into<String>, initial: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            initial: initial.into(),
            is_message: true,
        }
    }

    /// An answer to something that the program asks.
    pub(crate) fn answer(prompt: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            ..Self::default()
        }
    }
}

/// A question to the thread that reads: reading waits, and the runtime must not.
pub(super) struct Question {
    asked: Asked,
    answer: oneshot::Sender<Said>,
}

/// Where lines come from, and Ctrl-C.
pub(crate) struct Input {
    questions: mpsc::Sender<Question>,
    interrupts: Signal,
    /// Whether the line editor sees Ctrl-C.
    is_edited: bool,
}

impl Input {
    /// The input of this process. In a terminal, what is said is remembered in this file.
    pub(crate) fn open(terminal: Terminal, history: PathBuf) -> Result<Self, Problem> {
        let failed = |error| Problem::failed(format!("Ctrl-C cannot be listened to: {error}"));
        let interrupts = signal(SignalKind::interrupt()).map_err(failed)?;
        let (questions, asked) = mpsc::channel();
        let read = move || match terminal.is_interactive() {
            true => editor::read(&asked, terminal, &history),
            false => read_lines(&asked),
        };
        let thread = std::thread::Builder::new().name("input".to_owned());
        thread
            .spawn(read)
            .map_err(|error| Problem::failed(format!("no thread could be started: {error}")))?;
        Ok(Self {
            questions,
            interrupts,
            is_edited: terminal.is_interactive() && terminal.is_edited(),
        })
    }

    /// Asks, and waits for what is said.
    pub(crate) async fn ask(&mut self, asked: Asked) -> Said {
        // What was typed to stop the last answer, and came too late, is over. What is typed once the prompt can be seen
        // counts, so that this is looked at before the reading thread is asked.
        while self
            .interrupts
            .poll_recv(&mut Context::from_waker(Waker::noop()))
            .is_ready()
        {}
        let (answer, mut answered) = oneshot::channel();
        if self.questions.send(Question { asked, answer }).is_err() {
            return Said::End;
        }
        loop {
            tokio::select! {
                said = &mut answered => return said.unwrap_or(Said::End),
                _ = self.interrupts.recv() => {
                    // The line editor sees Ctrl-C itself; what comes here was typed before it was there. Where no lines
                    // are edited the thread cannot be called back, so that this is the end.
                    if !self.is_edited {
                        return Said::End;
                    }
                }
            }
        }
    }

    /// Waits for Ctrl-C outside of questions.
    pub(crate) async fn interrupted(&mut self) {
        self.interrupts.recv().await;
    }
}

/// Reads lines of a pipe.
fn read_lines(asked: &mpsc::Receiver<Question>) {
    let mut lines = std::io::stdin().lock().lines();
    while let Ok(question) = asked.recv() {
        let said = match lines.next() {
            Some(Ok(line)) => Said::Text(line),
            Some(Err(_)) | None => Said::End,
        };
        // Whoever asked may have gone.
        let _ = question.answer.send(said);
    }
}
