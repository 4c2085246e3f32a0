//! How a server is reached, and what of it is used.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use allm_core::{ApprovalRule, Effect, Hash};

use super::names;
use crate::error::{McpError, McpErrorKind};

/// How long a server may take to be ready, its list of tools included. The first start of a package may download it.
const START: Duration = Duration::from_secs(60);
/// How long a person may take to answer what a server asks.
const ANSWER: Duration = Duration::from_secs(30 * 60);
/// How much one message of a server may be, in bytes.
const MAX_MESSAGE: usize = 8 * 1024 * 1024;
/// How many tools a server may have.
const MAX_TOOLS: usize = 1_000;
/// How often a server that died is started again by calls, within a minute.
const RESTARTS: u32 = 3;

/// An MCP server: how it is reached, which of its tools are used, and how.
///
/// Nothing happens before [`connect`](Self::connect). Tools are named here as the server names them.
///
/// ```
/// use std::time::Duration;
/// use allm_core::{ApprovalRule, Effect};
/// use allm_mcp::McpServer;
///
/// let files = McpServer::command("npx")
///     .args(["-y", "@modelcontextprotocol/server-filesystem", "/srv/notes"])
///     .prefix("fs")
///     .only(["read_text_file", "list_directory", "write_file"])
///     .effect("write_file", Effect::Idempotent)
///     .approval("write_file", ApprovalRule::Always)
///     .timeout(Duration::from_secs(20));
/// # let _ = files;
/// ```
#[derive(Clone)]
pub struct McpServer {
    pub(super) name: String,
    pub(super) reach: Reach,
    pub(super) prefix: Option<String>,
    pub(super) only: Option<Vec<String>>,
    pub(super) without: Vec<String>,
    pub(super) renamed: BTreeMap<String, String>,
    pub(super) effects: BTreeMap<String, Effect>,
    pub(super) approvals: BTreeMap<String, ApprovalRule>,
    pub(super) approval_of_all: Option<ApprovalRule>,
    pub(super) approval_unless_repeatable: Option<ApprovalRule>,
    pub(super) ignores_hints: bool,
    pub(super) compact: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) start_timeout: Duration,
    pub(super) answer_within: Duration,
    pub(super) max_message: usize,
    pub(super) max_tools: usize,
    pub(super) restarts: u32,
    pub(super) changed_tools: ChangedTools,
    pub(super) fingerprints: BTreeMap<String, Hash>,
    pub(super) media_folder: Option<PathBuf>,
}

/// Where a server is.
#[derive(Clone)]
pub(super) enum Reach {
    Command(Program),
    #[cfg(feature = "client-http")]
    Http(Address),
}

/// A program that is the server.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) inherits: bool,
    pub(super) current_dir: Option<PathBuf>,
}

/// An address where the server is.
#[cfg(feature = "client-http")]
#[derive(Clone)]
pub(super) struct Address {
    pub(super) url: String,
    pub(super) bearer: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    #[cfg(feature = "oauth")]
    pub(super) login: Option<crate::oauth::Login>,
}

/// What becomes of a tool that the server describes otherwise than when it was first listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangedTools {
    /// It is not called any more until somebody has looked:
    /// [`McpConnection::accept`](super::McpConnection::accept).
    #[default]
    Refuse,
    /// The new description holds at once. For servers that are trusted and change much.
    Follow,
}

impl McpServer {
    /// A server that is a program: a child process that speaks on its standard input and output.
    ///
    /// Of the environment it gets `HOME`, `LANG`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `TMPDIR`, `USER` and what
    /// [`env`](Self::env) sets: keys of this process are none of its business.
    #[must_use]
    pub fn command(program: impl Into<OsString>) -> Self {
        let program = program.into();
        let name = Path::new(&program).file_stem().unwrap_or(&program);
        let name = name.to_string_lossy().into_owned();
        let reach = Reach::Command(Program {
            program,
            args: Vec::new(),
            env: Vec::new(),
            inherits: false,
            current_dir: None,
        });
        Self::new(name, reach)
    }

    /// A server that is reached by streamable HTTP.
    #[cfg(feature = "client-http")]
    #[must_use]
    pub fn http(url: impl Into<String>) -> Self {
        let url = url.into();
        let host = url.parse::<http::Uri>().ok();
        let host = host.and_then(|uri| uri.host().map(str::to_owned));
        let reach = Reach::Http(Address {
            url,
            bearer: None,
            headers: Vec::new(),
            #[cfg(feature = "oauth")]
            login: None,
        });
        Self::new(host.unwrap_or_else(|| "http".to_owned()), reach)
    }

    fn new(name: String, reach: Reach) -> Self {
        Self {
            name,
            reach,
            prefix: None,
            only: None,
            without: Vec::new(),
            renamed: BTreeMap::new(),
            effects: BTreeMap::new(),
            approvals: BTreeMap::new(),
            approval_of_all: None,
            approval_unless_repeatable: None,
            ignores_hints: false,
            compact: false,
            timeout: None,
            start_timeout: START,
            answer_within: ANSWER,
            max_message: MAX_MESSAGE,
            max_tools: MAX_TOOLS,
            restarts: RESTARTS,
            changed_tools: ChangedTools::Refuse,
            fingerprints: BTreeMap::new(),
            media_folder: None,
        }
    }

    /// What it is called in errors and in the log; otherwise its prefix, or the name of the program or host.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// With one more argument. For a program.
    #[must_use]
    pub fn arg(self, arg: impl Into<OsString>) -> Self {
        self.args([arg])
    }

    /// With more arguments. For a program.
    #[must_use]
    pub fn args(self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.program(|program| program.args.extend(args.into_iter().map(Into::into)))
    }

    /// With a variable of the environment. For a program.
    #[must_use]
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.program(|program| program.env.push((name.into(), value.into())))
    }

    /// With the whole environment of this process, keys included. For a program.
    #[must_use]
    pub fn inherit_env(self) -> Self {
        self.program(|program| program.inherits = true)
    }

    /// Where it runs; otherwise where this process does. For a program.
    #[must_use]
    pub fn current_dir(self, directory: impl Into<PathBuf>) -> Self {
        self.program(|program| program.current_dir = Some(directory.into()))
    }

    fn program(mut self, change: impl FnOnce(&mut Program)) -> Self {
        match &mut self.reach {
            Reach::Command(program) => change(program),
            #[cfg(feature = "client-http")]
            Reach::Http(_) => {}
        }
        self
    }

    /// With a token, sent as `Authorization: Bearer …`. For HTTP.
    #[cfg(feature = "client-http")]
    #[must_use]
    pub fn bearer(self, token: impl Into<String>) -> Self {
        self.address(|address| address.bearer = Some(token.into()))
    }

    /// With one more header. For HTTP.
    #[cfg(feature = "client-http")]
    #[must_use]
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.address(|address| address.headers.push((name.into(), value.into())))
    }

    /// With what a login has given. For HTTP.
    #[cfg(feature = "oauth")]
    #[must_use]
    pub fn login(self, login: crate::oauth::Login) -> Self {
        self.address(|address| address.login = Some(login))
    }

    #[cfg(feature = "client-http")]
    fn address(mut self, change: impl FnOnce(&mut Address)) -> Self {
        if let Reach::Http(address) = &mut self.reach {
            change(address);
        }
        self
    }

    /// Names its tools with this and `_` before their own name, so that those of two servers are told apart.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Uses these of its tools and no others.
    #[must_use]
    pub fn only(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let more = tools.into_iter().map(Into::into);
        self.only.get_or_insert_default().extend(more);
        self
    }

    /// Leaves these of its tools out.
    #[must_use]
    pub fn without(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.without.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Gives a tool another name, to which no prefix is added.
    #[must_use]
    pub fn rename(mut self, tool: impl Into<String>, name: impl Into<String>) -> Self {
        self.renamed.insert(tool.into(), name.into());
        self
    }

    /// What running a tool again would do, whatever the server says of it.
    #[must_use]
    pub fn effect(mut self, tool: impl Into<String>, effect: Effect) -> Self {
        self.effects.insert(tool.into(), effect);
        self
    }

    /// Whether a person must agree before a tool runs, whatever the server says of it.
    #[must_use]
    pub fn approval(mut self, tool: impl Into<String>, rule: ApprovalRule) -> Self {
        self.approvals.insert(tool.into(), rule);
        self
    }

    /// Whether a person must agree before any of its tools runs; [`approval`](Self::approval) of a tool beats it.
    #[must_use]
    pub fn approval_of_all(mut self, rule: ApprovalRule) -> Self {
        self.approval_of_all = Some(rule);
        self
    }

    /// Whether a person must agree before a tool runs that cannot simply be run again: one that is neither `Pure` nor
    /// `Idempotent`. [`approval`](Self::approval) and [`approval_of_all`](Self::approval_of_all) beat it.
    #[must_use]
    pub fn approval_unless_repeatable(mut self, rule: ApprovalRule) -> Self {
        self.approval_unless_repeatable = Some(rule);
        self
    }

    /// Believes nothing of what the server says about its tools' effects: each is `AtMostOnce` and needs no approval
    /// unless it is set here. For servers that are not trusted.
    #[must_use]
    pub fn ignore_hints(mut self) -> Self {
        self.ignores_hints = true;
        self
    }

    /// Sends its tools as stubs that the model asks more about: for servers with many tools.
    #[must_use]
    pub fn compact(mut self) -> Self {
        self.compact = true;
        self
    }

    /// How long a call of one of its tools may take; otherwise what the engine says.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long it may take to be ready, its list of tools included; 60 seconds if not set.
    #[must_use]
    pub fn start_timeout(mut self, timeout: Duration) -> Self {
        self.start_timeout = timeout;
        self
    }

    /// How long a call is kept open for a person's answer to what the server asks in it; 30 minutes if not set. It is
    /// then cancelled at the server.
    #[must_use]
    pub fn answer_within(mut self, time: Duration) -> Self {
        self.answer_within = time;
        self
    }

    /// How much one message of the server may be, in bytes; 8 MiB if not set. The connection to one that says more at
    /// once is closed.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }

    /// How many tools it may have; 1,000 if not set.
    #[must_use]
    pub fn max_tools(mut self, tools: usize) -> Self {
        self.max_tools = tools;
        self
    }

    /// How often, within a minute, calls start it again when it has died; 3 if not set. After that they fail at once until
    /// the minute is over or [`McpConnection::reconnect`](super::McpConnection::reconnect) is called.
    #[must_use]
    pub fn restarts(mut self, times: u32) -> Self {
        self.restarts = times;
        self
    }

    /// What becomes of a tool that the server describes otherwise than before.
    #[must_use]
    pub fn changed_tools(mut self, rule: ChangedTools) -> Self {
        self.changed_tools = rule;
        self
    }

    /// What its tools were when somebody looked at them, as
    /// [`McpConnection::fingerprints`](super::McpConnection::fingerprints) told it then, perhaps in another process. A
    /// tool that is another one, now or when it appears later, counts as changed; one that is not named is new.
    #[must_use]
    pub fn known_as(mut self, fingerprints: impl IntoIterator<Item = (String, Hash)>) -> Self {
        self.fingerprints.extend(fingerprints);
        self
    }

    /// Keeps the pictures, sounds and files of results in this folder; the model is told where they are. Otherwise it is
    /// told only that there were some. Pictures and PDF files are shown to it in either case.
    #[must_use]
    pub fn media_to(mut self, folder: impl Into<PathBuf>) -> Self {
        self.media_folder = Some(folder.into());
        self
    }

    /// The name for errors and the log.
    pub(super) fn shown(&self) -> &str {
        self.prefix.as_deref().unwrap_or(&self.name)
    }

    pub(super) fn error(&self, kind: McpErrorKind, message: impl Into<String>) -> McpError {
        McpError::new(kind, self.shown(), message)
    }

    /// What can be found wrong before anything is tried.
    pub(super) fn check(&self) -> Result<(), McpError> {
        let wrong = |message: String| Err(self.error(McpErrorKind::InvalidSettings, message));
        if let Some(prefix) = &self.prefix
            && !names::is_name(prefix)
        {
            return wrong(format!(
                "the prefix {prefix:?} cannot begin a tool's name; use 1 to 64 of A-Z a-z 0-9 _ -"
            ));
        }
        for (tool, name) in &self.renamed {
            if !names::is_name(name) {
                return wrong(format!(
                    "{name:?}, to which {tool:?} is renamed, cannot be a tool's name; use 1 to 64 of A-Z a-z 0-9 _ -"
                ));
            }
        }
        let both = self
            .only
            .iter()
            .flatten()
            .find(|t| self.without.contains(t));
        if let Some(tool) = both {
            return wrong(format!("{tool:?} is both in `only` and in `without`"));
        }
        for (what, time) in [
            ("timeout", self.timeout),
            ("start_timeout", Some(self.start_timeout)),
            ("answer_within", Some(self.answer_within)),
        ] {
            if time == Some(Duration::ZERO) {
                return wrong(format!("`{what}` is no time at all"));
            }
        }
        if self.max_message < 1024 {
            return wrong("`max_message` is less than 1024 bytes".to_owned());
        }
        match &self.reach {
            Reach::Command(program) if program.program.is_empty() => {
                wrong("there is no program to start".to_owned())
            }
            Reach::Command(_) => Ok(()),
            #[cfg(feature = "client-http")]
            Reach::Http(address) => super::http::check(address).or_else(wrong),
        }
    }

    /// Every tool that the settings name.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let only = self.only.iter().flatten().map(|t| ("only", t.as_str()));
        let without = self.without.iter().map(|t| ("without", t.as_str()));
        let renamed = self.renamed.keys().map(|t| ("rename", t.as_str()));
        let effects = self.effects.keys().map(|t| ("effect", t.as_str()));
        let approvals = self.approvals.keys().map(|t| ("approval", t.as_str()));
        only.chain(without)
            .chain(renamed)
            .chain(effects)
            .chain(approvals)
    }
}

impl fmt::Debug for McpServer {
    /// Credentials and values of the environment are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("McpServer");
        shown.field("name", &self.name);
        match &self.reach {
            Reach::Command(program) => {
                let names: Vec<_> = program.env.iter().map(|(name, _)| name).collect();
                shown
                    .field("program", &program.program)
                    .field("env", &names)
                    .field("current_dir", &program.current_dir);
            }
            #[cfg(feature = "client-http")]
            Reach::Http(address) => {
                let names: Vec<_> = address.headers.iter().map(|(name, _)| name).collect();
                let url = address.url.split(['?', '#']).next();
                shown.field("url", &url).field("headers", &names);
            }
        }
        shown
            .field("prefix", &self.prefix)
            .field("only", &self.only)
            .field("without", &self.without)
            .finish_non_exhaustive()
    }
}
