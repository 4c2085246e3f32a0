//! `http_get`: a page of the network, from hosts that were allowed.

mod address;
mod allow;
mod fetch;

use std::sync::Arc;
use std::time::Duration;

use allm::{ApprovalRule, Effect, ReportedError, Tool};
use serde::Deserialize;
use serde_json::json;

use crate::config::{Fetching, Source};
use crate::problem::Problem;

use super::duration;
use allow::Allowed;

/// How long it may take unless the configuration says otherwise.
const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
struct Asked {
    url: String,
}

pub(super) fn tool(settings: &Fetching, source: &Source) -> Result<Tool, Problem> {
    let timeout = match &settings.timeout {
        Some(said) => duration::read(said, source)?,
        None => TIMEOUT,
    };
    let allowed = Allowed::read(&settings.allow, source)?;
    // Without a list it is a person who allows a host.
    let approval = match allowed.is_empty() {
        true => ApprovalRule::Always,
        false => ApprovalRule::Never,
    };
    let description = match allowed.is_empty() {
        true => "Fetches a page with HTTP GET.".to_owned(),
        false => format!("Fetches a page with HTTP GET. Hosts: {allowed}."),
    };
    let schema = json!({
        "type": "object",
        "properties": {"url": {"type": "string", "description": "Begins with https:// or http://."}},
        "required": ["url"]
    });
    let allowed = Arc::new(allowed);
    let limit = settings.max_bytes;
    let tool = Tool::new("http_get", description, schema);
    Ok(tool
        .effect(Effect::Pure)
        .approval(approval)
        .timeout(timeout)
        .handler(move |asked: Asked| {
            let allowed = Arc::clone(&allowed);
            async move {
                fetch::text(&asked.url, &allowed, limit)
                    .await
                    .map_err(ReportedError::new)
            }
        }))
}
