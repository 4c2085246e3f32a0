use super::*;

fn form(properties: Value, required: Value) -> Question {
    Question {
        message: "?".to_owned(),
        wants: Wants::Form(
            json!({"type": "object", "properties": properties, "required": required}),
        ),
    }
}

fn accept(content: Value) -> Result<ElicitResult, Vec<String>> {
    Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
}

#[test]
fn m44_json_that_fits() {
    let question = form(
        json!({"age": {"type": "integer"}, "name": {"type": "string"}}),
        json!(["age"]),
    );
    let fits = r#"{"age": 7, "name": "Ada"}"#;
    assert_eq!(
        read(fits, &question),
        accept(json!({"age": 7, "name": "Ada"}))
    );
}

#[test]
fn m44_the_protocols_own_form() {
    let question = form(json!({"age": {"type": "integer"}}), json!(["age"]));
    let own = r#"{"action": "accept", "content": {"age": 7}}"#;
    assert_eq!(read(own, &question), accept(json!({"age": 7})));
    let decline = Ok(ElicitResult::new(ElicitationAction::Decline));
    assert_eq!(read(r#"{"action": "decline"}"#, &question), decline);
    let cancel = Ok(ElicitResult::new(ElicitationAction::Cancel));
    assert_eq!(
        read(r#"{"action": "cancel", "content": null}"#, &question),
        cancel
    );
}

#[test]
fn m44_plain_text_for_one_field() {
    let one = |field: Value| form(json!({ "x": field }), json!(["x"]));
    let text = one(json!({"type": "string"}));
    assert_eq!(
        read("Ada Lovelace", &text),
        accept(json!({"x": "Ada Lovelace"}))
    );
    assert_eq!(read("\"7\"", &text), accept(json!({"x": "7"})));
    assert_eq!(read("7", &text), accept(json!({"x": "7"})));
    assert_eq!(
        read(" 7 ", &one(json!({"type": "integer"}))),
        accept(json!({"x": 7}))
    );
    assert_eq!(
        read("yes", &one(json!({"type": "boolean"}))),
        accept(json!({"x": true}))
    );
    assert_eq!(
        read("false", &one(json!({"type": "boolean"}))),
        accept(json!({"x": false}))
    );
}

#[test]
fn m44_yes_or_no() {
    let nothing = form(json!({}), json!([]));
    assert_eq!(read("Yes!", &nothing), accept(json!({})));
    assert_eq!(
        read("no", &nothing),
        Ok(ElicitResult::new(ElicitationAction::Decline))
    );
    let page = Question {
        message: String::new(),
        wants: Wants::Url("https://h/".to_owned()),
    };
    assert_eq!(
        read("done", &page).map(|r| r.action),
        Ok(ElicitationAction::Accept)
    );
    assert_eq!(
        read("cancel", &page).map(|r| r.action),
        Ok(ElicitationAction::Cancel)
    );
    assert_eq!(
        read("what?", &page),
        Err(vec!["answer yes, no or cancel".to_owned()])
    );
}

#[test]
fn m45_what_is_wrong_is_said() {
    let question = form(
        json!({"age": {"type": "integer", "minimum": 1}}),
        json!(["age"]),
    );
    let wrong = read(r#"{"age": "x"}"#, &question).unwrap_err();
    assert!(wrong[0].starts_with("/age: "), "{wrong:?}");
    assert!(read("{}", &question).is_err());
    let two = form(
        json!({"a": {"type": "string"}, "b": {"type": "string"}}),
        json!([]),
    );
    assert!(read("just this", &two).is_err());
}
