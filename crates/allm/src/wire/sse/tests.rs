use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1 << 20;

/// The events of an input, cut as given.
fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<(String, String)>, TooLarge> {
    read_with(LIMIT, chunks)
}

fn read_with<'a>(
    limit: usize,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<(String, String)>, TooLarge> {
    let mut sse = Sse::new(limit);
    let mut seen = Vec::new();
    let mut keep = |frame: Frame| seen.push((frame.name.to_string(), frame.data.to_string()));
    for chunk in chunks {
        sse.push(Bytes::copy_from_slice(chunk));
        while let Some(frame) = sse.next() {
            keep(frame?.frame());
        }
    }
    if let Some(frame) = sse.finish() {
        keep(frame?);
    }
    Ok(seen)
}

fn whole(input: &[u8]) -> Vec<(String, String)> {
    read([input]).expect("small")
}

fn data(input: &[u8]) -> Vec<String> {
    whole(input).into_iter().map(|(_, data)| data).collect()
}

#[test]
fn p1_line_ends() {
    let lf = b"event: a\ndata: 1\n\ndata: 2\n\n".to_vec();
    let expected = [("a".into(), "1".into()), (String::new(), "2".into())];
    assert_eq!(whole(&lf), expected);
    let with = |end: &str| String::from_utf8_lossy(&lf).replace('\n', end).into_bytes();
    assert_eq!(whole(&with("\r")), expected);
    assert_eq!(whole(&with("\r\n")), expected);
}

#[test]
fn p2_a_cut_between_cr_and_lf() {
    let chunks: [&[u8]; 3] = [b"event: a\r", b"\ndata: 1\r", b"\n\r\n"];
    assert_eq!(read(chunks), Ok(vec![("a".into(), "1".into())]));
}

#[test]
fn p3_a_lone_cr_ends_its_line_at_once() {
    let mut sse = Sse::new(LIMIT);
    sse.push(Bytes::from_static(b"data: 1\r\r"));
    let frame = sse.next().expect("an event").expect("small").frame();
    assert_eq!(frame.data, "1");
}

#[test]
fn p4_a_character_cut_inside() {
    let input = "data: 🙂\n\n".as_bytes();
    for cut in 7..10 {
        let (a, b) = input.split_at(cut);
        assert_eq!(
            read([a, b]),
            Ok(vec![(String::new(), "🙂".into())]),
            "{cut}"
        );
    }
}

#[test]
fn p5_the_mark_at_the_start() {
    let marked = b"\xEF\xBB\xBFdata: 1\n\n";
    assert_eq!(data(marked), ["1"]);
    let chunks: [&[u8]; 4] = [b"\xEF", b"\xBB", b"\xBF", b"data: 1\n\n"];
    assert_eq!(read(chunks), Ok(vec![(String::new(), "1".into())]));
    assert_eq!(data("data: \u{FEFF}1\n\n".as_bytes()), ["\u{FEFF}1"]);
    assert_eq!(data("\u{FEFF}\u{FEFF}data: 1\n\n".as_bytes()), [""; 0]);
    let half: [&[u8]; 2] = [b"\xEF", b"data: 1\n\ndata: 2\n\n"];
    assert_eq!(
        read(half),
        Ok(vec![(String::new(), "2".into())]),
        "an unknown field"
    );
}

#[test]
fn p6_one_space_after_the_colon() {
    assert_eq!(data(b"data:x\n\ndata: x\n\ndata:  x\n\n"), ["x", "x", " x"]);
}

#[test]
fn p7_lines_are_joined() {
    assert_eq!(data(b"data: a\ndata: b\ndata: c\n\n"), ["a\nb\nc"]);
    let pretty = data(b"data: {\ndata:   \"a\": 1\ndata: }\n\n");
    let value: serde_json::Value = serde_json::from_str(&pretty[0]).expect("JSON");
    assert_eq!(value, serde_json::json!({"a": 1}));
}

#[test]
fn p8_comments() {
    assert_eq!(
        whole(b"event: a\n: hm\ndata: 1\n:\n\n"),
        [("a".into(), "1".into())]
    );
    assert_eq!(data(b": a\n\n: b\n\n:\n"), [""; 0]);
    // A comment is not held, however long.
    let long = vec![b'x'; 1000];
    let chunks: [&[u8]; 4] = [b": ", &long, &long, b"\ndata: 1\n\n"];
    assert_eq!(read_with(10, chunks), Ok(vec![(String::new(), "1".into())]));
}

#[test]
fn p9_fields_without_a_colon_and_unknown_ones() {
    assert_eq!(data(b"data\n\n"), [""]);
    assert_eq!(data(b"data: a\ndata\n\n"), ["a\n"]);
    assert_eq!(
        data(b"what: ever\nlonger-than-event: x\ndata: a\n\n"),
        ["a"]
    );
}

#[test]
fn p10_a_name_without_data_does_not_leak() {
    assert_eq!(
        whole(b"event: a\n\ndata: 1\n\n"),
        [(String::new(), "1".into())]
    );
}

#[test]
fn p11_blank_lines() {
    assert_eq!(
        data(b"\n\ndata: 1\n\n\n\n\n\n\n\n\n\n\ndata: 2\n\n\n"),
        ["1", "2"]
    );
}

#[test]
fn p12_the_end_of_the_input_ends_the_event() {
    assert_eq!(data(b"data: 1\n\ndata: 2\n"), ["1", "2"]);
    assert_eq!(data(b"data: 1\n\ndata: 2"), ["1", "2"]);
}

#[test]
fn p14_padding() {
    let seen = data(b"data: {\"a\": 1      }   \n\n");
    assert!(serde_json::from_str::<serde_json::Value>(&seen[0]).is_ok());
}

/// The limit is on the data, whether it comes in one chunk, one line in many, or many lines.
#[test]
fn p15_the_largest_event() {
    for (data, fits) in [(10, true), (11, false)] {
        let data = vec![b'x'; data];
        let line = [b"data: ".as_slice(), &data, b"\n\n"].concat();
        assert_eq!(read_with(10, [line.as_slice()]).is_ok(), fits);
        assert_eq!(read_with(10, line.chunks(1)).is_ok(), fits);
        let (a, b) = data.split_at(4);
        let lines = [b"data: ".as_slice(), a, b"\ndata: ", &b[1..], b"\n\n"].concat();
        assert_eq!(read_with(10, [lines.as_slice()]).is_ok(), fits);
    }
    let full = [b"data: ".as_slice(), &vec![b'x'; 16 << 20], b"\n\n"].concat();
    assert!(read_with(16 << 20, full.chunks(65_536)).is_ok());
    // It gives up as soon as it can know, and holds no more than the limit.
    let mut sse = Sse::new(1000);
    let chunk = Bytes::from(vec![b'x'; 100]);
    sse.push(Bytes::from_static(b"data: "));
    assert!(sse.next().is_none());
    let mut pushed = 0;
    loop {
        sse.push(chunk.clone());
        pushed += chunk.len();
        match sse.next().map(|seen| seen.err()) {
            None => assert!(sse.begun.len() <= 1006),
            Some(error) => break assert_eq!(error, Some(TooLarge)),
        }
    }
    assert_eq!(pushed, 1100);
}

/// What is kept of a line is kept once: the bytes that are moved are counted, not the time.
#[test]
fn p16_one_byte_at_a_time() {
    let mut sse = Sse::new(16 << 20);
    sse.push(Bytes::from_static(b"data: "));
    assert!(sse.next().is_none());
    let mut moved = 0;
    let mut capacity = sse.begun.capacity();
    for _ in 0..10 << 20 {
        sse.push(Bytes::from_static(b"x"));
        assert!(sse.next().is_none());
        if sse.begun.capacity() != capacity {
            capacity = sse.begun.capacity();
            moved += sse.begun.len();
        }
    }
    assert!(moved < 3 * (10 << 20), "moved {moved}");
    sse.push(Bytes::from_static(b"\n\n"));
    let frame = sse.next().expect("an event").expect("fits").frame();
    assert_eq!(frame.data.len(), 10 << 20);
}

#[test]
fn p17_id_and_retry_change_nothing() {
    assert_eq!(
        whole(b"id: 7\nretry: 1\ndata: a\nid\nretry: x\n\n"),
        [(String::new(), "a".into())]
    );
}

#[test]
fn p18_invalid_utf8() {
    assert_eq!(data(b"data: a\xFFb\n\n"), ["a\u{FFFD}b"]);
    assert_eq!(data(b"data: \xF0\x9F\n\n"), ["\u{FFFD}"]);
}

#[test]
fn an_event_in_one_chunk_is_a_slice_of_it() {
    let chunk = Bytes::from_static(b"data: abc\n\n");
    let mut sse = Sse::new(LIMIT);
    sse.push(chunk.clone());
    let frame = sse.next().expect("an event").expect("small").frame();
    assert_eq!(frame.data.as_bytes().as_ptr(), chunk[6..].as_ptr());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// P19, P20: whatever the bytes and the cuts, the events are the same.
    #[test]
    fn p20_any_cutting_gives_the_same(
        lines in prop::collection::vec(
            prop_oneof![
                Just(b"data: {\"a\": 1}".to_vec()),
                Just(b"event: x".to_vec()),
                Just(b": c".to_vec()),
                Just(Vec::new()),
                Just(b"\xEF\xBB\xBFdata".to_vec()),
                prop::collection::vec(any::<u8>(), 0..12),
            ],
            0..12,
        ),
        end in prop_oneof![Just("\n"), Just("\r"), Just("\r\n")],
        cuts in prop::collection::vec(0_usize..200, 0..8),
        limit in 4_usize..40,
    ) {
        let input = lines.join(end.as_bytes());
        let expected = read_with(limit, [input.as_slice()]);
        let single: Vec<&[u8]> = input.chunks(1).collect();
        prop_assert_eq!(&read_with(limit, single), &expected);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(input.len())).collect();
        cuts.sort_unstable();
        let mut from = 0;
        let mut chunks = Vec::new();
        for cut in cuts {
            chunks.push(&input[from..cut]);
            from = cut;
        }
        chunks.push(&input[from..]);
        prop_assert_eq!(&read_with(limit, chunks), &expected);
    }
}
