//! Gemini's generateContent. Its names may be written with humps or with underscores; both are read.

use serde_json::{Map, Value};

use super::json::{list, object, text};
use super::{Block, Held, Media, Normal, Side, Tool, Turn};

pub(super) fn normal(body: &Map<String, Value>) -> Option<Normal> {
    let mut body = humps(body.clone());
    let contents = list(&mut body, "contents")?;
    let system = match body.remove("systemInstruction") {
        Some(Value::Object(mut system)) => list(&mut system, "parts").unwrap_or_default(),
        Some(Value::String(text)) => vec![serde_json::json!({"text": text})],
        _ => Vec::new(),
    };
    let mut tools = Vec::new();
    for entry in list(&mut body, "tools").unwrap_or_default() {
        let Value::Object(entry) = entry else {
            tools.push(Tool::Provider(entry));
            continue;
        };
        let mut entry = humps(entry);
        for raw in list(&mut entry, "functionDeclarations").unwrap_or_default() {
            tools.push(tool(raw));
        }
        if !entry.is_empty() {
            tools.push(Tool::Provider(entry.into()));
        }
    }
    Some(Normal {
        system: system.into_iter().map(part).collect(),
        turns: contents.iter().map(turn).collect::<Option<_>>()?,
        tools,
    })
}

/// Names of members with humps: `function_call` is `functionCall`.
fn humps(object: Map<String, Value>) -> Map<String, Value> {
    let hump = |name: String| {
        let mut pieces = name.split('_');
        let mut joined = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let mut letters = piece.chars();
            joined.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            joined.push_str(letters.as_str());
        }
        joined
    };
    object
        .into_iter()
        .map(|(name, value)| (hump(name), value))
        .collect()
}

fn turn(raw: &Value) -> Option<Turn> {
    let mut content = raw.as_object()?.clone();
    let side = match text(&mut content, "role").as_deref() {
        Some("model") => Side::Assistant,
        Some("user" | "function") | None => Side::User,
        _ => return None,
    };
    let mut turn = Turn::new(side, raw);
    turn.blocks = list(&mut content, "parts")?.into_iter().map(part).collect();
    turn.with = content;
    Some(turn)
}

fn part(raw: Value) -> Block {
    read(&raw).unwrap_or(Block::Other(raw))
}

fn read(raw: &Value) -> Option<Block> {
    let mut part = humps(raw.as_object()?.clone());
    // False is what is meant when it is not said.
    if part.get("thought") == Some(&false.into()) {
        part.remove("thought");
    }
    if let Some(said) = text(&mut part, "text") {
        if part.remove("thought").is_some() {
            part.insert("text".into(), said.into());
            return Some(Block::Reasoning(part.into()));
        }
        return Some(Block::Text {
            text: said,
            with: part,
        });
    }
    // A part that only carries a signature is an empty text; some clients leave the text out.
    if part.len() == 1 && part.contains_key("thoughtSignature") {
        return Some(Block::Text {
            text: String::new(),
            with: part,
        });
    }
    if let Some(call) = object(&mut part, "functionCall") {
        let mut call = humps(call);
        let id = text(&mut call, "id");
        let name = text(&mut call, "name")?;
        let arguments = call.remove("args").unwrap_or(Value::Object(Map::new()));
        part.extend(call);
        return Some(Block::Call {
            id,
            name,
            arguments,
            with: part,
        });
    }
    if let Some(result) = object(&mut part, "functionResponse") {
        return Some(response(humps(result), part));
    }
    media(part)
}

/// A result: what stands in an object of one member is that member's value.
fn response(mut result: Map<String, Value>, mut with: Map<String, Value>) -> Block {
    let id = text(&mut result, "id");
    let name = text(&mut result, "name");
    let given = result.remove("response").unwrap_or_default();
    let parts = list(&mut result, "parts").unwrap_or_default();
    let mut is_error = false;
    let value = match given {
        Value::Object(object) if object.len() == 1 => {
            let (wrapper, value) = object.into_iter().next().unwrap_or_default();
            is_error = wrapper == "error";
            if wrapper != "output" && !is_error {
                with.insert("wrapper".into(), wrapper.into());
            }
            value
        }
        whole => {
            with.insert("wrapper".into(), Value::Null);
            whole
        }
    };
    let mut content = vec![Block::text(&super::compact(&value))];
    content.extend(parts.into_iter().map(part));
    with.extend(result);
    Block::Result {
        id,
        name,
        content,
        is_error,
        with,
    }
}

fn media(mut part: Map<String, Value>) -> Option<Block> {
    let (mut held, source): (Map<String, Value>, fn(String) -> Held) =
        match object(&mut part, "inlineData") {
            Some(held) => (humps(held), Held::Data),
            None => (humps(object(&mut part, "fileData")?), Held::Url),
        };
    let place = text(&mut held, "data").or_else(|| text(&mut held, "fileUri"))?;
    let mime = text(&mut held, "mimeType");
    let name = text(&mut held, "displayName");
    part.extend(held);
    Some(Block::Media(Media {
        is_image: mime
            .as_deref()
            .is_some_and(|mime| mime.starts_with("image/")),
        mime,
        source: source(place),
        name,
        with: part,
    }))
}

fn tool(raw: Value) -> Tool {
    let read = |raw: &Value| {
        let mut tool = humps(raw.as_object()?.clone());
        let name = text(&mut tool, "name")?;
        let description = text(&mut tool, "description").unwrap_or_default();
        let schema = match tool.remove("parametersJsonSchema") {
            Some(schema) => schema,
            None => {
                let mut schema = tool.remove("parameters").unwrap_or_default();
                small_types(&mut schema);
                schema
            }
        };
        Some(Tool::Function {
            name,
            description,
            schema,
            with: tool,
        })
    };
    read(&raw).unwrap_or(Tool::Provider(raw))
}

/// The older form of schemas writes `STRING` where JSON Schema has `string`.
fn small_types(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            for (name, value) in object {
                match value {
                    Value::String(kind) if name == "type" => *kind = kind.to_ascii_lowercase(),
                    value => small_types(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(small_types),
        _ => {}
    }
}
