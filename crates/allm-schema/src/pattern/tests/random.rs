//! Random patterns and texts, with the answers of `regress`.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::{Pattern, Verdict};

/// What characters of patterns and texts are made of: those with a meaning of their own for classes, for case, for the ends
/// of lines and for the length in UTF-8.
const CHARACTERS: [&str; 14] = [
    "a", "b", "c", "A", "s", "1", "_", " ", "\n", "\u{17f}", "é", "É", "\u{2028}", "😀",
];

/// Halves of surrogate pairs are not among them: the other library takes `(?:\\uD83D)?` for something that never matches.
const ITEMS: [&str; 42] = [
    ".",
    "^",
    "$",
    "\\b",
    "\\B",
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "[]",
    "[^]",
    "[ab]",
    "[^a]",
    "[a-c]",
    "[^\\w]",
    "[\\d_]",
    "[\\s\\S]",
    "[\\W\\D]",
    "[é-😀]",
    "[-a]",
    "[a-]",
    "[.]",
    "\\n",
    "\\x61",
    "\\u0061",
    "\\u{1F600}",
    "\\uD83D\\uDE00",
    "\\p{L}",
    "\\P{Lu}",
    "[^\\p{Ll}]",
    "[\\P{L}a]",
    "\\p{Lowercase}",
    "\\p{Script=Latin}",
    "\\cJ",
    "\\/",
    "\\.",
    "\\0",
    "[\\b]",
    "[^\\n-\\x20]",
    "(?!)",
];

const QUANTIFIERS: [&str; 12] = [
    "*", "+", "?", "{0}", "{1}", "{2}", "{0,2}", "{1,3}?", "{2,}", "{2,}?", "+?", "??",
];

const REFERENCES: [&str; 5] = ["\\1", "\\2", "\\3", "\\k<n>", "\\k<m>"];

const OPENINGS: [&str; 18] = [
    "(", "(", "(?:", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?-i:", "(?s:", "(?m:",
    "(?ims:", "(?i-m:", "(?m-s:", "(?<x>", "(?<y>", "(?=(",
];

fn pattern(references: bool) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => select(&CHARACTERS[..]),
        4 => select(&ITEMS[..]),
        if references { 3 } else { 0 } => select(&REFERENCES[..]),
    ]
    .prop_map(String::from);
    leaf.prop_recursive(5, 24, 4, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 0..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            3 => (select(&OPENINGS[..]), inner.clone()).prop_map(|(opening, inner)| {
                format!("{opening}{inner}{}", ")".repeat(opening.matches('(').count()))
            }),
            // The other library never comes back from `(?:(?:a?)+)+b`, so each round takes a character.
            4 => (inner, select(&CHARACTERS[..]), select(&QUANTIFIERS[..]))
                .prop_map(|(inner, character, quantifier)| format!("(?:{inner}{character}){quantifier}")),
        ]
    })
}

/// A pattern in which every reference is to a group that is there. None is inside of the group that it names: there the
/// other library takes what the group captured on a way that has been given up.
fn pattern_with_references() -> impl Strategy<Value = String> {
    let quantified = (select(&CHARACTERS[..]), select(&QUANTIFIERS[..]));
    (pattern(false), pattern(false), pattern(true), quantified).prop_map(|(one, two, three, (character, quantifier))| {
        format!("(?:(?:({one})(?<n>b|{two})|(?!)()(?<m>a)|{three}){character}){quantifier}\\1{three}")
    })
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(select(&CHARACTERS[..]), 0..9).prop_map(|parts| parts.concat())
}

/// If the other library takes the pattern, so do we, and the answers are the same.
fn agrees(pattern: &str, text: &str) -> Result<(), TestCaseError> {
    let Ok(other) = regress::Regex::with_flags(pattern, "u") else {
        return Ok(());
    };
    let own = match Pattern::new(pattern) {
        Ok(own) => own,
        // It also takes `(?:(?<x>a)|b)(?:(?<x>a)|b)`, whose two groups can both capture: ECMA-262 forbids that.
        Err(error) if error.to_string().starts_with("a second group") => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(format!("/{pattern}/: {error}"))),
    };
    let (verdict, steps) = own.find_counting(text);
    // The other library has no bound; with back references it goes the same ways.
    if steps > 20_000 {
        return Ok(());
    }
    let expected = if other.find(text).is_some() {
        Verdict::Match
    } else {
        Verdict::NoMatch
    };
    prop_assert_eq!(verdict, expected, "/{}/ on {:?}", pattern, text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn patterns_mean_the_same_as_elsewhere(pattern in pattern(false), text in text()) {
        agrees(&pattern, &text)?;
    }

    #[test]
    fn back_references_mean_the_same_as_elsewhere(pattern in pattern_with_references(), text in text()) {
        agrees(&pattern, &text)?;
    }
}
