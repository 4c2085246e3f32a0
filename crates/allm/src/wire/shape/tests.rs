mod wires;

use bytes::Bytes;

use super::*;
use crate::wire::sse::Sse;

/// What a habit makes of a frame.
fn read(habit: &mut Habit<u8>, data: &str) -> Option<(ByteString, u8)> {
    let mut sse = Sse::new(1 << 20);
    sse.push(Bytes::from(format!("data: {data}\n\n")));
    let seen = sse.next()?.ok()?;
    habit.read(&seen)
}

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).expect("JSON")
}

/// Used to `{"n":1,"delta":"…","pad":"…"}`, of which the number and the padding do not matter.
fn habit() -> Habit<u8> {
    #[derive(serde::Deserialize)]
    struct Known<'a> {
        n: &'a RawValue,
        delta: &'a str,
        pad: &'a RawValue,
    }
    let frame = r#"{"n":1,"delta":"abc","pad":"xy"}"#;
    let known: Known<'_> = serde_json::from_str(frame).expect("JSON");
    let mut habit = Habit::default();
    habit.learn(7, || {
        Shape::of(frame, known.delta, &[Some(known.n), None, Some(known.pad)])
    });
    habit
}

#[test]
fn only_the_places_may_differ() {
    let mut habit = habit();
    for (frame, delta) in [
        (r#"{"n":1,"delta":"abc","pad":"xy"}"#, Some("abc")),
        (r#"{"n":0,"delta":"","pad":""}"#, Some("")),
        (
            r#"{"n":123456789012345,"delta":"ä🙂","pad":"é"}"#,
            Some("ä🙂"),
        ),
        (
            r#"{"n":1,"delta":"a\n\"\\\u00e4\ud83d\ude42","pad":""}"#,
            Some("a\n\"\\ä🙂"),
        ),
        // Another text, or one that a full reading may refuse.
        (r#"{"n":1,"delta":"abc","pad":"xy"} "#, None),
        (r#"{"n":1,"delta":"abc","pad":"xy""#, None),
        (r#"{"n":1,"delta":"abc"}"#, None),
        (r#"{"n":1,"delta":"abc","pad":"xy","more":1}"#, None),
        (r#"{"n":1,"delta":null,"pad":"xy"}"#, None),
        (r#"{"n":1,"delta":"abc\","pad":"xy"}"#, None),
        (r#"{"n":1,"delta":"\ud800","pad":"xy"}"#, None),
        (r#"{"n":1,"delta":"\x","pad":"xy"}"#, None),
        ("{\"n\":1,\"delta\":\"a\tb\",\"pad\":\"xy\"}", None),
        (r#"{"n":1,"delta":"abc","pad":"\n"}"#, None),
        (r#"{"n":01,"delta":"abc","pad":"xy"}"#, None),
        (r#"{"n":,"delta":"abc","pad":"xy"}"#, None),
        (r#"{"n":-1,"delta":"abc","pad":"xy"}"#, None),
        (r#"{"n":1.5,"delta":"abc","pad":"xy"}"#, None),
        (r#"{"n":1e5,"delta":"abc","pad":"xy"}"#, None),
        (r#"{"n":1234567890123456,"delta":"abc","pad":"xy"}"#, None),
    ] {
        let read = read(&mut habit, frame);
        assert_eq!(read, delta.map(|delta| (delta.into(), 7)), "{frame}");
    }
}

/// One shape for the fragments of several calls.
#[test]
fn an_index_is_read_with_the_delta() {
    #[derive(serde::Deserialize)]
    struct Known<'a> {
        index: &'a RawValue,
        delta: &'a str,
    }
    let frame = r#"{"index":3,"delta":"abc"}"#;
    let known: Known<'_> = serde_json::from_str(frame).expect("JSON");
    let mut habit: Habit<()> = Habit::default();
    habit.learn((), || {
        Shape::with_index(frame, known.delta, known.index, &[])
    });
    let mut read = |data: &str| {
        let mut sse = Sse::new(1 << 20);
        sse.push(Bytes::from(format!("data: {data}\n\n")));
        habit.read_indexed(&sse.next()?.ok()?)
    };
    assert_eq!(read(frame), Some(("abc".into(), 3)));
    assert_eq!(read(r#"{"index":0,"delta":"x"}"#), Some(("x".into(), 0)));
    assert_eq!(read(r#"{"index":120,"delta":""}"#), Some(("".into(), 120)));
    assert_eq!(read(r#"{"index":01,"delta":"x"}"#), None);
    assert_eq!(read(r#"{"index":-1,"delta":"x"}"#), None);
    assert_eq!(read(r#"{"index":null,"delta":"x"}"#), None);
}

/// A frame that differs in more than its delta, but only inside of one object.
#[test]
fn an_object_is_read_where_the_delta_was() {
    #[derive(serde::Deserialize)]
    struct Known<'a> {
        #[serde(borrow)]
        call: &'a RawValue,
    }
    #[derive(serde::Deserialize)]
    struct Call<'a> {
        index: &'a RawValue,
        delta: &'a str,
    }
    let frame = r#"{"id":7,"call":{"index":3,"delta":"abc"},"end":null}"#;
    let Known { call } = serde_json::from_str(frame).expect("JSON");
    let Call { index, delta } = serde_json::from_str(call.get()).expect("JSON");
    let mut habit: Habit<()> = Habit::default();
    habit.learn((), || {
        Shape::with_index(frame, delta, index, &[])?.around(frame, call, &[])
    });
    let mut read = |call: &str, end: &str| {
        let mut sse = Sse::new(1 << 20);
        let data = format!(r#"data: {{"id":7,"call":{call},"end":{end}}}"#);
        sse.push(Bytes::from(data + "\n\n"));
        habit.read_object(&sse.next()?.ok()?)
    };
    let nested = r#"{"index":4,"f":{"name":"a}\"{"},"list":[{},"]}"]}"#;
    for call in [call.get(), nested, "{}"] {
        assert_eq!(read(call, "null").as_deref(), Some(call));
        assert_eq!(read(call, "1"), None, "{call}");
    }
    for call in ["null", "[{}]", "7", r#"{"a":1"#, r#"{"a":"}"#, "{}}", " {}"] {
        assert_eq!(read(call, "null"), None, "{call}");
    }
}

/// Wherever it stands, and whatever stands around it.
#[test]
fn the_first_special_byte_is_found() {
    for length in 0..40 {
        let plain: Vec<u8> = (0..length)
            .map(|at| [b'a', 0x80, 0xFF, b'#', 0x7F, b']'][at % 6])
            .collect();
        assert_eq!(special(&plain), None);
        for at in 0..length {
            for byte in [b'"', b'\\', 0, 0x1F] {
                let mut bytes = plain.clone();
                bytes[at] = byte;
                assert_eq!(special(&bytes), Some(at));
                bytes[length - 1] = b'"';
                assert_eq!(special(&bytes), Some(at));
            }
        }
    }
}

/// P18: what is not UTF-8 is mended where frames are read in full.
#[test]
fn what_is_no_text_is_not_known() {
    let mut sse = Sse::new(1 << 20);
    sse.push(Bytes::from_static(
        b"data: {\"n\":1,\"delta\":\"a\xFF\",\"pad\":\"\"}\n\n",
    ));
    let seen = sse.next().expect("an event").expect("small");
    assert!(habit().read(&seen).is_none());
}

#[test]
fn a_delta_is_a_slice_of_its_chunk() {
    let mut habit = habit();
    let chunk = Bytes::from_static(br#"data: {"n":1,"delta":"plain","pad":""}"#);
    let mut sse = Sse::new(1 << 20);
    let whole = Bytes::from([&chunk[..], b"\n\n"].concat());
    sse.push(whole.clone());
    let seen = sse.next().expect("an event").expect("small");
    let (delta, _) = habit.read(&seen).expect("alike");
    assert_eq!(delta.as_bytes().as_ptr(), whole[22..].as_ptr());
}

#[test]
fn what_is_no_part_of_the_frame_is_no_shape() {
    assert!(Shape::of(r#"{"delta":"abc"}"#, "abc", &[]).is_none());
    let frame = r#"{"delta":"abc"}"#;
    let delta = frame.get(10..13).expect("inside");
    assert!(Shape::of(frame, delta, &[]).is_some());
    assert!(Shape::of(frame, delta, &[Some(raw("17"))]).is_none());
    assert!(Shape::of(frame, delta, &[Some(raw("null")), Some(raw("[1]"))]).is_some());
}

/// Learning costs more than reading, so it is not tried again and again where no two frames are alike.
#[test]
fn learning_in_vain_gets_rare() {
    let frame = r#"{"delta":"abc"}"#;
    let mut habit: Habit<u8> = Habit::default();
    let mut learnt = 0;
    for _ in 0..1000 {
        habit.forget();
        habit.learn(0, || {
            learnt += 1;
            Shape::of(frame, frame.get(10..13)?, &[])
        });
    }
    assert!((5..20).contains(&learnt), "{learnt}");
    // Once it is of use, it is learnt at once again.
    while habit.known.is_none() {
        habit.learn(0, || Shape::of(frame, frame.get(10..13)?, &[]));
    }
    assert!(read(&mut habit, r#"{"delta":"x"}"#).is_some());
    habit.forget();
    habit.learn(1, || Shape::of(frame, frame.get(10..13)?, &[]));
    assert_eq!(read(&mut habit, r#"{"delta":"y"}"#), Some(("y".into(), 1)));
}
