//! The work with genai, as its example `c21-tooluse-streaming` does it.

use anyhow::{Context, ensure};
use bench_common::peer::{Call, Offered, Peer, Reply};
use bench_common::{Plan, first_token};
use futures_util::StreamExt as _;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, Tool, ToolCall, ToolResponse,
};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};

const MODEL: &str = "gpt-4.1-mini";

struct Genai {
    client: Client,
    tools: Vec<Tool>,
}

impl Genai {
    fn request(&self, history: &[ChatMessage]) -> ChatRequest {
        let request = ChatRequest::new(history.to_vec());
        if self.tools.is_empty() {
            request
        } else {
            request.with_tools(self.tools.clone())
        }
    }
}

impl Peer for Genai {
    type Message = ChatMessage;
    type Answer = Vec<ToolCall>;

    fn new(plan: &Plan, tools: Vec<Offered>) -> anyhow::Result<Self> {
        let endpoint = Endpoint::from_owned(format!("{}/v1/", plan.root));
        let target = ServiceTargetResolver::from_resolver_fn(
            move |_: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
                Ok(ServiceTarget {
                    endpoint: endpoint.clone(),
                    auth: AuthData::from_single("sk-of-nobody-at-all"),
                    model: ModelIden::new(AdapterKind::OpenAI, MODEL),
                })
            },
        );
        let client = Client::builder()
            .with_service_target_resolver(target)
            .build()?;
        let tools = tools.into_iter().map(|tool| {
            Tool::new(tool.name)
                .with_description(tool.description)
                .with_schema(tool.schema)
        });
        Ok(Self {
            client,
            tools: tools.collect(),
        })
    }

    fn user(text: String) -> ChatMessage {
        ChatMessage::user(text)
    }

    fn assistant(text: String) -> ChatMessage {
        ChatMessage::assistant(text)
    }

    async fn stream(&self, history: &[ChatMessage]) -> anyhow::Result<Reply<Vec<ToolCall>>> {
        let options = ChatOptions::default().with_capture_tool_calls(true);
        let request = self.request(history);
        let answer = self
            .client
            .exec_chat_stream(MODEL, request, Some(&options))
            .await?;
        let mut stream = answer.stream;
        let (mut text_bytes, mut ended, mut calls) = (0, false, Vec::new());
        while let Some(event) = stream.next().await {
            match event? {
                ChatStreamEvent::Chunk(chunk) => {
                    first_token();
                    text_bytes += chunk.content.len() as u64;
                }
                ChatStreamEvent::End(end) => {
                    ended = true;
                    calls = end.captured_into_tool_calls().unwrap_or_default();
                }
                _ => {}
            }
        }
        ensure!(ended, "the answer was cut");
        Ok(Reply {
            text_bytes,
            calls: calls
                .iter()
                .map(|call| Call {
                    id: call.call_id.clone(),
                    name: call.fn_name.clone(),
                    arguments: call.fn_arguments.clone(),
                })
                .collect(),
            answer: calls,
        })
    }

    async fn whole(&self, history: &[ChatMessage]) -> anyhow::Result<u64> {
        let request = self.request(history);
        let answer = self.client.exec_chat(MODEL, request, None).await?;
        let text = answer.first_text().context("no text")?;
        Ok(text.len() as u64)
    }

    fn answered(
        history: &mut Vec<ChatMessage>,
        answer: Vec<ToolCall>,
        results: Vec<(Call, String)>,
    ) {
        history.push(ChatMessage::from(answer));
        for (call, content) in results {
            history.push(ChatMessage::from(ToolResponse::new(call.id, content)));
        }
    }
}

fn main() -> anyhow::Result<()> {
    bench_common::run(bench_common::peer::work::<Genai>)
}
