//! What the stub of a compact tool says (loop.md, L235).

use allm_core::compact::project;
use allm_core::{Map, Tool, ToolSpec};
use serde_json::{Value, json};

fn described(tool: &Tool) -> String {
    match project(&[tool.clone().compact()], None, &Map::new()).first() {
        Some(ToolSpec::Function(stub)) => stub.description.clone(),
        _ => String::new(),
    }
}

fn with_schema(schema: Value) -> String {
    described(&Tool::new("t", "", schema))
}

fn with_description(description: &str) -> String {
    described(&Tool::new("t", description, json!({})))
}

#[test]
fn l235_a_given_summary_is_used_as_it_is() {
    let long = "s".repeat(200);
    let given = |summary: &str| described(&Tool::new("t", "One. Two.", json!({})).summary(summary));
    assert_eq!(given("Short. And more"), "Short. And more [compact]");
    assert_eq!(given(&long), format!("{long} [compact]"));
    assert_eq!(given(""), "One. [compact]");
    assert_eq!(given(" "), "One. [compact]");
}

#[test]
fn l235_one_sentence() {
    assert_eq!(
        with_description("  First one. Second one. "),
        "First one. [compact]"
    );
    assert_eq!(with_description("Wow! More."), "Wow! [compact]");
    assert_eq!(with_description("Really?\tYes."), "Really? [compact]");
    assert_eq!(with_description("Only this."), "Only this. [compact]");
    assert_eq!(
        with_description("v1.2 is a.b! Yes."),
        "v1.2 is a.b! [compact]"
    );
    assert_eq!(
        with_description("First line \r\nSecond. Third."),
        "First line [compact]"
    );
}

#[test]
fn l235_no_stop() {
    assert_eq!(with_description(" no stop here "), "no stop here [compact]");
    assert_eq!(with_description(""), "[compact]");
}

#[test]
fn l235_161_characters() {
    // A letter with two marks is one character to a reader.
    for letter in ["a", "e\u{301}\u{323}", "👩‍👩‍👧"] {
        let whole = letter.repeat(160);
        assert_eq!(with_description(&whole), format!("{whole} [compact]"));
        let cut = format!("{}... [compact]", letter.repeat(157));
        assert_eq!(with_description(&letter.repeat(161)), cut);
    }
}

#[test]
fn l235_no_properties() {
    assert_eq!(with_schema(json!({"type": "object"})), "[compact]");
    assert_eq!(with_schema(json!({"properties": ["a"]})), "[compact]");
    assert_eq!(with_schema(json!(true)), "[compact]");
}

#[test]
fn l235_empty_properties() {
    assert_eq!(
        with_schema(json!({"properties": {}})),
        "Args: none [compact]"
    );
}

#[test]
fn l235_required_and_optional() {
    let properties = json!({"z": {}, "a": {}, "title": {}, "repo": {}});
    let args =
        |required: Value| with_schema(json!({"properties": properties, "required": required}));
    assert_eq!(
        args(json!(["title", "repo"])),
        "Args: title, repo [a, z] [compact]"
    );
    assert_eq!(args(json!([])), "Args: [a, repo, title, z] [compact]");
    assert_eq!(
        args(json!(["z", "a", "title", "repo"])),
        "Args: z, a, title, repo [compact]"
    );
    assert_eq!(args(json!("title")), "Args: [a, repo, title, z] [compact]");
}

#[test]
fn l235_required_names_that_are_no_properties() {
    let required = json!(["ghost", "a", 3, "a"]);
    let schema = json!({"properties": {"a": {}, "b": {}}, "required": required});
    assert_eq!(with_schema(schema), "Args: a [b] [compact]");
}
