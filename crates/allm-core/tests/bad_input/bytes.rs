//! Text that was cut or changed (C169).

use allm_core::json::{self, Limits};
use allm_core::{JsonReason, Message};

use super::{files, types};

#[test]
fn c169_half_a_surrogate_is_malformed_with_its_path() {
    for half in ["\\ud83e", "\\udd80", "\\ud83e\\u0041", "\\ud83e\\ud83e"] {
        let text =
            format!(r#"{{"v":1,"type":"message","data":{{"role":"user","name":"{half}"}}}}"#);
        let error = json::from_str::<Message>(&text).unwrap_err();
        assert_eq!(
            (error.reason, error.path.to_string()),
            (JsonReason::Malformed, "data.name".to_owned()),
            "{half}"
        );
        assert_eq!(error.line, Some(1));
    }
}

#[test]
fn c169_a_document_cut_at_any_byte_is_an_error() {
    for (name, read) in types() {
        for (file, bytes) in files(name) {
            assert_eq!(read(&bytes, Limits::default()), Ok(()), "{name}/{file}");
            for end in 0..bytes.len() {
                let cut = read(&bytes[..end], Limits::default());
                assert_eq!(
                    cut.map_err(|error| error.reason),
                    Err(JsonReason::Malformed),
                    "{name}/{file} at {end}"
                );
            }
        }
    }
}

#[test]
fn c169_a_document_with_a_changed_byte_never_panics() {
    for (name, read) in types() {
        for (_, bytes) in files(name) {
            let mut changed = bytes.clone();
            for (place, byte) in bytes.iter().enumerate() {
                for flip in [0x01, 0x20, 0x80] {
                    changed[place] = byte ^ flip;
                    if let Err(error) = read(&changed, Limits::default()) {
                        assert_eq!(error.to_string().lines().count(), 1);
                    }
                }
                changed[place] = *byte;
            }
        }
    }
}
