//! From a request to the text that a model goes on from.

mod style;
mod tools;
mod words;

use allm_core::{FunctionSpec, Map, Message, Part, Request, Role, ToolCall, ToolSpec};
use serde_json::{Value, json};

use crate::template::Template;
use crate::tokenizer::Tokenizer;

pub(crate) use style::CallStyle;

/// What is needed to write a prompt for a model.
pub(crate) struct Writer<'a> {
    pub(crate) template: &'a Template,
    pub(crate) tokenizer: &'a Tokenizer,
    pub(crate) style: CallStyle,
}

impl Writer<'_> {
    /// The text of a request, for a template that knows tools.
    ///
    /// # Errors
    ///
    /// What the model's template says is wrong with the conversation.
    pub(crate) fn write(
        &self,
        request: &Request,
        tools: &[&FunctionSpec],
    ) -> Result<String, String> {
        let messages = self.with_calls(request);
        let described: Vec<Value> = tools.iter().map(|tool| self.function(tool)).collect();
        let described = (!described.is_empty()).then_some(&*described);
        self.render(&messages, described)
    }

    /// For a template that knows no tools: the text after which it is seen whether a tool is called, and which.
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    pub(crate) fn deciding(
        &self,
        request: &Request,
        tools: &[&FunctionSpec],
    ) -> Result<String, String> {
        self.words(&words::deciding(self, request, tools))
    }

    /// The same with a message that asks for nothing.
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    pub(crate) fn neutral(
        &self,
        request: &Request,
        tools: &[&FunctionSpec],
    ) -> Result<String, String> {
        self.words(&words::neutral(self, request, tools))
    }

    /// For a template that knows no tools: the text after which an answer is given in words.
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    pub(crate) fn answering(&self, request: &Request) -> Result<String, String> {
        self.words(&words::answering(self, request))
    }

    fn words(&self, turns: &[(&str, String)]) -> Result<String, String> {
        let turns = turns.iter();
        let messages: Vec<Value> = turns
            .map(|(role, content)| json!({"role": role, "content": content}))
            .collect();
        self.render(&messages, None)
    }

    fn render(&self, messages: &[Value], tools: Option<&[Value]>) -> Result<String, String> {
        let (begin, end) = (&self.tokenizer.begin_text, &self.tokenizer.end_text);
        self.template.render(messages, tools, begin, end)
    }

    /// Messages for a template that has words for calls and results.
    fn with_calls(&self, request: &Request) -> Vec<Value> {
        let messages = request.messages.iter().map(|message| {
            let mut fields = Map::new();
            fields.insert("role".to_owned(), json!(role(message)));
            fields.insert("content".to_owned(), json!(self.text(message)));
            if !message.tool_calls.is_empty() {
                let calls = message.tool_calls.iter().map(|call| {
                    let function = json!({"name": call.name, "arguments": self.arguments(call)});
                    json!({"id": call.id, "type": "function", "function": function})
                });
                fields.insert("tool_calls".to_owned(), calls.collect());
            }
            if let Some(id) = &message.tool_call_id {
                fields.insert("tool_call_id".to_owned(), json!(id));
                if let Some(call) = called(request, message) {
                    fields.insert("name".to_owned(), json!(call.name));
                }
            }
            Value::Object(fields)
        });
        messages.collect()
    }

    fn text(&self, message: &Message) -> String {
        let texts = message.content.iter().filter_map(|part| match part {
            Part::Text(part) => Some(&*part.text),
            Part::Refusal(part) => Some(&*part.text),
            _ => None,
        });
        self.tokenizer.apart(&texts.collect::<Vec<_>>().join("\n"))
    }

    fn arguments(&self, call: &ToolCall) -> Value {
        let arguments = call.arguments.as_deref().cloned().unwrap_or_default();
        self.apart(&Value::Object(arguments))
    }

    fn function(&self, tool: &FunctionSpec) -> Value {
        let FunctionSpec {
            name,
            description,
            schema,
            ..
        } = tool;
        let function = json!({"name": name, "description": description, "parameters": schema});
        self.apart(&json!({"type": "function", "function": function}))
    }

    /// The same value, in which no text is read as a mark of the model's.
    fn apart(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.tokenizer.apart(text)),
            Value::Array(list) => list.iter().map(|item| self.apart(item)).collect(),
            Value::Object(map) => {
                let pair =
                    |(key, item): (&String, _)| (self.tokenizer.apart(key), self.apart(item));
                map.iter().map(pair).collect()
            }
            other => other.clone(),
        }
    }
}

fn role(message: &Message) -> &'static str {
    match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

/// The call that a result answers.
fn called<'r>(request: &'r Request, result: &Message) -> Option<&'r ToolCall> {
    let id = result.tool_call_id.as_ref()?;
    let calls = request
        .messages
        .iter()
        .flat_map(|message| &message.tool_calls);
    // Ids may come again in a later turn; the last one before the result would be exact, and this is only a name.
    calls.rev().find(|call| call.id == *id)
}

/// The functions among the tools of a request.
pub(crate) fn functions(request: &Request) -> Vec<&FunctionSpec> {
    let functions = request.tools.iter().filter_map(|tool| match tool {
        ToolSpec::Function(function) => Some(function),
        _ => None,
    });
    functions.collect()
}
