//! What `#[tool]` says to functions that cannot be tools.
//!
//! Half of the expected texts are the compiler's own: after a change of toolchain look at them and write them anew with
//! `TRYBUILD=overwrite`.

#[test]
fn l17_every_fault_says_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
