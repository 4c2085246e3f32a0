//! A server's tools as ours, and what has changed about them.

use std::collections::{BTreeMap, BTreeSet};

use allm_core::session::tool_fingerprint;
use allm_core::{ApprovalRule, Effect, Hash, Map, Tool, encode, validate};
use allm_schema::Schema;
use rmcp::model::ToolAnnotations;
use serde_json::Value;

use super::names;
use super::settings::{ChangedTools, McpServer};
use crate::error::{McpError, McpErrorKind};

/// How long a description may be, in bytes; what is over is cut off.
const MAX_DESCRIPTION: usize = 16 * 1024;
/// How long a tool's own name may be, in bytes: it is kept, and goes back with every call.
const MAX_NAME: usize = 256;
/// How large a schema may be, in bytes.
const MAX_SCHEMA: usize = 256 * 1024;

/// The tools of a server: what somebody has looked at, and what it says now.
#[derive(Clone, Default)]
pub(super) struct Catalog {
    /// In the server's order.
    tools: Vec<Entry>,
    /// What is left out, and why.
    pub(super) left_out: BTreeMap<String, String>,
    /// What every tool was when somebody last looked at it, by name, also of those that are not there now.
    known: BTreeMap<String, Hash>,
}

#[derive(Clone)]
struct Entry {
    original: String,
    /// As somebody has looked at it. `None` while nobody has: it is known only by a fingerprint that is another.
    accepted: Option<Tool>,
    /// As the server says now.
    now: Option<Tool>,
}

/// What has changed about a tool since somebody looked at it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolChange {
    /// Its name, as the model is told it.
    pub name: String,
    /// What happened.
    pub kind: ToolChangeKind,
    /// What it was. `None` if only its fingerprint is known.
    pub before: Option<Tool>,
    /// What it is now.
    pub after: Option<Tool>,
}

/// What happened to a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChangeKind {
    /// Its description, schema, effect or approval is another.
    Changed,
    /// The server has it no more.
    Removed,
}

/// A tool with the name that the server gives it.
pub(super) type Named = (String, Tool);

impl Catalog {
    /// The tools of a server, as its settings want them, when it is first seen.
    ///
    /// # Errors
    ///
    /// If the settings name a tool that is not there, or two tools get one name by them.
    pub(super) fn first(
        server: &McpServer,
        listed: Vec<rmcp::model::Tool>,
    ) -> Result<Self, McpError> {
        let there: BTreeSet<&str> = listed.iter().map(|tool| &*tool.name).collect();
        for (setting, tool) in server.named() {
            if !there.contains(tool) {
                let some: Vec<_> = there.iter().copied().take(20).collect();
                let message = format!(
                    "`{setting}` names the tool {tool:?}, which it does not have; it has: {}",
                    some.join(", ")
                );
                return Err(server.error(McpErrorKind::UnknownTool, message));
            }
        }
        let (tools, left_out) = convert(server, listed);
        if let Some((name, why)) = left_out
            .iter()
            .find(|(name, _)| server.renamed.contains_key(*name))
        {
            let message = format!("{name:?} cannot be renamed as the settings say: {why}");
            return Err(server.error(McpErrorKind::DuplicateTool, message));
        }
        let mut catalog = Self {
            left_out,
            known: server.fingerprints.clone(),
            ..Self::default()
        };
        for (original, tool) in tools {
            catalog.add(server, original, tool);
        }
        Ok(catalog)
    }

    /// A tool that was not there before. If it is known, it must be what it was.
    fn add(&mut self, server: &McpServer, original: String, tool: Tool) {
        let now = fingerprint(&tool);
        let known = self.known.get(tool.name.as_str());
        let is_known =
            known.is_none_or(|known| *known == now) || server.changed_tools == ChangedTools::Follow;
        if is_known {
            self.known.insert(tool.name.to_string(), now);
        }
        self.tools.push(Entry {
            original,
            accepted: is_known.then(|| tool.clone()),
            now: Some(tool),
        });
    }

    /// What the server lists now. Tells whether anything is new.
    pub(super) fn update(&mut self, server: &McpServer, listed: Vec<rmcp::model::Tool>) -> bool {
        let (tools, left_out) = convert(server, listed);
        let mut is_new = self.left_out != left_out;
        self.left_out = left_out;
        let mut now: BTreeMap<String, Tool> = BTreeMap::new();
        let mut order = Vec::new();
        for (original, tool) in tools {
            order.push(original.clone());
            now.insert(original, tool);
        }
        for entry in &mut self.tools {
            let tool = now.remove(&entry.original);
            is_new |= tool != entry.now;
            entry.now = tool;
        }
        for original in order {
            if let Some(tool) = now.remove(&original) {
                is_new = true;
                self.add(server, original, tool);
            }
        }
        if server.changed_tools == ChangedTools::Follow {
            let all = self.changes();
            self.accept(&all);
        }
        is_new
    }

    /// Takes these changes, as far as nothing has changed since.
    pub(super) fn accept(&mut self, changes: &[ToolChange]) {
        let known = &mut self.known;
        self.tools.retain_mut(|entry| {
            let is_seen = entry.change().is_some_and(|now| changes.contains(&now));
            if !is_seen {
                return true;
            }
            entry.accepted.clone_from(&entry.now);
            if let Some(tool) = &entry.now {
                known.insert(tool.name.to_string(), fingerprint(tool));
            }
            entry.now.is_some()
        });
    }

    /// The tools that are there, as they were looked at.
    pub(super) fn tools(&self) -> impl Iterator<Item = Named> {
        self.tools.iter().filter_map(|entry| {
            entry.now.as_ref()?;
            let tool = entry.accepted.clone()?;
            Some((entry.original.clone(), tool))
        })
    }

    pub(super) fn changes(&self) -> Vec<ToolChange> {
        self.tools.iter().filter_map(Entry::change).collect()
    }

    pub(super) fn fingerprints(&self) -> BTreeMap<String, Hash> {
        self.known.clone()
    }

    /// Why this tool must not be called: `None` if it is what the server says now.
    pub(super) fn objection(
        &self,
        server: &McpServer,
        original: &str,
        tool: &Tool,
    ) -> Option<String> {
        let entry = self.tools.iter().find(|entry| entry.original == original);
        let name = tool.name.as_str();
        match entry.and_then(|entry| entry.now.as_ref()) {
            None => Some(format!("the server does not have the tool {name} any more")),
            Some(now) if now == tool || server.changed_tools == ChangedTools::Follow => None,
            Some(_) => Some(format!(
                "the server has changed what it says about the tool {name}, so it was not called; the application has \
                 to look at the change first"
            )),
        }
    }
}

impl Entry {
    fn change(&self) -> Option<ToolChange> {
        let kind = match (&self.accepted, &self.now) {
            (_, None) => ToolChangeKind::Removed,
            (before, now) if before == now => return None,
            _ => ToolChangeKind::Changed,
        };
        let shown = self.now.as_ref().or(self.accepted.as_ref())?;
        Some(ToolChange {
            name: shown.name.to_string(),
            kind,
            before: self.accepted.clone(),
            after: self.now.clone(),
        })
    }
}

/// What a tool of a server is: what sessions bind an approval to, and whether it needs one.
///
/// [`McpServer::known_as`] takes it, and [`McpConnection::fingerprints`](super::McpConnection::fingerprints) tells it of all
/// tools at once.
#[must_use]
pub fn fingerprint(tool: &Tool) -> Hash {
    let approval = serde_json::to_vec(&tool.approval).unwrap_or_default();
    Hash::of(&tool_fingerprint(tool), &approval)
}

/// The tools as ours, and those that cannot be used.
fn convert(
    server: &McpServer,
    listed: Vec<rmcp::model::Tool>,
) -> (Vec<Named>, BTreeMap<String, String>) {
    let mut tools: Vec<Named> = Vec::new();
    let mut left_out = BTreeMap::new();
    let mut names = BTreeSet::new();
    for tool in listed {
        let original = tool.name.to_string();
        let is_wanted = server
            .only
            .as_ref()
            .is_none_or(|only| only.contains(&original));
        if !is_wanted || server.without.contains(&original) {
            continue;
        }
        let why = match ours(server, tool) {
            Err(why) => why,
            Ok(tool) if !names.insert(tool.name.to_string()) => {
                format!("another tool of it is called {}, too", tool.name)
            }
            Ok(tool) => {
                tools.push((original, tool));
                continue;
            }
        };
        let shown = encode::bound(original, MAX_NAME);
        tracing::warn!(server = server.shown(), tool = shown, "left out: {why}");
        left_out.insert(shown, why);
    }
    (tools, left_out)
}

fn ours(server: &McpServer, tool: rmcp::model::Tool) -> Result<Tool, String> {
    let original = &*tool.name;
    if original.len() > MAX_NAME {
        return Err(format!("its name has more than {MAX_NAME} bytes"));
    }
    let name = match server.renamed.get(original) {
        Some(name) => name.clone(),
        None => names::told(server.prefix.as_deref(), original),
    };
    let title = tool.title.as_deref();
    let description = tool.description.as_deref().or(title).unwrap_or_default();
    let description = encode::bound(description.to_owned(), MAX_DESCRIPTION);
    let schema = Value::Object(tool.input_schema.as_ref().clone());
    let length = serde_json::to_vec(&schema).map_or(usize::MAX, |text| text.len());
    if length > MAX_SCHEMA {
        return Err(format!("its schema has more than {MAX_SCHEMA} bytes"));
    }
    let hints = tool.annotations.as_ref().filter(|_| !server.ignores_hints);
    let (effect, approval) = hints.map_or_else(Default::default, meaning);
    let effect = server.effects.get(original).cloned().unwrap_or(effect);
    let is_repeatable = matches!(effect, Effect::Pure | Effect::Idempotent);
    let unless = server.approval_unless_repeatable;
    let rule = server.approvals.get(original).copied();
    let rule = rule.or(server.approval_of_all);
    let rule = rule.or(unless.filter(|_| !is_repeatable));
    let mut ours = Tool::new(name, description, schema)
        .effect(effect)
        .approval(rule.unwrap_or(approval))
        .metadata(Map::from_iter([(
            "mcp".to_owned(),
            serde_json::json!({"server": server.shown(), "tool": original}),
        )]));
    ours.timeout = server.timeout;
    ours.compact = server.compact;
    validate::tool(&ours).map_err(|error| error.to_string())?;
    if Schema::compile(&ours.schema).is_err() {
        return Err("its schema does not compile".to_owned());
    }
    Ok(ours)
}

/// What the server's hints mean.
fn meaning(hints: &ToolAnnotations) -> (Effect, ApprovalRule) {
    let is = |hint: Option<bool>| hint == Some(true);
    let effect = if is(hints.read_only_hint) {
        Effect::Pure
    } else if is(hints.idempotent_hint) {
        Effect::Idempotent
    } else {
        Effect::AtMostOnce
    };
    // Only what says so of itself: the protocol counts a tool that says nothing as destructive, too.
    let approval = match is(hints.destructive_hint) && !is(hints.read_only_hint) {
        true => ApprovalRule::Always,
        false => ApprovalRule::Never,
    };
    (effect, approval)
}

#[cfg(test)]
mod tests;
