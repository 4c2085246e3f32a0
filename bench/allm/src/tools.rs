//! The tools that are offered, and what is counted of their calls.

use allm::{Tool, ToolCallCompleted};
use anyhow::Context;
use bench_common::tools::{self, Offered};
use bench_common::{Checked, looked_up};
use serde::Deserialize;
use serde_json::{Value, json};

fn tool(offered: Offered) -> Tool {
    Tool::new(offered.name, offered.description, offered.schema)
}

/// Is offered and not run.
pub(crate) fn note() -> Tool {
    tool(tools::note()).manual()
}

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

pub(crate) fn add() -> Tool {
    tool(tools::add())
        .handler(|Add { a, b }: Add| async move { Ok::<_, String>(json!({"sum": a + b})) })
}

#[derive(Deserialize)]
struct Lookup {
    key: String,
}

pub(crate) fn lookup() -> Tool {
    tool(tools::lookup())
        .handler(|Lookup { key }: Lookup| async move { Ok::<_, String>(looked_up(&key)) })
}

/// What a call counts: the length of its text, or the sum of its numbers.
pub(crate) fn checked(call: &ToolCallCompleted) -> anyhow::Result<Checked> {
    let arguments = call.arguments.as_ref().context("malformed arguments")?;
    let counted = arguments.values().map(|value| match value {
        Value::String(text) => text.len() as u64,
        value => value.as_u64().unwrap_or_default(),
    });
    Ok(Checked {
        arguments: counted.sum(),
        calls: 1,
        ..Checked::default()
    })
}
