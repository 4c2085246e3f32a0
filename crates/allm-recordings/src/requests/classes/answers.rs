//! What a client does to an answer before it sends it back.

use serde_json::Value;

use super::{Class, Pair};
use crate::requests::dialect::Dialect;
use crate::requests::normal::{Block, Turn, is_empty};

pub(super) const CLASSES: &[Class] = &[
    Class::new(
        "signature_alphabet",
        "the client writes a signature in the URL-safe alphabet of base64, ours as it came: the same bytes",
        signature_alphabet,
    ),
    Class::new(
        "item_reference",
        "the client names items that the provider stores, ours sends them whole",
        item_reference,
    ),
    Class::new(
        "thought_with_the_provider",
        "the client names a thought that the provider stores; ours asks it to store nothing, so the name alone would be refused (the contract, 2.7)",
        thought_with_the_provider,
    ),
    Class::new(
        "thinking_not_taken_back",
        "the client sends readable thinking back; the profile says that the server does not want it, and thoughts without a signature mean nothing to Gemini (the contract, 2.7 and 8)",
        thinking_not_taken_back,
    ),
    Class::new(
        "client_moved_signature",
        "the client puts the signature of a text on the thought before it; ours stands where it came",
        client_moved_signature,
    ),
    Class::new(
        "client_left_out_thinking",
        "the client loses the thinking of the answer; ours sends it back",
        client_left_out_thinking,
    ),
    Class::new(
        "client_changed_thinking",
        "the client rewrites the thinking around its signature or its encrypted text, which are the same byte for byte",
        client_changed_thinking,
    ),
    Class::new(
        "client_left_out_parts",
        "the client loses text or provider's blocks of the answer; ours sends them back",
        client_left_out_parts,
    ),
    Class::new(
        "client_left_out_calls",
        "the client sends back only some of the calls of the answer and their results; the others are in ours without a result",
        client_left_out_calls,
    ),
    Class::new(
        "client_order",
        "the client changes the order of text, thinking and calls in the answer; ours keeps it",
        client_order,
    ),
    Class::new(
        "client_left_out_members",
        "the client loses what the provider attached to a part of the answer (`caller`, `phase`, `annotations`, `citations`, the id or signature of a call); ours sends it back",
        client_left_out_members,
    ),
    Class::new(
        "client_copied_signature",
        "the client puts the signature of the first call on every call, or one of its own on a call that had none; ours stands where it came",
        client_copied_signature,
    ),
    Class::new(
        "client_renamed_calls",
        "the client gives calls ids of its own, in call and result alike; ours keeps the provider's",
        client_renamed_calls,
    ),
    Class::new(
        "client_changed_calls",
        "the client changes the name or the arguments of a call before it sends it back; ours sends what the model wrote",
        client_changed_calls,
    ),
    Class::new(
        "client_rewrote_text",
        "the client changes the text of the answer (trims it, adds to it, writes its JSON anew); ours sends what the model said",
        client_rewrote_text,
    ),
    Class::new(
        "client_rewrote_blocks",
        "the client writes a provider's block anew, with members lost or under other names; ours sends it as it came",
        client_rewrote_blocks,
    ),
];

fn item_reference(pair: &mut Pair) {
    for (recorded, ours) in pair.answers() {
        let mut used = Vec::new();
        for block in &mut recorded.blocks {
            let Block::Other(item) = block else { continue };
            if item.get("type") != Some(&"item_reference".into()) {
                continue;
            }
            let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
            let same_kind = |at: &usize| match &ours.blocks[*at] {
                Block::Reasoning(thought) => thought.get("id").and_then(Value::as_str) == Some(id),
                Block::Call { .. } => id.starts_with("fc_"),
                Block::Text { .. } | Block::Refusal(_) => id.starts_with("msg_"),
                Block::Other(item) => item.get("id").and_then(Value::as_str) == Some(id),
                _ => false,
            };
            let found = (0..ours.blocks.len()).find(|at| !used.contains(at) && same_kind(at));
            if let Some(at) = found {
                used.push(at);
                *block = ours.blocks[at].clone();
            }
        }
    }
}

fn client_left_out_members(pair: &mut Pair) {
    let gemini = pair.dialect == Dialect::Gemini;
    for (recorded, ours) in pair.turns() {
        for (recorded, ours) in recorded.blocks.iter_mut().zip(&mut ours.blocks) {
            if let (Block::Call { id: None, .. }, Block::Call { id, .. })
            | (Block::Result { id: None, .. }, Block::Result { id, .. }) =
                (&*recorded, &mut *ours)
                && gemini
            {
                *id = None;
            }
            let (Some(recorded), Some(ours)) = (recorded.with_mut(), ours.with_mut()) else {
                continue;
            };
            ours.retain(|name, _| recorded.contains_key(name));
        }
    }
}

fn client_copied_signature(pair: &mut Pair) {
    const NAME: &str = "thoughtSignature";
    for (recorded, ours) in pair.answers() {
        let first = recorded.blocks.iter_mut().find_map(|block| {
            matches!(block, Block::Call { .. })
                .then(|| block.with_mut()?.get(NAME).cloned())
                .flatten()
        });
        for (recorded, ours) in recorded.blocks.iter_mut().zip(&mut ours.blocks) {
            if let (Block::Call { with, .. }, Block::Call { with: own, .. }) = (recorded, ours)
                && !own.contains_key(NAME)
                && (with.get(NAME) == first.as_ref() || with.get(NAME).is_some_and(is_skip))
            {
                with.remove(NAME);
            }
        }
    }
}

fn thought_with_the_provider(pair: &mut Pair) {
    if pair.dialect != Dialect::OpenAiResponses {
        return;
    }
    for (recorded, ours) in pair.answers() {
        let in_ours = |block: &Block| ours.blocks.contains(block);
        recorded.blocks.retain(|block| match block {
            Block::Reasoning(thought) => {
                let told = |name: &str| thought.get(name).is_some_and(|value| !is_empty(value));
                told("encrypted_content") || told("content") || in_ours(block)
            }
            Block::Other(item) => {
                let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
                item.get("type") != Some(&"item_reference".into()) || !id.starts_with("rs_")
            }
            _ => true,
        });
    }
}

/// Thinking that can be read and that nobody signed.
fn is_readable(thought: &Value) -> bool {
    let readable = [
        "reasoning",
        "reasoning_content",
        "text",
        "reasoning_details",
        "thinking",
    ];
    let signed = ["signature", "encrypted_content", "thoughtSignature", "data"];
    thought.as_object().is_some_and(|thought| {
        thought.keys().any(|name| readable.contains(&name.as_str()))
            && !thought.keys().any(|name| signed.contains(&name.as_str()))
    })
}

fn thinking_not_taken_back(pair: &mut Pair) {
    if !matches!(pair.dialect, Dialect::OpenAiChat | Dialect::Gemini) {
        return;
    }
    for (recorded, ours) in pair.answers() {
        let same = |thought: &Value| {
            ours.blocks
                .iter()
                .any(|block| matches!(block, Block::Reasoning(own) if own == thought))
        };
        let has_own = ours
            .blocks
            .iter()
            .any(|block| matches!(block, Block::Reasoning(_)));
        recorded.blocks.retain(|block| match block {
            Block::Reasoning(thought) => {
                let details = thought.get("reasoning_details").is_some();
                !is_readable(thought) || same(thought) || (details && has_own)
            }
            _ => true,
        });
    }
}

fn client_moved_signature(pair: &mut Pair) {
    const NAME: &str = "thoughtSignature";
    for (recorded, ours) in pair.answers() {
        let kept: Vec<Value> = ours
            .blocks
            .iter_mut()
            .filter_map(|block| block.with_mut()?.get(NAME).cloned())
            .collect();
        recorded.blocks.retain(|block| match block {
            Block::Reasoning(thought) => thought
                .get(NAME)
                .is_none_or(|signature| !kept.contains(signature)),
            _ => true,
        });
    }
}

fn client_left_out_thinking(pair: &mut Pair) {
    for (recorded, ours) in pair.answers() {
        let is_thought = |block: &Block| matches!(block, Block::Reasoning(_));
        let in_recorded = recorded
            .blocks
            .iter()
            .filter(|block| is_thought(block))
            .count();
        let in_ours = ours.blocks.iter().filter(|block| is_thought(block)).count();
        if in_recorded < in_ours {
            let kept: Vec<Block> = recorded
                .blocks
                .iter()
                .filter(|block| is_thought(block))
                .cloned()
                .collect();
            ours.blocks
                .retain(|block| !is_thought(block) || kept.contains(block));
        }
    }
}

/// What only the provider understands of a thought.
fn sealed(thought: &Value, found: &mut Vec<Value>) {
    match thought {
        Value::Object(object) => {
            for (name, value) in object {
                match name.as_str() {
                    "signature" | "encrypted_content" | "thoughtSignature" | "data" => {
                        if !value.is_null() {
                            found.push(value.clone());
                        }
                    }
                    _ => sealed(value, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| sealed(value, found)),
        _ => {}
    }
}

fn client_changed_thinking(pair: &mut Pair) {
    for (recorded, ours) in pair.answers() {
        for (recorded, ours) in recorded.blocks.iter_mut().zip(&mut ours.blocks) {
            let (Block::Reasoning(recorded), Block::Reasoning(own)) = (recorded, ours) else {
                continue;
            };
            let (mut theirs, mut kept) = (Vec::new(), Vec::new());
            sealed(recorded, &mut theirs);
            sealed(own, &mut kept);
            // All that the client sends back sealed is in ours too.
            if theirs.iter().all(|value| kept.contains(value)) {
                own.clone_from(recorded);
            }
        }
    }
}

fn client_left_out_parts(pair: &mut Pair) {
    for (recorded, ours) in pair.answers() {
        for of in [is_text as fn(&Block) -> bool, is_other] {
            let mut to_drop = count(ours, of).saturating_sub(count(recorded, of));
            ours.blocks.retain(|block| {
                let drop = of(block) && to_drop > 0 && !has(recorded, block);
                to_drop -= usize::from(drop);
                !drop
            });
        }
    }
}

/// Whether a turn has this block, whatever stands with it.
fn has(turn: &Turn, block: &Block) -> bool {
    turn.blocks.iter().any(|other| match (other, block) {
        (Block::Text { text: one, .. }, Block::Text { text: other, .. }) => one == other,
        (one, other) => one == other,
    })
}

fn count(turn: &Turn, of: fn(&Block) -> bool) -> usize {
    turn.blocks.iter().filter(|block| of(block)).count()
}

fn is_text(block: &Block) -> bool {
    matches!(block, Block::Text { .. } | Block::Refusal(_))
}

fn is_other(block: &Block) -> bool {
    matches!(block, Block::Other(_))
}

fn client_left_out_calls(pair: &mut Pair) {
    for (recorded, ours) in pair.answers() {
        if recorded.calls().count() < ours.calls().count() {
            let kept = recorded.blocks.clone();
            ours.blocks.retain(|block| {
                let Block::Call { id, .. } = block else {
                    return true;
                };
                let same =
                    |other: &&Block| matches!(other, Block::Call { id: kept, .. } if kept == id);
                kept.iter().any(|other| same(&other))
            });
        }
    }
}

/// Ids become numbers, one for each call; a result has that of the last call of its id.
fn client_renamed_calls(pair: &mut Pair) {
    if pair.dialect == Dialect::Gemini {
        // Where the provider gave none, none is sent.
        for (recorded, ours) in pair.turns() {
            for (recorded, ours) in recorded.blocks.iter_mut().zip(&ours.blocks) {
                if let (Block::Call { id, .. }, Block::Call { id: None, .. })
                | (Block::Result { id, .. }, Block::Result { id: None, .. }) = (recorded, ours)
                {
                    *id = None;
                }
            }
        }
    }
    for side in [&mut pair.recorded, &mut pair.ours] {
        let mut seen: Vec<String> = Vec::new();
        for turn in &mut side.turns {
            for block in &mut turn.blocks {
                match block {
                    Block::Call { id: Some(id), .. } => {
                        seen.push(std::mem::replace(id, seen.len().to_string()));
                    }
                    Block::Result { id: Some(id), .. } => {
                        if let Some(at) = seen.iter().rposition(|known| known == id) {
                            *id = at.to_string();
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

fn client_order(pair: &mut Pair) {
    let place = |block: &Block| match block {
        Block::Reasoning(_) => 0,
        Block::Text { .. } | Block::Refusal(_) => 1,
        Block::Other(_) | Block::Media(_) => 2,
        Block::Call { .. } | Block::Result { .. } => 3,
    };
    for (recorded, ours) in pair.answers() {
        recorded.blocks.sort_by_key(place);
        ours.blocks.sort_by_key(place);
    }
}

fn client_rewrote_text(pair: &mut Pair) {
    // Text that is only in the recorded answer would be lost by us, but for thinking that a client makes text of.
    let is_thought =
        |block: &Block| matches!(block, Block::Text { text, .. } if text.starts_with("<think>"));
    for (recorded, ours) in pair.answers() {
        let only_thoughts = recorded
            .blocks
            .iter()
            .filter(|block| is_text(block))
            .all(is_thought);
        if count(ours, is_text) > 0 || only_thoughts {
            for turn in [recorded, ours] {
                turn.blocks.retain(|block| !is_text(block));
            }
        }
    }
}

fn client_rewrote_blocks(pair: &mut Pair) {
    for (recorded, ours) in pair.answers() {
        for (recorded, ours) in recorded.blocks.iter_mut().zip(&mut ours.blocks) {
            if let (Block::Other(recorded), Block::Other(ours)) = (recorded, ours) {
                ours.clone_from(recorded);
            }
        }
    }
}

fn client_changed_calls(pair: &mut Pair) {
    for (recorded, ours) in pair.answers() {
        for (recorded, ours) in recorded.blocks.iter().zip(&mut ours.blocks) {
            if let (Block::Call { id, .. }, Block::Call { id: own, .. }) = (recorded, &*ours)
                && id == own
                && id.is_some()
            {
                ours.clone_from(recorded);
            }
        }
    }
}

fn is_skip(signature: &Value) -> bool {
    // In words, or in base64.
    let skips = [
        "skip/thought/signature/validator",
        "skip_thought_signature_validator",
        "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    ];
    signature.as_str().is_some_and(|text| skips.contains(&text))
}

fn signature_alphabet(pair: &mut Pair) {
    fn plain(value: &mut Value) {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    match value {
                        Value::String(text) if name == "thoughtSignature" => {
                            *text = text.replace('-', "+").replace('_', "/");
                        }
                        value => plain(value),
                    }
                }
            }
            Value::Array(list) => list.iter_mut().for_each(plain),
            _ => {}
        }
    }
    if pair.dialect != Dialect::Gemini {
        return;
    }
    for side in [&mut pair.recorded, &mut pair.ours] {
        for block in side.turns.iter_mut().flat_map(|turn| &mut turn.blocks) {
            match block {
                Block::Reasoning(value) | Block::Other(value) => plain(value),
                block => {
                    if let Some(with) = block.with_mut() {
                        let mut value = Value::Object(std::mem::take(with));
                        plain(&mut value);
                        if let Value::Object(plain) = value {
                            *with = plain;
                        }
                    }
                }
            }
        }
    }
}
