//! How two requests differ.

use serde_json::{Map, Value, json};

use super::cassette::{Asked, Payload};

/// One place where what was recorded and what was sent differ. `None`: there is nothing at this place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) path: String,
    pub(super) recorded: Option<Value>,
    pub(super) sent: Option<Value>,
}

/// How much of a value is shown.
const SHOWN: usize = 120;
/// How many differences are told.
const TOLD: usize = 20;

/// Every difference between two requests.
pub(super) fn of_requests(recorded: &Asked, sent: &Asked) -> Vec<Difference> {
    let mut found = Vec::new();
    for (name, recorded, sent) in [
        ("method", &recorded.method, &sent.method),
        ("host", &recorded.host, &sent.host),
        ("path", &recorded.path, &sent.path),
        ("query", &recorded.query, &sent.query),
    ] {
        compare(name, &json!(recorded), &json!(sent), &mut found);
    }
    let body = |payload: &Payload| match payload {
        Payload::Json(value) => value.clone(),
        Payload::Other(bytes) => Value::from(String::from_utf8_lossy(bytes)),
    };
    compare("body", &body(&recorded.body), &body(&sent.body), &mut found);
    found
}

/// Every difference between two values.
pub(super) fn compare(path: &str, recorded: &Value, sent: &Value, found: &mut Vec<Difference>) {
    match (recorded, sent) {
        (Value::Object(recorded), Value::Object(sent)) => {
            for (name, value) in recorded {
                let path = format!("{path}.{name}");
                inside(path, Some(value), sent.get(name), found);
            }
            for (name, value) in sent {
                if !recorded.contains_key(name) {
                    inside(format!("{path}.{name}"), None, Some(value), found);
                }
            }
        }
        (Value::Array(recorded), Value::Array(sent)) => {
            for index in 0..recorded.len().max(sent.len()) {
                let path = format!("{path}[{index}]");
                inside(path, recorded.get(index), sent.get(index), found);
            }
        }
        (recorded, sent) if recorded == sent => {}
        (recorded, sent) => found.push(Difference {
            path: path.to_owned(),
            recorded: Some(recorded.clone()),
            sent: Some(sent.clone()),
        }),
    }
}

fn inside(
    path: String,
    recorded: Option<&Value>,
    sent: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (recorded, sent) {
        (Some(recorded), Some(sent)) => compare(&path, recorded, sent, found),
        (recorded, sent) => found.push(Difference {
            path,
            recorded: recorded.cloned(),
            sent: sent.cloned(),
        }),
    }
}

/// How far apart two requests are: an address weighs more than any text.
pub(super) fn distance(differences: &[Difference]) -> usize {
    let weight = |difference: &Difference| match difference.path.as_str() {
        "method" | "host" | "path" => 1000,
        _ => 1,
    };
    differences.iter().map(weight).sum()
}

/// The differences in one line.
pub(super) fn line(differences: &[Difference]) -> String {
    let mut told: Vec<String> = differences
        .iter()
        .take(3)
        .map(|difference| {
            let Difference {
                path,
                recorded,
                sent,
            } = difference;
            format!("{path}: recorded {}, sent {}", text(recorded), text(sent))
        })
        .collect();
    if differences.len() > told.len() {
        told.push(format!("and {} more", differences.len() - told.len()));
    }
    told.join("; ")
}

/// The differences line by line.
pub(super) fn lines(differences: &[Difference]) -> String {
    let mut lines = String::new();
    for difference in differences.iter().take(TOLD) {
        let (recorded, sent) = (text(&difference.recorded), text(&difference.sent));
        lines.extend([
            "\n  ",
            &difference.path,
            "\n    - ",
            &recorded,
            "\n    + ",
            &sent,
        ]);
    }
    if differences.len() > TOLD {
        lines.push_str(&format!("\n  and {} more", differences.len() - TOLD));
    }
    lines
}

/// The differences as details of an error.
pub(super) fn details(differences: &[Difference]) -> Value {
    let shown = |difference: &Difference| {
        let mut map = Map::new();
        map.insert("path".to_owned(), json!(difference.path));
        for (name, value) in [
            ("recorded", &difference.recorded),
            ("sent", &difference.sent),
        ] {
            if value.is_some() {
                map.insert(name.to_owned(), json!(text(value)));
            }
        }
        Value::Object(map)
    };
    differences.iter().take(TOLD).map(shown).collect()
}

/// A value as JSON, cut; `nothing` where there is none.
fn text(value: &Option<Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C195
    #[test]
    fn c195_differences_are_told_by_their_path() {
        let recorded = json!({"a": [1, {"b": "x"}], "c": true, "same": {"d": 1}});
        let sent = json!({"a": [1, {"b": "y"}, 3], "e": null, "same": {"d": 1}});
        let mut found = Vec::new();
        compare("body", &recorded, &sent, &mut found);
        assert_eq!(
            line(&found),
            "body.a[1].b: recorded \"x\", sent \"y\"; body.a[2]: recorded nothing, sent 3; \
             body.c: recorded true, sent nothing; and 1 more"
        );
        assert_eq!(
            details(&found),
            json!([
                {"path": "body.a[1].b", "recorded": "\"x\"", "sent": "\"y\""},
                {"path": "body.a[2]", "sent": "3"},
                {"path": "body.c", "recorded": "true"},
                {"path": "body.e", "sent": "null"},
            ])
        );
        let long = json!("é".repeat(1000));
        let mut found = Vec::new();
        compare("body", &long, &json!(1), &mut found);
        assert!(line(&found).len() < 400, "{}", line(&found));
        compare("body", &long, &long, &mut found);
        assert_eq!(found.len(), 1);
    }
}
