//! Tests of what `#[tool]` says to functions that cannot be tools. They stand apart from `allm`, because everything that the
//! package of such tests depends on is built once more for them; and from `allm-macros`, because what a procedural macro
//! depends on is built twice, too.
