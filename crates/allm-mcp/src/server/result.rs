//! What a call came to, as a client is told.

use allm_core::{
    CallFailure, FailureReason, JsonEncoder, Part, Source, ToolResultEncoder as _, encode,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// How much a result with pictures and the like may be, in bytes.
const MAX_BLOCKS: usize = 6 * 1024 * 1024;

/// A value, with the text that was made of it.
///
/// An object goes out as structured content too, if the text is all of it: nothing that was cut, or left out by an
/// encoder, goes out by another way. `{"content": […]}`, with nothing but blocks of MCP in it, is those blocks.
pub(super) fn value(value: Value, content: String, limit: usize) -> CallToolResult {
    let text = match value.is_object() {
        true => JsonEncoder.encode(&value).unwrap_or_default(),
        false => return self::text(content),
    };
    // Where it is not the usual text, or a part of it, somebody's encoder chose other words.
    if encode::bound(text.clone(), limit) != content {
        return self::text(content);
    }
    if let Some(blocks) = blocks(&value, limit) {
        return match text.len() <= MAX_BLOCKS {
            true => CallToolResult::success(blocks),
            false => failed(&CallFailure::new(
                FailureReason::EncodingFailed,
                format!("the result is longer than {MAX_BLOCKS} bytes"),
            )),
        };
    }
    let is_whole = text == content;
    let mut result = self::text(content);
    result.structured_content = is_whole.then_some(value);
    result
}

/// The blocks that a value consists of, its texts cut like any other.
fn blocks(value: &Value, limit: usize) -> Option<Vec<ContentBlock>> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    let given = object.get("content")?.as_array()?;
    let blocks: Vec<ContentBlock> = serde_json::from_value(Value::Array(given.clone())).ok()?;
    if blocks.is_empty() {
        return None;
    }
    let cut = blocks.into_iter().map(|block| match block {
        ContentBlock::Text(mut text) => {
            text.text = encode::bound(text.text, limit);
            ContentBlock::Text(text)
        }
        ContentBlock::Resource(mut embedded) => {
            if let ResourceContents::TextResourceContents { text, .. } = &mut embedded.resource {
                *text = encode::bound(std::mem::take(text), limit);
            }
            ContentBlock::Resource(embedded)
        }
        other => other,
    });
    Some(cut.collect())
}

/// A result with pictures and files, after what it says if it says anything.
pub(super) fn with(mut result: CallToolResult, media: &[Part]) -> CallToolResult {
    if media.is_empty() || result.is_error == Some(true) {
        return result;
    }
    let is_said = |block: &ContentBlock| block.as_text().is_none_or(|text| !text.text.is_empty());
    result.content.retain(is_said);
    let blocks = media.iter().enumerate().filter_map(|(at, part)| {
        let (source, mime) = match part {
            Part::Image(part) => (&part.image.source, &part.image.mime_type),
            Part::File(part) => (&part.file.source, &part.file.mime_type),
            _ => return None,
        };
        let data = match source {
            Source::Base64(text) => text.clone(),
            source => STANDARD.encode(source.to_bytes().ok()?),
        };
        let mime = mime.clone()?;
        Some(match part {
            Part::Image(_) => ContentBlock::image(data, mime),
            _ => {
                let uri = format!("allm:file/{at}");
                let file = ResourceContents::blob(data, uri).with_mime_type(mime);
                ContentBlock::resource(file)
            }
        })
    });
    result.content.extend(blocks);
    result
}

/// A text alone.
pub(super) fn text(content: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(content)])
}

/// A failure. What a handler reported is told in its own words, everything else by its kind.
pub(super) fn failure(failure: &CallFailure, content: String, limit: usize) -> CallToolResult {
    let is_stable = content == encode::bound(failure.to_content(), limit);
    if failure.reason != FailureReason::Reported || !is_stable {
        return refused(content);
    }
    let words = encode::bound(failure.message.clone(), limit);
    let mut blocks = vec![ContentBlock::text(words)];
    if let Some(details) = &failure.details {
        let details = JsonEncoder.encode(details).unwrap_or_default();
        blocks.push(ContentBlock::text(encode::bound(details, limit)));
    }
    CallToolResult::error(blocks)
}

/// A failure of this side, in its stable form.
pub(super) fn failed(failure: &CallFailure) -> CallToolResult {
    refused(failure.to_content())
}

/// A failure whose text was made elsewhere.
pub(super) fn refused(content: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(content)])
}
