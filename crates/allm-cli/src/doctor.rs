//! `allm doctor`: what works here, what is missing, and what to do about it.

mod machine;
mod sessions;

use std::io::{self, Write as _};

use crate::arguments::{Asking, Common};
use crate::config::{Ask, Config};
use crate::models::written;
use crate::problem::{Exit, Problem};
use crate::{engine, failure, mcp, model, store, tools};

/// What was found about one thing.
struct Line {
    about: String,
    found: Found,
}

enum Found {
    /// It works.
    Ok(String),
    /// It is needed and not there, and this is what to do.
    Missing(String, Option<String>),
}

impl Line {
    fn ok(about: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            found: Found::Ok(what.into()),
        }
    }

    fn missing(about: impl Into<String>, problem: &Problem) -> Self {
        let what = problem.what().to_owned();
        let fix = problem.what_to_do().map(str::to_owned);
        Self {
            about: about.into(),
            found: Found::Missing(what, fix),
        }
    }
}

pub(crate) async fn perform(common: &Common) -> Result<Exit, Problem> {
    let mut lines = Vec::new();
    let config = match Config::load(common, Ask::Nobody) {
        Ok(config) => {
            lines.push(Line::ok("configuration", files(&config)));
            config
        }
        Err(problem) => {
            lines.push(Line::missing("configuration", &problem));
            Config::default()
        }
    };
    asked_model(&config, &mut lines);
    match store::file(common.store.as_deref(), &config) {
        Ok(file) => {
            lines.push(sessions::look(&file).await);
            lines.push(machine::space(&file));
        }
        Err(problem) => lines.push(Line::missing("sessions", &problem)),
    }
    lines.push(machine::terminal());
    offered_tools(&config, &mut lines);
    servers(&config, &mut lines).await;
    tell(&lines)
}

fn files(config: &Config) -> String {
    let files: Vec<String> = config
        .files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    match files.is_empty() {
        true => "none; the defaults hold".to_owned(),
        false => files.join(", "),
    }
}

/// The model, and its key.
fn asked_model(config: &Config, lines: &mut Vec<Line>) {
    let chosen = model::chosen(config);
    if let Err(problem) = failure::check_model(&chosen, config) {
        return lines.push(Line::missing("model", &problem));
    }
    lines.push(Line::ok(
        "model",
        format!("{}, {}", chosen.model, chosen.why.in_words()),
    ));
    let provider = chosen.model.split(':').next().unwrap_or_default();
    let names = engine::key_names(provider, config);
    lines.push(match names.iter().find(|name| model::is_set(name)) {
        Some(name) => Line::ok("key", format!("in {name}")),
        None if engine::needs_key(provider, config) => {
            let problem = Problem::usage(format!("there is none for `{provider}`"));
            let fix = format!("export {}=…", names.join("=…, or export "));
            Line::missing("key", &problem.advice(fix))
        }
        None => Line::ok("key", format!("`{provider}` needs none")),
    });
}

fn offered_tools(config: &Config, lines: &mut Vec<Line>) {
    let mut all_good = true;
    for said in &config.tools {
        let about = format!("tool {}", said.name.get_ref());
        match tools::declared(said) {
            Ok(_) => {
                let words: Vec<&str> = said.words().map(|word| word.get_ref().as_str()).collect();
                lines.push(Line::ok(
                    about,
                    match said.manual {
                        true => "a person gives its results".to_owned(),
                        false => words.join(" "),
                    },
                ));
            }
            Err(problem) => {
                all_good = false;
                lines.push(Line::missing(about, &problem));
            }
        }
    }
    // What is wrong with built-in ones, and with all of them together.
    match tools::offered(&Asking::default(), config) {
        Ok(offered) => {
            let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
            lines.push(Line::ok(
                "tools",
                match names.is_empty() {
                    true => "none are offered".to_owned(),
                    false => names.join(", "),
                },
            ));
        }
        Err(problem) if all_good => lines.push(Line::missing("tools", &problem)),
        Err(_) => {}
    }
}

/// The MCP servers: each is started, or reached, and left again.
async fn servers(config: &Config, lines: &mut Vec<Line>) {
    let tried = match mcp::attempt(config).await {
        Ok(tried) => tried,
        Err(problem) => return lines.push(Line::missing("MCP servers", &problem)),
    };
    for (name, outcome) in &tried {
        let about = format!("MCP server {name}");
        match outcome {
            Ok(reached) => {
                let count = reached.tools.len();
                lines.push(Line::ok(about.clone(), format!("works, {count} tools")));
                for changed in reached.changes() {
                    lines.push(Line::missing(about.clone(), &changed.problem()));
                }
            }
            Err(problem) => lines.push(Line::missing(about, problem)),
        }
    }
    mcp::close(
        tried
            .iter()
            .filter_map(|(_, outcome)| outcome.as_ref().ok()),
    )
    .await;
}

fn tell(lines: &[Line]) -> Result<Exit, Problem> {
    let width = lines
        .iter()
        .map(|line| line.about.chars().count())
        .max()
        .unwrap_or_default();
    let indent = " ".repeat(9 + width + 2);
    let mut text = String::new();
    let mut is_missing = false;
    for Line { about, found } in lines {
        let (mark, what, fix) = match found {
            Found::Ok(what) => ("ok", what, None),
            Found::Missing(what, fix) => {
                is_missing = true;
                ("missing", what, fix.as_ref())
            }
        };
        let what = what.replace('\n', &format!("\n{indent}"));
        text.push_str(&format!("{mark:7}  {about:width$}  {what}\n"));
        if let Some(fix) = fix {
            text.push_str(&format!("{indent}fix: {fix}\n"));
        }
    }
    let told = written(io::stdout().write_all(text.as_bytes()))?;
    Ok(match is_missing {
        true => Exit::Failed,
        false => told,
    })
}
