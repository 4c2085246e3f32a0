//! How calls of tools look in a text.

use serde_json::{Value, json};

use crate::template::Template;
use crate::template::python;

/// How a model writes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallStyle {
    /// `{"name": …, "arguments": …}`
    Bare,
    /// `{"name": …, "parameters": …}`
    Parameters,
    /// `{"name": …, "arguments": …}` between `<tool_call>` and `</tool_call>`
    Tagged,
}

impl CallStyle {
    /// The way that a template shows to its model.
    pub(crate) fn of(template: &Template) -> Self {
        if !template.knows_tools() {
            return Self::Bare;
        }
        let source = template.source();
        if source.contains("<tool_call>") {
            Self::Tagged
        } else if source.contains(r#""parameters": "#) || source.contains(r#"\"parameters\": "#) {
            Self::Parameters
        } else {
            Self::Bare
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Bare | Self::Tagged => "arguments",
            Self::Parameters => "parameters",
        }
    }

    fn opening(self) -> &'static str {
        match self {
            Self::Bare | Self::Parameters => "",
            Self::Tagged => "<tool_call>\n",
        }
    }

    /// What a call begins with, up to the name of its tool.
    pub(crate) fn opening_with(self, name: &str) -> String {
        format!(r#"{}{{"name": "{name}""#, self.opening())
    }

    /// What stands before the arguments of a call.
    pub(crate) fn before_arguments(self, name: &str) -> String {
        format!(r#"{}, "{}": "#, self.opening_with(name), self.key())
    }

    /// What stands after them.
    pub(crate) fn after_arguments(self) -> &'static str {
        match self {
            Self::Bare | Self::Parameters => "}",
            Self::Tagged => "}\n</tool_call>",
        }
    }

    /// What stands between two calls.
    pub(crate) fn between(self) -> &'static str {
        "\n"
    }

    /// What every call begins with.
    pub(crate) fn first_byte(self) -> u8 {
        match self {
            Self::Bare | Self::Parameters => b'{',
            Self::Tagged => b'<',
        }
    }

    /// A call as its model would write it.
    pub(crate) fn call(self, name: &str, arguments: &Value) -> String {
        let arguments = match arguments {
            Value::Object(_) => python::json(arguments),
            _ => python::json(&json!({})),
        };
        [
            &self.before_arguments(name),
            &*arguments,
            self.after_arguments(),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_says_how_its_model_calls() {
        let style = |source| CallStyle::of(&Template::new(source).unwrap());
        assert_eq!(style("no tools"), CallStyle::Bare);
        assert_eq!(style("{{ tools }}"), CallStyle::Bare);
        assert_eq!(style("{{ tools }}<tool_call>"), CallStyle::Tagged);
        assert_eq!(
            style(r#"{{ tools }}{"name": x, "parameters": y}"#),
            CallStyle::Parameters
        );
    }

    #[test]
    fn calls_look_as_they_should() {
        let call = |style: CallStyle| style.call("f", &json!({"a": [1, 2]}));
        assert_eq!(
            call(CallStyle::Bare),
            r#"{"name": "f", "arguments": {"a": [1, 2]}}"#
        );
        assert_eq!(
            call(CallStyle::Parameters),
            r#"{"name": "f", "parameters": {"a": [1, 2]}}"#
        );
        let tagged = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, 2]}}\n</tool_call>";
        assert_eq!(call(CallStyle::Tagged), tagged);
    }
}
