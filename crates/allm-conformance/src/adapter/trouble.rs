//! Errors are events that say what happened, and no more.

use allm_core::{
    AdapterReason, Error, ErrorKind, Failure, FinishReason, MAX_PROVIDER_TEXT, StreamReason,
};
use serde_json::Value;

use super::Look;
use super::play::{Played, REQUEST_ID, Stage};
use super::scenario::{KEY, PARTIAL, Scenario};
use crate::finding::{Checked, Finding, Rule, expect, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "classified",
            contract: "C139, C145",
            behaviour: "a refused key, too many requests and an overload each have their reason",
        },
        classified,
    ),
    (
        Rule {
            name: "retry_after",
            contract: "C142",
            behaviour: "the delay that the provider asks for is kept, and none is made up",
        },
        retry_after,
    ),
    (
        Rule {
            name: "error_reasons",
            contract: "C139",
            behaviour: "every error is one of the provider or the stream, with a reason of the closed set",
        },
        error_reasons,
    ),
    (
        Rule {
            name: "errors_say_who",
            contract: "C145",
            behaviour: "an error names the provider and our id of the call, or leaves them out",
        },
        errors_say_who,
    ),
    (
        Rule {
            name: "errors_bounded",
            contract: "C143",
            behaviour: "the text of an error is cut at 2 KiB",
        },
        errors_bounded,
    ),
    (
        Rule {
            name: "partial_kept",
            contract: "C52, C74",
            behaviour: "what came before an error in the stream is kept, and the answer is a failed one",
        },
        partial_kept,
    ),
    (
        Rule {
            name: "cut",
            contract: "C75",
            behaviour: "a connection that closes too early is `interrupted` or `network_error`, never a success",
        },
        cut,
    ),
    (
        Rule {
            name: "silence",
            contract: "C129, C182",
            behaviour: "silence beyond the limits of the call ends as `timeout`",
        },
        silence,
    ),
    (
        Rule {
            name: "key_not_shown",
            contract: "C104, C105",
            behaviour: "the key is in no event, and not in what `Debug` shows",
        },
        key_not_shown,
    ),
];

fn failure(played: &Played) -> Result<&Failure, Finding> {
    let failure = played.failure();
    failure.ok_or_else(|| Finding::failed("an `error`", played.tags()).at(played))
}

fn reason<'a>(stage: &'a Stage<'_>, scenario: Scenario) -> Result<&'a str, Finding> {
    Ok(&failure(stage.of(scenario)?)?.reason)
}

/// Looks at those that there are; skipped when there are none.
fn any<const N: usize>(checked: [Checked; N]) -> Checked {
    let mut skipped = None;
    let mut is_seen = false;
    for checked in checked {
        match checked {
            Ok(()) => is_seen = true,
            Err(finding @ Finding::Failed { .. }) => return Err(finding),
            Err(finding) => skipped = Some(finding),
        }
    }
    match skipped {
        Some(finding) if !is_seen => Err(finding),
        _ => Ok(()),
    }
}

fn classified(stage: &Stage<'_>) -> Checked {
    let look = |scenario, expected: AdapterReason| {
        let found = reason(stage, scenario)?;
        expect_eq(found, expected.as_str())
    };
    any([
        look(Scenario::Unauthorized, AdapterReason::AuthenticationFailed),
        look(Scenario::RateLimited, AdapterReason::RateLimited),
        look(Scenario::Unavailable, AdapterReason::ProviderUnavailable),
    ])
}

fn retry_after(stage: &Stage<'_>) -> Checked {
    let look = |scenario, expected: Option<u64>| {
        let found = failure(stage.of(scenario)?)?.metadata.get("retry_after");
        expect_eq(&found.cloned(), &expected.map(Value::from))
    };
    any([
        look(Scenario::RateLimited, Some(2_000)),
        look(Scenario::Unavailable, None),
    ])
}

fn has_failed(played: &Played) -> bool {
    played.failure().is_some()
}

fn error_reasons(stage: &Stage<'_>) -> Checked {
    stage.each(has_failed, |played| {
        let failure = failure(played)?;
        let is_known = match failure.kind {
            ErrorKind::Adapter => AdapterReason::from_code(&failure.reason).is_some(),
            ErrorKind::Stream => StreamReason::from_code(&failure.reason).is_some(),
            _ => false,
        };
        expect(is_known, "a reason of an adapter or a stream", || {
            format!("{:?} `{}`", failure.kind, failure.reason)
        })
    })
}

fn errors_say_who(stage: &Stage<'_>) -> Checked {
    stage.each(has_failed, |played| {
        let failure = failure(played)?;
        for (name, expected) in [("provider", &*played.provider), ("request_id", REQUEST_ID)] {
            if let Some(found) = failure.metadata.get(name) {
                expect_eq(found, &Value::from(expected))?;
            }
        }
        Ok(())
    })
}

fn errors_bounded(stage: &Stage<'_>) -> Checked {
    // The mark of a cut stands behind the text.
    const MARK: usize = 64;
    stage.each(has_failed, |played| {
        let length = failure(played)?.message.len();
        expect(length <= MAX_PROVIDER_TEXT + MARK, "at most 2 KiB", || {
            format!("{length} bytes")
        })
    })
}

fn partial_kept(stage: &Stage<'_>) -> Checked {
    let response = stage.of(Scenario::FailsMidway)?.fold();
    let found = (response.text(), response.finish_reason);
    expect_eq(&found, &(PARTIAL.to_owned(), Some(FinishReason::Error)))
}

fn cut(stage: &Stage<'_>) -> Checked {
    let found = reason(stage, Scenario::Cut)?;
    let is_right = ["interrupted", "network_error"].contains(&found);
    expect(is_right, "`interrupted` or `network_error`", || {
        format!("`{found}`")
    })
}

fn silence(stage: &Stage<'_>) -> Checked {
    let look = |scenario| {
        let found = reason(stage, scenario)?;
        expect(found == "timeout", "`timeout`", || format!("`{found}`"))
    };
    any([look(Scenario::Silent), look(Scenario::FallsSilent)])
}

fn key_not_shown(stage: &Stage<'_>) -> Checked {
    stage.each(
        |_| true,
        |played| {
            let typed = played.failure().map(|failure| Error::from(failure.clone()));
            let json: Vec<_> = played
                .events
                .iter()
                .map(allm_core::json::to_string)
                .collect();
            let texts = [
                format!("{:?}", played.events),
                format!("{json:?}"),
                format!("{typed:?}"),
                played.shown.clone().unwrap_or_default(),
            ];
            let is_free = !texts.iter().any(|text| text.contains(KEY));
            expect(is_free, "no key anywhere", || "the key is shown".to_owned())
        },
    )
}
