//! A conversation that goes from one provider to another, and back.

use allm::{Anthropic, Api, Engine, Gemini, OpenAi, Thread};
use serde_json::json;

use crate::server::Server;

/// A provider whose answers hold something that only it understands, if it has such a thing.
struct Side {
    model: &'static str,
    /// What it says.
    text: &'static str,
    /// What stands in the bodies that send the opaque value back.
    opaque: Option<&'static str>,
    server: Server,
}

async fn sides() -> [Side; 4] {
    let frames = |events: &[serde_json::Value]| {
        let frames = events.iter().map(|event| format!("data: {event}\n\n"));
        frames.collect::<String>()
    };
    let responses = json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "THOUGHT-of-openai"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "from openai"}]}]}});
    let anthropic = [
        json!({"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "signature_delta", "signature": "THOUGHT-of-claude"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "from claude"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ];
    let gemini = json!({"candidates": [{"content": {"role": "model",
        "parts": [{"text": "from gemini", "thoughtSignature": "VEhPVUdIVA=="}]}, "finishReason": "STOP"}]});
    let chat = json!({"choices": [{"delta": {"content": "from chat"}, "finish_reason": "stop"}]});
    [
        Side {
            model: "openai:gpt-5",
            text: "from openai",
            opaque: Some("\"encrypted_content\":\"THOUGHT-of-openai\""),
            server: Server::start(frames(&[responses])).await,
        },
        Side {
            model: "anthropic:claude-sonnet-4-5",
            text: "from claude",
            opaque: Some("\"signature\":\"THOUGHT-of-claude\""),
            server: Server::start(frames(&anthropic)).await,
        },
        Side {
            model: "gemini:gemini-3-pro-preview",
            text: "from gemini",
            opaque: Some("\"thoughtSignature\":\"VEhPVUdIVA==\""),
            server: Server::start(frames(&[gemini])).await,
        },
        Side {
            model: "chat:gpt-4o",
            text: "from chat",
            opaque: None,
            server: Server::start(frames(&[chat]) + "data: [DONE]\n\n").await,
        },
    ]
}

fn engine(sides: &[Side; 4]) -> Engine {
    let [openai, anthropic, gemini, chat] = sides.each_ref().map(|side| &side.server.url);
    let plain = OpenAi::new().named("chat").api(Api::ChatCompletions);
    Engine::builder()
        .provider(OpenAi::new().base_url(openai).api_key("key-of-openai"))
        .provider(
            Anthropic::new()
                .base_url(anthropic)
                .api_key("key-of-anthropic"),
        )
        .provider(Gemini::new().base_url(gemini).api_key("key-of-gemini"))
        .provider(plain.base_url(chat).api_key("key-of-chat"))
        .build()
        .unwrap()
}

/// C19: away from home, the value stays behind, is told once, and the text goes along. C20: at home again, it is sent again,
/// byte for byte.
#[tokio::test]
async fn c20_home_again_the_opaque_value_is_sent_again() {
    let sides = sides().await;
    let engine = engine(&sides);
    for home in sides.iter().filter(|side| side.opaque.is_some()) {
        let opaque = home.opaque.unwrap();
        for away in sides.iter().filter(|side| side.model != home.model) {
            let case = format!("{} and {}", home.model, away.model);
            let asked = async |thread: Thread, side: &Side| {
                let result = engine.chat(thread).model(side.model).await.unwrap();
                assert_eq!(result.text(), side.text, "{case}");
                let body = side.server.last().body;
                let warnings = result.final_response.unwrap().warnings.clone();
                let told = warnings
                    .into_iter()
                    .filter(|it| it.code == "opaque_dropped");
                (result.thread, body, told.collect::<Vec<_>>())
            };
            let (thread, _, told) = asked(Thread::from("q"), home).await;
            assert_eq!(told, []);
            let (thread, body, told) = asked(thread.with_user("and?"), away).await;
            assert!(
                !body.contains(opaque) && !body.contains("THOUGHT"),
                "{case}: {body}"
            );
            assert!(body.contains(home.text), "{case}: {body}");
            let provider = home.model.split(':').next().unwrap();
            assert_eq!(told.len(), 1, "{case}");
            assert_eq!(told[0].detail, Some(format!("1 of {provider}")), "{case}");
            let (_, body, told) = asked(thread.with_user("back"), home).await;
            assert!(body.contains(opaque), "{case}: {body}");
            assert!(body.contains(away.text), "{case}: {body}");
            let foreign = usize::from(away.opaque.is_some());
            assert_eq!(told.len(), foreign, "{case}: {told:?}");
        }
    }
}
