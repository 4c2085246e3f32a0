//! Markdown, shown plainly while it comes.
//!
//! Every line of the text stays a line. What a line is (a heading, an item, code) is known after its first few
//! characters; what stands between two marks is shown when the second one has come, or as it is when the line ends without
//! it. So nothing that was written is ever changed.

mod inline;

use anstyle::{AnsiColor, Style};

use crate::terminal::Wrap;

/// Shows Markdown as it comes.
#[derive(Debug)]
pub(crate) struct Markdown {
    /// Without styles nothing is rendered: the marks are all that tells what is meant.
    is_rendered: bool,
    base: Style,
    /// What has come and is not shown yet.
    pending: String,
    line: Line,
    /// The mark that ends the code that is shown.
    fence: Option<(char, usize)>,
    /// The character before what is pending, in this line.
    before: Option<char>,
}

/// What the line is that is being shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Not known yet.
    New,
    /// Text with marks in it, in this style.
    Text(Style),
    /// Shown as it is.
    Raw(Style),
}

/// What a line turned out to be, and how much of it that took.
enum Begun {
    /// More of it must come.
    Unknown,
    /// A line of text that begins after this many bytes, shown as this.
    Text {
        taken: usize,
        shown: String,
        style: Style,
        /// Whether lines that go on begin below the text.
        hangs: bool,
    },
    /// A line that is shown as it is.
    Raw(Style),
    /// A mark that begins code, and so a whole line.
    Fence(char, usize),
    /// A line across.
    Rule,
}

const DIM: Style = Style::new().dimmed();
const CODE: Style = AnsiColor::Cyan.on_default();

impl Markdown {
    pub(crate) fn new(is_rendered: bool, base: Style) -> Self {
        Self {
            is_rendered,
            base,
            pending: String::new(),
            line: Line::New,
            fence: None,
            before: None,
        }
    }

    /// The next piece of the text.
    pub(crate) fn push(&mut self, text: &str, wrap: &mut Wrap) {
        self.pending.push_str(text);
        while self.advance(false, wrap) {}
    }

    /// The text is whole.
    pub(crate) fn finish(&mut self, wrap: &mut Wrap) {
        while self.advance(true, wrap) {}
        *self = Self::new(self.is_rendered, self.base);
        wrap.finish();
    }

    /// Shows what can be shown. False when more must come first.
    fn advance(&mut self, is_over: bool, wrap: &mut Wrap) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let end = self.pending.find('\n');
        let line = self.pending.get(..end.unwrap_or(self.pending.len()));
        let line = line.unwrap_or_default().to_owned();
        let is_whole = end.is_some() || is_over;
        match self.line {
            Line::New => self.begin(&line, is_whole, wrap),
            Line::Raw(style) => {
                wrap.push_raw(&line, style);
                self.take(line.len(), is_whole, wrap);
                true
            }
            Line::Text(style) => {
                let (pieces, taken) = if self.is_rendered {
                    inline::pieces(&line, is_whole, style, self.before)
                } else {
                    (vec![(style, line.clone())], line.len())
                };
                for (style, text) in &pieces {
                    wrap.push(text, *style);
                }
                let is_ended = taken == line.len() && is_whole;
                if let Some(last) = line.get(..taken).and_then(|text| text.chars().last()) {
                    self.before = Some(last);
                }
                self.take(taken, is_ended, wrap);
                is_ended || taken > 0
            }
        }
    }

    /// Takes this many bytes off what is pending, and the end of the line if it is reached.
    fn take(&mut self, bytes: usize, is_ended: bool, wrap: &mut Wrap) {
        let end = if is_ended
            && self
                .pending
                .get(bytes..)
                .is_some_and(|rest| rest.starts_with('\n'))
        {
            wrap.end_line();
            1
        } else {
            0
        };
        self.pending = self
            .pending
            .get(bytes + end..)
            .unwrap_or_default()
            .to_owned();
        if end == 1 {
            self.line = Line::New;
            self.before = None;
        }
    }

    /// Finds out what the line is.
    fn begin(&mut self, line: &str, is_whole: bool, wrap: &mut Wrap) -> bool {
        let begun = match self.fence {
            _ if !self.is_rendered => Begun::Text {
                taken: 0,
                shown: String::new(),
                style: self.base,
                hangs: false,
            },
            Some(mark) => in_code(line, is_whole, mark),
            None => beginning(line, is_whole, self.base),
        };
        match begun {
            Begun::Unknown => return false,
            Begun::Text {
                taken,
                shown,
                style,
                hangs,
            } => {
                wrap.push(&shown, self.base);
                if hangs {
                    wrap.hang_here();
                }
                self.line = Line::Text(style);
                self.take(taken, false, wrap);
                // A line with nothing in it ends at once.
                if line.len() == taken && is_whole {
                    self.take(0, true, wrap);
                    return !self.pending.is_empty();
                }
            }
            Begun::Raw(style) => self.line = Line::Raw(style),
            Begun::Fence(mark, count) => {
                self.fence = match self.fence {
                    Some(_) => None,
                    None => Some((mark, count)),
                };
                self.line = Line::Raw(DIM);
            }
            Begun::Rule => {
                wrap.push_raw("────────────────────", DIM);
                self.take(line.len(), true, wrap);
            }
        }
        true
    }
}

/// What a line inside of code is: code, or the mark that ends it.
fn in_code(line: &str, is_whole: bool, (mark, count): (char, usize)) -> Begun {
    let trimmed = line.trim();
    let is_mark = trimmed.chars().all(|character| character == mark);
    match (is_mark, is_whole) {
        // A space or a mark may be the beginning of the end.
        (true, false) => Begun::Unknown,
        (true, true) if trimmed.len() >= count => Begun::Fence(mark, count),
        _ => Begun::Raw(CODE),
    }
}

/// What a line is, by its first characters.
fn beginning(line: &str, is_whole: bool, base: Style) -> Begun {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let plain = Begun::Text {
        taken: 0,
        shown: String::new(),
        style: base,
        hangs: false,
    };
    let Some(first) = text.chars().next() else {
        return if is_whole { plain } else { Begun::Unknown };
    };
    let run = text.chars().take_while(|next| *next == first).count();
    let ends_in_run = run == text.chars().count();
    let after = text.chars().nth(run);
    let text_after = |taken: usize, shown: String, style, hangs| Begun::Text {
        taken: indent + taken,
        shown: " ".repeat(indent) + &shown,
        style,
        hangs,
    };
    match first {
        '`' | '~' if ends_in_run && !is_whole => Begun::Unknown,
        // Marks that stand in the line again are of a word in it.
        '`' if run >= 3 && text.chars().skip(run).any(|next| next == '`') => plain,
        '`' | '~' if run >= 3 && is_whole => Begun::Fence(first, run),
        '`' | '~' if run >= 3 => Begun::Unknown,
        // How many spaces follow is part of it.
        '#' if run <= 6 && !is_whole && text.chars().skip(run).all(|next| next == ' ') => {
            Begun::Unknown
        }
        '#' if run <= 6 && after == Some(' ') => {
            let spaces = text
                .chars()
                .skip(run)
                .take_while(|next| *next == ' ')
                .count();
            text_after(run + spaces, String::new(), base.bold(), false)
        }
        '-' | '*' | '_' | '+' if text.chars().all(|next| next == first || next == ' ') => {
            let marks = text.chars().filter(|next| *next == first).count();
            match is_whole {
                false => Begun::Unknown,
                true if marks >= 3 && first != '+' => Begun::Rule,
                true => plain,
            }
        }
        '-' | '*' | '+' if run == 1 && after == Some(' ') => {
            text_after(2, "• ".to_owned(), base, true)
        }
        '>' if ends_in_run && !is_whole => Begun::Unknown,
        '>' => text_after(
            if after == Some(' ') && run == 1 { 2 } else { 1 },
            "│ ".to_owned(),
            base.dimmed(),
            false,
        ),
        '|' => Begun::Raw(base),
        '0'..='9' => numbered(text, is_whole).map_or(
            if is_whole || !could_be_numbered(text) {
                plain
            } else {
                Begun::Unknown
            },
            |(taken, shown)| text_after(taken, shown, base, true),
        ),
        _ => plain,
    }
}

/// The number of an item, and how long it is with the space after it.
fn numbered(text: &str, is_whole: bool) -> Option<(usize, String)> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let mark = text
        .chars()
        .nth(digits)
        .filter(|mark| matches!(mark, '.' | ')'))?;
    let has_space = text.chars().nth(digits + 1) == Some(' ');
    let is_empty = is_whole && text.len() == digits + 1;
    let number = text.get(..digits)?;
    (digits <= 9 && (has_space || is_empty)).then(|| {
        (
            digits + if is_empty { 1 } else { 2 },
            format!("{number}{mark} "),
        )
    })
}

fn could_be_numbered(text: &str) -> bool {
    let rest = text.trim_start_matches(|next: char| next.is_ascii_digit());
    text.len() <= 11 && matches!(rest, "" | "." | ")")
}

#[cfg(test)]
mod tests;
