//! Marks inside of a line: strong and emphasised words, code, links.

use anstyle::{Effects, Style};

use super::CODE;

/// A text in one style.
pub(super) type Piece = (Style, String);

/// So much is held back for a mark that does not come, in bytes.
const LONGEST: usize = 1_000;

/// What a mark turned out to be.
enum Found {
    /// It stands for itself.
    Itself,
    /// More must come.
    Unknown,
    /// A piece that takes this many bytes.
    Pieces(Vec<Piece>, usize),
}

/// The pieces of a line that are known, and how many bytes they take. Of a line that is not whole the rest is kept back.
pub(super) fn pieces(
    line: &str,
    is_whole: bool,
    style: Style,
    before: Option<char>,
) -> (Vec<Piece>, usize) {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut plain = String::new();
    let mut before = before;
    let mut place = 0;
    while let Some(rest) = line.get(place..).filter(|rest| !rest.is_empty()) {
        let is_final = is_whole || rest.len() > LONGEST;
        match marked(rest, is_final, style, before) {
            Found::Unknown => break,
            Found::Itself => {
                let Some(character) = rest.chars().next() else {
                    break;
                };
                plain.push(character);
                before = Some(character);
                place += character.len_utf8();
            }
            Found::Pieces(found, taken) => {
                if !plain.is_empty() {
                    pieces.push((style, std::mem::take(&mut plain)));
                }
                pieces.extend(found);
                before = rest.get(..taken).and_then(|text| text.chars().last());
                place += taken;
            }
        }
    }
    if !plain.is_empty() {
        pieces.push((style, plain));
    }
    (pieces, place)
}

/// What stands at the beginning of a text.
fn marked(text: &str, is_final: bool, style: Style, before: Option<char>) -> Found {
    let undecided = if is_final {
        Found::Itself
    } else {
        Found::Unknown
    };
    let Some(first) = text.chars().next() else {
        return undecided;
    };
    match first {
        '\\' => match text.chars().nth(1) {
            None => undecided,
            Some(next) if next.is_ascii_punctuation() => {
                Found::Pieces(vec![(style, next.to_string())], 2)
            }
            Some(_) => Found::Itself,
        },
        '`' | '*' | '_' | '~' => {
            let found = match first {
                '`' => code(text, style, is_final),
                _ => emphasis(text, first, style, before, is_final),
            };
            // Marks that mean nothing stand for themselves, all of them: the second is not the first of others.
            found.unwrap_or_else(|| match is_final {
                true => whole_run(style, text, run_of(text, first)),
                false => Found::Unknown,
            })
        }
        '!' if text.len() == 1 => undecided,
        '!' if text.starts_with("![") => match link(text.get(1..).unwrap_or_default(), style) {
            Some(Found::Pieces(pieces, taken)) => Found::Pieces(pieces, taken + 1),
            Some(other) => other,
            None => undecided,
        },
        '[' => link(text, style).unwrap_or(undecided),
        '<' => address(text, style).unwrap_or(undecided),
        _ => Found::Itself,
    }
}

/// Code between two runs of the same length. `None` when the second one has not come.
fn code(text: &str, style: Style, is_final: bool) -> Option<Found> {
    let run = run_of(text, '`');
    let mut place = run;
    loop {
        let next = place + text.get(place..)?.find('`')?;
        let length = run_of(text.get(next..)?, '`');
        // A run at the end may still grow.
        if next + length == text.len() && !is_final {
            return None;
        }
        if length == run {
            let inner = text.get(run..next)?;
            let trimmed = inner
                .strip_prefix(' ')
                .and_then(|inner| inner.strip_suffix(' '))
                .filter(|inner| !inner.trim().is_empty());
            let mut look = CODE;
            if style.get_effects().contains(Effects::BOLD) {
                look = look.bold();
            }
            let piece = (look, trimmed.unwrap_or(inner).to_owned());
            return Some(Found::Pieces(vec![piece], next + run));
        }
        place = next + length;
    }
}

/// Words between two marks of the same kind. `None` when the second one has not come.
fn emphasis(
    text: &str,
    mark: char,
    style: Style,
    before: Option<char>,
    is_final: bool,
) -> Option<Found> {
    let run = run_of(text, mark);
    let next = text.chars().nth(run)?;
    let in_word = before.is_some_and(char::is_alphanumeric);
    let opens = match mark {
        '~' => run == 2,
        '_' => run <= 3 && !in_word,
        _ => run <= 3,
    };
    if !opens || next.is_whitespace() {
        return Some(whole_run(style, text, run));
    }
    let mut place = run;
    loop {
        let next = place + text.get(place..)?.find(mark)?;
        let length = run_of(text.get(next..)?, mark);
        let follows = text.get(next + length..)?.chars().next();
        // A run at the end may still grow.
        if follows.is_none() && !is_final {
            return None;
        }
        let precedes = text.get(..next)?.chars().last();
        let closes = precedes.is_some_and(|last| !last.is_whitespace())
            && length >= run
            && (mark != '_' || follows.is_none_or(|next| !next.is_alphanumeric()));
        if closes {
            let inner = text.get(run..next + length - run)?;
            let look = match (mark, run) {
                ('~', _) => style.strikethrough(),
                (_, 1) => style.italic(),
                (_, 2) => style.bold(),
                _ => style.bold().italic(),
            };
            let (pieces, _) = pieces(inner, true, look, None);
            return Some(Found::Pieces(pieces, next + length));
        }
        place = next + length;
    }
}

/// Marks that stand for themselves.
fn whole_run(style: Style, text: &str, run: usize) -> Found {
    let run = text.get(..run).unwrap_or_default();
    Found::Pieces(vec![(style, run.to_owned())], run.len())
}

/// A link, shown as its text and its address. `None` when its end has not come.
fn link(text: &str, style: Style) -> Option<Found> {
    let close = matching(text, '[', ']')?;
    let after = text.get(close + 1..)?;
    if after.is_empty() {
        return None;
    }
    if !after.starts_with('(') {
        return Some(Found::Itself);
    }
    let end = matching(after, '(', ')')?;
    let inner = text.get(1..close)?;
    let target = after.get(1..end)?.trim();
    // A title after the address says nothing more.
    let target = target.split_whitespace().next().unwrap_or_default();
    let (mut pieces, _) = pieces(inner, true, style.underline(), None);
    if target != inner && !target.is_empty() {
        pieces.push((style, format!(" ({target})")));
    }
    Some(Found::Pieces(pieces, close + 1 + end + 1))
}

/// An address between `<` and `>`. `None` when it may still become one.
fn address(text: &str, style: Style) -> Option<Found> {
    let inner = text.get(1..)?;
    let kinds = ["https://", "http://", "mailto:"];
    let is_one = kinds.iter().any(|kind| inner.starts_with(kind));
    let may_be_one = kinds.iter().any(|kind| kind.starts_with(inner));
    if !is_one {
        return if may_be_one {
            None
        } else {
            Some(Found::Itself)
        };
    }
    let end = inner.find(['>', ' '])?;
    if inner.get(end..)?.starts_with(' ') {
        return Some(Found::Itself);
    }
    let target = inner.get(..end)?.to_owned();
    Some(Found::Pieces(vec![(style.underline(), target)], end + 2))
}

/// How many of a mark stand at the beginning.
fn run_of(text: &str, mark: char) -> usize {
    text.chars().take_while(|next| *next == mark).count()
}

/// Where the bracket ends that a text begins with.
fn matching(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, character) in text.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(place);
            }
        }
    }
    None
}
