//! Positions in a text.

use super::tree::Assertion;

/// The character at a position and the position behind it, in the direction of reading.
pub(super) fn step(text: &str, position: usize, backward: bool) -> Option<(char, usize)> {
    if backward {
        let character = text.get(..position)?.chars().next_back()?;
        Some((character, position - character.len_utf8()))
    } else {
        let character = text.get(position..)?.chars().next()?;
        Some((character, position + character.len_utf8()))
    }
}

/// Whether an assertion is true at a position.
pub(super) fn holds(assertion: Assertion, text: &str, position: usize) -> bool {
    let beside = |backward| step(text, position, backward).map(|(character, _)| character);
    match assertion {
        Assertion::Start { multiline } => match beside(true) {
            None => true,
            Some(character) => multiline && is_line_end(character),
        },
        Assertion::End { multiline } => match beside(false) {
            None => true,
            Some(character) => multiline && is_line_end(character),
        },
        Assertion::Word {
            negated,
            ignore_case,
        } => {
            let is_word = |backward| {
                beside(backward).is_some_and(|character| is_word(character, ignore_case))
            };
            (is_word(true) != is_word(false)) != negated
        }
    }
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Without regard to case, two more characters are the same as `s` and `k`.
fn is_word(character: char, ignore_case: bool) -> bool {
    character.is_ascii_alphanumeric()
        || character == '_'
        || ignore_case && matches!(character, '\u{17f}' | '\u{212a}')
}
