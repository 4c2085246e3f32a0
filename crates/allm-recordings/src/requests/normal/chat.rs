//! Chat Completions.

use serde_json::{Map, Value};

use super::json::{arguments, held, list, object, text};
use super::{Block, Media, Normal, Side, Tool, Turn};

/// The names under which servers take thinking back.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

pub(super) fn normal(body: &Map<String, Value>) -> Option<Normal> {
    let messages = body.get("messages")?.as_array()?;
    let tools = body.get("tools").and_then(Value::as_array);
    Some(Normal {
        system: Vec::new(),
        turns: messages.iter().map(turn).collect::<Option<_>>()?,
        tools: tools.into_iter().flatten().map(tool).collect(),
    })
}

fn turn(raw: &Value) -> Option<Turn> {
    let mut message = raw.as_object()?.clone();
    let role = text(&mut message, "role")?;
    let side = match role.as_str() {
        "system" | "developer" => Side::System,
        "user" => Side::User,
        "assistant" => Side::Assistant,
        "tool" => Side::Tool,
        _ => return None,
    };
    let mut turn = Turn::new(side, raw);
    if role == "developer" {
        turn.with.insert("role".into(), role.into());
    }
    let content = content(&mut message);
    if side == Side::Tool {
        let id = text(&mut message, "tool_call_id");
        turn.blocks.push(Block::Result {
            id,
            name: text(&mut message, "name"),
            content,
            is_error: false,
            with: message,
        });
        return Some(turn);
    }
    for name in REASONING {
        if let Some(value) = message.remove(name) {
            let mut thought = Map::new();
            thought.insert(name.to_owned(), value);
            turn.blocks.push(Block::Reasoning(thought.into()));
        }
    }
    turn.blocks.extend(content);
    if let Some(refusal) = text(&mut message, "refusal") {
        turn.blocks.push(Block::Refusal(refusal));
    }
    for call in list(&mut message, "tool_calls").into_iter().flatten() {
        turn.blocks.push(call_block(call));
    }
    turn.with.extend(message);
    Some(turn)
}

/// What a message says. A text that is missing or null stays as a member.
fn content(message: &mut Map<String, Value>) -> Vec<Block> {
    if let Some(said) = text(message, "content") {
        if said.is_empty() {
            message.insert("content".into(), said.into());
            return Vec::new();
        }
        return vec![Block::text(&said)];
    }
    let blocks = list(message, "content").into_iter().flatten();
    blocks.map(block).collect()
}

fn block(raw: Value) -> Block {
    let Value::Object(mut block) = raw.clone() else {
        return Block::Other(raw);
    };
    match text(&mut block, "type").as_deref() {
        Some("text") => match text(&mut block, "text") {
            Some(text) => Block::Text { text, with: block },
            None => Block::Other(raw),
        },
        Some("thinking") => Block::Reasoning(raw),
        Some("image_url") => image(block).unwrap_or(Block::Other(raw)),
        Some("file") => file(block).unwrap_or(Block::Other(raw)),
        _ => Block::Other(raw),
    }
}

fn image(mut block: Map<String, Value>) -> Option<Block> {
    let mut image = match block.remove("image_url")? {
        Value::String(url) => Map::from_iter([("url".to_owned(), url.into())]),
        Value::Object(image) => image,
        _ => return None,
    };
    let (source, mime) = held(&text(&mut image, "url")?);
    block.extend(image);
    Some(Block::Media(Media {
        is_image: true,
        mime,
        source,
        name: None,
        with: block,
    }))
}

fn file(mut block: Map<String, Value>) -> Option<Block> {
    let mut file = object(&mut block, "file")?;
    let (source, mime) = match text(&mut file, "file_data") {
        Some(data) => held(&data),
        None => (super::Held::Id(text(&mut file, "file_id")?), None),
    };
    let name = text(&mut file, "filename");
    block.extend(file);
    Some(Block::Media(Media {
        is_image: false,
        mime,
        source,
        name,
        with: block,
    }))
}

fn call_block(raw: Value) -> Block {
    let read = |raw: &Value| {
        let mut call = raw.as_object()?.clone();
        let mut function = object(&mut call, "function")?;
        let said = match function.remove("arguments") {
            Some(Value::String(text)) => arguments(&text),
            Some(other) => other,
            None => Value::Null,
        };
        let name = text(&mut function, "name")?;
        let id = text(&mut call, "id");
        if call.get("type").is_some_and(|kind| kind == "function") {
            call.remove("type");
        }
        call.extend(function);
        Some(Block::Call {
            id,
            name,
            arguments: said,
            with: call,
        })
    };
    read(&raw).unwrap_or(Block::Other(raw))
}

fn tool(raw: &Value) -> Tool {
    let read = || {
        let mut tool = raw.as_object()?.clone();
        let mut function = object(&mut tool, "function")?;
        let name = text(&mut function, "name")?;
        if tool.get("type").is_some_and(|kind| kind == "function") {
            tool.remove("type");
        }
        let description = text(&mut function, "description").unwrap_or_default();
        let schema = function.remove("parameters").unwrap_or_default();
        tool.extend(function);
        Some(Tool::Function {
            name,
            description,
            schema,
            with: tool,
        })
    };
    read().unwrap_or_else(|| Tool::Provider(raw.clone()))
}
