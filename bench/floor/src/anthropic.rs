//! Anthropic Messages by hand.

use bench_common::by_hand::each_data;
use bench_common::{Plan, tools};
use reqwest::Client;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Reply, Text, post};

#[derive(Serialize)]
struct Request {
    model: &'static str,
    max_tokens: u32,
    messages: [Message; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool>,
    stream: bool,
}

#[derive(Serialize)]
struct Message {
    role: &'static str,
    content: &'static str,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    description: &'static str,
    input_schema: Value,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default)]
    index: usize,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
}

/// One streamed answer to one question.
pub(crate) async fn ask(client: &Client, plan: &Plan) -> anyhow::Result<Reply> {
    let (text, has_tool) = crate::question(plan);
    let note = tools::note();
    let tool = has_tool.then(|| Tool {
        name: note.name,
        description: note.description,
        input_schema: note.schema,
    });
    let request = Request {
        model: "claude-sonnet-4-5",
        max_tokens: 4096,
        messages: [Message {
            role: "user",
            content: text,
        }],
        tools: tool.into_iter().collect(),
        stream: true,
    };
    let response = post(client, format!("{}/v1/messages", plan.root), &request).await?;
    let mut reply = Reply::default();
    each_data(response, |data| {
        let event: Event<'_> = serde_json::from_slice(data)?;
        match (&*event.kind.0, event.delta, event.content_block) {
            ("content_block_delta", Some(delta), _) => {
                if let Some(Text(text)) = delta.text {
                    reply.text(&text);
                }
                if let Some(Text(json)) = delta.partial_json {
                    reply.call(event.index).arguments.push_str(&json);
                }
            }
            ("content_block_start", _, Some(block)) => {
                if let (Some(Text(id)), Some(Text(name))) = (block.id, block.name) {
                    let call = reply.call(event.index);
                    call.id = id.into_owned();
                    call.name = name.into_owned();
                }
            }
            ("message_stop", _, _) => reply.finished = true,
            _ => {}
        }
        Ok(())
    })
    .await?;
    Ok(reply)
}
