//! C199: what is written does not depend on the order that a build gives to maps.

use serde_json::{Value, json};

use crate::data::Map;
use crate::encode::JsonEncoder;
use crate::handler::ToolResultEncoder as _;
use crate::json::{RawJson, Sorted, canonical_value, in_order, value_to_string};
use crate::session::{arguments_hash, tool_fingerprint};
use crate::{CallFailure, FailureReason, Tool, idempotency_key};

/// The same tree twice, its keys inserted in both orders.
fn both_orders() -> [Value; 2] {
    let map = |entries: [(&str, Value); 2]| {
        Map::from_iter(entries.map(|(key, value)| (key.to_owned(), value)))
    };
    let tree = |turned: bool, inner: Value| {
        let (a, b) = (("a", json!([inner, null])), ("b", json!(1.5)));
        Value::Object(map(if turned { [b, a] } else { [a, b] }))
    };
    [false, true].map(|turned| tree(turned, tree(turned, json!("é"))))
}

const TEXT: &str = r#"{"a":[{"a":["é",null],"b":1.5},null],"b":1.5}"#;

/// C199
#[test]
fn c199_a_tree_is_written_with_sorted_keys() {
    for tree in both_orders() {
        assert_eq!(Sorted(&tree).to_string(), TEXT);
        assert_eq!(value_to_string(&Sorted(&tree)), Ok(TEXT.to_owned()));
        assert_eq!(in_order(&tree).to_string(), TEXT);
        assert_eq!(*in_order(&tree), tree);
        assert_eq!(canonical_value(&tree), TEXT.as_bytes());
        assert_eq!(RawJson::from_value(&tree).unwrap().as_str(), TEXT);
        assert_eq!(JsonEncoder.encode(&tree).unwrap(), TEXT);
    }
}

/// C199
#[test]
fn c199_equal_trees_have_equal_hashes_and_keys() {
    let [one, other] = both_orders();
    assert_eq!(one, other);
    let maps = [&one, &other].map(|tree| tree.as_object().unwrap());
    let [keys, hashes, failures, prints] = [
        maps.map(|map| idempotency_key(b"s", 1, 2, "t", map)),
        maps.map(|map| arguments_hash(map).to_string()),
        [&one, &other].map(|tree| {
            let mut failure = CallFailure::new(FailureReason::Reported, "no");
            failure.details = Some(tree.clone());
            failure.to_content()
        }),
        [&one, &other]
            .map(|tree| tool_fingerprint(&Tool::new("t", "T.", tree.clone())).to_string()),
    ];
    for [one, other] in [keys, hashes, failures, prints] {
        assert_eq!(one, other);
    }
}
