use allm_core::Path;
use serde_json::json;

use super::*;

fn accepts(matcher: &mut Matcher, text: &str) -> bool {
    let tokens: Vec<u32> = text.bytes().map(u32::from).collect();
    let taken = matcher.try_consume_tokens(&tokens).unwrap_or(0);
    taken == tokens.len() && matcher.is_accepting().unwrap_or(false)
}

fn call(tools: &[Callable], calls: Calls, text: &str) -> bool {
    let grammars = Grammars::over_bytes().unwrap();
    let held = grammars.calls(tools, calls, CallStyle::Bare, None);
    accepts(&mut held.unwrap().tokens, text)
}

fn tool(name: &str, schema: Value) -> Callable {
    Callable {
        name: name.to_owned(),
        schema,
    }
}

/// P248
#[test]
fn p248_only_whole_calls_of_offered_tools_are_accepted() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]});
    let tools = [
        tool("f", schema),
        tool("g", json!({"type": "object", "properties": {}})),
    ];
    let one = |text: &str| call(&tools, Calls::One, text);
    assert!(one(r#"{"name": "f", "arguments": {"n": 7}}"#));
    assert!(one(r#"{"name": "g", "arguments": {}}"#));
    assert!(
        !one(r#"{"name": "f", "arguments": {"n": 70}}"#),
        "over the maximum"
    );
    assert!(
        !one(r#"{"name": "f", "arguments": {}}"#),
        "without what is required"
    );
    assert!(
        !one(r#"{"name": "g", "arguments": {"n": 7}}"#),
        "with what is not named"
    );
    assert!(!one(r#"{"name": "h", "arguments": {}}"#), "another tool");
    assert!(
        !one(r#"{"name": "f",  "arguments": {"n": 7}}"#),
        "another form"
    );
    let two = "{\"name\": \"g\", \"arguments\": {}}\n{\"name\": \"f\", \"arguments\": {\"n\": 1}}";
    assert!(!one(two));
    assert!(call(&tools, Calls::Several, two));
}

/// P248
#[test]
fn a_schema_that_says_nothing_takes_any_object() {
    let tools = [tool("f", json!({}))];
    let one = |text: &str| call(&tools, Calls::One, text);
    assert!(one(
        r#"{"name": "f", "arguments": {"a": [1, {"b": null}]}}"#
    ));
    assert!(!one(r#"{"name": "f", "arguments": [1]}"#));
}

/// P251
#[test]
fn p251_any_object_is_an_object() {
    let grammars = Grammars::over_bytes().unwrap();
    let json = |text: &str| accepts(&mut grammars.json(None).unwrap().tokens, text);
    assert!(json(r#"{"a": {"b": ["c", 1.5e3, true]}}"#));
    assert!(!json("[1]") && !json("1") && !json("{\"a\":\n1}"));
}

/// P253
#[test]
fn faults_are_found_at_their_place() {
    let grammars = Grammars::over_bytes().unwrap();
    let fault = |schema: Value| grammars.fault(&schema).map(|(path, _)| path);
    assert_eq!(fault(json!({"type": "object"})), None);
    assert_eq!(fault(json!({"type": "strange"})), Some(Path::root()));
    let inner = json!({"anyOf": [{"type": "string"}, {"items": {"type": "strange"}}]});
    let path = Path::from("anyOf").index(1).field("items");
    assert_eq!(fault(inner), Some(path));
}

/// P248: a mark of the model's is no text, whatever its name looks like.
#[test]
fn marks_cannot_be_written() {
    let path = std::env::temp_dir().join(format!("allm-local-{}-grammar.gguf", std::process::id()));
    let path = crate::tiny::Tiny::new().write(&path);
    let tokenizer = Arc::new(Tokenizer::read(&crate::gguf::Gguf::open(&path).unwrap()).unwrap());
    std::fs::remove_file(path).unwrap();
    let grammars = Grammars::new(&tokenizer).unwrap();
    let held = grammars.json(Some(&json!({"type": "string"}))).unwrap();
    let mut matcher = held.tokens;
    matcher.consume_token(u32::from(b'"')).unwrap();
    let mask = matcher.compute_mask().unwrap();
    let marks: Vec<u32> = (0..)
        .take(tokenizer.len())
        .filter(|token| tokenizer.is_mark(*token))
        .collect();
    assert_eq!(marks.len(), 3);
    assert!(marks.iter().all(|mark| !mask.is_allowed(*mark)));
    assert!(mask.is_allowed(u32::from(b'<')));
}

/// P268
#[test]
fn p268_the_way_to_the_end_is_short() {
    let grammars = Grammars::over_bytes().unwrap();
    let way = |schema: Value, written: &str| {
        let mut ending = grammars.json(Some(&schema)).unwrap().ending;
        ending.push(written.as_bytes());
        assert!(!ending.is_lost(), "{written}");
        let way = ending.way_after(b"", None, 1000, &|_| true);
        // Nothing has changed by looking.
        assert_eq!(ending.way_after(b"", None, 1000, &|_| true), way);
        way.map(|way| String::from_utf8(way).unwrap())
    };
    let is = |schema: Value, written: &str, expected: &str| {
        assert_eq!(way(schema, written).as_deref(), Some(expected), "{written}");
    };
    let both = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a", "b"]});
    is(both.clone(), "", r#"{"a": "", "b": 0}"#);
    is(both.clone(), r#"{"a": "x\"#, r#""", "b": 0}"#);
    is(both.clone(), r#"{"a": "x", "b": -"#, "0}");
    is(both.clone(), r#"{"a": "x", "b": 1.5e"#, "0}");
    is(both, r#"{"a": "x", "b": 1}"#, "");
    is(json!({"type": "array"}), "[[{\"a\": [1", "]}]]");
    is(
        json!({"type": "string", "pattern": "^[a-y]*z$"}),
        "\"abc",
        "z\"",
    );
    is(json!({"type": "integer", "minimum": 70}), "", "70");
    is(json!({"enum": ["long", "short"]}), "", "\"long\"");
    let tree = json!({"$ref": "#/$defs/t", "$defs": {"t": {"anyOf": [
        {"type": "array", "items": {"$ref": "#/$defs/t"}, "minItems": 1},
        {"type": "object", "properties": {"leaf": {"type": "null"}}, "required": ["leaf"]}
    ]}}});
    is(tree, "[", r#"{"leaf": null}]"#);
    // An answer that never ends has none.
    let endless = json!({"type": "array", "items": {"$ref": "#"}, "minItems": 1});
    assert_eq!(way(endless, "["), None);
}
