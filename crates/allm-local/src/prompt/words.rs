//! Conversations for models whose template knows nothing of tools: calls and results are told in words.
//!
//! A small model that has never seen a tool does two things badly at once: it does not know when to call one, and where it
//! is shown how, it talks like the examples. So it is asked twice. [`deciding`] shows it the tools and a few conversations
//! in which some are called; [`answering`] says nothing of that, and puts a result where it was asked for.

use allm_core::{FunctionSpec, Message, Request, Role};

use super::{Writer, called, tools};

/// What one side says: its role and its words.
pub(super) type Turn = (&'static str, String);

/// How tools are used, with tools that are not those of the request.
const SHOWN: [(&str, &str); 10] = [
    ("user", "How many words are in \"one two three\"?"),
    (
        "assistant",
        r#"{"name": "count_words", "arguments": {"text": "one two three"}}"#,
    ),
    ("user", "Result of count_words: 3"),
    ("assistant", "There are 3 words."),
    ("user", "Good morning!"),
    ("assistant", "Good morning! How can I help you?"),
    ("user", "Which day is today?"),
    ("assistant", r#"{"name": "calendar", "arguments": {}}"#),
    ("user", "Result of calendar: Monday"),
    ("assistant", "Today is Monday."),
];

/// A message that asks for nothing.
const NOTHING: &str = "…";

/// The tools, how they are used, and the conversation with its calls and results.
pub(super) fn deciding(
    writer: &Writer<'_>,
    request: &Request,
    tools: &[&FunctionSpec],
) -> Vec<Turn> {
    let mut turns = shown(writer, request, tools);
    for message in request.messages.iter() {
        let mut text = writer.text(message);
        match message.role {
            Role::System => continue,
            Role::Tool => {
                let kind = if message.is_error { "Error" } else { "Result" };
                text = format!("{kind} of {}: {text}", name(request, message));
            }
            Role::User | Role::Assistant => {}
        }
        for call in &message.tool_calls {
            if !text.is_empty() {
                text.push('\n');
            }
            text += &writer.style.call(&call.name, &writer.arguments(call));
        }
        say(&mut turns, side(message), &text, "\n");
    }
    turns
}

/// The same with a message that asks for nothing, instead of the conversation.
pub(super) fn neutral(
    writer: &Writer<'_>,
    request: &Request,
    tools: &[&FunctionSpec],
) -> Vec<Turn> {
    let mut turns = shown(writer, request, tools);
    turns.push(("user", NOTHING.to_owned()));
    turns
}

/// The conversation without a word of tools: what they gave stands with the question, and calls are left out.
pub(super) fn answering(writer: &Writer<'_>, request: &Request) -> Vec<Turn> {
    let mut turns = system(writer, request).map_or_else(Vec::new, |text| vec![("system", text)]);
    let mut messages = request.messages.iter().peekable();
    while let Some(message) = messages.next() {
        let mut text = writer.text(message);
        match message.role {
            Role::System => continue,
            Role::Assistant if text.is_empty() && !message.tool_calls.is_empty() => continue,
            Role::Tool => {
                let kind = if message.is_error { "error" } else { "result" };
                let name = name(request, message);
                text = format!("The tool {name} gave this {kind}: {text}");
                if messages.peek().is_none_or(|next| next.role != Role::Tool) {
                    text += &format!("\n\nAnswer the question in one sentence with this {kind}.");
                }
            }
            Role::User | Role::Assistant => {}
        }
        say(&mut turns, side(message), &text, "\n\n");
    }
    turns
}

/// What stands before every conversation in which tools may be called.
fn shown(writer: &Writer<'_>, request: &Request, tools: &[&FunctionSpec]) -> Vec<Turn> {
    let described = writer
        .tokenizer
        .apart(&tools::described(tools, writer.style));
    let system = match system(writer, request) {
        Some(system) => format!("{system}\n\n{described}"),
        None => described,
    };
    let shown = SHOWN.map(|(role, text)| (role, text.to_owned()));
    [("system", system)].into_iter().chain(shown).collect()
}

fn system(writer: &Writer<'_>, request: &Request) -> Option<String> {
    let messages = request.messages.iter();
    let texts: Vec<String> = messages
        .filter(|message| message.role == Role::System)
        .map(|message| writer.text(message))
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Some templates refuse two turns of one side.
fn say(turns: &mut Vec<Turn>, role: &'static str, text: &str, between: &str) {
    match turns.last_mut() {
        Some((last, before)) if *last == role => {
            before.push_str(between);
            before.push_str(text);
        }
        _ => turns.push((role, text.to_owned())),
    }
}

fn side(message: &Message) -> &'static str {
    match message.role {
        Role::Assistant => "assistant",
        Role::User | Role::Tool | Role::System => "user",
    }
}

fn name<'r>(request: &'r Request, result: &Message) -> &'r str {
    called(request, result).map_or("tool", |call| &call.name)
}
