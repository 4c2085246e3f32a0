//! The scenarios as scripts of the scripted provider.

use std::time::Duration;

use allm::{AdapterError, AdapterReason, Fake, FinishReason, Part, Script, StreamReason, Usage};
use allm_conformance::CannotExpress;
use allm_conformance::adapter::{
    ARGUMENTS, AdapterSubject, MALFORMED, OTHER_ARGUMENTS, PARTIAL, Prepared, REFUSAL, Scenario,
    TEXT, THOUGHT, TOOL, Traffic,
};
use allm_core::BoxFuture;

pub(crate) fn script(scenario: Scenario) -> Result<Script, CannotExpress> {
    let script = Script::new();
    Ok(match scenario {
        Scenario::Text => script
            .raw(r#"{"ping": 1}"#)
            .text(TEXT)
            .raw(r#"{"pong": 1}"#)
            .usage(Usage::io(12, 4)),
        Scenario::TextInPieces => script.chunks(["Hel", "lo, wör", "ld 🌍!"]),
        Scenario::Empty => script,
        Scenario::OneCall => script.call_raw(TOOL, ARGUMENTS),
        Scenario::ParallelCalls => script
            .call_raw(TOOL, ARGUMENTS)
            .call_raw(TOOL, OTHER_ARGUMENTS),
        Scenario::CallInPieces => {
            script.call_chunked(TOOL, [r#"{"ci"#, r#"ty": "#, r#""Boston"}"#])
        }
        Scenario::MalformedCall => script.call_raw(TOOL, MALFORMED),
        Scenario::TextAroundCall => script
            .text("Let me look.")
            .call_raw(TOOL, ARGUMENTS)
            .text("Done."),
        Scenario::Reasoning => script.reasoning(THOUGHT).text(TEXT),
        Scenario::Usage => script.text(TEXT).usage(Usage {
            cached_input_tokens: Some(5),
            reasoning_tokens: Some(4),
            ..Usage::io(20, 10)
        }),
        Scenario::Refusal => script
            .part(Part::refusal(REFUSAL))
            .finish(FinishReason::ContentFilter),
        Scenario::Length => script.text(PARTIAL).finish(FinishReason::Length),
        Scenario::LengthInCall => script
            .call_cut_off(TOOL, [r#"{"ci"#])
            .finish(FinishReason::Length),
        Scenario::Unauthorized => script.fail(AdapterReason::AuthenticationFailed),
        Scenario::RateLimited => {
            let reason = AdapterReason::RateLimited;
            let mut error = AdapterError::new("fake", reason, "too many requests");
            error.retry_after = Some(Duration::from_secs(2));
            script.fail_with(error)
        }
        Scenario::Unavailable => script.fail(AdapterReason::ProviderUnavailable),
        Scenario::FailsMidway => script
            .text(PARTIAL)
            .fail(AdapterReason::ProviderUnavailable),
        Scenario::Cut => script.text(PARTIAL).stream_fail(StreamReason::Interrupted),
        Scenario::Silent => script.hang(),
        Scenario::FallsSilent => script.text(PARTIAL).hang(),
        _ => return Err(CannotExpress::because("the scripted provider has no wire")),
    })
}

pub(crate) fn fake(scenario: Scenario) -> Result<Fake, CannotExpress> {
    Ok(Fake::new().always(script(scenario)?))
}

/// With a look at what the fake has seen.
pub(crate) fn seen(prepared: Prepared, fake: &Fake) -> Prepared {
    let seen = fake.clone();
    prepared.traffic(move || Traffic {
        opened: seen.calls().len(),
        open: seen.open_streams(),
    })
}

/// The scripted provider on tokio's clock.
pub(crate) struct Faithful;

impl AdapterSubject for Faithful {
    fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
        let fake = fake(scenario)?;
        let prepared = Prepared::new(fake.clone()).shown_as(format!("{fake:?}"));
        Ok(seen(prepared, &fake))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// The scripted provider on the clock of the kit's own.
pub(crate) struct Real;

impl AdapterSubject for Real {
    fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
        Faithful.prepare(scenario)
    }
}
