//! What a person answers, as the server wants it.

use allm_core::Map;
use allm_schema::Schema;
use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::{Value, json};

use super::question::{Question, Wants};

const YES: [&str; 7] = ["accept", "agree", "done", "ok", "okay", "y", "yes"];
const NO: [&str; 5] = ["decline", "disagree", "n", "no", "refuse"];
const STOP: [&str; 3] = ["abort", "cancel", "stop"];

/// What the server is told.
///
/// The answer is JSON that fits the schema; or `{"action": "accept" | "decline" | "cancel", "content": {…}}`; or plain text
/// where the form has one field. Where there is no field it is yes or no in words.
///
/// # Errors
///
/// What is wrong with it, to be told to the person.
pub(super) fn read(answer: &str, question: &Question) -> Result<ElicitResult, Vec<String>> {
    let text = answer.trim();
    let value = serde_json::from_str::<Value>(text).ok();
    if let Some(result) = value.as_ref().and_then(|value| whole(value, question)) {
        return result;
    }
    let schema = match &question.wants {
        Wants::Url(_) => return in_words(text),
        Wants::Form(schema) => schema,
    };
    if let Some(Value::Object(content)) = value {
        return accepted(Value::Object(content), schema);
    }
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut fields = fields.into_iter().flatten();
    match (fields.next(), fields.next()) {
        (None, _) => in_words(text),
        (Some((name, field)), None) => {
            let content = Map::from_iter([(name.clone(), of_type(text, field))]);
            accepted(Value::Object(content), schema)
        }
        _ => Err(vec![
            "it has several fields: answer with a JSON object".to_owned(),
        ]),
    }
}

/// An answer in the protocol's own form.
fn whole(value: &Value, question: &Question) -> Option<Result<ElicitResult, Vec<String>>> {
    let object = value.as_object()?;
    if object.keys().any(|key| key != "action" && key != "content") {
        return None;
    }
    let content = object.get("content").filter(|content| !content.is_null());
    let action = object.get("action")?.as_str()?;
    Some(match (action, &question.wants) {
        ("decline", _) => Ok(ElicitResult::new(ElicitationAction::Decline)),
        ("cancel", _) => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        ("accept", Wants::Url(_)) => Ok(ElicitResult::new(ElicitationAction::Accept)),
        ("accept", Wants::Form(schema)) => {
            accepted(content.cloned().unwrap_or_else(|| json!({})), schema)
        }
        // A form may have a field of this name.
        _ => return None,
    })
}

/// Yes or no.
fn in_words(text: &str) -> Result<ElicitResult, Vec<String>> {
    let word = text.to_lowercase();
    let word = word.trim_matches(['.', '!', '"', ' ']);
    let action = if YES.contains(&word) {
        ElicitationAction::Accept
    } else if NO.contains(&word) {
        ElicitationAction::Decline
    } else if STOP.contains(&word) {
        ElicitationAction::Cancel
    } else {
        return Err(vec!["answer yes, no or cancel".to_owned()]);
    };
    Ok(match action {
        ElicitationAction::Accept => ElicitResult::new(action).with_content(json!({})),
        action => ElicitResult::new(action),
    })
}

/// Text as a value of the field's type; what does not fit stays text, and the schema says so.
fn of_type(text: &str, field: &Value) -> Value {
    let as_text = || Value::from(text);
    match field.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => text
            .parse::<serde_json::Number>()
            .map_or_else(|_| as_text(), Value::Number),
        Some("boolean") => match in_words(text).map(|result| result.action) {
            Ok(ElicitationAction::Accept) => true.into(),
            Ok(ElicitationAction::Decline) => false.into(),
            _ => text.parse::<bool>().map_or_else(|_| as_text(), Value::Bool),
        },
        Some("array") => match serde_json::from_str(text) {
            Ok(value @ Value::Array(_)) => value,
            _ => Value::Array(text.split(',').map(|one| one.trim().into()).collect()),
        },
        // Text in quotes is the text.
        _ => match serde_json::from_str(text) {
            Ok(Value::String(text)) => text.into(),
            _ => as_text(),
        },
    }
}

fn accepted(content: Value, schema: &Value) -> Result<ElicitResult, Vec<String>> {
    // A schema that does not compile holds nobody to anything; the server checks for itself.
    if let Ok(schema) = Schema::compile(schema) {
        let faults = schema.faults(&content, 8);
        let wrong: Vec<_> = faults.iter().map(ToString::to_string).collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
    }
    Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
}

#[cfg(test)]
mod tests;
