//! The work with llm, as its streaming and tool examples do it.

use anyhow::{Context, ensure};
use bench_common::peer::{Call, Offered, Peer, Reply};
use bench_common::{Plan, first_token};
use futures_util::StreamExt as _;
use llm::builder::{FunctionBuilder, LLMBackend, LLMBuilder};
use llm::chat::{ChatMessage, StreamChunk};
use llm::{FunctionCall, LLMProvider, ToolCall};

struct Llm {
    model: Box<dyn LLMProvider>,
    has_tools: bool,
}

impl Llm {
    /// Text alone, by the call for it.
    async fn text(&self, history: &[ChatMessage]) -> anyhow::Result<Reply<Vec<ToolCall>>> {
        let mut stream = self.model.chat_stream(history).await?;
        let mut text_bytes = 0;
        while let Some(text) = stream.next().await {
            first_token();
            text_bytes += text?.len() as u64;
        }
        Ok(Reply {
            text_bytes,
            calls: Vec::new(),
            answer: Vec::new(),
        })
    }
}

impl Peer for Llm {
    type Message = ChatMessage;
    type Answer = Vec<ToolCall>;

    fn new(plan: &Plan, tools: Vec<Offered>) -> anyhow::Result<Self> {
        let has_tools = !tools.is_empty();
        let mut builder = LLMBuilder::new()
            .backend(LLMBackend::OpenAI)
            .base_url(format!("{}/v1/", plan.root))
            .api_key("sk-of-nobody-at-all")
            .model("gpt-4.1-mini");
        for tool in tools {
            builder = builder.function(
                FunctionBuilder::new(tool.name)
                    .description(tool.description)
                    .json_schema(tool.schema),
            );
        }
        Ok(Self {
            model: builder.build()?,
            has_tools,
        })
    }

    fn user(text: String) -> ChatMessage {
        ChatMessage::user().content(text).build()
    }

    fn assistant(text: String) -> ChatMessage {
        ChatMessage::assistant().content(text).build()
    }

    async fn stream(&self, history: &[ChatMessage]) -> anyhow::Result<Reply<Vec<ToolCall>>> {
        if !self.has_tools {
            return self.text(history).await;
        }
        let mut stream = self
            .model
            .chat_stream_with_tools(history, self.model.tools())
            .await?;
        let (mut text_bytes, mut ended, mut calls) = (0, false, Vec::new());
        while let Some(chunk) = stream.next().await {
            match chunk? {
                StreamChunk::Text(text) => {
                    first_token();
                    text_bytes += text.len() as u64;
                }
                StreamChunk::ToolUseComplete { tool_call, .. } => calls.push(tool_call),
                StreamChunk::Done { .. } => ended = true,
                _ => {}
            }
        }
        ensure!(ended, "the answer was cut");
        let read = calls.iter().map(|call| {
            let function = &call.function;
            Call::parsed(&call.id, &function.name, &function.arguments)
        });
        Ok(Reply {
            text_bytes,
            calls: read.collect::<Result<_, _>>()?,
            answer: calls,
        })
    }

    async fn whole(&self, history: &[ChatMessage]) -> anyhow::Result<u64> {
        let answer = self.model.chat(history).await?;
        Ok(answer.text().context("no text")?.len() as u64)
    }

    fn answered(
        history: &mut Vec<ChatMessage>,
        answer: Vec<ToolCall>,
        results: Vec<(Call, String)>,
    ) {
        history.push(ChatMessage::assistant().tool_use(answer).build());
        let results = results.into_iter().map(|(call, content)| ToolCall {
            id: call.id,
            call_type: "function".to_owned(),
            function: FunctionCall {
                name: call.name,
                arguments: content,
            },
        });
        history.push(ChatMessage::user().tool_result(results.collect()).build());
    }
}

fn main() -> anyhow::Result<()> {
    bench_common::run(bench_common::peer::work::<Llm>)
}
