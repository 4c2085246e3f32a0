//! The kit for those who write a [`ToolResultEncoder`].
//!
//! [`check`] looks at what every encoder owes; [`check_json`] also at what the default one does, for those that take its
//! place without changing what the model sees.
//!
//! ```
//! use allm_conformance::encoder;
//! use allm_core::{EncodeError, JsonEncoder, ToolResultEncoder};
//! use serde_json::Value;
//!
//! struct Indented;
//!
//! impl ToolResultEncoder for Indented {
//!     fn encode(&self, value: &Value) -> Result<String, EncodeError> {
//!         serde_json::to_string_pretty(value).map_err(|error| EncodeError::new(error.to_string()))
//!     }
//! }
//!
//! encoder::check(&Indented).assert();
//! encoder::check_json(&JsonEncoder).assert();
//! ```

mod failures;
mod json;
mod values;

use std::fmt::Debug;

use allm_core::encode::bound;
use allm_core::limits::MAX_TOOL_OUTPUT;
use allm_core::{EncodeError, ToolResultEncoder};
use serde_json::Value;

use crate::finding::{Checked, Finding, Rule, expect, short};
use crate::report::{Check, Report};
use crate::wait::caught_now;

type Look = fn(&dyn ToolResultEncoder) -> Checked;
type Encoded = Result<String, EncodeError>;

const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "total",
            contract: "L68, L72",
            behaviour: "every value becomes text or an error that says why; none a panic",
        },
        total,
    ),
    (
        Rule {
            name: "deterministic",
            contract: "L69",
            behaviour: "equal values give equal bytes, each time",
        },
        deterministic,
    ),
    (
        Rule {
            name: "same_on_every_thread",
            contract: "L69",
            behaviour: "equal values give equal bytes on every thread, also at the same time",
        },
        same_on_every_thread,
    ),
    (
        Rule {
            name: "large_values",
            contract: "L77, L78, L80",
            behaviour: "a value far over the limit is encoded, and its text can be bounded",
        },
        large_values,
    ),
    (
        Rule {
            name: "deep_values",
            contract: "L60, L72",
            behaviour: "a value of 160 levels is encoded or refused",
        },
        deep_values,
    ),
];

/// Checks what every encoder owes.
pub fn check(encoder: &dyn ToolResultEncoder) -> Report {
    let rules = RULES.iter().chain(failures::RULES);
    Report::new("encoder", looked(encoder, rules))
}

/// Checks what every encoder owes, and that it shows what the default one shows.
pub fn check_json(encoder: &dyn ToolResultEncoder) -> Report {
    let rules = RULES.iter().chain(failures::RULES).chain(json::RULES);
    Report::new("JSON encoder", looked(encoder, rules))
}

fn looked<'a>(
    encoder: &dyn ToolResultEncoder,
    rules: impl Iterator<Item = &'a (Rule, Look)>,
) -> Vec<Check> {
    let look = |(rule, look): &(Rule, Look)| {
        let checked = caught_now(|| look(encoder));
        rule.came_to(checked.unwrap_or_else(|panic| Err(Finding::failed(rule.behaviour, panic))))
    };
    rules.map(look).collect()
}

/// What the encoder makes of a value; a panic is a finding.
fn encoded(encoder: &dyn ToolResultEncoder, value: &Value) -> Result<Encoded, Finding> {
    caught_now(|| encoder.encode(value))
        .map_err(|panic| Finding::failed("text or an error", panic).at(&short(value.to_string())))
}

fn says_why(encoded: &Encoded, value: &dyn Debug) -> Checked {
    let Err(error) = encoded else {
        return Ok(());
    };
    let says = !error.message.trim().is_empty();
    expect(says, "an error that says why", || {
        short(format!("an error without a word, for {value:?}"))
    })
}

fn total(encoder: &dyn ToolResultEncoder) -> Checked {
    for value in values::all() {
        says_why(&encoded(encoder, &value)?, &value)?;
    }
    Ok(())
}

fn same(first: &Encoded, second: &Encoded, value: &Value) -> Checked {
    expect(first == second, "the same each time", || {
        short(format!("{first:?} and {second:?} for {value}"))
    })
}

/// Only what other rules do not look at: panics are theirs.
fn quietly(encoder: &dyn ToolResultEncoder, value: &Value) -> Option<Encoded> {
    caught_now(|| encoder.encode(value)).ok()
}

fn deterministic(encoder: &dyn ToolResultEncoder) -> Checked {
    for value in values::all() {
        let Some(first) = quietly(encoder, &value) else {
            continue;
        };
        // Written by another hand: keys in another order, the same numbers.
        let again = values::rebuilt(&value);
        if let Some(second) = quietly(encoder, &again) {
            same(&first, &second, &value)?;
        }
    }
    Ok(())
}

fn same_on_every_thread(encoder: &dyn ToolResultEncoder) -> Checked {
    let values = values::all();
    let all = || -> Vec<Option<Encoded>> {
        let values = values.iter();
        values.map(|value| quietly(encoder, value)).collect()
    };
    let here = all();
    let elsewhere = std::thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(all));
        threads.map(std::thread::ScopedJoinHandle::join)
    });
    for there in elsewhere {
        let Ok(there) = there else {
            return Err(Finding::failed("the same text", "a thread panicked"));
        };
        for ((here, there), value) in here.iter().zip(&there).zip(&values) {
            if let (Some(here), Some(there)) = (here, there) {
                same(here, there, value)?;
            }
        }
    }
    Ok(())
}

fn large_values(encoder: &dyn ToolResultEncoder) -> Checked {
    for value in values::large() {
        let text = match encoded(encoder, &value)? {
            Ok(text) => text,
            Err(error) => {
                says_why(&Err(error), &"a large value")?;
                continue;
            }
        };
        let total = text.len();
        let bounded = bound(text, MAX_TOOL_OUTPUT);
        let mark = format!(" of {total} bytes]");
        let is_marked = total <= MAX_TOOL_OUTPUT || bounded.ends_with(&mark);
        let is_bounded = bounded.len() <= MAX_TOOL_OUTPUT + "\n[cut: ".len() + 20 + mark.len();
        expect(
            is_marked && is_bounded,
            "a bounded text with its mark",
            || format!("{} bytes", bounded.len()),
        )?;
    }
    Ok(())
}

fn deep_values(encoder: &dyn ToolResultEncoder) -> Checked {
    for value in values::deep() {
        says_why(&encoded(encoder, &value)?, &"a deep value")?;
    }
    Ok(())
}
