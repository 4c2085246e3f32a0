//! Lines that are broken between words, while the text still comes.

use anstyle::Style;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Breaks text into lines between words, at the width that the terminal has at that moment. What is written is never
/// changed: a word is held back until it is whole.
#[derive(Debug)]
pub(crate) struct Wrap {
    width: usize,
    has_styles: bool,
    /// How far the line is written.
    column: usize,
    /// Where lines begin that go on with the one before.
    indent: usize,
    /// The word that is not whole yet, in pieces of one style.
    word: Vec<(Style, String)>,
    /// Spaces before the word.
    spaces: usize,
    /// Ends of lines before whatever comes next; at the very end there is one, however many there were.
    ends: usize,
    /// Whether anything was written since the last [`finish`](Self::finish); empty lines before it are left out.
    is_begun: bool,
    out: String,
}

/// How far a tab goes.
const TAB: usize = 4;

impl Wrap {
    pub(crate) fn new(width: usize, has_styles: bool) -> Self {
        Self {
            width,
            has_styles,
            column: 0,
            indent: 0,
            word: Vec::new(),
            spaces: 0,
            ends: 0,
            is_begun: false,
            out: String::new(),
        }
    }

    /// The terminal has this many columns from now on.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.width = width;
    }

    /// Lines that go on with this one begin at the column that is reached now.
    pub(crate) fn hang_here(&mut self) {
        self.end_word();
        let reached = self.column + self.spaces;
        // Where hardly any room is left it would do more harm than good.
        self.indent = if reached * 2 > self.width { 0 } else { reached };
    }

    /// What is written is not wrapped: code, tables, links.
    pub(crate) fn push_raw(&mut self, text: &str, style: Style) {
        self.end_word();
        for (place, line) in text.split('\n').enumerate() {
            if place > 0 {
                self.end_line();
            }
            if !line.is_empty() {
                self.settle_ends();
                self.settle_spaces();
                self.write(line, style);
            }
        }
    }

    /// Text that is broken between words where a line is full.
    pub(crate) fn push(&mut self, text: &str, style: Style) {
        for character in text.chars() {
            match character {
                '\n' => self.end_line(),
                ' ' => {
                    self.end_word();
                    self.spaces += 1;
                }
                '\t' => {
                    self.end_word();
                    self.spaces += TAB - (self.column + self.spaces) % TAB;
                }
                character => self.push_character(character, style),
            }
        }
    }

    /// The line ends here.
    pub(crate) fn end_line(&mut self) {
        self.end_word();
        self.spaces = 0;
        self.indent = 0;
        if self.is_begun {
            self.ends += 1;
        }
    }

    /// Ends the text: with one end of line, if anything was written since the last one.
    pub(crate) fn finish(&mut self) {
        self.end_word();
        let is_open = self.column > 0;
        self.ends = 0;
        self.spaces = 0;
        self.indent = 0;
        self.is_begun = false;
        if is_open {
            self.out.push('\n');
            self.column = 0;
        }
    }

    /// What has been made of the text so far.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    fn push_character(&mut self, character: char, style: Style) {
        match self.word.last_mut() {
            Some((last, text)) if *last == style => text.push(character),
            _ => self.word.push((style, character.to_string())),
        }
        if !character.is_ascii() || self.word.iter().any(|(_, text)| !text.is_ascii()) {
            self.part_wide();
        }
    }

    /// Between wide characters a line may be broken although there is no space: what stands before the last one is a
    /// word. Whether the last one is whole is not known yet.
    fn part_wide(&mut self) {
        let text: String = self.word.iter().map(|(_, text)| text.as_str()).collect();
        let mut last_two = text.graphemes(true).rev();
        let (Some(last), Some(before)) = (last_two.next(), last_two.next()) else {
            return;
        };
        let is_wide = last.width() > 1 || before.width() > 1;
        if !is_wide || never_begins_a_line(last) {
            return;
        }
        let Some((style, piece)) = self.word.last_mut() else {
            return;
        };
        // A character whose pieces differ in style is left alone.
        let Some(rest) = piece.strip_suffix(last) else {
            return;
        };
        let (style, kept) = (*style, last.to_owned());
        *piece = rest.to_owned();
        self.end_word();
        self.word.push((style, kept));
    }

    /// Writes the word that is whole now.
    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let width: usize = word.iter().map(|(_, text)| text.width()).sum();
        if width == 0 {
            return;
        }
        self.settle_ends();
        let is_too_far = self.column + self.spaces + width > self.width;
        if is_too_far && self.column > self.indent {
            self.break_line();
        } else {
            self.settle_spaces();
        }
        for (style, text) in word {
            self.write_broken(&text, style);
        }
    }

    fn settle_ends(&mut self) {
        for _ in 0..std::mem::take(&mut self.ends) {
            self.out.push('\n');
            self.column = 0;
        }
    }

    fn settle_spaces(&mut self) {
        let spaces = std::mem::take(&mut self.spaces);
        self.out.extend(std::iter::repeat_n(' ', spaces));
        self.column += spaces;
    }

    fn break_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.spaces = self.indent;
        self.settle_spaces();
    }

    /// Writes a text, broken anywhere if it is wider than a line.
    fn write_broken(&mut self, text: &str, style: Style) {
        let mut line = String::new();
        let mut reached = self.column;
        for grapheme in text.graphemes(true) {
            let width = grapheme.width();
            if reached + width > self.width && reached > self.indent {
                self.write(&line, style);
                line.clear();
                self.break_line();
                reached = self.column;
            }
            line.push_str(grapheme);
            reached += width;
        }
        self.write(&line, style);
    }

    fn write(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        self.is_begun = true;
        self.column += text.width();
        if self.has_styles && style != Style::new() {
            let styled = format!("{}{text}{}", style.render(), style.render_reset());
            self.out.push_str(&styled);
        } else {
            self.out.push_str(text);
        }
    }
}

/// Whether a mark belongs to what stands before it.
fn never_begins_a_line(grapheme: &str) -> bool {
    let marks = "、。，．・：；？！゛゜ー’”）〕］｝〉》」』】,.:;?!)]}";
    grapheme
        .chars()
        .next()
        .is_some_and(|mark| marks.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(width: usize, pieces: &[&str]) -> String {
        let mut wrap = Wrap::new(width, false);
        for piece in pieces {
            wrap.push(piece, Style::new());
        }
        wrap.finish();
        wrap.take()
    }

    #[test]
    fn lines_are_broken_between_words_however_the_text_comes() {
        let text = "the quick brown fox jumps over it";
        let whole = wrapped(20, &[text]);
        assert_eq!(whole, "the quick brown fox\njumps over it\n");
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(wrapped(20, &letters), whole);
    }

    #[test]
    fn a_word_is_held_back_until_it_is_whole() {
        let mut wrap = Wrap::new(10, false);
        wrap.push("one tw", Style::new());
        assert_eq!(wrap.take(), "one");
        wrap.push("o three", Style::new());
        assert_eq!(wrap.take(), " two");
        wrap.finish();
        assert_eq!(wrap.take(), "\nthree\n");
    }

    #[test]
    fn what_is_wider_than_a_line_is_broken_anywhere() {
        assert_eq!(
            wrapped(10, &["a 0123456789abcdef b"]),
            "a\n0123456789\nabcdef b\n"
        );
    }

    #[test]
    fn wide_characters_take_two_columns_and_may_be_parted() {
        assert_eq!(wrapped(7, &["日本", "語です。"]), "日本語\nです。\n");
        assert_eq!(wrapped(6, &["日本語。"]), "日本\n語。\n");
        // A family is one character of two columns, although it comes in pieces.
        assert_eq!(
            wrapped(4, &["👩\u{200d}", "👩\u{200d}👧", "👧👧"]),
            "👩\u{200d}👩\u{200d}👧👧\n👧\n"
        );
        assert_eq!(
            wrapped(4, &["e\u{301}e\u{301} e\u{301}e\u{301}"]),
            "e\u{301}e\u{301}\ne\u{301}e\u{301}\n"
        );
    }

    #[test]
    fn lines_that_go_on_begin_below_the_text() {
        let mut wrap = Wrap::new(12, false);
        wrap.push("- ", Style::new());
        wrap.hang_here();
        wrap.push("one two three\nfour", Style::new());
        wrap.finish();
        assert_eq!(wrap.take(), "- one two\n  three\nfour\n");
    }

    #[test]
    fn many_ends_of_lines_at_the_end_are_one() {
        assert_eq!(wrapped(10, &["\n\na\n\nb\n\n\n"]), "a\n\nb\n");
        assert_eq!(wrapped(10, &[]), "");
    }

    #[test]
    fn a_narrower_window_counts_from_the_next_word_on() {
        let mut wrap = Wrap::new(40, false);
        wrap.push("one two three ", Style::new());
        wrap.set_width(20);
        wrap.push("four five six", Style::new());
        wrap.finish();
        assert_eq!(wrap.take(), "one two three four\nfive six\n");
    }

    #[test]
    fn code_is_not_wrapped() {
        let mut wrap = Wrap::new(10, false);
        wrap.push_raw("let long = \"line\";\n  next", Style::new());
        wrap.finish();
        assert_eq!(wrap.take(), "let long = \"line\";\n  next\n");
    }
}
