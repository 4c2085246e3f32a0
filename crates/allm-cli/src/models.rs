//! `allm models`: providers, keys, and models of this machine.

use std::io::{self, Write as _};

use crate::arguments::{Common, ModelsCommand};
use crate::config::{Ask, Config};
use crate::problem::{Exit, Problem};
use crate::{engine, local, model};

pub(crate) async fn perform(
    common: &Common,
    asked: Option<ModelsCommand>,
) -> Result<Exit, Problem> {
    match asked.unwrap_or(ModelsCommand::List) {
        ModelsCommand::List => list(&Config::load(common, Ask::Person)?),
        ModelsCommand::Pull {
            model,
            name,
            sha256,
        } => local::pull(model.as_deref(), name, sha256).await,
        ModelsCommand::Remove { name } => local::remove(&name),
    }
}

fn list(config: &Config) -> Result<Exit, Problem> {
    let chosen = model::chosen(config);
    let mut text = format!(
        "model: {} ({})\n\nproviders:\n",
        chosen.model,
        chosen.why.in_words()
    );
    let mut names: Vec<&str> = engine::known().collect();
    let own = config.providers.keys().map(String::as_str);
    names.extend(own.filter(|name| engine::known().all(|known| known != *name)));
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or_default();
    for name in names {
        text.push_str(&format!("  {name:width$}  {}", key(name, config)));
        let url = config
            .providers
            .get(name)
            .and_then(|settings| settings.base_url.as_deref());
        if let Some(url) = url {
            text.push_str(&format!(", at {url}"));
        }
        text.push('\n');
    }
    text.push_str("\nlocal models:\n");
    text.push_str(&local::listed()?);
    written(io::stdout().write_all(text.as_bytes()))
}

/// What is known of a provider's key: where it is, never what it is.
fn key(provider: &str, config: &Config) -> String {
    let names = engine::key_names(provider, config);
    match names.iter().find(|name| model::is_set(name)) {
        Some(name) => format!("key in {name}"),
        None if engine::needs_key(provider, config) => {
            format!("no key: set {}", names.join(" or "))
        }
        None => "needs no key".to_owned(),
    }
}

/// What was written to standard output is told; a reader who has gone away is no failure.
pub(crate) fn written(said: io::Result<()>) -> Result<Exit, Problem> {
    match said.and_then(|()| io::stdout().flush()) {
        Ok(()) => Ok(Exit::Done),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => Err(Problem::failed(format!(
            "standard output cannot be written: {error}"
        ))),
    }
}
