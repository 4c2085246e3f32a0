//! `shell`: a command line, after a person has agreed to it.

use std::sync::Arc;
use std::time::Duration;

use allm::{ApprovalRule, ProcessTool, ReportedError, Tool};
use serde_json::{Value, json};

use crate::config::{Shell, Source};
use crate::problem::Problem;

use super::{duration, environment};

/// A command's complaints are part of what the model wants to see.
const TOGETHER: &str = r#"exec 2>&1; eval "$1""#;

/// How long a command may take unless the configuration says otherwise.
const TIMEOUT: Duration = Duration::from_secs(120);

pub(super) fn tool(settings: &Shell, source: &Source) -> Result<Tool, Problem> {
    // There is only one thing that it can say.
    let _ = settings.approval;
    let timeout = match &settings.timeout {
        Some(said) => duration::read(said, source)?,
        None => TIMEOUT,
    };
    let more = settings.pass_env.iter().map(String::as_str);
    let mut command = environment::passed(ProcessTool::new("/bin/sh"), more)
        .args(["-c", TOGETHER, "sh"])
        .text_output()
        .no_input()
        .args_from(|arguments| match arguments.get("command") {
            Some(Value::String(command)) if !command.contains('\0') => Ok(vec![command.into()]),
            _ => Err(ReportedError::new("the command must be a text without NUL")),
        });
    if let Some(folder) = &settings.current_dir {
        let folder = source.resolve(folder);
        if !folder.is_dir() {
            let what = format!("the folder {} of the shell is not there", folder.display());
            return Err(Problem::usage(what).advice("mend `current_dir` of `shell` in [builtin]"));
        }
        command = command.current_dir(folder);
    }
    let schema = json!({
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"]
    });
    let tool = Tool::new(
        "shell",
        "Runs a command line with sh and gives its output.",
        schema,
    );
    Ok(tool
        .approval(ApprovalRule::Always)
        .timeout(timeout)
        .with_handler(Arc::new(command)))
}
