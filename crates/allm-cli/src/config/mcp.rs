//! MCP servers, as a file names them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::source::Source;
use super::tool::{Approval, EffectName};

/// `[mcp]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Mcp {
    /// The servers whose tools are offered, by name.
    pub(crate) servers: BTreeMap<String, Spanned<Server>>,
}

impl Mcp {
    /// What this says, and servers of other names that the other says.
    pub(super) fn over(mut self, below: Self) -> Self {
        for (name, server) in below.servers {
            self.servers.entry(name).or_insert(server);
        }
        self
    }

    /// Notes which file it was read from.
    pub(super) fn located(mut self, source: &Source) -> Self {
        for server in self.servers.values_mut() {
            server.get_mut().source = source.clone();
        }
        self
    }

    /// The servers that are used.
    pub(crate) fn used(&self) -> impl Iterator<Item = (&str, &Spanned<Server>)> {
        let named = self.servers.iter();
        let used = named.filter(|(_, server)| server.get_ref().enabled);
        used.map(|(name, server)| (name.as_str(), server))
    }
}

/// `[mcp.servers.NAME]`: a program, or an address.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Server {
    /// Whether it is used.
    pub(crate) enabled: bool,
    /// The program.
    pub(crate) command: Option<Spanned<String>>,
    /// Its words.
    pub(crate) args: Vec<String>,
    /// Variables of its environment.
    pub(crate) env: BTreeMap<String, String>,
    /// Variables that it gets as they are here.
    pub(crate) pass_env: Vec<String>,
    /// Where it runs.
    pub(crate) current_dir: Option<Spanned<PathBuf>>,
    /// The address.
    pub(crate) url: Option<Spanned<String>>,
    /// The variable of the environment that has the bearer token.
    pub(crate) bearer_env: Option<Spanned<String>>,
    /// More headers.
    pub(crate) headers: BTreeMap<String, String>,
    /// What stands before the names of its tools; its own name if not said, nothing if it is empty.
    pub(crate) prefix: Option<Spanned<String>>,
    /// These of its tools and no others.
    pub(crate) only: Option<Vec<String>>,
    /// All but these.
    pub(crate) without: Vec<String>,
    /// Whether a person must agree to calls.
    pub(crate) approval: Option<Approval>,
    /// How long a call may take.
    pub(crate) timeout: Option<Spanned<String>>,
    /// How long it may take to be ready.
    pub(crate) start_timeout: Option<Spanned<String>>,
    /// More about one of its tools, by the name that the server gives it.
    pub(crate) tools: BTreeMap<String, ServerTool>,
    /// Where this stands.
    #[serde(skip)]
    pub(crate) source: Source,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            enabled: true,
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            current_dir: None,
            url: None,
            bearer_env: None,
            headers: BTreeMap::new(),
            prefix: None,
            only: None,
            without: Vec::new(),
            approval: None,
            timeout: None,
            start_timeout: None,
            tools: BTreeMap::new(),
            source: Source::default(),
        }
    }
}

/// `[mcp.servers.NAME.tools.TOOL]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerTool {
    /// What the model calls it.
    pub(crate) name: Option<String>,
    /// What running it again would do.
    pub(crate) effect: Option<EffectName>,
    /// Whether a person must agree to calls.
    pub(crate) approval: Option<Approval>,
}
