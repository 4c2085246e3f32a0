//! Gemini by hand.

use bench_common::by_hand::each_data;
use bench_common::{Plan, tools};
use reqwest::Client;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Reply, Text, post};

#[derive(Serialize)]
struct Request {
    contents: [Content; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools>,
}

#[derive(Serialize)]
struct Content {
    role: &'static str,
    parts: [TextPart; 1],
}

#[derive(Serialize)]
struct TextPart {
    text: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools {
    function_declarations: [Declared; 1],
}

#[derive(Serialize)]
struct Declared {
    name: &'static str,
    description: &'static str,
    parameters: Value,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Vec<Candidate<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Parts<'a>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCall<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    partial_args: Vec<PartialArg<'a>>,
}

/// A value for a place in the arguments.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartialArg<'a> {
    #[serde(borrow)]
    json_path: Text<'a>,
    #[serde(borrow)]
    string_value: Option<Text<'a>>,
}

/// One streamed answer to one question. Of values in pieces only texts at the top are known.
pub(crate) async fn ask(client: &Client, plan: &Plan) -> anyhow::Result<Reply> {
    let (text, has_tool) = crate::question(plan);
    let note = tools::note();
    let tool = has_tool.then(|| Tools {
        function_declarations: [Declared {
            name: note.name,
            description: note.description,
            parameters: note.schema,
        }],
    });
    let request = Request {
        contents: [Content {
            role: "user",
            parts: [TextPart { text }],
        }],
        tools: tool.into_iter().collect(),
    };
    let url = format!(
        "{}/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        plan.root
    );
    let response = post(client, url, &request).await?;
    let mut reply = Reply::default();
    let mut fields: Vec<(String, String)> = Vec::new();
    each_data(response, |data| {
        let chunk: Chunk<'_> = serde_json::from_slice(data)?;
        for candidate in chunk.candidates {
            for part in candidate.content.parts {
                if let Some(Text(text)) = part.text
                    && !text.is_empty()
                {
                    reply.text(&text);
                }
                if let Some(called) = part.function_call {
                    if let Some(Text(name)) = called.name {
                        reply.call(0).name = name.into_owned();
                    }
                    for arg in called.partial_args {
                        let key = arg.json_path.0.trim_start_matches("$.");
                        let value = arg.string_value.map(|Text(text)| text).unwrap_or_default();
                        match fields.last_mut() {
                            Some((known, held)) if *known == key => held.push_str(&value),
                            _ => fields.push((key.to_owned(), value.into_owned())),
                        }
                    }
                }
            }
            reply.finished |= candidate.finish_reason.is_some();
        }
        Ok(())
    })
    .await?;
    if let Some(call) = reply.calls.first_mut() {
        let fields = fields
            .into_iter()
            .map(|(key, text)| (key, Value::from(text)));
        call.arguments = Value::Object(fields.collect()).to_string();
    }
    Ok(reply)
}
