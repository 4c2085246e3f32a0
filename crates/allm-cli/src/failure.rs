//! What went wrong with a model, in words that help.

use allm::{
    AdapterReason, EngineReason, ErrorKind, Failure, ModelRef, SessionError, SessionReason,
};

use crate::config::Config;
use crate::engine;
use crate::local;
use crate::model::Chosen;
use crate::problem::{Exit, Problem};

/// Whether the model can be asked at all, as far as that is known before it is.
pub(crate) fn check_model(chosen: &Chosen, config: &Config) -> Result<(), Problem> {
    let model = &chosen.model;
    let Ok(parsed) = model.parse::<ModelRef>() else {
        let what = format!("`{model}` is no model");
        return Err(Problem::usage(what).advice(AS_MODEL));
    };
    let provider = parsed.provider.as_str();
    if provider == local::PROVIDER {
        return local::check(chosen);
    }
    let is_known = engine::known().any(|known| known == provider);
    if is_known || config.providers.contains_key(provider) {
        return Ok(());
    }
    let mut names: Vec<&str> = engine::known().collect();
    names.extend(cfg!(feature = "local").then_some(local::PROVIDER));
    names.extend(config.providers.keys().map(String::as_str));
    names.sort_unstable();
    names.dedup();
    let what = format!("there is no provider `{provider}` for the model `{model}`");
    let advice = format!(
        "there are {}; or describe it: [providers.{provider}] with base_url in allm.toml",
        names.join(", ")
    );
    Err(Problem::usage(what).advice(advice))
}

const AS_MODEL: &str = "write it as provider:model, such as openai:gpt-4.1-mini or ollama:llama3.2";

/// What became of a session that could not do what was asked.
pub(crate) fn of_session(error: &SessionError, model: &str, config: &Config) -> Problem {
    match (&error.cause, error.reason) {
        (Some(cause), SessionReason::Engine | SessionReason::Invalid) => {
            explain(&Failure::from(&**cause), model, config)
        }
        (_, SessionReason::Busy) => Problem::failed("another program drives this session")
            .advice("wait until it has ended; one that was killed lets go after 30 seconds"),
        _ => error.clone().into(),
    }
}

/// A failure of a run, and what to do about it.
pub(crate) fn explain(failure: &Failure, model: &str, config: &Config) -> Problem {
    let provider = model.split(':').next().unwrap_or_default();
    let name = model.split_once(':').map_or(model, |(_, name)| name);
    let message = failure.message.trim();
    let keys = engine::key_names(provider, config).join(" or ");
    let status = failure
        .metadata
        .get("status")
        .and_then(|status| status.as_u64());
    let status = status
        .map(|status| format!(" (status {status})"))
        .unwrap_or_default();
    if failure.kind == ErrorKind::Engine {
        return match EngineReason::from_code(&failure.reason) {
            Some(EngineReason::MissingKey) => {
                Problem::usage(format!("there is no key for `{provider}`"))
                    .advice(format!("set {keys}, or choose another model with --model"))
            }
            Some(EngineReason::InvalidModel | EngineReason::AmbiguousProvider) => {
                Problem::usage(message).advice(AS_MODEL)
            }
            Some(EngineReason::UnknownTool) => {
                Problem::failed("the model called a tool that it was not offered")
                    .advice("ask again, or ask another model")
            }
            _ => Problem::usage(message),
        };
    }
    let Some(reason) =
        AdapterReason::from_code(&failure.reason).filter(|_| failure.kind == ErrorKind::Adapter)
    else {
        let what = match failure.kind {
            ErrorKind::Stream => format!("the answer of `{model}` broke off: {message}"),
            _ => format!("{}: {message}", failure.reason),
        };
        let exit = match failure.kind {
            ErrorKind::Validation => Exit::Usage,
            _ => Exit::Failed,
        };
        return Problem::new(exit, what);
    };
    if provider == local::PROVIDER
        && let Some(problem) = local::explain(reason, message, model)
    {
        return problem;
    }
    match reason {
        AdapterReason::AuthenticationFailed => Problem::failed(format!(
            "`{provider}` does not accept the key{status}: {message}"
        ))
        .advice(format!("put a key that is good into {keys}")),
        AdapterReason::PermissionDenied => Problem::failed(format!(
            "the key is not allowed to use `{model}`{status}: {message}"
        ))
        .advice(format!(
            "look at the rights of the key in {keys}, or choose another model"
        )),
        AdapterReason::QuotaExceeded => Problem::failed(format!(
            "the account at `{provider}` has nothing left{status}: {message}"
        ))
        .advice("look at the account's limits and payments"),
        AdapterReason::RateLimited => {
            let wait = failure
                .metadata
                .get("retry_after")
                .and_then(|wait| wait.as_u64());
            let problem = Problem::failed(format!(
                "`{provider}` takes no more requests for now{status}: {message}"
            ));
            problem.advice(match wait {
                Some(wait) => format!("try again in {} s", wait.div_ceil(1000)),
                None => "try again in a while".to_owned(),
            })
        }
        AdapterReason::ModelNotFound => Problem::failed(format!(
            "`{provider}` has no model `{name}`{status}: {message}"
        ))
        .advice("name another model with --model"),
        AdapterReason::ContextLengthExceeded | AdapterReason::RequestTooLarge => {
            Problem::failed(format!("that is too long for `{model}`{status}: {message}"))
                .advice("ask for less, or choose a model that takes more")
        }
        AdapterReason::NetworkError => Problem::failed(format!(
            "the server of `{provider}` cannot be reached: {message}"
        ))
        .advice(reach(provider, config)),
        AdapterReason::Timeout | AdapterReason::ProviderUnavailable => {
            Problem::failed(format!("`{provider}` does not answer{status}: {message}"))
                .advice("try again in a while")
        }
        _ => Problem::failed(format!(
            "`{model}` gave no answer: {reason}{status}: {message}"
        )),
    }
}

/// What to look at when a server cannot be reached.
fn reach(provider: &str, config: &Config) -> String {
    let url = config
        .providers
        .get(provider)
        .and_then(|settings| settings.base_url.as_deref());
    match (provider, url) {
        (_, Some(url)) => format!("is the server at {url} running?"),
        ("ollama", None) => "is it running? start it with: ollama serve".to_owned(),
        ("vllm" | "llamacpp" | "lmstudio", None) => "is it running on this machine?".to_owned(),
        _ => "is this machine connected to the network?".to_owned(),
    }
}
