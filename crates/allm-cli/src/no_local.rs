//! In the place of models that run in this process: this build has none.

use allm::{AdapterReason, EngineBuilder};

use crate::model::{Chosen, Why};
use crate::problem::{Exit, Problem};

/// The provider, before the colon of a model.
pub(crate) const PROVIDER: &str = "local";

pub(crate) fn add(builder: EngineBuilder) -> EngineBuilder {
    builder
}

pub(crate) fn check(chosen: &Chosen) -> Result<(), Problem> {
    if chosen.model.split(':').next() != Some(PROVIDER) {
        return Ok(());
    }
    let what = match chosen.why {
        Why::Embedded => {
            "there is no key, the configuration names no model, and this build has no embedded one"
        }
        _ => "this build has no embedded model",
    };
    Err(Problem::usage(what).advice(
        "export ANTHROPIC_API_KEY=…, or the key of another provider that `allm models` lists; or name a model with --model",
    ))
}

pub(crate) const fn explain(_: AdapterReason, _: &str, _: &str) -> Option<Problem> {
    None
}

pub(crate) async fn ensure(chosen: &Chosen) -> Result<(), Problem> {
    check(chosen)
}

pub(crate) fn listed() -> Result<String, Problem> {
    Ok("  none: this build has no embedded model\n".to_owned())
}

pub(crate) async fn pull(
    _what: Option<&str>,
    _name: Option<String>,
    _sha256: Option<String>,
) -> Result<Exit, Problem> {
    Err(nothing())
}

pub(crate) fn remove(_name: &str) -> Result<Exit, Problem> {
    Err(nothing())
}

fn nothing() -> Problem {
    Problem::failed("this build has no models of its own to fetch or delete")
        .advice("use the model of a server, such as --model ollama:llama3.2")
}
