//! What a person sees of a conversation.

mod tools;

use std::io::Write as _;

use allm::{AttemptReset, Event, Message, Part, ReasoningPart, Role};
use anstyle::{AnsiColor, Style};

use crate::chat::markdown::Markdown;
use crate::terminal::{Terminal, Wrap};
use crate::transcript::plain::{cut, harmless, one_line};

use tools::Calls;

pub(crate) const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const STRONG: Style = Style::new().bold();

/// Shows a conversation: in a terminal wrapped and with styles, in a pipe as it is.
pub(crate) struct Display {
    terminal: Terminal,
    wrap: Wrap,
    text: Markdown,
    thinking: Markdown,
    section: Section,
    calls: Calls,
    /// Whether something of the answer that comes is shown.
    has_shown: bool,
}

/// What is being shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Nothing, at the beginning of a line.
    None,
    /// What the model thinks.
    Thinking,
    /// What it says.
    Text,
}

impl Display {
    pub(crate) fn new(terminal: Terminal) -> Self {
        let has_styles = terminal.has_styles;
        Self {
            terminal,
            wrap: Wrap::new(terminal.width(), has_styles),
            text: Markdown::new(has_styles, Style::new()),
            thinking: Markdown::new(has_styles, DIM),
            section: Section::None,
            calls: Calls::default(),
            has_shown: false,
        }
    }

    pub(crate) const fn terminal(&self) -> Terminal {
        self.terminal
    }

    /// A turn begins; these calls of it are known from before.
    pub(crate) fn begin(&mut self, known: impl IntoIterator<Item = (u32, String)>) {
        self.calls = Calls::default();
        for (index, name) in known {
            self.calls.know(index, &name);
        }
        self.has_shown = false;
    }

    /// Shows what happens.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::TextDelta(delta) => self.say(&delta.delta),
            Event::ReasoningDelta(delta) => self.think(&delta.delta),
            Event::MessageCompleted(completed) => {
                // A refusal is no text, and has not come as one.
                for part in &completed.message.content {
                    if let Part::Refusal(refusal) = part {
                        self.say(&refusal.text);
                    }
                }
                self.end();
            }
            Event::AttemptReset(AttemptReset { .. }) => self.reset(),
            Event::ToolCallStarted(call) => self.calls.know(call.index, &call.name),
            Event::StepCompleted(_) => {
                self.end();
                self.calls.forget();
                self.has_shown = false;
            }
            event => {
                if let Some((mark, line)) = self.calls.line(event) {
                    let style = match mark {
                        tools::Mark::Begun | tools::Mark::Goes => DIM,
                        tools::Mark::Done => GOOD,
                        tools::Mark::Failed => BAD,
                    };
                    self.tool_line(mark, &line, style);
                }
            }
        }
    }

    fn tool_line(&mut self, mark: tools::Mark, line: &str, style: Style) {
        self.end();
        if !self.terminal.is_read {
            return;
        }
        let line = match mark {
            // Arguments are cut; why something failed is not.
            tools::Mark::Failed => one_line(line),
            _ => cut(&one_line(line), self.terminal.width().saturating_sub(2)),
        };
        self.wrap.set_width(self.terminal.width());
        self.wrap.push(mark.sign(), style);
        self.wrap.push(" ", Style::new());
        self.wrap.hang_here();
        self.wrap.push(&line, Style::new());
        self.wrap.finish();
        self.flush();
    }

    /// The partial text of an answer that is asked for again does not count.
    fn reset(&mut self) {
        self.end();
        if self.has_shown {
            self.note("(the answer broke off here and does not count; asking again)");
        } else {
            self.note("(asking again)");
        }
        self.has_shown = false;
    }

    fn say(&mut self, text: &str) {
        self.enter(Section::Text);
        self.has_shown = true;
        if self.terminal.is_read {
            self.text.push(&harmless(text), &mut self.wrap);
        } else {
            // A pipe gets it as it is.
            self.wrap.push_raw(text, Style::new());
        }
        self.flush();
    }

    fn think(&mut self, text: &str) {
        // In a pipe there is the answer and nothing else.
        if !self.terminal.is_read {
            return;
        }
        self.enter(Section::Thinking);
        self.has_shown = true;
        self.thinking.push(&harmless(text), &mut self.wrap);
        self.flush();
    }

    fn enter(&mut self, section: Section) {
        self.wrap.set_width(self.terminal.width());
        if self.section == section {
            return;
        }
        let before = self.section;
        self.end();
        if before == Section::Thinking {
            self.put("\n");
        }
        self.section = section;
    }

    /// What is being shown is over; the next thing begins a line.
    pub(crate) fn end(&mut self) {
        match self.section {
            Section::None => self.wrap.finish(),
            Section::Thinking => self.thinking.finish(&mut self.wrap),
            Section::Text if self.terminal.is_read => self.text.finish(&mut self.wrap),
            Section::Text => self.wrap.finish(),
        }
        self.section = Section::None;
        self.flush();
    }

    /// An empty line.
    pub(crate) fn gap(&mut self) {
        self.end();
        if self.terminal.is_read {
            self.put("\n");
        }
    }

    /// Says something of the program's own.
    pub(crate) fn note(&mut self, text: &str) {
        self.own(text, DIM);
    }

    /// The same, so that it is not overlooked.
    pub(crate) fn tell(&mut self, text: &str) {
        self.own(text, Style::new());
    }

    /// The same, for what is asked.
    pub(crate) fn ask(&mut self, text: &str) {
        self.own(text, STRONG);
    }

    /// Says what went wrong.
    pub(crate) fn fault(&mut self, text: &str) {
        self.end();
        if self.terminal.is_read {
            self.wrap.push("✗ ", BAD);
            self.wrap.hang_here();
            self.own(text, Style::new());
        } else {
            error_line(&format!("allm: {}", harmless(text)));
        }
    }

    /// In a pipe, notes would be taken for the answer.
    fn own(&mut self, text: &str, style: Style) {
        if self.section != Section::None {
            self.end();
        }
        if !self.terminal.is_read {
            return;
        }
        self.wrap.set_width(self.terminal.width());
        self.wrap.push(&harmless(text), style);
        self.wrap.finish();
        self.flush();
    }

    /// A call was not agreed to.
    pub(crate) fn denied(&mut self, tool: &str, reason: &str) {
        let line = match reason {
            "" => format!("{tool}: not approved"),
            reason => format!("{tool}: not approved: {reason}"),
        };
        self.tool_line(tools::Mark::Failed, &line, BAD);
    }

    /// A message that was said before.
    pub(crate) fn message(&mut self, message: &Message) {
        match message.role {
            Role::System => {}
            Role::User => {
                self.gap();
                self.wrap.push("> ", STRONG);
                self.wrap.hang_here();
                self.own(&message.text(), Style::new());
            }
            Role::Assistant => {
                for part in &message.content {
                    match part {
                        Part::Reasoning(ReasoningPart {
                            text: Some(text), ..
                        }) => self.think(text),
                        Part::Text(part) => self.say(&part.text),
                        Part::Refusal(part) => self.say(&part.text),
                        _ => {}
                    }
                }
                self.end();
                if message.metadata.contains_key("partial") {
                    self.note("(interrupted)");
                }
                for call in &message.tool_calls {
                    let line = tools::called(call.original_name(), &call.raw_arguments);
                    self.tool_line(tools::Mark::Begun, &line, DIM);
                }
            }
            Role::Tool => {
                let text = one_line(&message.text());
                let line = cut(&text, self.terminal.width().saturating_sub(2));
                let (mark, style) = match message.is_error {
                    true => (tools::Mark::Failed, BAD),
                    false => (tools::Mark::Done, GOOD),
                };
                self.tool_line(mark, &line, style);
            }
        }
    }

    fn flush(&mut self) {
        let text = self.wrap.take();
        self.put(&text);
    }

    fn put(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // Nobody who reads no longer is told anything.
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }
}

/// Says a line on standard error.
#[expect(clippy::print_stderr, reason = "that is where problems are told")]
pub(crate) fn error_line(text: &str) {
    eprintln!("{text}");
}
