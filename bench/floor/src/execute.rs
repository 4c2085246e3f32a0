//! The tools, as they are run.

use bench_common::looked_up;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Lookup {
    key: String,
}

#[derive(Serialize)]
struct Sum {
    sum: i64,
}

/// Runs a call; the number that is summed up for the check, and what the model is told.
pub(crate) async fn call(name: &str, arguments: &str) -> anyhow::Result<(u64, String)> {
    match name {
        "add" => {
            let Add { a, b } = serde_json::from_str(arguments)?;
            let told = serde_json::to_string(&Sum { sum: a + b })?;
            Ok((u64::try_from(a + b)?, told))
        }
        "lookup" => {
            let Lookup { key } = serde_json::from_str(arguments)?;
            Ok((key.len() as u64, looked_up(&key)))
        }
        other => anyhow::bail!("no tool is called {other}"),
    }
}
