//! Guides: one page for each question that a user of this crate has. Every program on them is run by the tests.
//!
//! | question | page |
//! |---|---|
#![cfg_attr(
    all(feature = "openai", feature = "anthropic", feature = "gemini"),
    doc = "| How do I ask a real model? | [`providers`] |"
)]
//! | How does the model call my functions? | [`tools`] |
//! | How do I show what happens while it happens? | [`streaming`] |
//! | How do I run the calls myself, or let a person decide? | [`manual_and_ask_user`] |
//! | How does a conversation stop for a person, survive a crash, go on elsewhere? | [`sessions_and_durability`] |
//! | How do I get a Rust value instead of prose? | [`structured_output`] |
//! | What can go wrong, and where do I see it? | [`errors`] |
//! | How do I see what a run does, and what it costs? | [`telemetry`] |
//! | How do I test my program without a network? | [`testing_with_the_fake`] |
//! | How do I test against real answers without a network? | `testing_with_recordings` |
//!
//! What a function with `#[tool]` may look like is told at [the macro itself](macro@crate::tool). Whole programs are in
//! the folder `examples` of this crate, in teaching order.

#[doc = include_str!("docs/errors.md")]
pub mod errors {}

#[doc = include_str!("docs/manual_and_ask_user.md")]
pub mod manual_and_ask_user {}

#[cfg(all(feature = "openai", feature = "anthropic", feature = "gemini"))]
#[doc = include_str!("docs/providers.md")]
pub mod providers {}

#[doc = include_str!("docs/sessions_and_durability.md")]
pub mod sessions_and_durability {}

#[doc = include_str!("docs/streaming.md")]
pub mod streaming {}

#[doc = include_str!("docs/structured_output.md")]
pub mod structured_output {}

#[doc = include_str!("docs/telemetry.md")]
pub mod telemetry {}

#[cfg(feature = "openai")]
#[doc = include_str!("docs/testing_with_recordings.md")]
pub mod testing_with_recordings {}

#[doc = include_str!("docs/testing_with_the_fake.md")]
pub mod testing_with_the_fake {}

#[doc = include_str!("docs/tools.md")]
pub mod tools {}
