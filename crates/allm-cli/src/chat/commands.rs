//! What a person says to the program and not to the model.

use crate::failure::check_model;
use crate::model::{Chosen, Why};
use crate::problem::{Exit, Problem};

use super::conversation::Conversation;
use super::turn::{Op, Went};

/// The commands, as they are typed.
pub(super) const NAMES: [&str; 10] = [
    "/help", "/model", "/tools", "/retry", "/undo", "/save", "/usage", "/system", "/resume",
    "/quit",
];

const HELP: &str = "\
/model [NAME]       shows or changes the model
/tools              shows the tools
/tools on|off NAME  offers one or does not
/tools ask NAME     asks about its calls again
/tools accept NAME  uses one of an MCP server that has changed
/retry              asks again
/undo               takes back the last thing that was said
/save FILE          writes the conversation to FILE (.md .json .html)
/usage              shows tokens and costs
/system [TEXT]      shows or changes what the model is told first
/resume             goes on with what is open
/quit               leaves
A line that ends with \\ goes on, and so does Alt-Enter. Ctrl-C stops an answer, Ctrl-D leaves. A space before a / says it \
to the model.";

impl Conversation {
    /// Does what was typed after the slash.
    pub(super) async fn command(&mut self, typed: &str) -> Result<Went, Problem> {
        let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let rest = rest.trim();
        let went = match name {
            "help" => {
                self.display.tell(HELP);
                Went::Done
            }
            "model" => self.model_command(rest).await?,
            "tools" => self.tools_command(rest).await?,
            "retry" => self.retry().await?,
            "undo" => self.undo().await?,
            "save" => self.save(rest).await,
            "usage" => self.usage().await?,
            "system" => self.system_command(rest).await?,
            "resume" => self.resume_command().await?,
            "quit" | "exit" => Went::Leave(Exit::Done),
            _ => {
                let text = format!("There is no command /{name}; /help shows those that are.");
                if self.display.terminal().is_read {
                    self.display.tell(&text);
                    Went::Nowhere
                } else {
                    // A script that says what cannot be meant is told, and nothing after it is done.
                    self.display.fault(&text);
                    Went::Leave(Exit::Usage)
                }
            }
        };
        Ok(went)
    }

    async fn model_command(&mut self, name: &str) -> Result<Went, Problem> {
        if name.is_empty() {
            let text = format!("{} ({})", self.model, self.why);
            self.display.tell(&text);
            return Ok(Went::Nowhere);
        }
        let chosen = Chosen {
            model: name.to_owned(),
            why: Why::Asked,
        };
        let engine = check_model(&chosen, &self.config);
        match engine.and_then(|()| self.engine_for(name, &self.facts)) {
            Ok(engine) => {
                let mut facts = self.facts.clone();
                facts.model = Some(name.to_owned());
                self.remember(facts).await?;
                self.engine = engine;
                name.clone_into(&mut self.model);
                "as asked".clone_into(&mut self.why);
                self.display.note(&format!("({name} from here on)"));
            }
            Err(problem) => self.tell_problem(&problem),
        }
        Ok(Went::Nowhere)
    }

    async fn tools_command(&mut self, rest: &str) -> Result<Went, Problem> {
        let (verb, name) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let name = name.trim();
        if verb.is_empty() {
            self.show_tools();
            return Ok(Went::Nowhere);
        }
        if verb == "accept" && !name.is_empty() {
            self.accept_tool(name)?;
            return Ok(Went::Nowhere);
        }
        let mut facts = self.facts.clone();
        let is_known = self.tools.iter().any(|tool| tool.name.as_str() == name);
        let note = match verb {
            _ if !matches!(verb, "on" | "off" | "ask") || name.is_empty() => {
                self.display
                    .tell("/tools, and on, off, ask or accept with the NAME of one");
                return Ok(Went::Nowhere);
            }
            _ if !is_known => {
                self.display.tell(&format!(
                    "There is no tool {name}; /tools shows those that are."
                ));
                return Ok(Went::Nowhere);
            }
            "on" => {
                facts.off.remove(name);
                format!("({name} is offered)")
            }
            "off" => {
                facts.off.insert(name.to_owned());
                format!("({name} is not offered)")
            }
            _ => {
                facts.always.remove(name);
                format!("({name} is asked about)")
            }
        };
        let engine = self.engine_for(&self.model, &facts)?;
        self.remember(facts).await?;
        self.engine = engine;
        self.display.note(&note);
        Ok(Went::Nowhere)
    }

    fn show_tools(&mut self) {
        if self.tools.is_empty() {
            self.display
                .tell("There are no tools. --with NAME or [[tools]] in allm.toml adds some.");
        }
        for tool in &self.tools {
            let name = tool.name.as_str();
            let state = match (
                self.facts.off.contains(name),
                self.facts.always.contains_key(name),
            ) {
                (true, _) => "off",
                (false, true) => "on, always approved here",
                (false, false) => "on",
            };
            self.display
                .tell(&format!("{name} ({state}): {}", tool.description));
        }
    }

    async fn system_command(&mut self, text: &str) -> Result<Went, Problem> {
        if !text.is_empty() {
            return self.tell_first(text).await;
        }
        let thread = self.session.thread();
        let first = thread.messages.first();
        let first = first.filter(|message| message.role == allm::Role::System);
        match first {
            Some(message) => self.display.tell(&message.text()),
            None => self.display.tell("The model is told nothing first."),
        }
        Ok(Went::Nowhere)
    }

    async fn resume_command(&mut self) -> Result<Went, Problem> {
        self.session.reload().await?;
        match self.session.waits().is_empty() {
            true => self.go(Some(Op::Resume)).await,
            false => self.go(None).await,
        }
    }
}
