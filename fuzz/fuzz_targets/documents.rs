//! Any text as any document: reading never panics, and what was read is written and read back equal.

#![no_main]

use std::fmt::Debug;

use allm_core::json::{self, Document};
use allm_core::{
    ChatResult, Error, Event, Message, Request, Response, Run, StepResult, Thread, Tool, ToolCall,
    ToolSpec, Usage,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, text)) = data.split_first() else {
        return;
    };
    let _ = json::peek(text);
    match kind % 13 {
        0 => check::<Message>(text),
        1 => check::<Thread>(text),
        2 => check::<Request>(text),
        3 => check::<Response>(text),
        4 => check::<Usage>(text),
        5 => check::<ToolCall>(text),
        6 => check::<ToolSpec>(text),
        7 => check::<Tool>(text),
        8 => check::<Event>(text),
        9 => check::<StepResult>(text),
        10 => check::<ChatResult>(text),
        11 => check::<Error>(text),
        _ => check::<Run>(text),
    }
});

/// The text may be a whole document, or only its data.
fn check<T: Document + PartialEq + Debug>(text: &[u8]) {
    let limits = json::Limits::default();
    let document = match json::from_slice::<T>(text) {
        Ok(document) => document,
        Err(error) => {
            let _ = error.to_string();
            match json::value_from_slice::<T>(text, limits) {
                Ok(document) => document,
                Err(_) => return,
            }
        }
    };
    let written = match json::to_vec(&document) {
        Ok(written) => written,
        // Bare data may be one level deeper than a document can hold.
        Err(error) if error.reason == allm_core::JsonReason::TooDeep => return,
        Err(error) => panic!("what was read cannot be written: {error}"),
    };
    let again = json::from_slice::<T>(&written).expect("what was written can be read");
    assert_eq!(again, document);
    assert_eq!(
        json::to_vec(&again).expect("it was written before"),
        written
    );
    assert_eq!(
        json::peek(&written).expect("it is a document").type_name,
        T::TYPE
    );
    let canonical = json::canonical(&document).expect("what can be written has a canonical form");
    assert_eq!(json::canonical(&again).ok(), Some(canonical));
}
