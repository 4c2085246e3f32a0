//! Responses.

use serde_json::{Map, Value};

use super::json::{arguments, held, list, text};
use super::{Block, Held, Media, Normal, Side, Tool, Turn};

pub(super) fn normal(body: &Map<String, Value>) -> Option<Normal> {
    let mut turns: Vec<Turn> = Vec::new();
    match body.get("input")? {
        Value::String(said) => {
            let mut turn = Turn::new(Side::User, &said.as_str().into());
            turn.blocks.push(Block::text(said));
            turns.push(turn);
        }
        Value::Array(items) => {
            for item in items {
                let next = turn(item)?;
                match turns.last_mut() {
                    // What a model gives is a list of items; together they are its turn.
                    Some(last) if last.side == Side::Assistant && next.side == Side::Assistant => {
                        last.blocks.extend(next.blocks);
                        last.with.extend(next.with);
                        last.raw.extend(next.raw);
                    }
                    _ => turns.push(next),
                }
            }
        }
        _ => return None,
    }
    let instructions = body.get("instructions").and_then(Value::as_str);
    let tools = body.get("tools").and_then(Value::as_array);
    Some(Normal {
        system: instructions.map(Block::text).into_iter().collect(),
        turns,
        tools: tools.into_iter().flatten().map(tool).collect(),
    })
}

fn turn(raw: &Value) -> Option<Turn> {
    let mut item = raw.as_object()?.clone();
    let kind = text(&mut item, "type").unwrap_or_else(|| "message".to_owned());
    match kind.as_str() {
        "message" => message(raw, item),
        "function_call_output" => {
            let mut turn = Turn::new(Side::Tool, raw);
            let id = text(&mut item, "call_id");
            turn.blocks.push(Block::Result {
                id,
                name: None,
                content: content(&mut item, "output"),
                is_error: false,
                with: item,
            });
            Some(turn)
        }
        "function_call" => {
            let mut turn = Turn::new(Side::Assistant, raw);
            let said = text(&mut item, "arguments").unwrap_or_default();
            turn.blocks.push(Block::Call {
                id: text(&mut item, "call_id"),
                name: text(&mut item, "name")?,
                arguments: arguments(&said),
                with: item,
            });
            Some(turn)
        }
        "reasoning" => {
            let mut turn = Turn::new(Side::Assistant, raw);
            turn.blocks.push(Block::Reasoning(item.into()));
            Some(turn)
        }
        // What a person or a program says about a provider's tool.
        "mcp_approval_response"
        | "tool_search_output"
        | "custom_tool_call_output"
        | "local_shell_call_output"
        | "shell_call_output"
        | "apply_patch_call_output"
        | "additional_tools"
            if kind != "tool_search_output" || item.get("execution") == Some(&"client".into()) =>
        {
            let mut turn = Turn::new(Side::User, raw);
            turn.blocks.push(Block::Other(raw.clone()));
            Some(turn)
        }
        _ => {
            let mut turn = Turn::new(Side::Assistant, raw);
            turn.blocks.push(Block::Other(raw.clone()));
            Some(turn)
        }
    }
}

fn message(raw: &Value, mut item: Map<String, Value>) -> Option<Turn> {
    let role = text(&mut item, "role")?;
    let side = match role.as_str() {
        "system" | "developer" => Side::System,
        "user" => Side::User,
        "assistant" => Side::Assistant,
        _ => return None,
    };
    let mut turn = Turn::new(side, raw);
    if role == "developer" {
        turn.with.insert("role".into(), role.into());
    }
    turn.blocks = content(&mut item, "content");
    // Several messages of a turn are told apart by what stands with their text.
    if side == Side::Assistant {
        match turn.blocks.first_mut().and_then(Block::with_mut) {
            Some(with) => with.extend(item),
            None => turn.with.extend(item),
        }
    } else {
        turn.with.extend(item);
    }
    Some(turn)
}

fn content(item: &mut Map<String, Value>, name: &str) -> Vec<Block> {
    if let Some(said) = text(item, name) {
        if said.is_empty() {
            item.insert(name.to_owned(), said.into());
            return Vec::new();
        }
        return vec![Block::text(&said)];
    }
    let blocks = list(item, name).into_iter().flatten();
    blocks.map(block).collect()
}

fn block(raw: Value) -> Block {
    let Value::Object(mut block) = raw.clone() else {
        return Block::Other(raw);
    };
    match text(&mut block, "type").as_deref() {
        Some("input_text" | "output_text" | "text") => match text(&mut block, "text") {
            Some(text) => Block::Text { text, with: block },
            None => Block::Other(raw),
        },
        Some("refusal") => match text(&mut block, "refusal") {
            Some(refusal) => Block::Refusal(refusal),
            None => Block::Other(raw),
        },
        Some("input_image") => {
            let (source, mime) = match (text(&mut block, "image_url"), text(&mut block, "file_id"))
            {
                (Some(url), _) => held(&url),
                (None, Some(id)) => (Held::Id(id), None),
                (None, None) => return Block::Other(raw),
            };
            Block::Media(Media {
                is_image: true,
                mime,
                source,
                name: None,
                with: block,
            })
        }
        Some("input_file") => {
            let (source, mime) = if let Some(data) = text(&mut block, "file_data") {
                held(&data)
            } else if let Some(url) = text(&mut block, "file_url") {
                (Held::Url(url), None)
            } else if let Some(id) = text(&mut block, "file_id") {
                (Held::Id(id), None)
            } else {
                return Block::Other(raw);
            };
            Block::Media(Media {
                is_image: false,
                mime,
                source,
                name: text(&mut block, "filename"),
                with: block,
            })
        }
        _ => Block::Other(raw),
    }
}

fn tool(raw: &Value) -> Tool {
    let read = || {
        let mut tool = raw.as_object()?.clone();
        if text(&mut tool, "type")? != "function" || tool.contains_key("function") {
            return None;
        }
        Some(Tool::Function {
            name: text(&mut tool, "name")?,
            description: text(&mut tool, "description").unwrap_or_default(),
            schema: tool.remove("parameters").unwrap_or_default(),
            with: tool,
        })
    };
    read().unwrap_or_else(|| Tool::Provider(raw.clone()))
}
