//! `allm mcp accept`: a person agrees to tools that are not what they were.

use std::io::{self, Write as _};

use crate::config::Config;
use crate::models::written;
use crate::problem::{Exit, Problem};
use crate::terminal;
use crate::transcript::plain::harmless;

use super::call::is_person;
use super::changes::Changed;
use super::servers::{Connected, OnFailure, connect};

pub(super) async fn perform(
    config: &Config,
    names: &[String],
    is_agreed: bool,
) -> Result<Exit, Problem> {
    let mut connected = connect(config, OnFailure::GoOn).await?;
    let ended = accept(&mut connected, names, is_agreed);
    connected.close().await;
    ended
}

fn accept(connected: &mut Connected, names: &[String], is_agreed: bool) -> Result<Exit, Problem> {
    let changes = connected.changes();
    let there = |name: &&String| {
        let mut changes = changes.iter().filter(|changed| changed.is_there());
        changes.find(|changed| changed.name == **name)
    };
    if let Some(name) = names.iter().find(|name| there(name).is_none()) {
        let what = format!("no server that works has a tool `{name}` that has changed");
        return Err(Problem::usage(what).advice("allm mcp list tells of those that have"));
    }
    for seen in names.iter().filter_map(|name| there(&name)) {
        agree(seen, is_agreed)?;
        if !connected.accept(seen)? {
            let what = format!("`{}` has changed again just now", seen.name);
            return Err(Problem::failed(what).advice("look at it once more"));
        }
        let told = format!("{} is used as it is now\n", seen.name);
        written(io::stdout().write_all(harmless(&told).as_bytes()))?;
    }
    Ok(Exit::Done)
}

/// Whether the person agrees to one.
fn agree(seen: &Changed, is_agreed: bool) -> Result<(), Problem> {
    let name = &seen.name;
    if is_agreed {
        return Ok(());
    }
    if !is_person() {
        let advice = format!("look at it, and then: allm mcp accept --yes {name}");
        return Err(Problem::new(Exit::Waiting, seen.told()).advice(advice));
    }
    if terminal::agreed(&format!("allm: {}\nUse it as it is now?", seen.told()))? {
        return Ok(());
    }
    let what = format!("`{name}` is not used");
    Err(Problem::new(Exit::Unfinished, what))
}
