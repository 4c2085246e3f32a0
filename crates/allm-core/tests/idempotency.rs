//! The idempotency key (sessions.md, S101 to S104; loop.md, L37).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use allm_core::{IdempotencyKey, Map, ToolCall, idempotency_key};

const UID: [u8; 16] = [
    0x9f, 0x2c, 0x7b, 0xe0, 0x1d, 0x6a, 0x4c, 0x5e, 0x8b, 0x3f, 0x0a, 0x7d, 0x12, 0xe4, 0xc6, 0xb8,
];

fn arguments(text: &str) -> Map {
    let call = ToolCall::new("any", "any", text);
    call.arguments.as_deref().cloned().unwrap_or_default()
}

#[test]
fn s101_the_key_equals_the_published_vector() {
    let given = arguments(r#"{"to":{"name":"Zoë","id":42},"currency":"EUR","amount":12.5}"#);
    assert_eq!(
        idempotency_key(&UID, 2, 1, "send_invoice", &given),
        "allm1-f40ce504673ebba2d7950672814c76eb05fa2575bf3b2afa30b4a03baa98f8fc"
    );
}

#[test]
fn s101_empty_fields_have_a_key_too() {
    assert_eq!(
        idempotency_key(b"", 0, 0, "", &Map::new()),
        "allm1-825e5a2d451b0430d892b5daa968ec0d486c5fb597c57845004dbe262371d218"
    );
}

#[test]
fn l37_s102_each_of_the_five_changes_the_key() {
    let one = arguments(r#"{"a":1}"#);
    let two = arguments(r#"{"a":2}"#);
    let mut other_uid = UID;
    other_uid[15] ^= 1;
    let keys = HashSet::from([
        idempotency_key(&UID, 0, 0, "pay", &one),
        idempotency_key(&other_uid, 0, 0, "pay", &one),
        idempotency_key(&UID, 1, 0, "pay", &one),
        idempotency_key(&UID, 0, 1, "pay", &one),
        idempotency_key(&UID, 0, 0, "Pay", &one),
        idempotency_key(&UID, 0, 0, "pay", &two),
    ]);
    assert_eq!(keys.len(), 6);
}

#[test]
fn l37_s102_key_order_and_spacing_do_not() {
    let texts = [
        r#"{"a":1,"b":{"c":[1,2],"d":null}}"#,
        "{ \"b\" : { \"d\" : null,\n \"c\" : [ 1 , 2 ] } , \"a\" : 1 }",
    ];
    let [one, other] = texts.map(|text| idempotency_key(&UID, 3, 0, "pay", &arguments(text)));
    assert_eq!(one, other);
}

#[test]
fn s103_field_boundaries_cannot_be_shifted() {
    let ab = idempotency_key(&UID, 0, 0, "ab", &arguments(r#"{"c":1}"#));
    let a = idempotency_key(&UID, 0, 0, "a", &arguments(r#"{"bc":1}"#));
    assert_ne!(ab, a);
    // Without lengths these two would be the same bytes: the zeros of the numbers move by one.
    let none = Map::new();
    assert_ne!(
        idempotency_key(b"x", 0, 0, "\0pay", &none),
        idempotency_key(b"x\0", 0, 0, "pay", &none)
    );
}

#[test]
fn s104_equal_calls_of_one_batch_have_different_keys() {
    let same = arguments(r#"{"a":1}"#);
    assert_ne!(
        idempotency_key(&UID, 0, 0, "pay", &same),
        idempotency_key(&UID, 0, 1, "pay", &same)
    );
}

/// Most handlers never read theirs.
#[test]
fn a_key_is_made_when_it_is_first_read_and_once() {
    let made = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&made);
    let key = IdempotencyKey::when_read(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        "allm1-key".to_owned()
    });
    let clone = key.clone();
    assert_eq!(made.load(Ordering::Relaxed), 0);
    assert_eq!(clone, "allm1-key");
    assert_eq!(key, clone);
    assert_eq!(serde_json::json!(key), "allm1-key");
    assert_eq!(made.load(Ordering::Relaxed), 1);
}
