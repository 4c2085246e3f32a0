//! Programs that show sessions of allm in a real store. No network and no key: the model is scripted.
//!
//! | program | what it shows |
//! |---|---|
//! | `approval_desk` | a conversation that stops for a person's agreement, in SQLite; the person is at the terminal |
//! | `hand_over` | two processes that hand one conversation to each other, in PostgreSQL |
//! | `crash_and_recovery` | a process that is killed with signal 9 between a payment and the news of it, and what the next one makes of it |
//!
//! ```sh
//! cargo run -q -p allm-examples --bin crash_and_recovery
//! ```

use std::path::PathBuf;

use allm::{Fake, Request, Role, Script};

/// Where a program of this process may write: a folder of its own that it removes.
#[must_use]
pub fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("allm-{name}-{}", std::process::id()))
}

/// A model that answers by what was said last, and not by how often it was asked: a process that is started again gets
/// the answers that the one before it would have got.
#[must_use]
pub fn model(answers: Vec<(Said, Script)>) -> Fake {
    let fake = Fake::new();
    let mut answers = answers.into_iter();
    answers
        .try_fold(fake, |fake, (said, script)| {
            Some(fake.reply_when(move |request| said.is_in(request), script))
        })
        .unwrap_or_default()
}

/// What was said last.
#[derive(Clone, Copy, Debug)]
pub enum Said {
    /// The user said something that has this in it.
    User(&'static str),
    /// Tools gave results.
    Tools,
}

impl Said {
    fn is_in(self, request: &Request) -> bool {
        let Some(last) = request.messages.last() else {
            return false;
        };
        match self {
            Self::User(text) => last.role == Role::User && last.text().contains(text),
            Self::Tools => last.role == Role::Tool,
        }
    }
}
