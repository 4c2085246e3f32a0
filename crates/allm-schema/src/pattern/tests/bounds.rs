//! The time is bounded, whatever the pattern and the text. Steps are counted, not seconds.

use super::super::{Pattern, Verdict};

const LENGTH: usize = 100_000;

/// A pattern, a text, the verdict, and the most steps for each byte of the text.
fn check(pattern: &str, text: &str, expected: Verdict, most_for_byte: usize) {
    let (verdict, steps) = Pattern::new(pattern).unwrap().find_counting(text);
    assert_eq!(verdict, expected, "/{pattern}/");
    let most = most_for_byte * (text.len() + 1);
    assert!(steps <= most, "/{pattern}/ took {steps} steps, not {most}");
}

/// L305
#[test]
fn what_takes_exponential_time_elsewhere_takes_linear_time() {
    let text = "a".repeat(LENGTH) + "!";
    for pattern in [
        "(a+)+$",
        "^(a+)+$",
        "(a|a)*b",
        "(a|aa)+$",
        "(.*)*x",
        "(?:.*a){10}x",
        "(?=(a+)+$)b",
        "(?=(a+)+b)",
        "(?<=(a+)+b)!",
        "(?!(a*)*!)x",
        "(?:a?){20}a{20}b",
        "((a{2,3}){2,3}){2,3}b",
        "((a{0,5}){0,5}){0,5}b",
        "(?=(?=(?=a*b)a*b)a*b)",
        "((((((((((a+)+)+)+)+)+)+)+)+)+)+$",
        "a*a*a*a*a*a*a*a*a*a*b",
        "(\\w+\\s?)+$",
    ] {
        check(pattern, &text, Verdict::NoMatch, 200);
    }
}

#[test]
fn counted_characters_are_counted_not_written_out() {
    let text = "a".repeat(LENGTH);
    check("^.{1,4096}$", &text, Verdict::NoMatch, 1);
    check("^[a-z]{0,10000}$", &text, Verdict::NoMatch, 1);
    check("^[a-z]{0,100000}$", &text, Verdict::Match, 10);
    check("[a-z]{2,100000}b", &text, Verdict::NoMatch, 10);
    check(
        "a{5000}b{5000}c",
        &("a".repeat(50_000) + &"b".repeat(50_000)),
        Verdict::NoMatch,
        10,
    );
    check("(a{1000}){1000}", &text, Verdict::NoMatch, 200);
    check("a{1000}x|a{99999}$", &text, Verdict::Match, 20);
}

/// The places that a repetition keeps in mind do not follow each other here.
#[test]
fn counted_characters_can_begin_at_any_place() {
    let text = "ab".repeat(LENGTH / 2);
    check("b[ab]{1000}c", &text, Verdict::NoMatch, 10);
    check("^(?:ab)*[ab]{99}$", &text, Verdict::NoMatch, 20);
    check("^(?:ab)*[ab]{98}$", &text, Verdict::Match, 20);
    check("b[ab]{3}a$", &"ab".repeat(4), Verdict::NoMatch, 20);
    check("b[ab]{4}b$", &"ab".repeat(4), Verdict::NoMatch, 20);
    check("b[ab]{3}a$", &"aba".repeat(4), Verdict::Match, 20);
}

#[test]
fn a_pattern_for_the_beginning_is_not_looked_for_elsewhere() {
    let text = "b".repeat(LENGTH);
    let steps = |pattern: &str| Pattern::new(pattern).unwrap().find_counting(&text).1;
    assert!(steps("^a") < 10);
    assert!(steps("^(?:a|c+)d") < 10);
    assert!(steps("^a|^c") < 10);
    assert!(steps("^(a)\\1") < 10);
    // The first character is searched for without the program.
    assert!(steps("abc") < 10);
}

#[test]
fn extreme_sizes_are_given_up() {
    let text = "a".repeat(LENGTH);
    let (verdict, steps) = Pattern::new("(?:a?b?){20000}c")
        .unwrap()
        .find_counting(&text);
    assert_eq!(verdict, Verdict::Undecided);
    assert!(steps < 101_000_000, "{steps}");
}

#[test]
fn the_memory_of_lookarounds_is_bounded() {
    let text = "a".repeat(1_000_000);
    let (verdict, steps) = Pattern::new(&"(?<=b)".repeat(2_000))
        .unwrap()
        .find_counting(&text);
    assert_eq!(verdict, Verdict::Undecided);
    assert!(steps < 101_000_000, "{steps}");
}

#[test]
fn the_memory_of_repetitions_is_bounded() {
    let text = "ab".repeat(LENGTH / 2);
    let pattern = Pattern::new(&"(?:b[ab]{60000}|)".repeat(100)).unwrap();
    assert_eq!(pattern.find(&text), Verdict::Match);
    let pattern = Pattern::new(&format!("(?:{})c", "b[ab]{60000}|".repeat(100))).unwrap();
    assert_eq!(pattern.find(&text), Verdict::Undecided);
    assert!(!pattern.is_match(&text));
}

/// L305
#[test]
fn back_references_are_given_up_after_a_number_of_steps() {
    let text = "a".repeat(40) + "!";
    let pattern = Pattern::new("^(a+)+\\1$").unwrap();
    let (verdict, steps) = pattern.find_counting(&text);
    assert_eq!(verdict, Verdict::Undecided);
    assert!(steps < 1_010_000, "{steps}");
    assert!(!pattern.is_match(&text));
    let (verdict, steps) = Pattern::new("(?:a|(b))*\\1c")
        .unwrap()
        .find_counting(&"a".repeat(10_000_000));
    assert_eq!(verdict, Verdict::Undecided);
    assert!(steps < 20_000_000, "{steps}");
    // A long text alone is no reason.
    check(
        "(b)\\1",
        &("a".repeat(1_000_000) + "bb"),
        Verdict::Match,
        20,
    );
}
