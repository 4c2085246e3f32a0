//! What an encoder makes of failures.

use allm_core::encode::report;
use allm_core::{
    ArgumentFault, ArgumentFaults, CallFailure, Effect, EncodeError, ReportedError, ToolError,
    ToolFailure, ToolReason, ToolResultEncoder,
};
use serde_json::json;

use super::{Encoded, Look};
use crate::finding::{Checked, Finding, Rule, expect};
use crate::wait::caught_now;

/// What the causes of crashes hold. No model may see it.
const SECRET: &str = "secret-123 at /src/tool.rs";

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "failures_total",
            contract: "L73",
            behaviour: "every failure becomes text or an error that says why; none a panic",
        },
        total,
    ),
    (
        Rule {
            name: "failures_deterministic",
            contract: "L69, L75",
            behaviour: "equal failures give equal bytes, each time",
        },
        deterministic,
    ),
    (
        Rule {
            name: "failures_say_something",
            contract: "L75",
            behaviour: "the text of a failure is not empty",
        },
        say_something,
    ),
    (
        Rule {
            name: "failures_hold_no_cause",
            contract: "L76",
            behaviour: "the text of a crash holds nothing of its cause",
        },
        hold_no_cause,
    ),
];

/// Every failure that an encoder is asked about.
pub(super) fn all() -> Vec<(ToolFailure, CallFailure)> {
    let crashes = ToolReason::ALL.iter().copied();
    // An encoder is not asked about what it failed to encode.
    let crashes = crashes.filter(|reason| *reason != ToolReason::EncodingFailed);
    let crash = |reason| {
        let mut error = ToolError::new(reason, SECRET).cause(SECRET);
        error.metadata.insert("at".to_owned(), SECRET.into());
        ToolFailure::Crashed(error)
    };
    let reports = [
        ReportedError::new("no such city"),
        ReportedError::new(""),
        ReportedError::new("Zürich 🌍\ntwo \"lines\"\u{0}").details(json!({"tried": [1, null]})),
        ReportedError::new("long ".repeat(100_000)).details(json!(null)),
    ];
    let refused = ArgumentFaults {
        message: "two\nlines".to_owned(),
        faults: vec![ArgumentFault {
            path: "/address/zip".to_owned(),
            message: "is missing".to_owned(),
        }],
        help: Some("## pay\n\nPays.".to_owned()),
    };
    let failures = crashes
        .map(crash)
        .chain(reports.map(ToolFailure::Reported))
        .chain([ToolFailure::InvalidArguments(refused)]);
    let reported = |failure| {
        let report = report(&failure, "pay", &Effect::AtMostOnce);
        (failure, report)
    };
    failures.map(reported).collect()
}

fn encoded(
    encoder: &dyn ToolResultEncoder,
    (failure, report): &(ToolFailure, CallFailure),
) -> Result<Encoded, Finding> {
    caught_now(|| encoder.encode_failure(failure, report))
        .map_err(|panic| Finding::failed("text or an error", panic).at(&report.reason))
}

/// The texts of all failures that become one. Panics are the business of another rule.
fn texts(encoder: &dyn ToolResultEncoder) -> Vec<(CallFailure, String)> {
    let text = |each: (ToolFailure, CallFailure)| {
        let text = encoded(encoder, &each).ok()?.ok()?;
        Some((each.1, text))
    };
    all().into_iter().filter_map(text).collect()
}

fn total(encoder: &dyn ToolResultEncoder) -> Checked {
    for each in all() {
        if let Err(EncodeError { message }) = encoded(encoder, &each)? {
            let says = !message.trim().is_empty();
            expect(says, "an error that says why", || {
                format!("an error without a word, for `{}`", each.1.reason)
            })?;
        }
    }
    Ok(())
}

fn deterministic(encoder: &dyn ToolResultEncoder) -> Checked {
    for ((report, first), (_, second)) in texts(encoder).into_iter().zip(texts(encoder)) {
        expect(first == second, "the same each time", || {
            format!("{first:?} and {second:?} for `{}`", report.reason)
        })?;
    }
    Ok(())
}

fn say_something(encoder: &dyn ToolResultEncoder) -> Checked {
    for (report, text) in texts(encoder) {
        expect(!text.trim().is_empty(), "some text", || {
            format!("none for `{}`", report.reason)
        })?;
    }
    Ok(())
}

fn hold_no_cause(encoder: &dyn ToolResultEncoder) -> Checked {
    for (_, text) in texts(encoder) {
        expect(!text.contains(SECRET), "nothing of the cause", || text)?;
    }
    Ok(())
}
