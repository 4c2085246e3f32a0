//! Tools of MCP servers that are not what they were: told when it is noticed, and used again when the person agrees.

use crate::mcp::Changed;
use crate::problem::Problem;

use super::conversation::Conversation;

impl Conversation {
    /// Tells what servers say of their tools now that they did not say before, each change once.
    pub(super) fn tell_changes(&mut self) {
        let changes = self.connected.changes();
        let new: Vec<&Changed> = changes
            .iter()
            .filter(|changed| !self.told.contains(changed))
            .collect();
        for changed in &new {
            self.display.fault(&changed.told());
            if changed.is_there() {
                let name = &changed.name;
                self.display
                    .note(&format!("/tools accept {name} uses it as it is now"));
            }
        }
        if !new.is_empty() {
            self.display.gap();
        }
        self.told = changes;
    }

    /// The person agrees to a tool as it is now, if it is as they were told.
    pub(super) fn accept_tool(&mut self, name: &str) -> Result<(), Problem> {
        let seen = self.told.iter().find(|changed| changed.name == name);
        let Some(seen) = seen.filter(|changed| changed.is_there()).cloned() else {
            self.display
                .tell(&format!("There is no tool {name} that has changed."));
            return Ok(());
        };
        let before: Vec<String> = self.connected.names().collect();
        match self.connected.accept(&seen) {
            Ok(true) => {}
            Ok(false) => {
                self.tell_changes();
                return Ok(());
            }
            Err(problem) => {
                self.tell_problem(&problem);
                return Ok(());
            }
        }
        self.told.retain(|changed| changed.name != name);
        self.tools
            .retain(|tool| !before.iter().any(|name| tool.name.as_str() == *name));
        let now = self.connected.tools().map(|(_, tool)| tool.clone());
        self.tools.extend(now);
        self.engine = self.engine_for(&self.model, &self.facts)?;
        self.display.note(&format!("({name} is used as it is now)"));
        Ok(())
    }
}
