use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::samples::{Thread, thread};
use super::{at, place};
use crate::error::JsonReason;
use crate::json::{canonical, canonical_value, from_slice, to_vec, value_to_string, value_to_vec};

#[derive(Serialize)]
enum Sample {
    Newtype(f64),
    Tuple(u8, f32),
    Struct { x: Option<f64> },
}

#[test]
fn c172_a_number_that_is_not_finite_fails_with_its_path() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let request = Thread {
            temperature: Some(bad),
            ..thread()
        };
        let error = to_vec(&request).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid_value at data.temperature: a number that is not finite"
        );
    }
}

#[test]
fn c172_the_path_leads_through_every_kind_of_value() {
    #[derive(Serialize)]
    struct Outer {
        samples: Vec<Sample>,
    }
    let fault = |sample| {
        let outer = Outer {
            samples: vec![Sample::Newtype(1.0), sample],
        };
        let found = place(value_to_vec(&outer));
        assert_eq!(place(canonical(&outer)), found);
        found
    };
    use JsonReason::InvalidValue;
    assert_eq!(
        fault(Sample::Newtype(f64::NAN)),
        at(InvalidValue, "samples[1].Newtype")
    );
    assert_eq!(
        fault(Sample::Tuple(1, f32::NAN)),
        at(InvalidValue, "samples[1].Tuple[1]")
    );
    assert_eq!(
        fault(Sample::Struct { x: Some(f64::NAN) }),
        at(InvalidValue, "samples[1].Struct.x")
    );
    let map = BTreeMap::from([(7, ("a", f64::NAN))]);
    assert_eq!(place(value_to_vec(&map)), at(InvalidValue, "7[1]"));
    assert_eq!(place(canonical(&map)), at(InvalidValue, "7[1]"));
}

#[test]
fn the_writer_writes_what_serde_json_writes() {
    let samples = json!({"a": [1, -1, 0.1, 1e300, 1.0, null, true, {"\u{1}\u{7f}\"/": "\\\n\u{2028}"}], "b": {}, "c": []});
    assert_eq!(value_to_string(&samples).unwrap(), samples.to_string());
    let other = (
        [
            Sample::Newtype(0.5),
            Sample::Tuple(1, 0.1),
            Sample::Struct { x: None },
        ],
        'x',
        (),
        i128::from(i64::MIN),
        BTreeMap::from([(true, 1), (false, 2)]),
    );
    assert_eq!(
        value_to_string(&other).unwrap(),
        serde_json::to_string(&other).unwrap()
    );
}

/// What has no place of its own in JSON, as `serde_json` writes it.
#[test]
fn the_writer_writes_odd_kinds_as_serde_json_does() {
    #[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
    enum Name {
        One,
        Two,
    }
    #[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
    struct Wrapped(u8);
    #[derive(Serialize)]
    struct Empty;
    #[derive(Serialize)]
    struct Pair(u8, Option<Empty>);
    #[derive(Serialize)]
    enum Odd<'a> {
        Unit,
        Nothing {},
        Bytes(&'a [u8]),
        Raw(Box<RawValue>),
    }
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&[0, 255])
        }
    }
    fn same(value: &impl Serialize) {
        let written = serde_json::to_string(value).unwrap();
        assert_eq!(value_to_string(value).unwrap(), written);
        let tree: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(
            canonical(value).unwrap(),
            canonical_value(&tree),
            "{written}"
        );
    }
    same(&BTreeMap::from([(Name::Two, 1), (Name::One, 2)]));
    same(&BTreeMap::from([(Wrapped(2), 1), (Wrapped(10), 2)]));
    same(&BTreeMap::from([('"', 1), ('\n', 2), ('!', 3), ('\\', 4)]));
    same(&BTreeMap::from([(-1_i8, 1), (1, 2)]));
    same(&BTreeMap::from([(u128::MAX, 1)]));
    same(&BTreeMap::from([(Some("a"), 1)]));
    same(&(Empty, Pair(1, Some(Empty)), Bytes, 'é', u8::MAX, i64::MIN));
    same(&[Odd::Unit, Odd::Nothing {}, Odd::Bytes(&[1, 2])]);
    same(&[f32::MIN_POSITIVE, f32::MAX, 0.1, -0.0, 16_777_217.0]);
    same(&[u128::from(u64::MAX), 1 << 70]);
    same(&[i128::from(i64::MIN), -1 << 70]);
    same(&format_args!("{:?}", "shown"));
    let raw = |text: &str| Odd::Raw(RawValue::from_string(text.to_owned()).unwrap());
    same(&[raw(r#"{"b":1.50,"a":[ ]}"#), raw("1e2"), raw("null")]);
}

#[test]
fn a_key_that_is_no_text_is_refused_as_serde_json_does() {
    fn refused<K: Serialize + Ord>(key: K) -> String {
        let map = BTreeMap::from([("outer", BTreeMap::from([(key, 1)]))]);
        let error = value_to_vec(&map).unwrap_err();
        assert_eq!(
            error.message,
            serde_json::to_string(&map).unwrap_err().to_string()
        );
        assert_eq!(
            place(canonical(&map)),
            (error.reason, error.path.to_string())
        );
        error.to_string()
    }
    let expected = "invalid_value at outer: key must be a string";
    assert_eq!(refused(()), expected);
    assert_eq!(refused([1]), expected);
    assert_eq!(refused((1, 2)), expected);
    assert_eq!(refused(BTreeMap::from([(1, 2)])), expected);
    assert_eq!(refused(None::<u8>), expected);
}

/// A key twice has no canonical form, wherever it stands.
#[test]
fn a_key_that_is_written_twice_is_told_with_its_path() {
    struct Twice(&'static str);
    impl Serialize for Twice {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([(self.0, 1), ("z", 2), (self.0, 3)])
        }
    }
    #[derive(Serialize)]
    enum Around {
        Newtype(Twice),
    }
    let value = BTreeMap::from([("list", [Around::Newtype(Twice("a\n"))])]);
    let expected = at(JsonReason::Malformed, "list[0].Newtype[\"a\\n\"]");
    assert_eq!(place(canonical(&value)), expected);
    let text = value_to_string(&value).unwrap();
    assert_eq!(text, r#"{"list":[{"Newtype":{"a\n":1,"z":2,"a\n":3}}]}"#);
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inner, _| json!([inner]))
}

#[test]
fn what_could_not_be_read_back_for_its_depth_is_not_written() {
    assert!(value_to_vec(&nested(160)).is_ok());
    assert!(canonical(&nested(160)).is_ok());
    assert_eq!(
        value_to_vec(&nested(161)).unwrap_err().reason,
        JsonReason::TooDeep
    );
    assert_eq!(
        canonical(&nested(161)).unwrap_err().reason,
        JsonReason::TooDeep
    );

    let document = |levels| Thread {
        extra: BTreeMap::from([("deep".to_owned(), nested(levels))]),
        ..Thread::default()
    };
    // The document, its data and `extra` are three levels.
    let bytes = to_vec(&document(157)).unwrap();
    assert_eq!(from_slice::<Thread>(&bytes).unwrap(), document(157));
    let error = to_vec(&document(158)).unwrap_err();
    assert_eq!(error.reason, JsonReason::TooDeep);
    assert!(error.path.to_string().starts_with("data.extra.deep[0][0]"));
}

#[test]
fn a_refusal_of_a_type_itself_has_its_path() {
    let map = BTreeMap::from([((1, 2), 3)]);
    let error = value_to_vec(&vec![map]).unwrap_err();
    assert_eq!(error.reason, JsonReason::InvalidValue);
    assert!(error.path.to_string().starts_with("[0]"), "{error}");
}

/// S79: keys that begin alike, that end early, or that are written with escapes.
#[test]
fn s79_keys_that_look_alike_have_their_order() {
    struct Written<'a>([&'a str; 2]);

    impl Serialize for Written<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.map(|key| (key, 1)))
        }
    }

    let keys = [
        "",
        "\0",
        "a",
        "a\0",
        "a\0b",
        "a!",
        "a\"",
        "a\\",
        "abcdefg",
        "abcdefg\n",
        "abcdefgh",
        "abcdefgh\0",
        "abcdefgh\"",
        "abcdefghi",
        "abcdefg\u{e9}",
        "abcdefg\u{1f600}",
        "\u{e9}",
    ];
    for one in keys {
        for two in keys.into_iter().filter(|two| *two != one) {
            let expected = canonical_value(&json!({one: 1, two: 1}));
            let written = canonical(&Written([one, two])).unwrap();
            assert_eq!(written, expected, "{one:?}, {two:?}");
        }
    }
}
