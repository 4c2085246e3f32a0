//! Any text as JSON of somebody else's: our parser takes what `serde_json` takes, and reads it the same.

#![no_main]

use allm_core::json::{self, Limits};
use allm_core::{RawJson, ToolCall};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let _ = json::peek(data);
    let strict = json::value_from_slice::<Value>(data, Limits::default());
    let Ok(text) = str::from_utf8(data) else {
        assert!(strict.is_err());
        return;
    };
    let peer = serde_json::from_str::<Value>(text);
    match RawJson::new(text) {
        Ok(raw) => {
            assert_eq!(raw.as_str(), text);
            let value = raw.to_value();
            // serde_json stops at 127 levels.
            if let Ok(peer) = &peer {
                assert_eq!(&value, peer);
            }
            if let Ok(strict) = &strict {
                assert_eq!(strict, &value);
            }
            let written = json::value_to_string(&value).expect("what was read can be written");
            let again = RawJson::new(written).expect("what was written can be read");
            assert_eq!(again.to_value(), value);
            let canonical = json::canonical_value(&value);
            assert_eq!(json::canonical(&value).ok().as_ref(), Some(&canonical));
            let again = str::from_utf8(&canonical).expect("text");
            let again = RawJson::new(again)
                .expect("canonical JSON is JSON")
                .to_value();
            assert_eq!(json::canonical_value(&again), canonical);
        }
        Err(error) => {
            let _ = error.to_string();
            assert!(peer.is_err(), "refused what serde_json takes: {error}");
            assert!(strict.is_err());
        }
    }
    let call = ToolCall::new("id", "tool", text);
    assert_eq!(call.arguments.is_none(), call.fault().is_some());
    let _ = call.parse::<Value>();
});
