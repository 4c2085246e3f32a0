//! What the tools of a server were when they were last used.
//!
//! A server could describe a tool harmlessly until somebody has agreed to it, and otherwise then. So what it said is kept, a
//! file for each server, and a tool that it describes otherwise now is not used before a person has looked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use allm::{ApprovalRule, Hash, Tool};
use allm_mcp::fingerprint;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::Server;
use crate::places;
use crate::problem::Problem;

/// What is known of the tools of one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Where it is kept; nowhere without a home.
    file: Option<PathBuf>,
    tools: BTreeMap<String, Was>,
}

/// What a tool was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Was {
    fingerprint: Hash,
    description: String,
    schema: Value,
    effect: String,
    approval: ApprovalRule,
}

impl Was {
    pub(super) fn of(tool: &Tool) -> Self {
        Self {
            fingerprint: fingerprint(tool),
            description: tool.description.clone(),
            schema: (*tool.schema).clone(),
            effect: tool.effect.as_str().to_owned(),
            approval: tool.approval,
        }
    }

    /// What it was, part by part, for a person.
    pub(super) fn facts(&self) -> [(&'static str, String); 4] {
        [
            (
                "description",
                Value::from(self.description.as_str()).to_string(),
            ),
            ("schema", self.schema.to_string()),
            ("effect", self.effect.clone()),
            (
                "approval",
                match self.approval {
                    ApprovalRule::Never => "never".to_owned(),
                    _ => "always".to_owned(),
                },
            ),
        ]
    }
}

impl Known {
    /// What is known of a server that a file names. One whose command, address, names, effects or approvals somebody
    /// has changed there is another one.
    pub(super) fn read(name: &str, said: &Server) -> Self {
        let file = places::data().ok();
        let file = file.map(|data| data.join("mcp").join(format!("{}.json", key(name, said))));
        let text = file.as_ref().and_then(|file| std::fs::read(file).ok());
        let tools = text.and_then(|text| serde_json::from_slice(&text).ok());
        Self {
            file,
            tools: tools.unwrap_or_default(),
        }
    }

    /// The fingerprints, by the names that the model is told.
    pub(super) fn fingerprints(&self) -> impl Iterator<Item = (String, Hash)> {
        let tools = self.tools.iter();
        tools.map(|(name, was)| (name.clone(), was.fingerprint))
    }

    /// What a tool of this name was.
    pub(super) fn get(&self, name: &str) -> Option<&Was> {
        self.tools.get(name)
    }

    /// Whether this is what a tool was, or one that was never seen.
    pub(super) fn is_same(&self, tool: &Tool) -> bool {
        let was = self.tools.get(tool.name.as_str());
        was.is_none_or(|was| was.fingerprint == fingerprint(tool))
    }

    /// These are used as they are from now on. What the server does not have just now is not forgotten: it could come back
    /// as something else.
    pub(super) fn keep<'a>(
        &mut self,
        tools: impl IntoIterator<Item = &'a Tool>,
    ) -> Result<(), Problem> {
        let before = self.tools.clone();
        for tool in tools {
            self.tools.insert(tool.name.to_string(), Was::of(tool));
        }
        let Some(file) = self.file.as_ref().filter(|_| self.tools != before) else {
            return Ok(());
        };
        let text = serde_json::to_vec(&self.tools).map_err(std::io::Error::other);
        let kept = text.and_then(|text| places::write_private(file, &text));
        kept.map_err(|error| {
            Problem::failed(format!(
                "what tools of MCP servers are cannot be kept in {}: {error}",
                file.display()
            ))
            .advice(
                "a tool that changes is then not noticed the next time; make the folder writable",
            )
        })
    }
}

/// The name of a server's file.
fn key(name: &str, said: &Server) -> String {
    let file = said.source.file();
    let overrides = said.tools.iter();
    let overrides: BTreeMap<&str, Value> = overrides
        .map(|(tool, more)| {
            let effect = more.effect.map(|effect| format!("{effect:?}"));
            let approval = more.approval.map(|approval| format!("{approval:?}"));
            (tool.as_str(), json!([more.name, effect, approval]))
        })
        .collect();
    let identity = json!({
        "name": name,
        "file": std::path::absolute(file).unwrap_or_else(|_| file.to_owned()),
        "command": said.command.as_ref().map(|command| command.get_ref()),
        "args": said.args,
        "url": said.url.as_ref().map(|url| url.get_ref()),
        "approval": said.approval.map(|approval| format!("{approval:?}")),
        "prefix": said.prefix.as_ref().map(|prefix| prefix.get_ref()),
        "tools": overrides,
    });
    let hash = Hash::of_bytes(identity.to_string().as_bytes()).to_string();
    hash.trim_start_matches("sha256:").to_owned()
}
