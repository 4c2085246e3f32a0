//! The work with rig: a model of `rig-core`, streamed. Its agents, which would make the runs, are another crate and cost
//! more; here the runs are made by hand.

use anyhow::Context;
use bench_common::peer::{Call, Offered, Peer, Reply};
use bench_common::{Plan, first_token};
use futures_util::StreamExt as _;
use rig_core::Model;
use rig_core::completion::{CompletionRequest, CompletionResponse, ToolDefinition};
use rig_core::message::{Message, ToolCall, ToolResultContent};
use rig_core::providers::openai::{OpenAIConfig, wire::Chat};
use rig_core::streaming::{Item, StreamEvent};

struct Rig {
    model: Model<Chat>,
    tools: Vec<ToolDefinition>,
}

impl Rig {
    fn request(&self, history: &[Message]) -> anyhow::Result<CompletionRequest> {
        let (last, before) = history.split_last().context("an empty conversation")?;
        let request = CompletionRequest::new(last.clone()).messages(before.to_vec());
        Ok(request.tools(self.tools.clone()))
    }
}

impl Peer for Rig {
    type Message = Message;
    type Answer = (Message, Vec<ToolCall>);

    fn new(plan: &Plan, tools: Vec<Offered>) -> anyhow::Result<Self> {
        let config =
            OpenAIConfig::new("sk-of-nobody-at-all").with_base_url(format!("{}/v1", plan.root));
        let mut known = Vec::new();
        for tool in tools {
            let name = tool.name.try_into().ok().context("a name of a tool")?;
            known.push(ToolDefinition::new(name, tool.description, tool.schema));
        }
        Ok(Self {
            model: config.client().chat("gpt-4.1-mini"),
            tools: known,
        })
    }

    fn user(text: String) -> Message {
        Message::user(text)
    }

    fn assistant(text: String) -> Message {
        Message::assistant(text)
    }

    async fn stream(&self, history: &[Message]) -> anyhow::Result<Reply<Self::Answer>> {
        let mut stream = self.model.stream(self.request(history)?)?;
        let mut text_bytes = 0;
        while let Some(item) = stream.next().await {
            if let Item::Event(StreamEvent::Text { text, .. }) = item? {
                first_token();
                text_bytes += text.len() as u64;
            }
        }
        let response: CompletionResponse = stream.finish().await?;
        let calls: Vec<ToolCall> = response.tool_calls().cloned().collect();
        let message = response.message().context("an empty answer")?;
        Ok(Reply {
            text_bytes,
            calls: calls
                .iter()
                .map(|call| Call {
                    id: String::new(),
                    name: call.function.name.to_string(),
                    arguments: call.function.arguments_value(),
                })
                .collect(),
            answer: (message, calls),
        })
    }

    async fn whole(&self, history: &[Message]) -> anyhow::Result<u64> {
        let response = self.model.call(self.request(history)?).await?;
        Ok(response.text().len() as u64)
    }

    fn answered(history: &mut Vec<Message>, answer: Self::Answer, results: Vec<(Call, String)>) {
        let (message, calls) = answer;
        history.push(message);
        let results = calls
            .iter()
            .zip(results)
            .map(|(call, (_, content))| call.result(vec![ToolResultContent::text(content)]));
        history.push(Message::tool_results(results.collect()));
    }
}

fn main() -> anyhow::Result<()> {
    bench_common::run(bench_common::peer::work::<Rig>)
}
