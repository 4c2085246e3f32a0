//! OpenAI Responses by hand.

use bench_common::by_hand::each_data;
use bench_common::{Plan, tools};
use reqwest::Client;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Reply, Text, post};

#[derive(Serialize)]
struct Request {
    model: &'static str,
    input: [Input; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool>,
    stream: bool,
}

#[derive(Serialize)]
struct Input {
    role: &'static str,
    content: &'static str,
}

#[derive(Serialize)]
struct Tool {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    description: &'static str,
    parameters: Value,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default)]
    output_index: usize,
    #[serde(borrow)]
    delta: Option<Text<'a>>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

/// One streamed answer to one question.
pub(crate) async fn ask(client: &Client, plan: &Plan) -> anyhow::Result<Reply> {
    let (text, has_tool) = crate::question(plan);
    let note = tools::note();
    let tool = has_tool.then(|| Tool {
        kind: "function",
        name: note.name,
        description: note.description,
        parameters: note.schema,
    });
    let request = Request {
        model: "gpt-4.1-mini",
        input: [Input {
            role: "user",
            content: text,
        }],
        tools: tool.into_iter().collect(),
        stream: true,
    };
    let response = post(client, format!("{}/v1/responses", plan.root), &request).await?;
    let mut reply = Reply::default();
    each_data(response, |data| {
        let event: Event<'_> = serde_json::from_slice(data)?;
        match (&*event.kind.0, event.delta, event.item) {
            ("response.output_text.delta", Some(Text(delta)), _) => reply.text(&delta),
            ("response.function_call_arguments.delta", Some(Text(delta)), _) => {
                reply.call(event.output_index).arguments.push_str(&delta);
            }
            ("response.output_item.added", _, Some(item)) => {
                if let (Some(Text(id)), Some(Text(name))) = (item.call_id, item.name) {
                    let call = reply.call(event.output_index);
                    call.id = id.into_owned();
                    call.name = name.into_owned();
                }
            }
            ("response.completed", _, _) => reply.finished = true,
            _ => {}
        }
        Ok(())
    })
    .await?;
    Ok(reply)
}
