//! Tests of patterns.

mod bounds;
mod errors;
mod random;
mod syntax;

use super::{Pattern, Verdict};

/// Whether a pattern matches in a text. The pattern must be one, and the search must come to an end.
fn matches(pattern: &str, text: &str) -> bool {
    let compiled = Pattern::new(pattern).unwrap_or_else(|error| panic!("/{pattern}/: {error}"));
    match compiled.find(text) {
        Verdict::Match => true,
        Verdict::NoMatch => false,
        Verdict::Undecided => panic!("/{pattern}/ on {text:?} is undecided"),
    }
}
