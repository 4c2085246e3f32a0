use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::samples::{Thread, thread};
use super::{at, place};
use crate::error::JsonReason;
use crate::json::{canonical, from_slice, to_vec, value_to_string, value_to_vec};

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
