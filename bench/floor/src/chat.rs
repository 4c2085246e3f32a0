//! OpenAI Chat Completions by hand.

use anyhow::{Context, ensure};
use bench_common::by_hand::each_data;
use bench_common::tools::{self, Offered};
use bench_common::{Checked, PROMPT, Plan, Scenario, in_turn, message};
use futures_util::future::try_join_all;
use reqwest::Client;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Reply, Text, execute, post};

#[derive(Serialize)]
struct Request<'a> {
    model: &'static str,
    messages: &'a [Message],
    #[serde(skip_serializing_if = "<[Tool]>::is_empty")]
    tools: &'a [Tool],
    stream: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message {
    User {
        content: String,
    },
    Assistant {
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Serialize)]
struct ToolCall {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function,
}

#[derive(Serialize)]
struct Function {
    name: String,
    arguments: String,
}

#[derive(Serialize)]
struct Tool {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Declared,
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
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_calls: Vec<CallDelta<'a>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: usize,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: FunctionDelta<'a>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Whole {
    choices: Vec<WholeChoice>,
}

#[derive(Deserialize)]
struct WholeChoice {
    message: WholeMessage,
    finish_reason: String,
}

#[derive(Deserialize)]
struct WholeMessage {
    content: String,
}

fn user(text: &str) -> Message {
    Message::User {
        content: text.to_owned(),
    }
}

fn tool(offered: Offered) -> Tool {
    Tool {
        kind: "function",
        function: Declared {
            name: offered.name,
            description: offered.description,
            parameters: offered.schema,
        },
    }
}

/// One streamed answer to a conversation.
async fn turn(
    client: &Client,
    plan: &Plan,
    messages: &[Message],
    tools: &[Tool],
) -> anyhow::Result<Reply> {
    let request = Request {
        model: "gpt-4.1-mini",
        messages,
        tools,
        stream: true,
    };
    let url = format!("{}/v1/chat/completions", plan.root);
    let response = post(client, url, &request).await?;
    let mut reply = Reply::default();
    each_data(response, |data| {
        if data == b"[DONE]" {
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_slice(data)?;
        for choice in chunk.choices {
            if let Some(Text(text)) = choice.delta.content {
                reply.text(&text);
            }
            for piece in choice.delta.tool_calls {
                let call = reply.call(piece.index);
                if let Some(Text(id)) = piece.id {
                    call.id = id.into_owned();
                }
                if let Some(Text(name)) = piece.function.name {
                    call.name = name.into_owned();
                }
                if let Some(Text(arguments)) = piece.function.arguments {
                    call.arguments.push_str(&arguments);
                }
            }
            reply.finished |= choice.finish_reason.is_some();
        }
        Ok(())
    })
    .await?;
    Ok(reply)
}

/// One streamed answer to one question.
pub(crate) async fn ask(client: &Client, plan: &Plan) -> anyhow::Result<Reply> {
    let (text, has_tool) = crate::question(plan);
    let tools: Vec<Tool> = has_tool.then(|| tool(tools::note())).into_iter().collect();
    turn(client, plan, &[user(text)], &tools).await
}

/// S3: the same long thread again and again, answered whole.
pub(crate) async fn requests(client: &Client, plan: &Plan) -> anyhow::Result<Checked> {
    let mut thread: Vec<Message> = Vec::new();
    for index in 0..199 {
        let content = message(index);
        thread.push(if index % 2 == 0 {
            Message::User { content }
        } else {
            Message::Assistant {
                content: Some(content),
                tool_calls: Vec::new(),
            }
        });
    }
    thread.push(user(PROMPT));
    let mut sum = Checked::default();
    for _ in 0..plan.count {
        let request = Request {
            model: "gpt-4.1-mini",
            messages: &thread,
            tools: &[],
            stream: false,
        };
        let url = format!("{}/v1/chat/completions", plan.root);
        let body = post(client, url, &request).await?.bytes().await?;
        let whole: Whole = serde_json::from_slice(&body)?;
        let choice = whole.choices.first().context("no choice")?;
        ensure!(choice.finish_reason == "stop", "the answer was cut");
        sum.text_bytes += choice.message.content.len() as u64;
    }
    Ok(sum)
}

/// A run to its final text: streamed turns, calls at once.
async fn whole_run(client: &Client, plan: &Plan, tools: &[Tool]) -> anyhow::Result<Checked> {
    let mut messages = vec![user(PROMPT)];
    let mut sum = Checked::default();
    for _ in 0..bench_common::MAX_TURNS {
        let reply = turn(client, plan, &messages, tools).await?;
        ensure!(reply.finished, "the answer was cut");
        sum.text_bytes += reply.text.len() as u64;
        if reply.calls.is_empty() {
            break;
        }
        let running = reply
            .calls
            .iter()
            .map(|call| execute::call(&call.name, &call.arguments));
        let results = try_join_all(running).await?;
        let ids: Vec<String> = reply.calls.iter().map(|call| call.id.clone()).collect();
        let calls = reply.calls.into_iter().map(|call| ToolCall {
            id: call.id,
            kind: "function",
            function: Function {
                name: call.name,
                arguments: call.arguments,
            },
        });
        messages.push(Message::Assistant {
            content: (!reply.text.is_empty()).then_some(reply.text),
            tool_calls: calls.collect(),
        });
        for (tool_call_id, (number, content)) in ids.into_iter().zip(results) {
            sum.arguments += number;
            sum.calls += 1;
            messages.push(Message::Tool {
                tool_call_id,
                content,
            });
        }
    }
    Ok(sum)
}

/// S4: many runs of eight calls each.
pub(crate) async fn runs(client: &Client, plan: &Plan) -> anyhow::Result<Checked> {
    let tools = [tool(tools::add())];
    in_turn(plan.count, || whole_run(client, plan, &tools)).await
}

/// S6: one long run.
pub(crate) async fn run(client: &Client, plan: &Plan) -> anyhow::Result<Checked> {
    debug_assert_eq!(plan.scenario, Scenario::Loop);
    whole_run(client, plan, &[tool(tools::lookup())]).await
}
