//! Anthropic Messages.

use serde_json::{Map, Value};

use super::json::{list, object, text};
use super::{Block, Held, Media, Normal, Side, Tool, Turn};

pub(super) fn normal(body: &Map<String, Value>) -> Option<Normal> {
    let mut body = body.clone();
    let messages = list(&mut body, "messages")?;
    let tools = list(&mut body, "tools").unwrap_or_default();
    Some(Normal {
        system: content(&mut body, "system"),
        turns: messages.iter().map(turn).collect::<Option<_>>()?,
        tools: tools.iter().map(tool).collect(),
    })
}

fn turn(raw: &Value) -> Option<Turn> {
    let mut message = raw.as_object()?.clone();
    let side = match text(&mut message, "role")?.as_str() {
        "user" => Side::User,
        "assistant" => Side::Assistant,
        _ => return None,
    };
    let mut turn = Turn::new(side, raw);
    turn.blocks = content(&mut message, "content");
    turn.with = message;
    Some(turn)
}

fn content(holder: &mut Map<String, Value>, name: &str) -> Vec<Block> {
    if let Some(said) = text(holder, name) {
        return vec![Block::text(&said)];
    }
    let blocks = list(holder, name).into_iter().flatten();
    blocks.map(block).collect()
}

fn block(raw: Value) -> Block {
    read(&raw).unwrap_or(Block::Other(raw))
}

fn read(raw: &Value) -> Option<Block> {
    let mut block = raw.as_object()?.clone();
    Some(match text(&mut block, "type")?.as_str() {
        "text" => Block::Text {
            text: text(&mut block, "text")?,
            with: block,
        },
        "thinking" | "redacted_thinking" => Block::Reasoning(raw.clone()),
        "tool_use" => Block::Call {
            id: text(&mut block, "id"),
            name: text(&mut block, "name")?,
            arguments: block.remove("input")?,
            with: block,
        },
        "tool_result" => {
            let is_error = block.get("is_error") == Some(&true.into());
            if is_error {
                block.remove("is_error");
            }
            Block::Result {
                id: text(&mut block, "tool_use_id"),
                name: None,
                content: content(&mut block, "content"),
                is_error,
                with: block,
            }
        }
        kind @ ("image" | "document") => {
            let is_image = kind == "image";
            let mut source = object(&mut block, "source")?;
            let how = text(&mut source, "type")?;
            let mime = text(&mut source, "media_type");
            let held = match how.as_str() {
                "base64" => Held::Data(text(&mut source, "data")?),
                "url" => Held::Url(text(&mut source, "url")?),
                "file" => Held::Id(text(&mut source, "file_id")?),
                "text" => {
                    use base64::Engine as _;
                    let data = text(&mut source, "data")?;
                    Held::Data(base64::engine::general_purpose::STANDARD.encode(data))
                }
                _ => return None,
            };
            if !source.is_empty() {
                return None;
            }
            Block::Media(Media {
                is_image,
                mime,
                source: held,
                name: text(&mut block, "title"),
                with: block,
            })
        }
        _ => return None,
    })
}

fn tool(raw: &Value) -> Tool {
    let read = || {
        let mut tool = raw.as_object()?.clone();
        let kind = text(&mut tool, "type");
        if kind.is_some_and(|kind| kind != "custom") {
            return None;
        }
        Some(Tool::Function {
            name: text(&mut tool, "name")?,
            description: text(&mut tool, "description").unwrap_or_default(),
            schema: tool.remove("input_schema")?,
            with: tool,
        })
    };
    read().unwrap_or_else(|| Tool::Provider(raw.clone()))
}
