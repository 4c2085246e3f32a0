//! Members that one side has and the other has not.

use serde_json::{Map, Value};

use super::{Class, Pair};
use crate::requests::dialect::Dialect;
use crate::requests::normal::{Block, Normal, Side, Tool, is_empty};

pub(super) const CLASSES: &[Class] = &[
    Class::new(
        "empty_members",
        "the client sends members that say nothing (`content: null`, `refusal: null`, `annotations: []`), ours leaves them out; or the other way round where an item goes back as it came",
        empty_members,
    ),
    Class::new(
        "cache_marks",
        "the client marks blocks with `cache_control` or `prompt_cache_breakpoint`; ours asks for caching with one setting for the whole request",
        cache_marks,
    ),
    Class::new(
        "item_ids",
        "the client sends ids and states of items (`id`, `status`, `index`) that the API does not need; calls and results are joined by `call_id`",
        |pair| {
            drop_recorded(pair, &["id", "status", "index", "logprobs"]);
        },
    ),
    Class::new(
        "said_defaults",
        "the client says what is so anyhow (`is_error: false`, `prefix: false`, `detail: auto`, `strict: false`); or ours does (`strict`, `detail`), where leaving it out would mean something else on Responses",
        said_defaults,
    ),
    Class::new(
        "name_of_result",
        "the client tells the tool's name with a result; the id says it",
        name_of_result,
    ),
    Class::new(
        "clients_own",
        "the client sends members that the wire does not have (`metadata` on a result, `parsed`)",
        |pair| {
            drop_recorded(
                pair,
                &[
                    "metadata",
                    "parsed",
                    "audio",
                    "function_call",
                    "images",
                    "tool_calls",
                    "text",
                    "image_url",
                ],
            )
        },
    ),
    Class::new(
        "wrapper_of_result",
        "the client wraps a result in another name (`result`, `content`, or none), ours in `output`: the model reads the value",
        |pair| {
            if pair.dialect == Dialect::Gemini {
                drop_recorded(pair, &["wrapper"]);
            }
        },
    ),
    Class::new(
        "options_of_tools",
        "the client uses an option of a function that has no field in the library (`defer_loading`, `allowed_callers`, `responseJsonSchema`); it can be sent as a provider's tool",
        options_of_tools,
    ),
    Class::new(
        "options_of_documents",
        "the client asks for citations of a document, for which the library has no field",
        |pair| {
            if pair.dialect == Dialect::AnthropicMessages {
                for turn in &mut pair.recorded.turns {
                    for block in &mut turn.blocks {
                        if let Block::Media(media) = block {
                            media.with.remove("citations");
                        }
                    }
                }
            }
        },
    ),
    Class::new(
        "no_arguments",
        "the client sends `null` as the arguments of a call without any, ours `{}`",
        no_arguments,
    ),
    Class::new(
        "result_without_id",
        "the client leaves out which call a result answers, ours says it",
        result_without_id,
    ),
    Class::new(
        "schema_without_properties",
        "the client leaves `properties` or `type` out of the schema of a tool without arguments, ours says them (the contract, 2.6)",
        schema_without_properties,
    ),
    Class::new(
        "name_of_file",
        "the client names a file differently or not at all; the API wants a name for what is sent along",
        name_of_file,
    ),
];

/// Every map of members of a request.
fn each_with(normal: &mut Normal, change: &mut impl FnMut(&mut Map<String, Value>)) {
    for block in &mut normal.system {
        block_with(block, change);
    }
    for turn in &mut normal.turns {
        change(&mut turn.with);
        for block in &mut turn.blocks {
            block_with(block, change);
        }
    }
}

fn block_with(block: &mut Block, change: &mut impl FnMut(&mut Map<String, Value>)) {
    if let Block::Result { content, .. } = block {
        for block in content {
            block_with(block, change);
        }
    }
    if let Some(with) = block.with_mut() {
        change(with);
    }
}

fn drop_recorded(pair: &mut Pair, names: &[&str]) {
    let mut drop =
        |with: &mut Map<String, Value>| with.retain(|name, _| !names.contains(&name.as_str()));
    each_with(&mut pair.recorded, &mut drop);
    for tool in &mut pair.recorded.tools {
        if let Tool::Function { with, .. } = tool {
            drop(with);
        }
    }
}

/// An answer that is read from a request may have the client's marks.
fn cache_marks(pair: &mut Pair) {
    const MARKS: &[&str] = &["cache_control", "prompt_cache_breakpoint"];
    drop_recorded(pair, MARKS);
    each_with(&mut pair.ours, &mut |with| {
        with.retain(|name, _| !MARKS.contains(&name.as_str()));
    });
}

fn empty_members(pair: &mut Pair) {
    for side in [&mut pair.recorded, &mut pair.ours] {
        each_with(side, &mut |with| with.retain(|_, value| !is_empty(value)));
        for tool in &mut side.tools {
            if let Tool::Function { with, .. } = tool {
                with.retain(|_, value| !is_empty(value));
            }
        }
        for turn in &mut side.turns {
            turn.blocks.retain(|block| match block {
                Block::Text { text, with } => !text.is_empty() || !with.is_empty(),
                Block::Refusal(text) => !text.is_empty(),
                _ => true,
            });
            for block in &mut turn.blocks {
                match block {
                    Block::Reasoning(Value::Object(thought)) => {
                        thought.retain(|name, value| {
                            !is_empty(value) || name == "thinking" || name == "summary"
                        });
                    }
                    Block::Other(value) => without_empty(value),
                    Block::Result { content, .. } => content.retain(
                        |block| !matches!(block, Block::Text { text, .. } if text.is_empty()),
                    ),
                    _ => {}
                }
            }
            turn.blocks.retain(
                |block| !matches!(block, Block::Reasoning(Value::Object(thought)) if thought.is_empty()),
            );
        }
    }
}

fn without_empty(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.values_mut().for_each(without_empty);
            object.retain(|_, value| !is_empty(value));
        }
        Value::Array(list) => list.iter_mut().for_each(without_empty),
        _ => {}
    }
}

fn said_defaults(pair: &mut Pair) {
    for side in [&mut pair.recorded, &mut pair.ours] {
        each_with(side, &mut |with| {
            for name in ["is_error", "prefix"] {
                if with.get(name) == Some(&false.into()) {
                    with.remove(name);
                }
            }
            if with.get("detail") == Some(&"auto".into()) {
                with.remove("detail");
            }
        });
        for tool in &mut side.tools {
            if let Tool::Function { with, .. } = tool
                && with.get("strict") == Some(&false.into())
            {
                with.remove("strict");
            }
        }
    }
}

fn name_of_result(pair: &mut Pair) {
    if pair.dialect != Dialect::OpenAiChat {
        return;
    }
    for turn in &mut pair.recorded.turns {
        for block in &mut turn.blocks {
            if let Block::Result { name, .. } = block {
                *name = None;
            }
        }
    }
}

fn options_of_tools(pair: &mut Pair) {
    const OPTIONS: &[&str] = &[
        "defer_loading",
        "allowed_callers",
        "eager_input_streaming",
        "responseJsonSchema",
        "response",
        "behavior",
        "function",
        "name",
    ];
    for tool in &mut pair.recorded.tools {
        if let Tool::Function { with, .. } = tool {
            with.retain(|name, _| !OPTIONS.contains(&name.as_str()));
        }
    }
}

fn schema_without_properties(pair: &mut Pair) {
    for tool in &mut pair.recorded.tools {
        if let Tool::Function { schema, .. } = tool {
            if schema.is_null() {
                *schema = Value::Object(Map::new());
            }
            if let Some(schema) = schema.as_object_mut() {
                schema.entry("type").or_insert("object".into());
                let none = Value::Object(Map::new());
                schema.entry("properties").or_insert(none);
            }
        }
    }
}

fn name_of_file(pair: &mut Pair) {
    for side in [&mut pair.recorded, &mut pair.ours] {
        for turn in side
            .turns
            .iter_mut()
            .filter(|turn| turn.side != Side::Assistant)
        {
            for block in &mut turn.blocks {
                let inner = match block {
                    Block::Result { content, .. } => content.as_mut_slice(),
                    block => std::slice::from_mut(block),
                };
                for block in inner {
                    if let Block::Media(media) = block {
                        media.name = None;
                    }
                }
            }
        }
    }
}

fn no_arguments(pair: &mut Pair) {
    for turn in &mut pair.recorded.turns {
        for block in &mut turn.blocks {
            if let Block::Call { arguments, .. } = block
                && arguments.is_null()
            {
                *arguments = Value::Object(Map::new());
            }
        }
    }
}

fn result_without_id(pair: &mut Pair) {
    if pair.dialect != Dialect::OpenAiChat {
        return;
    }
    for (recorded, ours) in pair.turns() {
        for (recorded, ours) in recorded.blocks.iter_mut().zip(&ours.blocks) {
            if let (Block::Result { id, .. }, Block::Result { id: own, .. }) = (recorded, ours)
                && id.is_none()
            {
                id.clone_from(own);
            }
        }
    }
}
