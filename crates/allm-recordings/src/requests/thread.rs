//! From the normal form of a recorded request to what a caller of the library would write.

use allm::{
    Detail, File, FilePart, FunctionSpec, Image, ImagePart, Message, Part, ProviderTool, RawJson,
    Source, Strict, ToolCallId, ToolSpec,
};
use serde_json::Value;

use super::normal::{Block, Held, Media, Side, Tool, Turn};

/// Why a recorded request cannot be said with the library's types.
pub type Why = &'static str;

/// The parts of what a person, an application or a tool says.
pub(crate) fn parts(blocks: &[Block], provider: &str) -> Result<Vec<Part>, Why> {
    blocks
        .iter()
        .map(|block| match block {
            Block::Text { text, .. } => Ok(Part::text(text)),
            Block::Media(media) => Ok(part(media, provider)),
            _ => Err("a block that has no type in the library"),
        })
        .collect()
}

fn part(media: &Media, provider: &str) -> Part {
    let source = match &media.source {
        Held::Data(data) => Source::Base64(data.clone()),
        Held::Url(url) => Source::Url(url.clone()),
        Held::Id(id) => Source::Provider {
            provider: provider.into(),
            id: id.clone(),
        },
    };
    if media.is_image {
        let mut image = Image::new(source);
        image.mime_type.clone_from(&media.mime);
        let detail = match media.with.get("detail").and_then(Value::as_str) {
            Some("low") => Detail::Low,
            Some("high") => Detail::High,
            _ => Detail::Auto,
        };
        return Part::Image(ImagePart {
            image: Box::new(image),
            detail,
        });
    }
    let mut file = File::new(source);
    file.mime_type.clone_from(&media.mime);
    Part::File(FilePart {
        file: Box::new(file),
        name: media.name.clone(),
    })
}

/// Ids of calls that a client made up, and those that the provider gave.
pub(crate) type Renamed = std::collections::HashMap<String, ToolCallId>;

/// Adds what a turn of the application, the person or a tool says to a conversation.
pub(crate) fn say(
    turn: &Turn,
    provider: &str,
    renamed: &Renamed,
    said: &mut Vec<Message>,
) -> Result<(), Why> {
    match turn.side {
        Side::System => said.push(Message::system(parts(&turn.blocks, provider)?)),
        Side::Assistant => return Err("an answer is not said"),
        Side::User | Side::Tool => {
            let (results, rest): (Vec<&Block>, Vec<&Block>) =
                turn.blocks.iter().partition(|block| block.is_result());
            let mut answered = Vec::new();
            for result in &results {
                let message = answer(result, (provider, renamed), said, &mut answered)?;
                said.push(message);
            }
            let rest: Vec<Block> = rest.into_iter().cloned().collect();
            if !rest.is_empty() || results.is_empty() {
                let mut message = Message::user(parts(&rest, provider)?);
                message.name = turn
                    .with
                    .get("name")
                    .and_then(Value::as_str)
                    .map(str::to_owned);
                said.push(message);
            }
        }
    }
    Ok(())
}

fn answer(
    result: &Block,
    (provider, renamed): (&str, &Renamed),
    said: &[Message],
    answered: &mut Vec<ToolCallId>,
) -> Result<Message, Why> {
    let Block::Result {
        id,
        name,
        content,
        is_error,
        ..
    } = result
    else {
        return Err("no result");
    };
    let asked = said
        .iter()
        .rev()
        .find(|message| !message.tool_calls.is_empty());
    let asked = asked.ok_or("a result without a call before it")?;
    let open = |call: &&allm::ToolCall| {
        let before = said
            .iter()
            .rev()
            .take_while(|message| message.role == allm::Role::Tool);
        let told = before.filter_map(|message| message.tool_call_id.as_ref());
        !answered.contains(&call.id) && !told.into_iter().any(|id| *id == call.id)
    };
    let mut calls = asked.tool_calls.iter();
    let call = match (id, name) {
        (Some(id), _) if !id.is_empty() => calls.find(|call| {
            let known = call.id.as_str() == id || call.wire_id.as_deref() == Some(id.as_str());
            known || renamed.get(id) == Some(&call.id)
        }),
        (_, Some(name)) => calls.filter(open).find(|call| call.name == *name),
        _ => calls.find(open),
    };
    let call = call.ok_or("a result that answers no call of the last answer")?;
    answered.push(call.id.clone());
    let parts = parts(content, provider)?;
    Ok(match is_error {
        true => Message::tool_error(call.id.clone(), parts),
        false => Message::tool_result(call.id.clone(), parts),
    })
}

/// A tool as a caller declares it.
pub(crate) fn tool(tool: &Tool, provider: &str) -> ToolSpec {
    match tool {
        Tool::Function {
            name,
            description,
            schema,
            with,
        } => ToolSpec::Function(FunctionSpec {
            name: name.as_str().into(),
            description: description.clone(),
            schema: match schema {
                Value::Null => Value::Object(serde_json::Map::new()).into(),
                schema => schema.clone().into(),
            },
            strict: match with.get("strict") {
                Some(Value::Bool(true)) => Strict::Yes,
                _ => Strict::No,
            },
        }),
        Tool::Provider(definition) => ToolSpec::Provider(ProviderTool {
            provider: provider.into(),
            definition: RawJson::new(definition.to_string()).unwrap(),
        }),
    }
}
