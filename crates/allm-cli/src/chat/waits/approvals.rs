//! Calls that a person must agree to.

use std::borrow::Cow;

use allm::session::Approval;
use allm::{Map, SessionReason};
use serde_json::Value;

use crate::problem::Problem;
use crate::transcript::plain::harmless;

use super::super::conversation::Conversation;
use super::super::input::{Asked, Said};
use super::Decided;

/// What came of editing arguments.
enum Edited {
    /// The call was agreed to with others.
    Decided(Decided),
    /// Nothing; it is asked again.
    Not,
}

impl Conversation {
    /// Whether the person agrees to every call of this tool, as it is now. One that has changed is asked about again.
    pub(super) async fn is_agreed(&mut self, approval: &Approval) -> Result<bool, Problem> {
        let tool = approval.tool.as_str();
        match self.facts.always.get(tool) {
            None => Ok(false),
            Some(agreed) if *agreed == approval.tool_fingerprint => Ok(true),
            Some(_) => {
                self.display.gap();
                self.display.fault(&format!(
                    "{tool} has changed since you agreed to every call of it, so it is asked about again"
                ));
                let mut facts = self.facts.clone();
                facts.always.remove(tool);
                self.remember(facts).await?;
                Ok(false)
            }
        }
    }

    /// Agrees to a call of a tool that the person always agrees to.
    pub(super) async fn approve_always(&mut self, approval: &Approval) -> Result<Decided, Problem> {
        let tool = &approval.tool;
        self.display.note(&format!(
            "({tool} is approved, as always in this conversation)"
        ));
        let given = self.session.approve(approval).await;
        self.decided(given).await
    }

    /// Asks whether a call may run.
    pub(super) async fn ask_approval(&mut self, approval: &Approval) -> Result<Decided, Problem> {
        self.display.gap();
        self.display
            .ask(&format!("{} wants to run:", approval.tool));
        self.display.tell(&shown(&approval.arguments));
        if let Some(reason) = &approval.reason {
            self.display.note(reason);
        }
        self.display
            .tell("[y]es, [e]dit, [n]o, [a]lways for this tool");
        loop {
            let text = match self.input.ask(Asked::answer("approve > ")).await {
                Said::Text(text) => text,
                Said::Interrupted => return Ok(Decided::Left),
                Said::End => return Ok(Decided::Leave),
            };
            let given = match text.trim().to_lowercase().as_str() {
                "y" | "yes" => self.session.approve(approval).await,
                "e" | "edit" => match self.edit(approval).await? {
                    Edited::Decided(decided) => return Ok(decided),
                    Edited::Not => continue,
                },
                "n" | "no" => match self
                    .input
                    .ask(Asked::answer("why (for the model) > "))
                    .await
                {
                    Said::Text(reason) => {
                        let given = self.session.deny(approval, reason.trim()).await;
                        if given.is_ok() {
                            let tool = approval.tool.as_str();
                            self.display.denied(tool, reason.trim());
                        }
                        given
                    }
                    Said::Interrupted => continue,
                    Said::End => return Ok(Decided::Leave),
                },
                "a" | "always" => {
                    let mut facts = self.facts.clone();
                    let tool = approval.tool.as_str().to_owned();
                    facts.always.insert(tool, approval.tool_fingerprint);
                    self.remember(facts).await?;
                    let tool = &approval.tool;
                    self.display.note(&format!(
                        "({tool} is not asked about again in this conversation; /tools ask {tool} takes that back)"
                    ));
                    self.session.approve(approval).await
                }
                _ => {
                    self.display
                        .tell("Type y, e, n or a; Ctrl-C leaves it open.");
                    continue;
                }
            };
            return self.decided(given).await;
        }
    }

    /// Lets the person change the arguments, until they fit the tool's schema.
    async fn edit(&mut self, approval: &Approval) -> Result<Edited, Problem> {
        let mut text = editable(&approval.arguments);
        loop {
            let asked = Asked {
                prompt: "arguments > ".to_owned(),
                initial: text,
                is_message: false,
            };
            text = match self.input.ask(asked).await {
                Said::Text(text) => text,
                Said::Interrupted => return Ok(Edited::Not),
                Said::End => return Ok(Edited::Decided(Decided::Leave)),
            };
            let arguments = match read(&text) {
                Ok(arguments) => arguments,
                Err(fault) => {
                    self.display.fault(&fault);
                    continue;
                }
            };
            // As they were: that is no edit.
            if arguments == approval.arguments {
                let given = self.session.approve(approval).await;
                return Ok(Edited::Decided(self.decided(given).await?));
            }
            let given = self
                .session
                .approve_with(&self.engine, approval, arguments)
                .await;
            match given {
                Err(error) if error.reason == SessionReason::InvalidArguments => {
                    self.display.fault("these arguments do not fit the tool:");
                    for fault in &error.faults {
                        let path = match fault.path.as_str() {
                            "" => "(whole)",
                            path => path,
                        };
                        self.display.tell(&format!("  {path}: {}", fault.message));
                    }
                    if error.faults.is_empty() {
                        self.display.tell(&format!("  {}", error.message));
                    }
                }
                given => return Ok(Edited::Decided(self.decided(given).await?)),
            }
        }
    }
}

/// Arguments, each on a line of its own.
fn shown(arguments: &Map) -> String {
    if arguments.is_empty() {
        return "  (no arguments)".to_owned();
    }
    let line = |(name, value): (&String, &Value)| format!("  {name}: {value}");
    arguments.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Arguments as JSON for the line editor, which writes what stands in its line to the terminal as it is: whatever a
/// terminal would obey is written as an escape of JSON.
fn editable(arguments: &Map) -> String {
    let text = Value::Object(arguments.clone()).to_string();
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match harmless(character.encode_utf8(&mut [0; 4])) {
            Cow::Borrowed(_) => safe.push(character),
            Cow::Owned(_) => safe.push_str(&format!("\\u{:04x}", u32::from(character))),
        }
    }
    safe
}

/// Arguments that were typed.
fn read(text: &str) -> Result<Map, String> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("arguments are a JSON object: {\"name\": value, …}".to_owned()),
        Err(error) => Err(format!("this is no JSON: {error}")),
    }
}
