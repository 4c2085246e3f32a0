//! Schemas of tools and answers, as far as wires agree about them.

use std::borrow::Cow;

use allm_core::validate::not_strict_at;
use allm_core::{
    Fault, FaultCode, Path, Request, ResponseFormat, Strict, ToolSpec, ValidationReason,
};
use serde_json::{Map, Value, json};

use super::notes::{Faults, Warnings};

/// The schema of a tool's arguments: an object with properties, else as the caller wrote it.
pub(crate) fn parameters(schema: &Value) -> Cow<'_, Value> {
    let object = match schema.as_object() {
        None => return Cow::Owned(json!({"type": "object", "properties": {}})),
        Some(object) if object.contains_key("type") && object.contains_key("properties") => {
            return Cow::Borrowed(schema);
        }
        Some(object) => object,
    };
    let mut object = object.clone();
    object.entry("type").or_insert_with(|| "object".into());
    // Without it a server takes the schema for unfinished. It says nothing beyond what is there.
    object
        .entry("properties")
        .or_insert_with(|| Map::new().into());
    Cow::Owned(Value::Object(object))
}

/// Whether a schema is sent as strict. `Auto` yields where the schema does not fit, and says so.
pub(crate) fn strict(
    strict: Strict,
    schema: &Value,
    path: impl FnOnce() -> Path,
    warnings: &mut Warnings,
) -> bool {
    match strict {
        Strict::No => false,
        Strict::Yes => true,
        Strict::Auto => match not_strict_at(schema) {
            None => true,
            Some(place) => {
                warnings.add("strict_disabled", Some(path()), Some(place));
                false
            }
        },
    }
}

/// Refuses `Strict::Yes` for schemas that do not fit the rules of OpenAI.
pub(crate) fn check_strict(request: &Request, faults: &mut Faults) {
    let mut check = |schema: &Value, path: Path| {
        if let Some(place) = not_strict_at(schema) {
            let fault = Fault::new(path, FaultCode::NotStrict).detail(place);
            faults.put(ValidationReason::UnsupportedOption, fault);
        }
    };
    for (index, tool) in request.tools.iter().enumerate() {
        if let ToolSpec::Function(function) = tool
            && function.strict == Strict::Yes
        {
            let path = Path::from("tools").index(index).field("schema");
            check(&parameters(&function.schema), path);
        }
    }
    if let Some(ResponseFormat::JsonSchema(format)) = &request.response_format
        && format.strict == Strict::Yes
    {
        check(
            &format.schema,
            Path::from("response_format").field("schema"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitting() -> Value {
        json!({
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
            "additionalProperties": false
        })
    }

    fn loose() -> Value {
        json!({
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "additionalProperties": false
        })
    }

    #[test]
    fn p100_a_tool_without_parameters_has_an_object() {
        let nothing = json!({"type": "object", "properties": {}});
        for schema in [
            json!({}),
            json!({"type": "object"}),
            json!({"properties": {}}),
        ] {
            assert_eq!(*parameters(&schema), nothing, "{schema}");
        }
        assert!(matches!(parameters(&fitting()), Cow::Borrowed(_)));
    }

    #[test]
    fn p112_strict_yields_or_refuses() {
        let mut warnings = Warnings::default();
        let path = || Path::from("response_format");
        assert!(strict(Strict::Auto, &fitting(), path, &mut warnings));
        assert!(!strict(Strict::Auto, &loose(), path, &mut warnings));
        assert!(!strict(Strict::No, &fitting(), path, &mut warnings));
        let told = warnings.finish();
        let [warning] = &told[..] else {
            panic!("{told:?}")
        };
        assert_eq!(warning.code, "strict_disabled");
        assert_eq!(warning.detail.as_deref(), Some("#/required"));
        let mut request = Request::new("hi");
        request.tools = vec![
            ToolSpec::function("good", "", fitting()),
            ToolSpec::function("bad", "", loose()),
        ];
        for tool in &mut request.tools {
            if let ToolSpec::Function(function) = tool {
                function.strict = Strict::Yes;
            }
        }
        let mut faults = Faults::default();
        check_strict(&request, &mut faults);
        let error = faults.finish().expect_err("a fault");
        assert_eq!(
            error.to_string(),
            "unsupported_option: tools[1].schema: not_strict (#/required)"
        );
    }
}
