//! What a session waits for is decided in place: approvals, questions of tools, results from outside.

mod approvals;
mod form;

use allm::session::{AwaitedResult, OpenWait, Question, Wait, WaitReason};
use allm::{SessionError, SessionReason};
use serde_json::Value;

use crate::problem::Problem;

use super::conversation::Conversation;
use super::input::{Asked, Said};
use form::{Filled, Form};

/// What came of the waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// All are decided.
    All,
    /// The person left some open.
    Left,
    /// The person left the program.
    Leave,
}

/// What came of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decided {
    /// It is decided, or over.
    Yes,
    /// It is left open.
    Left,
    /// The person left the program.
    Leave,
}

impl Conversation {
    /// Asks about everything that is open, one after another.
    pub(super) async fn settle(&mut self) -> Result<Settled, Problem> {
        if !self.session.waits().is_empty() {
            // What nobody decided in time is not asked.
            self.session.expire().await?;
        }
        let is_interactive = self.display.terminal().is_interactive();
        for open in self.session.waits() {
            let decided = match &open.wait {
                Wait::Approval(approval) => {
                    if self.is_agreed(approval).await? {
                        self.approve_always(approval).await?
                    } else if is_interactive {
                        self.ask_approval(approval).await?
                    } else {
                        Decided::Left
                    }
                }
                _ if !is_interactive => Decided::Left,
                Wait::Question(question) => self.ask_question(&open, question).await?,
                Wait::Result(result) => self.ask_result(&open, result).await?,
                _ => Decided::Left,
            };
            match decided {
                Decided::Yes => {}
                Decided::Left if is_interactive => {
                    self.display
                        .note("(left open; /resume asks again, and so does the next message)");
                    return Ok(Settled::Left);
                }
                // There may be others that need nobody.
                Decided::Left => {}
                Decided::Leave => return Ok(Settled::Leave),
            }
        }
        match self.session.waits().is_empty() {
            true => Ok(Settled::All),
            false => Ok(Settled::Left),
        }
    }

    /// What came of an input: it may have come too late.
    async fn decided(&mut self, given: Result<(), SessionError>) -> Result<Decided, Problem> {
        match given {
            Ok(()) => Ok(Decided::Yes),
            Err(error) => match error.reason {
                SessionReason::ApprovalExpired => {
                    self.display
                        .fault("it is too late: the time for this decision is over");
                    self.session.expire().await?;
                    Ok(Decided::Yes)
                }
                SessionReason::NotWaiting
                | SessionReason::AlreadyAnswered
                | SessionReason::AlreadyDecided
                | SessionReason::UnknownCall
                | SessionReason::ApprovalMismatch => {
                    self.display.fault(&error.message);
                    Ok(Decided::Yes)
                }
                _ => Err(error.into()),
            },
        }
    }

    async fn ask_question(
        &mut self,
        open: &OpenWait,
        question: &Question,
    ) -> Result<Decided, Problem> {
        self.display.gap();
        self.display
            .ask(&format!("{} asks: {}", open.tool, question.question));
        if let Some(form) = Form::of(question) {
            return match self.fill(&form).await {
                Filled::Answer(answer) => {
                    let given = self.session.answer(open.call, answer).await;
                    self.decided(given).await
                }
                Filled::Left => Ok(Decided::Left),
                Filled::Leave => Ok(Decided::Leave),
            };
        }
        let choices = choices(question);
        for (number, choice) in choices.iter().enumerate() {
            self.display.tell(&format!("  {}. {choice}", number + 1));
        }
        loop {
            let text = match self.input.ask(Asked::answer("answer > ")).await {
                Said::Text(text) => text.trim().to_owned(),
                Said::Interrupted => return Ok(Decided::Left),
                Said::End => return Ok(Decided::Leave),
            };
            let Some(answer) = chosen(&text, &choices) else {
                let advice = match choices.len() {
                    0 => "Say something; Ctrl-C leaves it open.".to_owned(),
                    count => format!("Choose one, by its number (1 to {count}) or its name."),
                };
                self.display.tell(&advice);
                continue;
            };
            let given = self.session.answer(open.call, answer).await;
            return self.decided(given).await;
        }
    }

    async fn ask_result(
        &mut self,
        open: &OpenWait,
        result: &AwaitedResult,
    ) -> Result<Decided, Problem> {
        self.display.gap();
        match result.reason {
            WaitReason::Manual => {
                let call = self.call_text(open);
                self.display
                    .ask(&format!("The result of {call} is yours to give."));
                self.type_result(open).await
            }
            WaitReason::UnknownOutcome => self.ask_unknown(open, result).await,
        }
    }

    /// A crash took the news of how a call ended.
    async fn ask_unknown(
        &mut self,
        open: &OpenWait,
        result: &AwaitedResult,
    ) -> Result<Decided, Problem> {
        let call = self.call_text(open);
        self.display.ask(&format!(
            "{call} was running when the program died. It may have done its work or not."
        ));
        for evidence in &result.evidence {
            self.display.tell(&format!(
                "Later it was heard of attempt {}: {} {}",
                evidence.attempt, evidence.outcome, evidence.content
            ));
        }
        self.display
            .tell("[r]un it again, [t]ell its result, it [f]ailed");
        loop {
            let text = match self.input.ask(Asked::answer("outcome > ")).await {
                Said::Text(text) => text,
                Said::Interrupted => return Ok(Decided::Left),
                Said::End => return Ok(Decided::Leave),
            };
            let given = match text.trim().to_lowercase().as_str() {
                "r" | "run" => self.session.rerun(open.call).await,
                "t" | "tell" => match self.type_result(open).await? {
                    // Back to the choice.
                    Decided::Left => continue,
                    decided => return Ok(decided),
                },
                "f" | "failed" => {
                    let message = "it was interrupted, and did not do its work";
                    self.session.submit_tool_error(open.call, message).await
                }
                _ => {
                    self.display.tell("Type r, t or f; Ctrl-C leaves it open.");
                    continue;
                }
            };
            return self.decided(given).await;
        }
    }

    async fn type_result(&mut self, open: &OpenWait) -> Result<Decided, Problem> {
        self.display
            .tell("Type it as text or JSON; `error: …` says that it failed.");
        let text = match self.input.ask(Asked::answer("result > ")).await {
            Said::Text(text) => text.trim().to_owned(),
            Said::Interrupted => return Ok(Decided::Left),
            Said::End => return Ok(Decided::Leave),
        };
        let given = match text.strip_prefix("error:") {
            Some(message) => {
                self.session
                    .submit_tool_error(open.call, message.trim())
                    .await
            }
            None => self.session.submit_tool_result(open.call, text).await,
        };
        self.decided(given).await
    }

    /// The call that waits, as it is written.
    fn call_text(&self, open: &OpenWait) -> String {
        let turn = self.session.open_turn();
        let call = turn.and_then(|turn| turn.get(open.call));
        let arguments = call.map_or("", |call| &*call.call.raw_arguments);
        format!("{}({arguments})", open.tool)
    }
}

/// The answers that a question offers: the values of its schema, or a list of choices.
fn choices(question: &Question) -> Vec<String> {
    let options = &question.options;
    let schema = options.get("schema");
    let listed = schema
        .and_then(|schema| schema.get("enum"))
        .or_else(|| options.get("choices"))
        .or_else(|| options.get("options"))
        .and_then(Value::as_array);
    let is_boolean = schema.and_then(|schema| schema.get("type")?.as_str()) == Some("boolean");
    match listed {
        Some(values) => values
            .iter()
            .map(|value| match value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            })
            .collect(),
        None if is_boolean => vec!["true".to_owned(), "false".to_owned()],
        None => Vec::new(),
    }
}

/// The answer that a text means: a choice by its number or its name, or any text where there are no choices.
fn chosen(text: &str, choices: &[String]) -> Option<String> {
    if choices.is_empty() {
        return (!text.is_empty()).then(|| text.to_owned());
    }
    let by_name = choices
        .iter()
        .find(|choice| choice.to_lowercase() == text.to_lowercase());
    let by_number = || {
        let number: usize = text.parse().ok()?;
        choices.get(number.checked_sub(1)?)
    };
    by_name.or_else(by_number).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_named_or_numbered() {
        let choices = vec!["Red".to_owned(), "2".to_owned(), "blue".to_owned()];
        assert_eq!(chosen("red", &choices).as_deref(), Some("Red"));
        assert_eq!(chosen("3", &choices).as_deref(), Some("blue"));
        // A name beats a number.
        assert_eq!(chosen("2", &choices).as_deref(), Some("2"));
        assert_eq!(chosen("0", &choices), None);
        assert_eq!(chosen("4", &choices), None);
        assert_eq!(chosen("", &choices), None);
        assert_eq!(chosen("anything", &[]).as_deref(), Some("anything"));
        assert_eq!(chosen("", &[]), None);
    }
}
