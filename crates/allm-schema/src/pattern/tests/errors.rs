//! What is not a pattern, and what is said about it.

use proptest::prelude::*;

use super::super::{Pattern, Verdict};

fn error(pattern: &str) -> String {
    match Pattern::new(pattern) {
        Ok(_) => format!("/{pattern}/ is a pattern"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let cases = [
        ("abc(de", "an unclosed group at 3"),
        ("(?:a", "an unclosed group at 0"),
        ("(?=a", "an unclosed group at 0"),
        ("(?i:a", "an unclosed group at 0"),
        ("ab)", "a ) that closes nothing at 2"),
        ("é[a", "an unclosed class at 2"),
        ("[a-", "an unclosed class at 0"),
        ("[a\\", "a \\ with nothing behind it at 2"),
        ("a\\", "a \\ with nothing behind it at 1"),
        ("*a", "nothing to repeat at 0"),
        ("a|+", "nothing to repeat at 2"),
        ("(?)", "an unknown kind of group at 0"),
        ("a**", "nothing to repeat at 2"),
        ("a++", "nothing to repeat at 2"),
        ("^*", "nothing to repeat at 1"),
        ("\\b{2}", "nothing to repeat at 2"),
        ("(?<=a)?", "nothing to repeat at 6"),
        ("{1}", "nothing to repeat at 0"),
        (
            "a{2,1}",
            "a repetition whose bounds are the wrong way round at 1",
        ),
        ("x[b-a]", "a range whose ends are the wrong way round at 2"),
        ("(?<a>x)(?<a>y)", "a second group with the same name at 10"),
        (
            "(?:(?<a>x)|y)(?:(?<a>x)|y)",
            "a second group with the same name at 19",
        ),
        (
            "(?<1>x)",
            "a character that names of groups cannot have at 3",
        ),
        (
            "(?<>x)",
            "a character that names of groups cannot have at 3",
        ),
        ("(?<a", "an unclosed name of a group at 3"),
        ("(?P<a>x)", "an unknown kind of group at 0"),
        ("(?>a)", "an unknown kind of group at 0"),
        ("(?#a)", "an unknown kind of group at 0"),
        ("(?-:a)", "an unknown kind of group at 0"),
        (
            "(?i)a",
            "modifiers for no group (it is `(?i:…)`, not `(?i)`) at 0",
        ),
        ("(?i-i:a)", "a modifier that is there twice at 4"),
        ("\\1", "a reference to a group that is not there at 0"),
        ("(a)\\2", "a reference to a group that is not there at 3"),
        (
            "(?<a>)\\k<b>",
            "a reference to a group that is not there at 6",
        ),
        ("\\k", "a \\k without a name at 0"),
        ("\\A", "an unknown escape at 0"),
        ("a\\Z", "an unknown escape at 1"),
        ("\\a", "an unknown escape at 0"),
        ("[\\B]", "an unknown escape at 1"),
        ("\\01", "an unknown escape at 0"),
        ("\\c1", "a \\c without a letter at 0"),
        ("\\xg", "a \\x without two hexadecimal digits at 0"),
        ("\\u12", "a \\u without a code point at 0"),
        ("\\u{110000}", "a \\u without a code point at 0"),
        ("\\u{}", "a \\u without a code point at 0"),
        ("\\pL", "a \\p without a property in braces at 0"),
        ("a\\p{Nope}", "an unknown property at 1"),
        ("\\p{Script=Nope}", "an unknown property at 0"),
        ("\\p{gc=Alphabetic}", "an unknown property at 0"),
        ("\\p{letter}", "an unknown property at 0"),
        (
            "x(ab){100000}y{2}",
            "a repetition that makes the pattern too large at 5",
        ),
        (
            "((a|b){1000}){1000}",
            "a repetition that makes the pattern too large at 6",
        ),
    ];
    for (pattern, expected) in cases {
        assert_eq!(error(pattern), expected, "/{pattern}/");
    }
}

#[test]
fn a_pattern_is_not_longer_or_deeper_than_it_can_be() {
    assert!(Pattern::new(&"a".repeat(65_536)).is_ok());
    assert_eq!(
        error(&"a".repeat(65_537)),
        "more than a pattern can have at 65536"
    );
    let deep = |depth: usize| format!("{}a{}", "(?:(?=".repeat(depth), "))*".repeat(depth));
    assert_eq!(Pattern::new(&deep(100)).unwrap().find("a"), Verdict::Match);
    assert_eq!(
        Pattern::new(&format!("(b)?{}\\1", deep(100)))
            .unwrap()
            .find("a"),
        Verdict::Match
    );
    assert_eq!(
        error(&"(".repeat(60_000)),
        "groups too deep in each other at 200"
    );
    assert_eq!(error(&deep(5_000)), "groups too deep in each other at 600");
}

#[test]
fn debug_shows_the_pattern() {
    let pattern = Pattern::new("^a$").unwrap();
    assert_eq!(format!("{pattern:?}"), "Pattern(\"^a$\")");
}

/// Pieces that patterns are made of, so that a row of them at random comes near to being one.
const PIECES: [&str; 48] = [
    "(", ")", "(?", "(?:", "(?=", "(?<", "(?<=", "(?<a>", "(?i", "(?i:", "-", ":", ">", "=", "!",
    "[", "]", "[^", "{", "}", ",", "{1", "{2,}", "{,3}", "1", "0", "*", "+", "?", "|", "^", "$",
    ".", "\\", "\\k<a>", "\\1", "\\u", "\\u{", "\\x", "\\c", "\\p{", "L}", "\\p{Lu}", "\\w", "a",
    "b", "é", "😀",
];

/// Whatever the other library takes is taken, with the same answers. The exceptions are properties that the standard
/// library does not have; random pieces do not make their names.
fn takes_what_others_take(pattern: &str, texts: [&str; 3]) -> Result<(), TestCaseError> {
    let own = Pattern::new(pattern);
    let Ok(other) = regress::Regex::with_flags(pattern, "u") else {
        return Ok(());
    };
    let own = match own {
        Ok(own) => own,
        // The other library also takes `\b*`, and names that are there twice, where ECMA-262 does not.
        Err(_) if pattern.contains("\\b") || pattern.contains("\\B") => return Ok(()),
        Err(error) if error.to_string().starts_with("a second group") => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(format!("/{pattern}/: {error}"))),
    };
    // The other library never comes back from some repetitions of what can be empty, and it errs in references inside of
    // the group that they name.
    let quantifiers = pattern.matches(['*', '+', '?', '{']).count();
    if quantifiers < 2 && !pattern.contains("\\k") && !pattern.contains("\\1") {
        for text in texts {
            let (own, other) = (own.is_match(text), other.find(text).is_some());
            prop_assert_eq!(own, other, "/{}/ on {:?}", pattern, text);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(pattern in any::<String>(), text in any::<String>()) {
        takes_what_others_take(&pattern, [&text, &pattern, ""])?;
    }

    #[test]
    fn no_row_of_pieces_makes_it_panic(
        pattern in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..12),
        text in "[ab1é😀]{0,6}",
    ) {
        takes_what_others_take(&pattern.concat(), [&text, "{1}", "a\nb"])?;
    }
}
