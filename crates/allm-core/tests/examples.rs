//! The examples say what their documentation shows.

#[path = "../examples/01_a_run_by_hand.rs"]
#[expect(dead_code, reason = "only what it tells is compared")]
mod a_run_by_hand;

#[test]
fn a_run_by_hand_tells_the_same_every_time() {
    let mut told = Vec::new();
    a_run_by_hand::tell(&mut told).expect("the example runs");
    assert_eq!(
        String::from_utf8(told).expect("text"),
        r#"person  Please cancel my order 42.
model   calls find_order {"order":42}
tool    replies {"item":"kettle","order":42,"state":"packed"}
model   calls cancel_order {"order":42}
tool    asks: Order 42 is packed already. Cancel it?
        (halted: ask_user)
        (stored and read back)
person  Yes, cancel it.
model   calls cancel_order {"order":42,"confirmed":true}
tool    replies {"order":42,"state":"cancelled"}
model   Your order 42, a kettle, is cancelled.
        (halted: completed)
"#
    );
}
