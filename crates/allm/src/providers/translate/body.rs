//! The settings of a body.

pub(crate) use crate::engine::settings::deep_merge as merge;

#[cfg(test)]
mod tests {
    use allm_core::Map;
    use serde_json::{Value, json};

    use super::*;

    fn map(value: Value) -> Map {
        let Value::Object(map) = value else {
            panic!("an object")
        };
        map
    }

    #[test]
    fn p93_extra_keeps_siblings() {
        let mut body = map(json!({"text": {"format": {"type": "text"}}, "n": 1, "list": [1]}));
        let extra =
            map(json!({"text": {"verbosity": "low"}, "n": {"a": 1}, "list": [2], "more": null}));
        merge(&mut body, &extra);
        let expected = json!({
            "text": {"format": {"type": "text"}, "verbosity": "low"},
            "n": {"a": 1},
            "list": [2],
            "more": null
        });
        assert_eq!(Value::Object(body), expected);
    }
}
