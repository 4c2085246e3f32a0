//! A tool that is a command, as a file declares it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use allm::{ApprovalRule, Effect};
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::source::Source;

/// An entry of `[[tools]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Declared {
    /// What the model calls it.
    pub(crate) name: Spanned<String>,
    /// What the model is told of it.
    pub(crate) description: String,
    /// The JSON Schema of its arguments.
    pub(crate) schema: Option<Spanned<Value>>,
    /// A file with it.
    pub(crate) schema_file: Option<Spanned<PathBuf>>,
    /// The program and its words.
    pub(crate) command: Option<Spanned<Vec<Spanned<String>>>>,
    /// Whether there is no program: a person, or another program, gives the result.
    #[serde(default)]
    pub(crate) manual: bool,
    /// What running it again would do.
    #[serde(default)]
    pub(crate) effect: EffectName,
    /// Whether a person must agree first.
    pub(crate) approval: Option<Approval>,
    /// How long it may take.
    pub(crate) timeout: Option<Spanned<String>>,
    /// Variables of its environment.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// Variables that it gets as they are here.
    #[serde(default)]
    pub(crate) pass_env: Vec<String>,
    /// Where it runs.
    pub(crate) current_dir: Option<Spanned<PathBuf>>,
    /// What it says.
    #[serde(default)]
    pub(crate) output: Output,
    /// What it is told.
    #[serde(default)]
    pub(crate) input: Input,
    /// Whether the lines of its standard error are shown while it runs.
    #[serde(default)]
    pub(crate) progress: bool,
    /// Where this stands.
    #[serde(skip)]
    pub(crate) source: Source,
}

impl Declared {
    /// Whether a person must agree first: what cannot be taken back is asked about, unless the file says otherwise.
    /// Whoever does the work of a manual tool need not agree to it.
    pub(crate) fn approval(&self) -> Approval {
        self.approval.unwrap_or(match self.effect {
            EffectName::AtMostOnce if !self.manual => Approval::Always,
            _ => Approval::Never,
        })
    }

    /// The words of the command.
    pub(crate) fn words(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.command.iter().flat_map(|words| words.get_ref())
    }
}

/// The classes of effect that a command can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EffectName {
    Pure,
    Idempotent,
    #[default]
    AtMostOnce,
}

impl From<EffectName> for Effect {
    fn from(name: EffectName) -> Self {
        match name {
            EffectName::Pure => Self::Pure,
            EffectName::Idempotent => Self::Idempotent,
            EffectName::AtMostOnce => Self::AtMostOnce,
        }
    }
}

/// Whether a person must agree first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Approval {
    Never,
    Always,
}

impl From<Approval> for ApprovalRule {
    fn from(approval: Approval) -> Self {
        match approval {
            Approval::Never => Self::Never,
            Approval::Always => Self::Always,
        }
    }
}

impl From<ApprovalRule> for Approval {
    fn from(rule: ApprovalRule) -> Self {
        match rule {
            ApprovalRule::Never => Self::Never,
            _ => Self::Always,
        }
    }
}

/// What a command says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Output {
    /// The result, as text.
    #[default]
    Text,
    /// A reply in JSON.
    Reply,
}

/// What a command is told on standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Input {
    /// The call as JSON.
    #[default]
    Json,
    /// Nothing.
    None,
}
