//! Characters that are the same without regard to case.

use std::sync::OnceLock;

/// No character from here on has a case.
const END_OF_CASES: u32 = 0x1_f000;

/// The character that stands for all that differ from this one only in case: the simple case folding of Unicode, from the
/// two mappings that the standard library has.
pub(super) fn fold(character: char) -> char {
    match character {
        // The mappings lead to `i`, but the folding leaves it alone.
        '\u{131}' => character,
        // These have no mapping to a single character.
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        _ => {
            let upper = single(character.to_uppercase(), character);
            single(upper.to_lowercase(), upper)
        }
    }
}

/// All characters that fold to something else, in order of what they fold to.
fn folded() -> &'static [(char, char)] {
    static FOLDED: OnceLock<Vec<(char, char)>> = OnceLock::new();
    FOLDED.get_or_init(|| {
        let mut pairs: Vec<(char, char)> = (0..END_OF_CASES)
            .filter_map(char::from_u32)
            .map(|character| (fold(character), character))
            .filter(|(folded, character)| folded != character)
            .collect();
        pairs.sort_unstable();
        pairs
    })
}

/// The characters beside `folded` itself that fold to it.
pub(super) fn variants(folded_to: char) -> impl Iterator<Item = char> {
    let pairs = folded();
    let start = pairs.partition_point(|(folded, _)| *folded < folded_to);
    let pairs = pairs.get(start..).unwrap_or_default();
    pairs
        .iter()
        .take_while(move |(folded, _)| *folded == folded_to)
        .map(|(_, character)| *character)
}

/// Every character that others fold to.
pub(super) fn targets() -> impl Iterator<Item = char> {
    let mut last = None;
    folded()
        .iter()
        .map(|(folded, _)| *folded)
        .filter(move |folded| last.replace(*folded) != Some(*folded))
}

fn single(mut mapped: impl Iterator<Item = char>, otherwise: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(character), None) => character,
        _ => otherwise,
    }
}
