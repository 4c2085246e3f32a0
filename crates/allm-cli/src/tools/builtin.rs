//! The tools that are built in. All are off until somebody switches them on.

use allm::Tool;

use crate::config::Builtin;
use crate::problem::Problem;

use super::{Found, calculator, date, http_get, list_directory, read_file, shell};

/// Their names.
pub(crate) const NAMES: [&str; 6] = [
    "read_file",
    "list_directory",
    "http_get",
    "shell",
    "date",
    "calculator",
];

/// The tools that are named, and those that the configuration switches on.
pub(super) fn switched_on(named: &[String], config: &Builtin) -> Result<Vec<Found>, Problem> {
    if let Some(unknown) = named.iter().find(|name| !NAMES.contains(&name.as_str())) {
        let what = format!("--with {unknown}: there is no built-in tool of this name");
        return Err(Problem::usage(what).advice(format!("there are {}", NAMES.join(", "))));
    }
    let mut found = Vec::new();
    for name in NAMES {
        if let Some(tool) = tool(name, config, named.iter().any(|other| other == name))? {
            let place = "it is built in".to_owned();
            found.push(Found { tool, place });
        }
    }
    Ok(found)
}

fn tool(name: &str, config: &Builtin, is_named: bool) -> Result<Option<Tool>, Problem> {
    macro_rules! switch {
        ($switch:ident, $make:expr) => {{
            let (settings, source) = config.$switch.settings();
            match config.$switch.is_on() || is_named {
                true => Some($make(settings, source)?),
                false => None,
            }
        }};
    }
    Ok(match name {
        "read_file" => switch!(read_file, read_file::tool),
        "list_directory" => switch!(list_directory, list_directory::tool),
        "http_get" => switch!(http_get, http_get::tool),
        "shell" => switch!(shell, shell::tool),
        "date" => switch!(date, |_, _| Ok::<_, Problem>(date::tool())),
        "calculator" => switch!(calculator, |_, _| Ok::<_, Problem>(calculator::tool())),
        _ => None,
    })
}
