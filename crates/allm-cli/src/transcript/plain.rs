//! Text of a model, a tool or a person, made fit to be shown: harmless to a terminal, and no wider than there is room.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr;

/// The text with everything that a terminal would obey, or that would turn its reading order around, in a form that
/// can be seen. Line feeds and tabs stay.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_harmful(c) && c != '\r') && !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    // The end of a line as some systems write it says nothing else than that.
    let text = text.replace("\r\n", "\n");
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_harmful(character) {
            show(&mut shown, character);
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

fn is_harmful(character: char) -> bool {
    let turns_around = matches!(
        character,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
    );
    turns_around || (character.is_control() && character != '\n' && character != '\t')
}

/// The pictures that Unicode has for the first control characters, and the number for the others.
fn show(shown: &mut String, character: char) {
    let code = u32::from(character);
    let picture = match code {
        0..=0x1f => char::from_u32(0x2400 + code),
        0x7f => Some('\u{2421}'),
        _ => None,
    };
    match picture {
        Some(picture) => shown.push(picture),
        // Writing to a text does not fail.
        None => drop(write!(shown, "<{code:04X}>")),
    }
}

/// The text in one line: every run of white space is a space.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    harmless(&words.join(" ")).into_owned()
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text, or as much of its beginning as fits with a mark that something is missing.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut taken = 0;
    for cluster in text.graphemes(true) {
        let wide = width(cluster);
        // One column is for the mark.
        if taken + wide + 1 > room {
            break;
        }
        kept.push_str(cluster);
        taken += wide;
    }
    if room > 0 {
        kept.push('…');
    }
    kept
}

/// The text with spaces after it, so that it takes this many columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Every line of the text after this.
pub(crate) fn indented(text: &str, by: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        if line.is_empty() {
            lines.push('\n');
        } else {
            lines.push_str(by);
            lines.push_str(line);
            lines.push('\n');
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(harmless("plain\n\ttext ✓ 日本"), "plain\n\ttext ✓ 日本");
        assert_eq!(harmless("\u{1b}[31mred\u{7}\u{0}\u{7f}"), "␛[31mred␇␀␡");
        assert_eq!(harmless("\u{9b}2J"), "<009B>2J");
        assert_eq!(harmless("rm\u{202e}fr-"), "rm<202E>fr-");
        assert_eq!(harmless("a\r\nb\rc"), "a\nb␍c");
    }

    #[test]
    fn cutting_counts_columns_and_never_splits_what_is_one_character() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello!", 5), "hell…");
        assert_eq!(cut("日本語テスト", 7), "日本語…");
        assert_eq!(cut("日本語テスト", 6), "日本…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(cut("👩‍👩‍👧‍👦 family", 4), "👩‍👩‍👧‍👦 …");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("abc", 0), "");
        for room in 0..20 {
            assert!(width(&cut("日本 mixed 語 text", room)) <= room);
        }
    }

    #[test]
    fn one_line_and_columns() {
        assert_eq!(one_line("  a\n\n b\tc \u{1b} "), "a b c ␛");
        assert_eq!(padded("日本", 6), "日本  ");
        assert_eq!(padded("long", 2), "long");
        assert_eq!(indented("a\n\nb", "  "), "  a\n\n  b\n");
    }
}
