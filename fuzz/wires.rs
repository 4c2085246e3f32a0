//! What holds for any body on any wire, however it is cut.

use allm::fuzzing::{Wire, events};
use allm_core::{Event, Fold, Response};

/// Reads a body whole and in pieces; the first byte says how it is cut.
pub fn check(wire: Wire, data: &[u8]) {
    let Some((&cut, body)) = data.split_first() else {
        return;
    };
    let (whole, fault) = events(wire, [body]);
    let size = usize::from(cut % 16) + 1;
    let (pieces, same_fault) = events(wire, body.chunks(size));
    assert_eq!(fault, same_fault, "in pieces of {size}");
    let response = fold(&whole);
    assert_eq!(response, fold(&pieces), "in pieces of {size}");

    let ends = |event: &Event| matches!(event, Event::MessageCompleted(_) | Event::Error(_));
    let last = whole.iter().position(ends);
    // Who reads the body tells of a fault.
    assert_eq!(last.is_none(), fault.is_some(), "{fault:?}");
    assert!(last.is_none_or(|last| last + 1 == whole.len()), "something follows the end");
    if last.is_some() {
        let settled: Vec<_> = whole.iter().filter(|event| !event.tag().ends_with("_delta")).cloned().collect();
        assert_eq!(response, fold(&settled), "without the deltas");
    }

    let written = allm_core::json::to_vec(&response).expect("a response can be written");
    assert_eq!(allm_core::json::from_slice::<Response>(&written).ok(), Some(response));
    let size: usize = whole.iter().map(|event| format!("{event:?}").len()).sum();
    assert!(size < 20_000 + 200 * body.len(), "{} bytes became {size}", body.len());
}

fn fold(events: &[Event]) -> Response {
    let mut fold = Fold::new();
    for event in events {
        fold.push(event);
    }
    fold.response()
}
