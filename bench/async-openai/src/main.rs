//! The work with async-openai, as the example `tool-call-stream` of its repository does it.

use anyhow::{Context, ensure};
use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls,
    ChatCompletionRequestAssistantMessageArgs, ChatCompletionRequestMessage,
    ChatCompletionRequestToolMessage, ChatCompletionRequestUserMessage, ChatCompletionTool,
    ChatCompletionTools, CreateChatCompletionRequest, CreateChatCompletionRequestArgs,
    FunctionObjectArgs,
};
use bench_common::peer::{Call, Offered, Peer, Reply};
use bench_common::{Plan, first_token};
use futures_util::StreamExt as _;

struct AsyncOpenai {
    client: Client<OpenAIConfig>,
    tools: Vec<ChatCompletionTools>,
}

impl AsyncOpenai {
    fn request(
        &self,
        history: &[ChatCompletionRequestMessage],
    ) -> anyhow::Result<CreateChatCompletionRequest> {
        let mut request = CreateChatCompletionRequestArgs::default();
        request.model("gpt-4.1-mini").messages(history.to_vec());
        if !self.tools.is_empty() {
            request.tools(self.tools.clone());
        }
        Ok(request.build()?)
    }
}

impl Peer for AsyncOpenai {
    type Message = ChatCompletionRequestMessage;
    type Answer = Vec<ChatCompletionMessageToolCall>;

    fn new(plan: &Plan, tools: Vec<Offered>) -> anyhow::Result<Self> {
        let config = OpenAIConfig::new()
            .with_api_key("sk-of-nobody-at-all")
            .with_api_base(format!("{}/v1", plan.root));
        let mut known = Vec::new();
        for tool in tools {
            let function = FunctionObjectArgs::default()
                .name(tool.name)
                .description(tool.description)
                .parameters(tool.schema)
                .build()?;
            known.push(ChatCompletionTools::Function(ChatCompletionTool {
                function,
            }));
        }
        Ok(Self {
            client: Client::with_config(config),
            tools: known,
        })
    }

    fn user(text: String) -> ChatCompletionRequestMessage {
        ChatCompletionRequestUserMessage::from(text).into()
    }

    fn assistant(text: String) -> ChatCompletionRequestMessage {
        let message = ChatCompletionRequestAssistantMessageArgs::default()
            .content(text)
            .build()
            .unwrap_or_default();
        message.into()
    }

    async fn stream(
        &self,
        history: &[ChatCompletionRequestMessage],
    ) -> anyhow::Result<Reply<Vec<ChatCompletionMessageToolCall>>> {
        let request = self.request(history)?;
        let mut stream = self.client.chat().create_stream(request).await?;
        let (mut text_bytes, mut ended) = (0, false);
        let mut calls: Vec<ChatCompletionMessageToolCall> = Vec::new();
        while let Some(chunk) = stream.next().await {
            for choice in chunk?.choices {
                if let Some(text) = choice.delta.content {
                    first_token();
                    text_bytes += text.len() as u64;
                }
                for piece in choice.delta.tool_calls.unwrap_or_default() {
                    let index = usize::try_from(piece.index)?;
                    if calls.len() <= index {
                        calls.resize_with(index + 1, Default::default);
                    }
                    let call = &mut calls[index];
                    if let Some(id) = piece.id {
                        call.id = id;
                    }
                    if let Some(function) = piece.function {
                        if let Some(name) = function.name {
                            call.function.name = name;
                        }
                        if let Some(arguments) = function.arguments {
                            call.function.arguments.push_str(&arguments);
                        }
                    }
                }
                ended |= choice.finish_reason.is_some();
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

    async fn whole(&self, history: &[ChatCompletionRequestMessage]) -> anyhow::Result<u64> {
        let answer = self.client.chat().create(self.request(history)?).await?;
        let choice = answer.choices.into_iter().next().context("no choice")?;
        Ok(choice.message.content.context("no text")?.len() as u64)
    }

    fn answered(
        history: &mut Vec<ChatCompletionRequestMessage>,
        answer: Vec<ChatCompletionMessageToolCall>,
        results: Vec<(Call, String)>,
    ) {
        let calls: Vec<ChatCompletionMessageToolCalls> =
            answer.into_iter().map(Into::into).collect();
        let message = ChatCompletionRequestAssistantMessageArgs::default()
            .tool_calls(calls)
            .build()
            .unwrap_or_default();
        history.push(message.into());
        for (call, content) in results {
            let message = ChatCompletionRequestToolMessage {
                content: content.into(),
                tool_call_id: call.id,
            };
            history.push(message.into());
        }
    }
}

fn main() -> anyhow::Result<()> {
    bench_common::run(bench_common::peer::work::<AsyncOpenai>)
}
