//! Questions of tools, as forms that a client shows.

use allm_core::Map;
use allm_core::json::Sorted;
use allm_schema::Schema;
use rmcp::model::ElicitationSchema;
use serde_json::{Value, json};

/// The field of a form that has one.
const FIELD: &str = "answer";

/// A form, and how what a person filled in is read.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) schema: ElicitationSchema,
    reads: Reads,
}

#[derive(Clone, Debug, PartialEq)]
enum Reads {
    /// The whole form is the answer.
    Whole,
    /// The one field is.
    Field,
    /// The one field names one of these.
    Choice(Vec<Value>),
}

impl Form {
    /// The form of a question with these options: of their schema, if MCP can show it; of their choices; else one
    /// field for text.
    pub(super) fn of(options: &Map) -> Option<Self> {
        let schema = options.get("schema");
        let listed = schema
            .and_then(|schema| schema.get("enum"))
            .or_else(|| options.get("choices"))
            .or_else(|| options.get("options"))
            .and_then(Value::as_array)
            .filter(|choices| !choices.is_empty());
        if let Some(choices) = listed {
            let names: Vec<Value> = choices.iter().map(|choice| words(choice).into()).collect();
            let mut field = Map::from_iter([
                ("type".to_owned(), "string".into()),
                ("enum".to_owned(), Value::Array(names)),
            ]);
            for name in ["title", "description"] {
                if let Some(text) = schema.and_then(|schema| schema.get(name)) {
                    field.insert(name.to_owned(), text.clone());
                }
            }
            return Self::one(Value::Object(field), Reads::Choice(choices.clone()));
        }
        let whole = |schema: &Value| Self::new(schema.clone(), Reads::Whole);
        let one = |schema: &Value| Self::one(schema.clone(), Reads::Field);
        schema
            .and_then(|schema| whole(schema).or_else(|| one(schema)))
            .or_else(|| Self::one(json!({"type": "string"}), Reads::Field))
    }

    /// A form of this schema, if MCP can show it.
    pub(super) fn whole(schema: Value) -> Option<Self> {
        Self::new(schema, Reads::Whole)
    }

    fn one(field: Value, reads: Reads) -> Option<Self> {
        let schema = json!({"type": "object", "properties": {FIELD: field}, "required": [FIELD]});
        Self::new(schema, reads)
    }

    fn new(schema: Value, reads: Reads) -> Option<Self> {
        let schema = serde_json::from_value(schema).ok()?;
        Some(Self { schema, reads })
    }

    /// What a person answered; `None` if the form is not filled in as its schema wants it. A client need not check that.
    pub(super) fn read(&self, filled: &Value) -> Option<Value> {
        let schema = serde_json::to_value(&self.schema).ok()?;
        let schema = Schema::compile(&schema).ok()?;
        if !schema.accepts(filled) {
            return None;
        }
        match &self.reads {
            Reads::Whole => filled.is_object().then(|| filled.clone()),
            Reads::Field => filled.get(FIELD).cloned(),
            Reads::Choice(choices) => {
                let said = filled.get(FIELD)?.as_str()?;
                choices.iter().find(|choice| words(choice) == said).cloned()
            }
        }
    }
}

/// A value in words: a text as it is, anything else as JSON.
pub(super) fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => Sorted(value).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(options: Value) -> Form {
        Form::of(options.as_object().unwrap()).unwrap()
    }

    fn schema(form: &Form) -> Value {
        serde_json::to_value(&form.schema).unwrap()
    }

    /// M122
    #[test]
    fn without_a_schema_there_is_one_field_for_text() {
        let form = form(json!({}));
        assert_eq!(
            schema(&form),
            json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]})
        );
        assert_eq!(form.read(&json!({"answer": "blue"})), Some(json!("blue")));
        assert_eq!(form.read(&json!({})), None);
    }

    /// M122
    #[test]
    fn a_flat_schema_is_the_form() {
        let wanted = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
            "required": ["name"]
        });
        let form = form(json!({"schema": wanted}));
        assert_eq!(schema(&form), wanted);
        let filled = json!({"name": "Ada", "age": 36});
        assert_eq!(form.read(&filled), Some(filled));
        assert_eq!(form.read(&json!("Ada")), None);
    }

    /// M186
    #[test]
    fn what_does_not_fit_the_form_is_no_answer() {
        let wanted = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 5},
                "age": {"type": "integer", "minimum": 0},
                "size": {"type": "string", "enum": ["s", "m"]}
            },
            "required": ["name"]
        });
        let form = form(json!({"schema": wanted}));
        for filled in [
            json!({"age": 36}),
            json!({"name": 7}),
            json!({"name": "Adelaide"}),
            json!({"name": "Ada", "age": -1}),
            json!({"name": "Ada", "age": "36"}),
            json!({"name": "Ada", "size": "xl"}),
        ] {
            assert_eq!(form.read(&filled), None, "{filled}");
        }
        let fits = json!({"name": "Ada", "age": 36, "size": "m"});
        assert_eq!(form.read(&fits), Some(fits));
        let number = Form::of(json!({"schema": {"type": "integer"}}).as_object().unwrap()).unwrap();
        assert_eq!(number.read(&json!({"answer": "seven"})), None);
        assert_eq!(number.read(&json!({"answer": 7})), Some(json!(7)));
    }

    /// M122
    #[test]
    fn choices_are_named_and_read_back_as_they_were() {
        for options in [
            json!({"choices": [1, "two"]}),
            json!({"schema": {"enum": [1, "two"]}}),
        ] {
            let form = form(options);
            assert_eq!(
                schema(&form)["properties"]["answer"]["enum"],
                json!(["1", "two"])
            );
            assert_eq!(form.read(&json!({"answer": "1"})), Some(json!(1)));
            assert_eq!(form.read(&json!({"answer": "three"})), None);
        }
    }

    /// M122
    #[test]
    fn a_plain_type_is_one_field_and_what_cannot_be_shown_is_text() {
        let yes = form(json!({"schema": {"type": "boolean"}}));
        assert_eq!(
            schema(&yes)["properties"]["answer"],
            json!({"type": "boolean"})
        );
        assert_eq!(yes.read(&json!({"answer": true})), Some(json!(true)));
        let deep =
            json!({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}});
        let text = form(json!({"schema": deep}));
        assert_eq!(
            schema(&text)["properties"]["answer"],
            json!({"type": "string"})
        );
    }
}
