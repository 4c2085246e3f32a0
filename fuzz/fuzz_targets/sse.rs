//! Any bytes in any pieces are the frames that a plain reading of the standard gives.

#![no_main]

use allm::fuzzing::frames;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&cut, body)) = data.split_first() else {
        return;
    };
    let expected = plain(body);
    for size in [usize::from(cut % 16) + 1, body.len().max(1)] {
        let read: Vec<_> = frames(1 << 20, body.chunks(size)).into_iter().flatten().collect();
        assert_eq!(read, expected, "in pieces of {size}");
    }
    // Under a limit nothing is larger than it.
    let limit = usize::from(cut) + 1;
    for frame in frames(limit, body.chunks(3)).into_iter().flatten() {
        // A byte that is no text becomes three.
        assert!(frame.1.len() <= 3 * limit, "{} bytes under a limit of {limit}", frame.1.len());
    }
});

/// Name and data of each frame, read with all of the body at hand.
fn plain(body: &[u8]) -> Vec<(String, String)> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let mut frames = Vec::new();
    let (mut name, mut data): (String, Vec<String>) = (String::new(), Vec::new());
    let mut rest = body;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        rest = after.strip_prefix(b"\r\n").or(after.strip_prefix(b"\r")).or(after.strip_prefix(b"\n")).unwrap_or(&[]);
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value)).into_owned();
        match &line[..colon] {
            _ if line.is_empty() => {
                if !data.is_empty() {
                    frames.push((std::mem::take(&mut name), data.join("\n")));
                }
                name.clear();
                data.clear();
            }
            b"data" => data.push(value),
            b"event" => name = value,
            _ => {}
        }
    }
    if !data.is_empty() {
        frames.push((name, data.join("\n")));
    }
    frames
}
