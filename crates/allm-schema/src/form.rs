//! Whether a schema has the form that its draft demands: what the drafts' meta-schemas say, without them.

mod keyword;

use serde_json::{Map, Value};

use crate::draft::Draft;
use crate::equal;
use crate::number::Exact;
use crate::pattern::Pattern;
use crate::types::Types;
use crate::uri;
use crate::view::sorted;
use keyword::Form;

/// Schemas nested deeper than this are refused: they would need more stack than a thread may have.
const MAX_DEPTH: usize = 256;

/// What is wrong with a part of a schema.
#[derive(Debug)]
pub(crate) struct Flaw<'s> {
    pub(crate) part: &'s Value,
    pub(crate) message: String,
}

impl<'s> Flaw<'s> {
    pub(crate) fn new(part: &'s Value, message: impl Into<String>) -> Self {
        let message = message.into();
        Flaw { part, message }
    }
}

type Checked<'s> = Result<(), Flaw<'s>>;

/// The check of one document.
#[derive(Clone, Copy)]
struct Inspection {
    draft: Draft,
    /// Whether a part with an address and a `$schema` of its own is read as that says.
    follows_drafts: bool,
    depth: usize,
}

/// Whether `schema` has the form of a schema of `draft`. Parts may be written in other drafts.
pub(crate) fn inspect(schema: &Value, draft: Draft) -> Checked<'_> {
    let inspection = Inspection {
        draft,
        follows_drafts: true,
        depth: 0,
    };
    inspection.schema(schema)
}

/// Whether an object would be accepted by the meta-schema of `draft`.
pub(crate) fn fits_meta_schema(object: &Map<String, Value>, draft: Draft) -> bool {
    let inspection = Inspection {
        draft,
        follows_drafts: false,
        depth: 1,
    };
    inspection.keywords(object).is_ok()
}

impl Inspection {
    fn schema(mut self, schema: &Value) -> Checked<'_> {
        let object = match schema {
            Value::Object(object) => object,
            Value::Bool(_) if self.draft > Draft::Four => return Ok(()),
            other if self.draft > Draft::Four => {
                return Err(Flaw::new(other, "must be an object or a boolean"));
            }
            other => return Err(Flaw::new(other, "must be an object")),
        };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("must not be nested deeper than {MAX_DEPTH} schemas");
            return Err(Flaw::new(schema, message));
        }
        if self.follows_drafts {
            self.draft = self.own_draft(schema);
        }
        self.keywords(object)
    }

    fn keywords(self, object: &Map<String, Value>) -> Checked<'_> {
        for (name, value) in sorted(object) {
            if let Some(form) = keyword::form_of(self.draft, name) {
                self.keyword(form, object, value)?;
            }
        }
        Ok(())
    }

    /// Only a part with an address of its own can be written in another draft.
    fn own_draft(self, schema: &Value) -> Draft {
        let named = schema.get("$schema").and_then(Value::as_str);
        let Some(draft) = named.and_then(Draft::of_address) else {
            return self.draft;
        };
        let has_address =
            self.draft.address_of(schema).is_some() || draft.address_of(schema).is_some();
        if has_address { draft } else { self.draft }
    }

    fn keyword<'s>(
        self,
        form: Form,
        schema: &'s Map<String, Value>,
        value: &'s Value,
    ) -> Checked<'s> {
        match form {
            Form::Schema => self.schema(value),
            Form::BooleanOrSchema if value.is_boolean() => Ok(()),
            Form::BooleanOrSchema => self.schema(value),
            Form::Schemas => self.schemas(value),
            Form::SchemaOrSchemas if value.is_array() => self.schemas(value),
            Form::SchemaOrSchemas => self.schema(value),
            Form::SchemaMap => self.schema_map(value),
            Form::PatternMap => self.pattern_map(value),
            Form::Dependencies => self.dependencies(value),
            Form::Types => types(value),
            Form::Count => self.count(value),
            Form::PositiveNumber => match value {
                Value::Number(number) if number.as_f64().is_none_or(|number| number > 0.0) => {
                    Ok(())
                }
                other => Err(Flaw::new(other, "must be a number greater than 0")),
            },
            Form::Number => demand(value, value.is_number(), "must be a number"),
            Form::Boolean => demand(value, value.is_boolean(), "must be a boolean"),
            Form::ExclusiveFlag(other) => {
                demand(value, value.is_boolean(), "must be a boolean")?;
                let message = format!("must stand beside \"{other}\"");
                demand(value, schema.contains_key(other), &message)
            }
            Form::Array => demand(value, value.is_array(), "must be an array"),
            Form::Names => names(value, self.draft == Draft::Four),
            Form::NamesMap => {
                let object = map(value)?;
                sorted(object)
                    .into_iter()
                    .try_for_each(|(_, value)| names(value, false))
            }
            Form::BooleanMap => {
                let object = map(value)?;
                sorted(object).into_iter().try_for_each(|(_, value)| {
                    demand(value, value.is_boolean(), "must be a boolean")
                })
            }
            Form::Text => text(value).map(|_| ()),
            Form::Pattern => self.pattern(value, text(value)?),
            Form::Address => {
                let sound = !self.draft.asserts_formats() || uri::is_uri(text(value)?);
                demand(value, value.is_string() && sound, "must be a URI")
            }
            Form::Reference => {
                let sound = !self.draft.asserts_formats() || uri::is_reference(text(value)?);
                demand(value, value.is_string() && sound, "must be a URI reference")
            }
            Form::Identifier => {
                let text = text(value)?;
                let fragment = text.split_once('#').map(|(_, fragment)| fragment);
                let sound = fragment.is_none_or(str::is_empty);
                demand(value, sound, "must be a URI reference without a fragment")
            }
            Form::Anchor => {
                let sound = keyword::is_anchor(self.draft, text(value)?);
                demand(value, sound, "must be a plain name, without \"#\"")
            }
        }
    }

    fn schemas(self, value: &Value) -> Checked<'_> {
        match value {
            Value::Array(schemas) if !schemas.is_empty() => {
                schemas.iter().try_for_each(|schema| self.schema(schema))
            }
            other => Err(Flaw::new(other, "must be an array of at least one schema")),
        }
    }

    fn schema_map(self, value: &Value) -> Checked<'_> {
        let object = map(value)?;
        sorted(object)
            .into_iter()
            .try_for_each(|(_, schema)| self.schema(schema))
    }

    fn pattern_map(self, value: &Value) -> Checked<'_> {
        self.schema_map(value)?;
        let object = map(value)?;
        sorted(object)
            .into_iter()
            .try_for_each(|(name, schema)| match self.draft {
                Draft::Four => Ok(()),
                _ => self.pattern(schema, name),
            })
    }

    fn dependencies(self, value: &Value) -> Checked<'_> {
        let object = map(value)?;
        sorted(object)
            .into_iter()
            .try_for_each(|(_, value)| match value {
                Value::Array(_) => names(value, self.draft == Draft::Four),
                schema => self.schema(schema),
            })
    }

    /// Later drafts see a pattern that is wrong only when it is used.
    fn pattern<'s>(self, part: &'s Value, pattern: &str) -> Checked<'s> {
        if !self.draft.asserts_formats() {
            return Ok(());
        }
        match Pattern::new(pattern) {
            Ok(_) => Ok(()),
            Err(error) => Err(Flaw::new(
                part,
                format!("must be a regular expression: {error}"),
            )),
        }
    }

    fn count(self, value: &Value) -> Checked<'_> {
        let counts = count(value, self.draft).is_some();
        demand(value, counts, "must be an integer of at least 0")
    }
}

/// A length or a number of items.
pub(crate) fn count(value: &Value, draft: Draft) -> Option<u64> {
    let Value::Number(number) = value else {
        return None;
    };
    let types = Types::named("integer")?;
    let types = if draft == Draft::Four {
        types.integers_as_written()
    } else {
        types
    };
    types
        .accepts(crate::view::View::Number(number))
        .then(|| Exact::of(number).count())
        .flatten()
}

fn demand<'s>(part: &'s Value, holds: bool, message: &str) -> Checked<'s> {
    if holds {
        Ok(())
    } else {
        Err(Flaw::new(part, message))
    }
}

fn map(value: &Value) -> Result<&Map<String, Value>, Flaw<'_>> {
    value
        .as_object()
        .ok_or_else(|| Flaw::new(value, "must be an object"))
}

fn text(value: &Value) -> Result<&str, Flaw<'_>> {
    value
        .as_str()
        .ok_or_else(|| Flaw::new(value, "must be a string"))
}

fn names(value: &Value, at_least_one: bool) -> Checked<'_> {
    let Value::Array(names) = value else {
        return Err(Flaw::new(value, "must be an array of strings"));
    };
    for name in names {
        demand(name, name.is_string(), "must be a string")?;
    }
    demand(
        value,
        !at_least_one || !names.is_empty(),
        "must have at least one item",
    )?;
    let repeated = equal::first_repeated(names).is_some();
    demand(value, !repeated, "must have no item twice")
}

fn types(value: &Value) -> Checked<'_> {
    let one = |value: &Value| value.as_str().and_then(Types::named).is_some();
    let message = "must be one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\"";
    match value {
        Value::Array(types) => {
            for name in types {
                demand(name, one(name), message)?;
            }
            names(value, true)
        }
        other => demand(other, one(other), message),
    }
}
