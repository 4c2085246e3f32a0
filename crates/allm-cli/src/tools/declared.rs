//! Tools that are commands, made from what a file declares.

use std::sync::Arc;

use allm::{ApprovalRule, Effect, Engine, FaultCode, ProcessTool, Tool, validate};
use serde_json::{Value, json};
use toml::Spanned;

use crate::config::{Declared, Input, Output};
use crate::problem::Problem;

use super::words::{self, Word};
use super::{duration, environment, program};

/// Marks tools that speak for themselves, and so can ask a person.
const REPLIES: &str = "replies";

/// Whether a call of a tool can have to wait for a person: for an agreement, or for an answer.
pub(crate) fn can_wait(tool: &Tool) -> bool {
    // A server may ask, too.
    let asks = [REPLIES, "mcp"].map(|mark| tool.metadata.contains_key(mark));
    tool.waits_for_caller() || asks.contains(&true)
}

/// The tool.
pub(crate) fn tool(said: &Declared) -> Result<Tool, Problem> {
    let source = &said.source;
    let schema = schema(said)?;
    let handler = handler(said, &schema)?;
    let effect = Effect::from(said.effect);
    let mut tool = Tool::new(said.name.get_ref().as_str(), &said.description, schema)
        .effect(effect)
        .approval(ApprovalRule::from(said.approval()));
    if said.output == Output::Reply {
        tool.metadata.insert(REPLIES.to_owned(), Value::Bool(true));
    }
    if let Some(timeout) = &said.timeout {
        tool = tool.timeout(duration::read(timeout, source)?);
    }
    check(&tool).map_err(|fault| source.problem(&said.name.span(), fault))?;
    Ok(match handler {
        Some(handler) => tool.with_handler(Arc::new(handler)),
        None => tool.manual(),
    })
}

/// What runs a call; nothing does for a manual tool.
fn handler(said: &Declared, schema: &Value) -> Result<Option<ProcessTool>, Problem> {
    let source = &said.source;
    match (&said.command, said.manual) {
        (Some(words), false) => command(said, words, schema).map(Some),
        (None, true) => Ok(None),
        (Some(words), true) => {
            let what = "a manual tool has no command: a person gives its results";
            Err(source
                .problem(&words.span(), what)
                .advice("leave out `command`, or `manual`"))
        }
        (None, false) => Err(source
            .problem(&said.name.span(), "the tool has no `command`")
            .advice("say what it runs: command = [\"program\", \"word\"]; or manual = true")),
    }
}

/// What the library finds wrong with a tool, in words for whoever wrote the file.
fn check(tool: &Tool) -> Result<(), String> {
    let Err(error) = validate::tool(tool) else {
        // Some faults of a schema are seen only when it is compiled.
        let compiled = Engine::builder().tool(tool.clone()).build();
        return compiled.map(drop).map_err(|error| error.message);
    };
    let words = error.faults.iter().map(|fault| {
        let detail = fault.detail.as_deref().unwrap_or_default();
        match fault.code {
            FaultCode::Empty | FaultCode::InvalidFormat => {
                "a name is 1 to 64 of A-Z a-z 0-9 _ -".to_owned()
            }
            FaultCode::ReservedToolName => "the name means something else".to_owned(),
            FaultCode::NotAnObject => "the schema is no table".to_owned(),
            FaultCode::InvalidSchema => format!("the schema is wrong: {detail}"),
            FaultCode::RemoteReference => {
                format!("the schema is wrong: {detail}: nothing is fetched from elsewhere")
            }
            _ => fault.to_string(),
        }
    });
    Err(words.collect::<Vec<_>>().join("; "))
}

fn schema(said: &Declared) -> Result<Value, Problem> {
    let source = &said.source;
    let (schema, span) = match (&said.schema, &said.schema_file) {
        (Some(_), Some(file)) => {
            let what = "there is a `schema` already; leave one of the two out";
            return Err(source.problem(&file.span(), what));
        }
        (Some(schema), None) => (schema.get_ref().clone(), schema.span()),
        (None, Some(file)) => {
            let path = source.resolve(file.get_ref());
            let shown = path.display();
            let text = std::fs::read_to_string(&path).map_err(|error| {
                source.problem(&file.span(), format!("{shown} cannot be read: {error}"))
            })?;
            let schema = serde_json::from_str(&text).map_err(|error| {
                source.problem(&file.span(), format!("{shown} is no JSON: {error}"))
            })?;
            (schema, file.span())
        }
        (None, None) => return Ok(json!({"type": "object", "properties": {}})),
    };
    match check(&Tool::new("probe", "", schema.clone())) {
        Ok(()) => Ok(schema),
        Err(fault) => Err(source.problem(&span, fault)),
    }
}

fn command(
    said: &Declared,
    words: &Spanned<Vec<Spanned<String>>>,
    schema: &Value,
) -> Result<ProcessTool, Problem> {
    let source = &said.source;
    let mut given = words.get_ref().iter();
    let Some(name) = given.next() else {
        let what = "the command is empty; it begins with the program";
        return Err(source.problem(&words.span(), what));
    };
    let fixed = name.get_ref().replace("{{", "").replace("}}", "");
    if fixed.contains(['{', '}']) {
        let what = "the program itself cannot come from an argument";
        return Err(source.problem(&name.span(), what));
    }
    let path = program::find(name.get_ref(), source)
        .map_err(|what| source.problem(&name.span(), what).advice(INSTALL))?;
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut words = Vec::new();
    for word in given {
        let read = Word::read(word.get_ref()).map_err(|what| source.problem(&word.span(), what))?;
        let is_known = |name: &str| properties.is_some_and(|known| known.contains_key(name));
        if let Some(unknown) = read.names().find(|name| !is_known(name)) {
            let what = format!("`{{{unknown}}}` is no property of the schema");
            return Err(source
                .problem(&word.span(), what)
                .advice("add it to the schema's properties, or write `{{` for a brace"));
        }
        words.push(read);
    }
    let mut tool = environment::passed(
        ProcessTool::new(path),
        said.pass_env.iter().map(String::as_str),
    );
    for (name, value) in &said.env {
        tool = tool.env(name, value);
    }
    if let Some(folder) = &said.current_dir {
        let path = source.resolve(folder.get_ref());
        if !path.is_dir() {
            let what = format!("there is no folder {}", path.display());
            return Err(source.problem(&folder.span(), what));
        }
        tool = tool.current_dir(path);
    }
    if said.output == Output::Text {
        tool = tool.text_output();
    }
    if said.progress {
        tool = tool.error_as_progress();
    }
    if said.input == Input::None {
        tool = tool.no_input();
    }
    Ok(tool.args_from(move |arguments| words::fill(&words, arguments)))
}

const INSTALL: &str = "install it, or name it by its whole path";
