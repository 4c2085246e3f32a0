//! What is asked: the argument, standard input, and files.

use std::io::{IsTerminal as _, Read as _};

use allm::{Content, Message, Part};

use crate::arguments::Run;
use crate::attach;
use crate::problem::Problem;

/// The user's message.
pub(super) fn message(asked: &Run) -> Result<Message, Problem> {
    let mut parts = Vec::new();
    for file in &asked.attach {
        parts.push(attach::part(file)?);
    }
    let input = standard_input()?;
    let prompt = asked.prompt.as_deref().unwrap_or_default();
    let said: Vec<&str> = [prompt, input.trim_end_matches('\n')]
        .into_iter()
        .filter(|text| !text.trim().is_empty())
        .collect();
    if said.is_empty() && parts.is_empty() {
        return Err(Problem::usage("nothing was asked")
            .advice("give a question: allm run \"What is …?\", or text on standard input"));
    }
    let text = said.join("\n\n");
    if parts.is_empty() {
        return Ok(Message::user(text));
    }
    // What a question is about comes before it.
    if !text.is_empty() {
        parts.push(Part::text(text));
    }
    Ok(Message::user(Content::from(parts)))
}

/// What comes on standard input; nothing from a terminal, where somebody would have to know that it is waited for.
fn standard_input() -> Result<String, Problem> {
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(String::new());
    }
    let mut bytes = Vec::new();
    stdin
        .read_to_end(&mut bytes)
        .map_err(|error| Problem::failed(format!("standard input cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| {
        Problem::usage("standard input is not text in UTF-8")
            .advice("attach a picture or a PDF with -a")
    })
}
