//! Values that a tool may give.

use allm_core::Map;
use allm_core::json::MAX_DEPTH;
use allm_core::limits::MAX_TOOL_OUTPUT;
use serde_json::{Value, json};

/// Values of every kind, chosen and made up. The same each time.
pub(super) fn all() -> Vec<Value> {
    let mut values = chosen();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    values.extend((0..300).map(|_| made_up(&mut numbers, 4)));
    values
}

fn chosen() -> Vec<Value> {
    // What cannot be a number in JSON is null when it arrives here, and bytes are a list of numbers.
    let not_finite = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(Value::from);
    let bytes = Value::from((0..=u8::MAX).collect::<Vec<_>>());
    vec![
        Value::Null,
        json!(true),
        json!(false),
        json!(0),
        json!(-0.0),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.1),
        json!(1.5e300),
        json!(5e-324),
        json!(""),
        json!(" "),
        json!("plain"),
        json!("null"),
        json!("{\"looks\": \"like JSON\"}"),
        json!("two\nlines\r\n\ttab \"quotes\" \\ back"),
        json!("\u{0}\u{1b}[31m\u{7f}"),
        json!("Grüße 🌍 e\u{301} \u{202e}\u{2028}\u{feff}\u{10ffff}"),
        json!([]),
        json!({}),
        json!([null, [], {}, [[]]]),
        json!({"": {"": {"": null}}}),
        json!({"b": 1, "a": 2, "ä": 3, "A": 4, "\n": 5, "0": 6}),
        json!({"error": {"reason": "reported", "message": "not a failure"}}),
        json!(not_finite),
        bytes,
    ]
}

/// Larger than what the model is shown, with characters of several bytes.
pub(super) fn large() -> Vec<Value> {
    let text = "aé世🌍".repeat(MAX_TOOL_OUTPUT / 4);
    let list: Vec<_> = (0..MAX_TOOL_OUTPUT / 4).collect();
    let object = (0..20_000).map(|number| (format!("key-{number}-🌍"), json!([number])));
    vec![
        text.into(),
        json!(list),
        Value::Object(Map::from_iter(object)),
    ]
}

/// As deep as a document may be.
pub(super) fn deep() -> Vec<Value> {
    let nest = |wrap: fn(Value) -> Value| (1..MAX_DEPTH).fold(json!([]), |inner, _| wrap(inner));
    vec![
        nest(|inner| json!([inner])),
        nest(|inner| json!({"in": inner})),
    ]
}

/// An equal value, built in another order.
pub(super) fn rebuilt(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(rebuilt).collect(),
        Value::Object(map) => {
            let backwards = map.iter().rev();
            let members = backwards.map(|(key, value)| (key.clone(), rebuilt(value)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

/// Numbers that look like chance and are always the same.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

fn made_up(numbers: &mut Numbers, depth: u32) -> Value {
    let kinds = if depth == 0 { 5 } else { 7 };
    match numbers.below(kinds) {
        0 => Value::Null,
        1 => json!(numbers.below(2) == 0),
        2 => json!(numbers.next()),
        3 => Value::from(f64::from_bits(numbers.next())),
        4 => text(numbers).into(),
        5 => {
            let length = numbers.below(4);
            (0..length).map(|_| made_up(numbers, depth - 1)).collect()
        }
        _ => {
            let length = numbers.below(4);
            let members = (0..length).map(|_| (text(numbers), made_up(numbers, depth - 1)));
            Value::Object(members.collect())
        }
    }
}

fn text(numbers: &mut Numbers) -> String {
    let length = numbers.below(8);
    let character = |numbers: &mut Numbers| {
        let code = match numbers.below(3) {
            0 => numbers.below(0x80),
            1 => numbers.below(0x800),
            _ => numbers.below(0x11_0000),
        };
        let code = u32::try_from(code).ok();
        code.and_then(char::from_u32).unwrap_or('\u{fffd}')
    };
    (0..length).map(|_| character(numbers)).collect()
}
