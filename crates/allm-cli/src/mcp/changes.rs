//! Tools that a server describes otherwise than before.

use allm::Tool;
use allm_mcp::{ToolChange, ToolChangeKind};

use crate::problem::Problem;

use super::known::Was;
use super::servers::{Connected, Reached};

/// A tool that is not what it was when it was last used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Changed {
    /// Its name, as the model is told it.
    pub(crate) name: String,
    server: String,
    before: Option<Was>,
    /// `None` where the server has it no more.
    after: Option<Tool>,
}

impl Changed {
    /// Whether it could be used again, if somebody agrees.
    pub(crate) const fn is_there(&self) -> bool {
        self.after.is_some()
    }

    /// What it was and what it is, where that differs.
    pub(crate) fn told(&self) -> String {
        let Self { name, server, .. } = self;
        let Some(after) = &self.after else {
            return format!("the MCP server `{server}` does not have the tool `{name}` any more");
        };
        let after = Was::of(after);
        let mut text = format!(
            "the tool `{name}` of the MCP server `{server}` is not what it was, so it is not used"
        );
        let now = after.facts();
        match &self.before {
            Some(before) => {
                for ((about, before), (_, now)) in before.facts().into_iter().zip(now) {
                    if before != now {
                        text.push_str(&format!(
                            "\n    {about} before: {before}\n    {about} now:    {now}"
                        ));
                    }
                }
            }
            None => {
                for (about, now) in now {
                    text.push_str(&format!("\n    {about} now: {now}"));
                }
            }
        }
        text
    }

    /// The same, with what to do.
    pub(crate) fn problem(&self) -> Problem {
        let problem = Problem::failed(self.told());
        let name = &self.name;
        match self.is_there() {
            true => problem.advice(format!(
                "agree to it: /tools accept {name} in `allm chat`, or allm mcp accept {name}"
            )),
            false => problem,
        }
    }
}

impl Reached {
    /// The tools that are what they were, or new.
    pub(super) fn unchanged(&self) -> Vec<Tool> {
        let mut tools = self.connection.tools();
        tools.retain(|tool| self.known.is_same(tool));
        tools
    }

    /// The others.
    pub(crate) fn changes(&self) -> Vec<Changed> {
        let of = |name: &str, before: Option<Was>, after: Option<Tool>| Changed {
            name: name.to_owned(),
            server: self.name.clone(),
            before: before.or_else(|| self.known.get(name).cloned()),
            after,
        };
        let heard = self.connection.changes().into_iter();
        let mut changes: Vec<Changed> = heard
            .map(|change| {
                let ToolChange { before, after, .. } = &change;
                let after = after
                    .clone()
                    .filter(|_| change.kind != ToolChangeKind::Removed);
                of(&change.name, before.as_ref().map(Was::of), after)
            })
            .collect();
        // What the connection has taken with others, and nobody has agreed to.
        for tool in self.connection.tools() {
            let name = tool.name.to_string();
            let is_told = changes.iter().any(|changed| changed.name == name);
            if !is_told && !self.known.is_same(&tool) {
                changes.push(of(&name, None, Some(tool)));
            }
        }
        changes
    }

    /// A person has looked at this change: the tool is used as it is now.
    fn accept(&mut self, changed: &Changed) -> Result<(), Problem> {
        self.known.keep(&changed.after)?;
        let mut heard = self.connection.changes();
        heard.retain(|change| {
            let after = change
                .after
                .as_ref()
                .filter(|_| change.kind != ToolChangeKind::Removed);
            change.name == changed.name && after == changed.after.as_ref()
        });
        self.connection.accept(&heard);
        self.tools = self.unchanged();
        Ok(())
    }
}

impl Connected {
    /// What is not as it was, of all servers.
    pub(crate) fn changes(&self) -> Vec<Changed> {
        self.servers.iter().flat_map(Reached::changes).collect()
    }

    /// A person has looked at this change. Tells whether it still was as they saw it; the tool is then used.
    pub(crate) fn accept(&mut self, seen: &Changed) -> Result<bool, Problem> {
        for server in &mut self.servers {
            if server.changes().contains(seen) {
                server.accept(seen)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
