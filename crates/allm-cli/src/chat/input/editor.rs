//! Lines that are edited in a terminal.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, mpsc};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler,
    Helper, KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};

use super::{Asked, Question, Said};
use crate::chat::commands::NAMES;
use crate::terminal::{Terminal, state};

/// How many lines are remembered.
const REMEMBERED: usize = 1_000;

/// Answers questions with lines that are edited, until nobody asks.
pub(super) fn read(asked: &mpsc::Receiver<Question>, terminal: Terminal, history: &Path) {
    let Some(mut editor) = editor(terminal) else {
        return;
    };
    // The first time there is none.
    let _ = editor.load_history(history);
    while let Ok(Question { asked, answer }) = asked.recv() {
        if let Some(helper) = editor.helper_mut() {
            helper.is_message.store(asked.is_message, Ordering::Relaxed);
            // Where no lines are edited the terminal stays as it is, and nobody would say so.
            if terminal.is_edited() {
                helper.changing.set(Some(state::changing()));
            }
        }
        let said = line(&mut editor, &asked);
        if let Some(helper) = editor.helper_mut() {
            helper.changing.take();
        }
        if let Said::Text(text) = &said
            && asked.is_message
            && !text.trim().is_empty()
            && editor.add_history_entry(text).unwrap_or(false)
        {
            // What cannot be remembered is no reason to end a conversation.
            let _ = editor.append_history(history);
        }
        let _ = answer.send(said);
    }
}

fn line(editor: &mut Editor<Person, FileHistory>, asked: &Asked) -> Said {
    match editor.readline_with_initial(&asked.prompt, (&asked.initial, "")) {
        Ok(text) => Said::Text(text.replace("\\\n", "\n")),
        Err(ReadlineError::Interrupted) => Said::Interrupted,
        Err(_) => Said::End,
    }
}

fn editor(terminal: Terminal) -> Option<Editor<Person, FileHistory>> {
    let config = Config::builder()
        .max_history_size(REMEMBERED)
        .ok()?
        .history_ignore_space(true)
        .bracketed_paste(true)
        .auto_add_history(false)
        .build();
    let mut editor = Editor::with_config(config).ok()?;
    let is_message = Arc::new(AtomicBool::new(true));
    editor.set_helper(Some(Person {
        has_styles: terminal.has_styles,
        is_message: Arc::clone(&is_message),
        changing: Cell::new(None),
    }));
    let alt_enter = KeyEvent(KeyCode::Enter, Modifiers::ALT);
    editor.bind_sequence(alt_enter, EventHandler::Simple(Cmd::Newline));
    let ctrl_c = KeyEvent(KeyCode::Char('C'), Modifiers::CTRL);
    editor.bind_sequence(
        ctrl_c,
        EventHandler::Conditional(Box::new(ClearFirst { is_message })),
    );
    Some(editor)
}

/// Ctrl-C takes back what was typed for the model; where there is nothing to take back, or something else is asked, it
/// interrupts.
struct ClearFirst {
    is_message: Arc<AtomicBool>,
}

impl ConditionalEventHandler for ClearFirst {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        let clears = self.is_message.load(Ordering::Relaxed) && !context.line().is_empty();
        Some(match clears {
            true => Cmd::Kill(Movement::WholeBuffer),
            false => Cmd::Interrupt,
        })
    }
}

/// Helps the person who types.
struct Person {
    has_styles: bool,
    /// Whether what is asked for is something that is said to the model.
    is_message: Arc<AtomicBool>,
    /// Held until the terminal is one in which lines are edited.
    changing: Cell<Option<MutexGuard<'static, ()>>>,
}

impl Person {
    fn is_message(&self) -> bool {
        self.is_message.load(Ordering::Relaxed)
    }
}

impl Helper for Person {}

impl Hinter for Person {
    type Hint = String;

    /// Nothing is hinted. It is asked for before the prompt is drawn, when the terminal has been changed.
    fn hint(&self, _: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.changing.take();
        None
    }
}

impl Highlighter for Person {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(
        &'s self,
        prompt: &'p str,
        _default: bool,
    ) -> Cow<'b, str> {
        match self.has_styles {
            true => Cow::Owned(format!("\x1b[1m{prompt}\x1b[0m")),
            false => Cow::Borrowed(prompt),
        }
    }
}

impl Validator for Person {
    /// A line that ends with a backslash goes on.
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        match self.is_message() && context.input().ends_with('\\') {
            true => Ok(ValidationResult::Incomplete),
            false => Ok(ValidationResult::Valid(None)),
        }
    }
}

impl Completer for Person {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        place: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..place).unwrap_or(line);
        if !self.is_message() || !begun.starts_with('/') || begun.contains(' ') {
            return Ok((place, Vec::new()));
        }
        let fitting = NAMES.iter().filter(|name| name.starts_with(begun));
        Ok((0, fitting.map(|name| format!("{name} ")).collect()))
    }
}
