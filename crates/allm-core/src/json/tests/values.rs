use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{at, place};
use crate::error::{JsonError, JsonReason};
use crate::json::{Limits, value_from_slice, value_to_string};

fn read<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    value_from_slice(text.as_bytes(), Limits::default())
}

/// Reads `text` and writes it again.
fn same<T: DeserializeOwned + Serialize>(text: &str) {
    let value: T = read(text).unwrap();
    assert_eq!(value_to_string(&value).unwrap(), text);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(u8, String),
    Struct { a: i64, b: Option<bool> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Id(u64);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pair(u8, f32);

#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Key {
    First,
    Second,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    shapes: Vec<Shape>,
    id: Id,
    pair: Pair,
    unit: (),
    letter: char,
    numbers: BTreeMap<i32, u64>,
    flags: BTreeMap<bool, Id>,
    keys: BTreeMap<Key, Option<Id>>,
    any: Value,
    non_zero: NonZeroU32,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

const EVERYTHING: &str = concat!(
    r#"{"shapes":["Unit",{"Newtype":7},{"Tuple":[1,"x"]},{"Struct":{"a":-5,"b":true}}],"id":18446744073709551615,"#,
    r#""pair":[1,0.1],"unit":null,"letter":"é","numbers":{"-3":1,"12":2},"flags":{"false":0,"true":1},"#,
    r#""keys":{"first":1,"second":null},"any":{"a":[1,2.5,"x",null]},"non_zero":1,"more":[{}]}"#
);

#[test]
fn everything_that_derived_code_asks_for_is_read() {
    same::<Everything>(EVERYTHING);
    same::<Option<Option<u8>>>("null");
    same::<(bool, i8, String)>(r#"[true,-128,"x"]"#);
    same::<HashMap<String, f64>>(r#"{"a":0.5}"#);
    same::<Vec<Option<Shape>>>(r#"[null,"Unit"]"#);
}

#[test]
fn each_kind_of_fault_has_its_path() {
    use JsonReason::InvalidValue;
    let fault = |from: &str, to: &str| {
        let text = EVERYTHING.replacen(from, to, 1);
        assert_ne!(text, EVERYTHING);
        place(read::<Everything>(&text))
    };
    assert_eq!(
        fault("\"Unit\"", "\"Round\""),
        at(InvalidValue, "shapes[0]")
    );
    assert_eq!(
        fault("\"Unit\"", "\"Newtype\""),
        at(InvalidValue, "shapes[0]")
    );
    assert_eq!(
        fault("\"Unit\"", "{\"Unit\":1}"),
        at(InvalidValue, "shapes[0].Unit")
    );
    assert_eq!(fault("\"Unit\"", "{}"), at(InvalidValue, "shapes[0]"));
    assert_eq!(
        fault("Newtype", "Round"),
        at(InvalidValue, "shapes[1].Round")
    );
    assert_eq!(fault("7", "256"), at(InvalidValue, "shapes[1].Newtype"));
    assert_eq!(
        fault("[1,\"x\"]", "[1,2]"),
        at(InvalidValue, "shapes[2].Tuple[1]")
    );
    assert_eq!(
        fault("[1,\"x\"]", "[1]"),
        at(InvalidValue, "shapes[2].Tuple")
    );
    assert_eq!(
        fault("[1,\"x\"]", "[1,\"x\",2]"),
        at(InvalidValue, "shapes[2].Tuple")
    );
    assert_eq!(fault("-5", "\"\""), at(InvalidValue, "shapes[3].Struct.a"));
    assert_eq!(
        fault("{\"a\":-5,\"b\":true}", "[-5,true]"),
        at(InvalidValue, "shapes[3].Struct")
    );
    assert_eq!(fault("-3", "03"), at(InvalidValue, r#"numbers.03"#));
    assert_eq!(
        fault("-3", "9999999999"),
        at(InvalidValue, "numbers.9999999999")
    );
    assert_eq!(
        fault("\"true\":1", "\"yes\":1"),
        at(InvalidValue, "flags.yes")
    );
    assert_eq!(fault("second", "third"), at(InvalidValue, "keys.third"));
    assert_eq!(
        fault("\"non_zero\":1", "\"non_zero\":0"),
        at(InvalidValue, "non_zero")
    );
    assert_eq!(
        fault("\"unit\":null", "\"unit\":1"),
        at(InvalidValue, "unit")
    );
    assert_eq!(fault("\"é\"", "\"éé\""), at(InvalidValue, "letter"));
    assert_eq!(
        fault("\"id\":", "\"idd\":"),
        at(JsonReason::MissingField, "id")
    );
}

#[test]
fn integers_refuse_floats_and_floats_take_integers() {
    assert_eq!(read::<f64>("3").unwrap().to_string(), "3");
    assert_eq!(read::<f64>("-3").unwrap().to_string(), "-3");
    for text in ["1.0", "1e0", "-0", "18446744073709551616"] {
        assert_eq!(place(read::<u64>(text)), at(JsonReason::InvalidValue, "$"));
    }
    assert_eq!(
        read::<u8>("300").unwrap_err().message,
        "an integer that does not fit, expected u8"
    );
    assert_eq!(
        read::<u8>("\"x\"").unwrap_err().message,
        "expected u8, found a string"
    );
    assert_eq!(
        place(read::<i64>("9223372036854775808")),
        at(JsonReason::InvalidValue, "$")
    );
}

#[test]
fn a_struct_is_an_object_and_never_an_array() {
    #[derive(Debug, Deserialize)]
    struct One {
        #[expect(dead_code, reason = "only read")]
        a: u8,
    }
    assert_eq!(place(read::<One>("[1]")), at(JsonReason::InvalidValue, "$"));
}

#[test]
fn an_own_error_of_a_type_is_invalid_value_with_its_message() {
    #[derive(Debug)]
    struct Even;
    impl<'de> Deserialize<'de> for Even {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            match u64::deserialize(deserializer)? % 2 {
                0 => Ok(Self),
                _ => Err(serde::de::Error::custom("must be even")),
            }
        }
    }
    let error = read::<Vec<Even>>("[2,3]").unwrap_err();
    assert_eq!(error.to_string(), "invalid_value at [1]: must be even");
}

#[test]
fn an_alias_beside_its_field_is_a_field_twice() {
    #[derive(Debug, Deserialize)]
    struct Named {
        #[serde(alias = "b")]
        #[expect(dead_code, reason = "only read")]
        a: u8,
    }
    assert_eq!(
        place(read::<Named>(r#"{"a":1,"b":2}"#)),
        at(JsonReason::Malformed, "a")
    );
}
