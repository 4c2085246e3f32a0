//! Where things stand.

use serde_json::{Map, Value};

use super::{Class, Pair};
use crate::requests::dialect::Dialect;
use crate::requests::normal::{Block, Media, Side, Turn};

pub(super) const CLASSES: &[Class] = &[
    Class::new(
        "instructions",
        "the client says the system text in `instructions`, ours is a system item at the start: the model reads the same",
        instructions,
    ),
    Class::new(
        "developer_role",
        "the client calls the system role `developer`: the API reads both alike",
        developer_role,
    ),
    Class::new(
        "system_in_blocks",
        "the client sends the system text in several blocks, ours is one text, joined with line feeds",
        system_in_blocks,
    ),
    Class::new(
        "text_in_blocks",
        "the client sends a person's or tool's text in several blocks, ours is one text, joined with line feeds (the contract, 2.3)",
        text_in_blocks,
    ),
    Class::new(
        "calls_and_results_in_turn",
        "the client writes each call of an answer directly before its result, or the answer as several messages; ours keeps the answer whole and the results after it",
        calls_and_results_in_turn,
    ),
    Class::new(
        "empty_answer_left_out",
        "the client sends back an answer that says nothing; the wire refuses such blocks, ours leaves the answer out and merges its neighbours (the contract, 2.3)",
        empty_answer_left_out,
    ),
    Class::new(
        "blank_text",
        "the client sends blocks of blank text, which the wire refuses or does not read; ours leaves them out (the contract, 2.3)",
        blank_text,
    ),
    Class::new(
        "text_in_pieces",
        "the client sends the text of an answer in several parts, ours in one: a run of text is one part (the contract, 7)",
        text_in_pieces,
    ),
    Class::new(
        "results_in_several_messages",
        "the client sends the results of one answer in several messages, ours in one, as the wire wants it (the contract, 2.3)",
        neighbours,
    ),
    Class::new(
        "results_stand_alone",
        "the client adds what else the person says to the content of the results; with ours the results stand alone and the rest follows",
        results_stand_alone,
    ),
    Class::new(
        "media_follow_results",
        "the client puts pictures into the result, ours announces them there and sends them in a user message directly after (the contract, 2.4)",
        media_follow_results,
    ),
    Class::new(
        "order_of_results",
        "the client sends the results in the order in which they were ready, ours in call order (the contract, 2.3)",
        order_of_results,
    ),
    Class::new(
        "order_of_tools",
        "the client lists the provider's tools before the functions; the order of different kinds of tools means nothing",
        order_of_tools,
    ),
];

fn instructions(pair: &mut Pair) {
    if pair.dialect != Dialect::OpenAiResponses || pair.recorded.system.is_empty() {
        return;
    }
    let mut turn = Turn::new(Side::System, &Value::Null);
    turn.raw.clear();
    turn.blocks = std::mem::take(&mut pair.recorded.system);
    pair.recorded.turns.insert(0, turn);
}

fn developer_role(pair: &mut Pair) {
    for turn in &mut pair.recorded.turns {
        if turn.side == Side::System {
            turn.with.remove("role");
        }
    }
}

/// Several texts as one.
fn join(blocks: &mut Vec<Block>, with: &str) {
    let texts: Option<Vec<String>> = blocks
        .iter()
        .map(|block| match block {
            Block::Text { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect();
    if let Some(texts) = texts.filter(|texts| texts.len() > 1) {
        *blocks = vec![Block::text(&texts.join(with))];
    }
}

fn system_in_blocks(pair: &mut Pair) {
    for blocks in [&mut pair.recorded.system, &mut pair.ours.system] {
        join(blocks, "\n");
    }
    for turn in &mut pair.recorded.turns {
        if turn.side == Side::System {
            join(&mut turn.blocks, "\n");
        }
    }
}

fn text_in_blocks(pair: &mut Pair) {
    if !matches!(pair.dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses) {
        return;
    }
    for turn in &mut pair.recorded.turns {
        if turn.side == Side::User {
            join(&mut turn.blocks, "\n");
        }
        for block in &mut turn.blocks {
            if let Block::Result { content, .. } = block {
                join(content, "\n");
            }
        }
    }
}

/// Brings the pieces of an answer together, its results after it.
fn calls_and_results_in_turn(pair: &mut Pair) {
    let ours: Vec<Vec<Option<String>>> = pair
        .ours
        .turns
        .iter()
        .filter(|turn| turn.side == Side::Assistant)
        .map(|turn| turn.calls().map(|(id, _)| id.map(str::to_owned)).collect())
        .collect();
    let of_one = |first: &Turn, next: &Turn| {
        let ids = |turn: &Turn| -> Vec<Option<String>> {
            turn.calls().map(|(id, _)| id.map(str::to_owned)).collect()
        };
        let (first, next) = (ids(first), ids(next));
        !next.is_empty()
            && ours.iter().any(|calls| {
                next.iter().all(|id| id.is_some() && calls.contains(id))
                    && first.iter().all(|id| calls.contains(id))
            })
    };
    let mut turns: Vec<Turn> = Vec::new();
    for turn in std::mem::take(&mut pair.recorded.turns) {
        let before = turns
            .iter()
            .rposition(|before| before.side == Side::Assistant);
        let only_results = |from: usize| {
            turns[from + 1..].iter().all(|between| {
                between.side == Side::Tool || between.blocks.iter().all(Block::is_result)
            })
        };
        match before {
            Some(at)
                if turn.side == Side::Assistant
                    && only_results(at)
                    && (turns[at].blocks.is_empty() || of_one(&turns[at], &turn)) =>
            {
                turns[at].blocks.extend(turn.blocks);
                turns[at].with.extend(turn.with);
            }
            _ => turns.push(turn),
        }
    }
    pair.recorded.turns = turns;
}

fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text { text, .. } if text.trim().is_empty())
}

/// What a client writes in the place of text without anything to read.
fn is_placeholder(block: &Block) -> bool {
    matches!(block, Block::Text { text, .. } if text == "[empty string]")
}

fn empty_answer_left_out(pair: &mut Pair) {
    if matches!(pair.dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses) {
        return;
    }
    let mut ours = pair.ours.turns.iter().flat_map(|turn| &turn.blocks);
    let is_ours = ours.any(is_placeholder);
    let says_nothing = |block: &Block| is_blank(block) || !is_ours && is_placeholder(block);
    let turns = &mut pair.recorded.turns;
    let before = turns.len();
    turns.retain(|turn| turn.side != Side::Assistant || !turn.blocks.iter().all(says_nothing));
    if turns.len() != before {
        neighbours(pair);
    }
}

fn blank_text(pair: &mut Pair) {
    let is_left_out = |block: &Block| match (pair.dialect, block) {
        (Dialect::AnthropicMessages, block) => is_blank(block),
        (Dialect::Gemini, Block::Text { text, with }) => text.is_empty() && with.is_empty(),
        _ => false,
    };
    for turn in pair.recorded.turns.iter_mut().chain(&mut pair.ours.turns) {
        turn.blocks.retain(|block| !is_left_out(block));
    }
}

/// Texts of an answer that stand together and have nothing with them are one.
fn text_in_pieces(pair: &mut Pair) {
    if pair.dialect != Dialect::Gemini {
        return;
    }
    let answers = pair.recorded.turns.iter_mut().chain(&mut pair.ours.turns);
    for turn in answers.filter(|turn| turn.side == Side::Assistant) {
        let mut blocks: Vec<Block> = Vec::new();
        for block in turn.blocks.drain(..) {
            match (blocks.last_mut(), block) {
                (
                    Some(Block::Text { text, with }),
                    Block::Text {
                        text: more,
                        with: with_more,
                    },
                ) if with.is_empty() && with_more.is_empty() => {
                    text.push_str(&more);
                }
                (_, block) => blocks.push(block),
            }
        }
        turn.blocks = blocks;
    }
}

/// Neighbours of one side are one message.
fn neighbours(pair: &mut Pair) {
    if matches!(pair.dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses) {
        return;
    }
    let merge = |turns: &mut Vec<Turn>| {
        let mut merged: Vec<Turn> = Vec::new();
        for turn in std::mem::take(turns) {
            match merged.last_mut() {
                Some(last) if last.side == turn.side => {
                    last.blocks.extend(turn.blocks);
                    last.with.extend(turn.with);
                }
                _ => merged.push(turn),
            }
        }
        *turns = merged;
    };
    merge(&mut pair.recorded.turns);
    if pair.dialect == Dialect::Gemini {
        merge(&mut pair.ours.turns);
    }
}

fn results_stand_alone(pair: &mut Pair) {
    if matches!(pair.dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses) {
        return;
    }
    for side in [&mut pair.recorded, &mut pair.ours] {
        let mut turns = Vec::new();
        for mut turn in std::mem::take(&mut side.turns) {
            let (results, rest): (Vec<Block>, Vec<Block>) =
                turn.blocks.drain(..).partition(Block::is_result);
            if !results.is_empty() {
                turns.push(Turn {
                    blocks: results,
                    ..turn.clone()
                });
            }
            if !rest.is_empty() {
                turns.push(Turn {
                    blocks: rest,
                    ..turn
                });
            }
        }
        side.turns = turns;
    }
}

fn media_follow_results(pair: &mut Pair) {
    let is_inline = |block: &Block| match block {
        Block::Result { content, .. } => {
            content.iter().any(|block| matches!(block, Block::Media(_)))
        }
        _ => false,
    };
    let mut ours = pair.ours.turns.iter().flat_map(|turn| &turn.blocks);
    if pair.dialect != Dialect::OpenAiChat || ours.any(is_inline) {
        return;
    }
    let mut turns: Vec<Turn> = Vec::new();
    let mut held: Vec<Block> = Vec::new();
    for mut turn in std::mem::take(&mut pair.recorded.turns) {
        if turn.side != Side::Tool && !held.is_empty() {
            turns.push(follow_up(&mut held));
        }
        for block in &mut turn.blocks {
            let Block::Result { id, content, .. } = block else {
                continue;
            };
            if content.iter().any(|block| matches!(block, Block::Media(_))) {
                let id = id.clone().unwrap_or_default();
                let told = announced(content, &id, &mut held);
                *content = vec![Block::text(&told)];
            }
        }
        turns.push(turn);
    }
    if !held.is_empty() {
        turns.push(follow_up(&mut held));
    }
    pair.recorded.turns = turns;
}

fn follow_up(held: &mut Vec<Block>) -> Turn {
    Turn {
        side: Side::User,
        blocks: std::mem::take(held),
        with: Map::new(),
        raw: Vec::new(),
    }
}

fn announced(content: &[Block], id: &str, held: &mut Vec<Block>) -> String {
    let (mut images, mut files) = (0, 0);
    let mut texts = Vec::new();
    for block in content {
        match block {
            Block::Text { text, .. } => texts.push(text.clone()),
            Block::Media(Media { is_image, .. }) => {
                let (kind, count) = match is_image {
                    true => ("image", &mut images),
                    false => ("file", &mut files),
                };
                *count += 1;
                texts.push(format!("[{kind} {count} of call {id} follows]"));
                held.push(block.clone());
            }
            _ => {}
        }
    }
    texts.join("\n")
}

/// Brings recorded results into the order of the calls before them.
fn order_of_results(pair: &mut Pair) {
    let mut calls: Vec<(Option<String>, String)> = Vec::new();
    let place = |calls: &[(Option<String>, String)], block: &Block| match block {
        Block::Result { id: Some(id), .. } => {
            calls.iter().position(|(call, _)| call.as_ref() == Some(id))
        }
        Block::Result {
            name: Some(name), ..
        } => calls.iter().position(|(_, call)| call == name),
        _ => None,
    };
    let turns = &mut pair.recorded.turns;
    let mut at = 0;
    while at < turns.len() {
        if turns[at].side == Side::Assistant {
            let asked = turns[at].calls();
            calls = asked
                .map(|(id, name)| (id.map(str::to_owned), name.to_owned()))
                .collect();
        }
        let run = turns[at..]
            .iter()
            .take_while(|turn| turn.side == Side::Tool)
            .count();
        turns[at..at + run]
            .sort_by_key(|turn| turn.blocks.first().and_then(|block| place(&calls, block)));
        let blocks = &mut turns[at].blocks;
        let results = blocks.iter().take_while(|block| block.is_result()).count();
        blocks[..results].sort_by_key(|block| place(&calls, block));
        at += run.max(1);
    }
}

fn order_of_tools(pair: &mut Pair) {
    for side in [&mut pair.recorded, &mut pair.ours] {
        side.tools
            .sort_by_key(|tool| matches!(tool, crate::requests::normal::Tool::Provider(_)));
    }
}
