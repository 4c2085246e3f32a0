//! What `allm.toml` says.

mod builtin;
mod mcp;
mod says;
mod source;
mod tool;
mod trust;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::arguments::Common;
use crate::places;
use crate::problem::Problem;

pub(crate) use builtin::{Builtin, Fetching, Listing, Reading, Shell};
pub(crate) use mcp::Server;
pub(crate) use source::Source;
pub(crate) use tool::{Approval, Declared, Input, Output};
pub(crate) use trust::Ask;

/// The name of a configuration in the folder where the program is started.
const PROJECT: &str = "allm.toml";

/// The configuration: what a file says, and what the one below it says where this one is silent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The model, as `provider:model`.
    pub(crate) model: Option<String>,
    /// What the model is told first.
    pub(crate) system: Option<String>,
    /// How many turns a run may take.
    pub(crate) max_turns: Option<u32>,
    /// How many tokens an answer may have.
    pub(crate) max_tokens: Option<u32>,
    /// 0 to 2.
    pub(crate) temperature: Option<f64>,
    /// The file of the sessions.
    pub(crate) store: Option<PathBuf>,
    /// How providers are reached, by name.
    pub(crate) providers: BTreeMap<String, Provider>,
    /// Tools that are commands.
    pub(crate) tools: Vec<Declared>,
    /// Tools that are built in.
    pub(crate) builtin: Builtin,
    /// Servers whose tools are offered.
    pub(crate) mcp: mcp::Mcp,
    /// The files that were read, the project's first.
    #[serde(skip)]
    pub(crate) files: Vec<PathBuf>,
}

/// How a provider is reached.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Provider {
    /// What it speaks, for a name that is not known: `openai`, `anthropic`, `gemini` or `compat`.
    pub(crate) kind: Option<Kind>,
    /// Where it is.
    pub(crate) base_url: Option<String>,
    /// The variable of the environment that has its key. A key itself never stands in a file.
    pub(crate) key_env: Option<String>,
    /// More headers.
    pub(crate) headers: BTreeMap<String, String>,
    /// The model that is taken when only the provider's key is known.
    pub(crate) default_model: Option<String>,
}

/// What a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// OpenAI's own two APIs.
    Openai,
    /// The Messages API.
    Anthropic,
    /// Google's.
    Gemini,
    /// Chat Completions as many servers speak it.
    Compat,
}

impl Config {
    /// Reads the file that was named, or else the project's over the user's own, each if it is there.
    ///
    /// The project's is used only if it is trusted; one that was named is, and so is the user's own.
    pub(crate) fn load(common: &Common, ask: Ask) -> Result<Self, Problem> {
        if let Some(file) = &common.config {
            return match Self::read(file)? {
                Some((config, _)) => Ok(config),
                None => Err(missing(file)),
            };
        }
        let project = match Self::read(Path::new(PROJECT))? {
            Some((config, source)) => {
                trust::check(&source, &config.says(), common.trust, ask)?;
                config
            }
            None => Self::default(),
        };
        // Without a home there is no configuration of the user's own, and nothing is wrong with that.
        let user = match places::config() {
            Ok(folder) => Self::read(&folder.join("config.toml"))?,
            Err(_) => None,
        };
        Ok(project.over(user.map(|(config, _)| config).unwrap_or_default()))
    }

    /// Reads a file; `None` if there is none.
    fn read(file: &Path) -> Result<Option<(Self, Source)>, Problem> {
        let Some(source) = Source::read(file)? else {
            return Ok(None);
        };
        let mut config: Self = source.parse()?;
        if let Some(store) = &mut config.store {
            *store = source.resolve(store);
        }
        for tool in &mut config.tools {
            tool.source = source.clone();
        }
        config.builtin = config.builtin.located(&source);
        config.mcp = config.mcp.located(&source);
        config.files.push(file.to_owned());
        Ok(Some((config, source)))
    }

    /// What this says, and where it is silent what the other says.
    fn over(self, below: Self) -> Self {
        let mut providers = below.providers;
        providers.extend(self.providers);
        // A tool of the project takes the place of the user's own of the same name.
        let mut tools = self.tools;
        let is_new = |tool: &Declared| {
            tools
                .iter()
                .all(|own| own.name.get_ref() != tool.name.get_ref())
        };
        let more: Vec<Declared> = below.tools.into_iter().filter(is_new).collect();
        tools.extend(more);
        let mut files = self.files;
        files.extend(below.files);
        Self {
            model: self.model.or(below.model),
            system: self.system.or(below.system),
            max_turns: self.max_turns.or(below.max_turns),
            max_tokens: self.max_tokens.or(below.max_tokens),
            temperature: self.temperature.or(below.temperature),
            store: self.store.or(below.store),
            providers,
            tools,
            builtin: self.builtin.over(below.builtin),
            mcp: self.mcp.over(below.mcp),
            files,
        }
    }
}

fn missing(file: &Path) -> Problem {
    Problem::usage(format!("the configuration {} is not there", file.display()))
        .advice("name a file with --config, or leave it out")
}
