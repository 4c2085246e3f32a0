//! A question with several fields, asked one after another.

use allm::Map;
use allm::session::Question;
use serde_json::{Value, json};

use super::super::conversation::Conversation;
use super::super::input::{Asked, Said};

/// A form that a person fills in.
pub(super) struct Form {
    fields: Vec<Field>,
    /// Whether an MCP server asks, which is also told that somebody declines.
    is_of_server: bool,
}

struct Field {
    name: String,
    schema: Value,
    is_required: bool,
}

/// What came of a form.
pub(super) enum Filled {
    /// The answer.
    Answer(String),
    Left,
    Leave,
}

impl Form {
    /// The form of a question, if it has one.
    pub(super) fn of(question: &Question) -> Option<Self> {
        let schema = question.options.get("schema")?;
        let properties = schema.get("properties")?.as_object()?;
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
        let fields = properties.iter().map(|(name, schema)| Field {
            name: name.clone(),
            schema: schema.clone(),
            is_required: is_required(name),
        });
        let form = Self {
            fields: fields.collect(),
            is_of_server: question.options.get("mode").and_then(Value::as_str) == Some("form"),
        };
        (form.is_of_server || !form.fields.is_empty()).then_some(form)
    }

    fn answer(&self, action: &str, content: Map) -> Filled {
        let answer = match self.is_of_server {
            true => json!({"action": action, "content": content}),
            false => Value::Object(content),
        };
        Filled::Answer(answer.to_string())
    }
}

impl Field {
    /// What a person is told of it.
    fn told(&self) -> String {
        let text = |name: &str| self.schema.get(name).and_then(Value::as_str);
        let mut told = text("title").unwrap_or(&self.name).to_owned();
        if let Some(about) = text("description") {
            told.push_str(&format!(": {about}"));
        }
        if let Some(kind) = text("type").filter(|kind| *kind != "string") {
            told.push_str(&format!(" ({kind})"));
        }
        match self.schema.get("default") {
            Some(usual) => told.push_str(&format!("; Enter is {usual}")),
            None if !self.is_required => told.push_str("; Enter leaves it out"),
            None => {}
        }
        told
    }

    /// The values that it can have, and what they are called.
    fn choices(&self) -> Vec<(Value, String)> {
        let schema = match self.schema.get("items") {
            Some(items) => items,
            None => &self.schema,
        };
        let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"));
        if let Some(titled) = titled.and_then(Value::as_array) {
            let choices = titled.iter().filter_map(|one| {
                let value = one.get("const")?.clone();
                let title = one.get("title").unwrap_or(&value);
                Some((value.clone(), words(title)))
            });
            return choices.collect();
        }
        let names = schema.get("enumNames").and_then(Value::as_array);
        let values = schema.get("enum").and_then(Value::as_array);
        let values = values.into_iter().flatten().enumerate();
        values
            .map(|(place, value)| {
                let name = names.and_then(|names| names.get(place)).unwrap_or(value);
                (value.clone(), words(name))
            })
            .collect()
    }

    /// What a line means for it: a value, nothing, or why it is neither.
    fn read(&self, line: &str) -> Result<Option<Value>, String> {
        if line.is_empty() {
            return match self.schema.get("default") {
                Some(usual) => Ok(Some(usual.clone())),
                None if self.is_required => Err("It is needed.".to_owned()),
                None => Ok(None),
            };
        }
        let choices = self.choices();
        let choose = |text: &str| {
            let by_name = choices
                .iter()
                .find(|(value, name)| name.eq_ignore_ascii_case(text) || words(value) == text);
            let by_number = || {
                let number: usize = text.parse().ok()?;
                choices.get(number.checked_sub(1)?)
            };
            let (value, _) = by_name.or_else(by_number)?;
            Some(value.clone())
        };
        let kind = self.schema.get("type").and_then(Value::as_str);
        let read = match kind {
            Some("array") => {
                let parts = line.split(',').map(str::trim);
                let values = parts.map(|part| match choices.is_empty() {
                    true => Some(part.into()),
                    false => choose(part),
                });
                values.collect::<Option<Vec<Value>>>().map(Value::Array)
            }
            _ if !choices.is_empty() => choose(line),
            Some("boolean") => match line.to_lowercase().as_str() {
                "y" | "yes" | "true" => Some(true.into()),
                "n" | "no" | "false" => Some(false.into()),
                _ => None,
            },
            Some("integer") => line.parse::<i64>().ok().map(Value::from),
            Some("number") => line.parse().ok().map(Value::Number),
            _ => Some(line.into()),
        };
        read.map(Some).ok_or_else(|| match choices.len() {
            0 => match kind {
                Some("boolean") => "Say yes or no.".to_owned(),
                Some(kind) => format!("This is no {kind}."),
                None => "This cannot be.".to_owned(),
            },
            count => format!("Choose by number (1 to {count}) or by name."),
        })
    }
}

impl Conversation {
    /// Asks for each field of a form. A server is also told when somebody declines.
    pub(super) async fn fill(&mut self, form: &Form) -> Filled {
        if form.is_of_server {
            self.display
                .note("(/decline refuses to answer; Ctrl-C leaves it open)");
        }
        if form.fields.is_empty() {
            return self.agree(form).await;
        }
        let mut content = Map::new();
        for field in &form.fields {
            self.display.tell(&field.told());
            for (number, (_, name)) in field.choices().iter().enumerate() {
                self.display.tell(&format!("  {}. {name}", number + 1));
            }
            loop {
                let line = match self.field(&field.name).await {
                    Ok(line) => line,
                    Err(filled) => return filled,
                };
                if line == "/decline" && form.is_of_server {
                    return form.answer("decline", Map::new());
                }
                match field.read(&line) {
                    Ok(Some(value)) => {
                        content.insert(field.name.clone(), value);
                        break;
                    }
                    Ok(None) => break,
                    Err(why) => self.display.tell(&why),
                }
            }
        }
        form.answer("accept", content)
    }

    /// A form without fields is agreed to.
    async fn agree(&mut self, form: &Form) -> Filled {
        loop {
            let line = match self.field("agree").await {
                Ok(line) => line.to_lowercase(),
                Err(filled) => return filled,
            };
            match line.as_str() {
                "y" | "yes" => return form.answer("accept", Map::new()),
                "n" | "no" | "/decline" => return form.answer("decline", Map::new()),
                _ => self.display.tell("Say yes or no."),
            }
        }
    }

    async fn field(&mut self, name: &str) -> Result<String, Filled> {
        match self.input.ask(Asked::answer(format!("{name} > "))).await {
            Said::Text(text) => Ok(text.trim().to_owned()),
            Said::Interrupted => Err(Filled::Left),
            Said::End => Err(Filled::Leave),
        }
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(schema: Value, is_required: bool) -> Field {
        Field {
            name: "x".to_owned(),
            schema,
            is_required,
        }
    }

    #[test]
    fn a_line_is_read_by_the_type_of_its_field() {
        for (schema, line, value) in [
            (json!({"type": "string"}), "7", json!("7")),
            (json!({"type": "integer"}), "-7", json!(-7)),
            (json!({"type": "number"}), "0.5", json!(0.5)),
            (json!({"type": "boolean"}), "Yes", json!(true)),
            (
                json!({"type": "string", "enum": ["a", "b"]}),
                "2",
                json!("b"),
            ),
            (
                json!({"type": "string", "oneOf": [{"const": "a", "title": "First"}]}),
                "first",
                json!("a"),
            ),
            (
                json!({"type": "array", "items": {"enum": ["a", "b"]}}),
                "b, 1",
                json!(["b", "a"]),
            ),
            (json!({"type": "integer", "default": 3}), "", json!(3)),
        ] {
            assert_eq!(field(schema, true).read(line), Ok(Some(value)));
        }
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (schema, line, why) in [
            (json!({"type": "integer"}), "1.5", "This is no integer."),
            (json!({"type": "boolean"}), "maybe", "Say yes or no."),
            (json!({"type": "string"}), "", "It is needed."),
            (
                json!({"type": "string", "enum": ["a"]}),
                "c",
                "Choose by number (1 to 1) or by name.",
            ),
        ] {
            assert_eq!(field(schema, true).read(line), Err(why.to_owned()));
        }
        assert_eq!(field(json!({"type": "string"}), false).read(""), Ok(None));
    }
}
