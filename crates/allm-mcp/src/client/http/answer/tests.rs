use serde_json::{Value, json};

use super::*;

fn said(body: &Value) -> Value {
    let message = of(body.to_string().as_bytes(), &RequestId::Number(7));
    serde_json::to_value(message).expect("JSON")
}

fn unread() -> Value {
    let error = json!({"code": -32700, "message": "the server's answer could not be read"});
    json!({"jsonrpc": "2.0", "id": 7, "error": error})
}

/// M178
#[test]
fn an_answer_is_to_the_request_that_it_came_for() {
    let result = |id: Value| json!({"jsonrpc": "2.0", "id": id, "result": {"x": 1}});
    assert_eq!(said(&result(json!(7))), result(json!(7)));
    assert_eq!(said(&result(json!("7"))), result(json!("7")));
    assert_eq!(said(&result(json!(8))), unread());
    assert_eq!(said(&json!("nonsense")), unread());
    let error = json!({"code": -32000, "message": "no"});
    let nameless = json!({"jsonrpc": "2.0", "id": null, "error": error});
    assert_eq!(
        said(&nameless),
        json!({"jsonrpc": "2.0", "id": 7, "error": error})
    );
}

/// M179
#[test]
fn only_words_about_the_session_are() {
    let is = |words: &str| {
        let error = json!({"code": -32000, "message": words});
        is_forgotten(
            json!({"jsonrpc": "2.0", "id": null, "error": error})
                .to_string()
                .as_bytes(),
        )
    };
    assert!(is("Bad Request: No valid session ID provided"));
    assert!(is("Session not found"));
    assert!(is("Not Found: Invalid or expired session ID"));
    assert!(is("Bad Request: Mcp-Session-Id header is required"));
    assert!(!is("the session of the parliament has no such number"));
    assert!(!is("unknown argument `session`"));
}
