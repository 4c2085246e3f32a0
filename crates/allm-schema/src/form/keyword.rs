//! Which form the value of a keyword has, by draft.

use crate::draft::Draft;

/// What the value of a keyword must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Schema,
    BooleanOrSchema,
    Schemas,
    SchemaOrSchemas,
    SchemaMap,
    PatternMap,
    Dependencies,
    Types,
    Count,
    PositiveNumber,
    Number,
    Boolean,
    /// A boolean that means something only beside this keyword.
    ExclusiveFlag(&'static str),
    Array,
    Names,
    NamesMap,
    BooleanMap,
    Text,
    Pattern,
    Address,
    Reference,
    Identifier,
    Anchor,
}

/// The form of a keyword that `draft` knows. Others may have any value.
pub(super) fn form_of(draft: Draft, keyword: &str) -> Option<Form> {
    let (since, form) = match keyword {
        "title" | "description" | "format" => (Draft::Four, Form::Text),
        "multipleOf" => (Draft::Four, Form::PositiveNumber),
        "maximum" | "minimum" => (Draft::Four, Form::Number),
        "exclusiveMaximum" if draft == Draft::Four => (Draft::Four, Form::ExclusiveFlag("maximum")),
        "exclusiveMinimum" if draft == Draft::Four => (Draft::Four, Form::ExclusiveFlag("minimum")),
        "exclusiveMaximum" | "exclusiveMinimum" => (Draft::Six, Form::Number),
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
            (Draft::Four, Form::Count)
        }
        "pattern" => (Draft::Four, Form::Pattern),
        "uniqueItems" => (Draft::Four, Form::Boolean),
        "required" => (Draft::Four, Form::Names),
        "enum" => (Draft::Four, Form::Array),
        "type" => (Draft::Four, Form::Types),
        "allOf" | "anyOf" | "oneOf" => (Draft::Four, Form::Schemas),
        "not" => (Draft::Four, Form::Schema),
        "definitions" | "properties" => (Draft::Four, Form::SchemaMap),
        "patternProperties" => (Draft::Four, Form::PatternMap),
        "dependencies" => (Draft::Four, Form::Dependencies),
        "additionalProperties" => (Draft::Four, Form::BooleanOrSchema),
        "additionalItems" if draft < Draft::Twenty => (Draft::Four, Form::BooleanOrSchema),
        "items" if draft < Draft::Twenty => (Draft::Four, Form::SchemaOrSchemas),
        "items" => (Draft::Twenty, Form::Schema),
        "id" if draft == Draft::Four => (Draft::Four, Form::Text),
        "$schema" if draft == Draft::Four => (Draft::Four, Form::Text),
        "$schema" => (Draft::Six, Form::Address),
        "$id" if draft >= Draft::Nineteen => (Draft::Nineteen, Form::Identifier),
        "$id" | "$ref" => (Draft::Six, Form::Reference),
        "examples" => (Draft::Six, Form::Array),
        "contains" | "propertyNames" => (Draft::Six, Form::Schema),
        "if" | "then" | "else" => (Draft::Seven, Form::Schema),
        "$comment" | "contentMediaType" | "contentEncoding" => (Draft::Seven, Form::Text),
        "readOnly" | "writeOnly" => (Draft::Seven, Form::Boolean),
        "deprecated" => (Draft::Nineteen, Form::Boolean),
        "$defs" | "dependentSchemas" => (Draft::Nineteen, Form::SchemaMap),
        "dependentRequired" => (Draft::Nineteen, Form::NamesMap),
        "contentSchema" | "unevaluatedItems" | "unevaluatedProperties" => {
            (Draft::Nineteen, Form::Schema)
        }
        "minContains" | "maxContains" => (Draft::Nineteen, Form::Count),
        "$anchor" => (Draft::Nineteen, Form::Anchor),
        "$vocabulary" => (Draft::Nineteen, Form::BooleanMap),
        "$recursiveRef" => (Draft::Nineteen, Form::Reference),
        "$recursiveAnchor" if draft == Draft::Nineteen => (Draft::Nineteen, Form::Boolean),
        "$recursiveAnchor" => (Draft::Twenty, Form::Anchor),
        "prefixItems" => (Draft::Twenty, Form::Schemas),
        "$dynamicRef" => (Draft::Twenty, Form::Reference),
        "$dynamicAnchor" => (Draft::Twenty, Form::Anchor),
        _ => return None,
    };
    (draft >= since).then_some(form)
}

/// Whether a text can be the name of an anchor.
pub(super) fn is_anchor(draft: Draft, name: &str) -> bool {
    let mut characters = name.chars();
    let (first, others) = match draft {
        Draft::Twenty => ("_", "-._"),
        _ => ("", "-.:_"),
    };
    characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || first.contains(c))
        && characters.all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}
