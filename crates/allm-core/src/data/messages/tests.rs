use super::*;

fn message(number: usize) -> Message {
    Message::user(number.to_string())
}

fn texts(messages: &Messages) -> Vec<String> {
    messages.iter().map(|message| message.text()).collect()
}

#[test]
fn keeps_order_through_every_height() {
    let mut messages = Messages::new();
    for number in 0..(WIDTH * WIDTH + WIDTH + 3) {
        assert_eq!(messages.len(), number);
        assert_eq!(messages.get(number), None);
        messages.push(message(number));
        assert_eq!(
            messages.last().map(|last| last.text()),
            Some(number.to_string())
        );
    }
    for (number, found) in messages.iter().enumerate() {
        assert_eq!(found.text(), number.to_string());
        assert_eq!(
            messages.get(number).map(|m| m.text()),
            Some(number.to_string())
        );
    }
    assert_eq!(messages.iter().len(), messages.len());
    for number in (0..messages.len()).rev() {
        assert_eq!(messages.pop().map(|m| m.text()), Some(number.to_string()));
    }
    assert!(messages.is_empty());
    assert_eq!(messages.pop(), None);
}

#[test]
fn clones_share_and_do_not_see_each_other() {
    let mut one: Messages = (0..100).map(message).collect();
    let two = one.clone();
    one.push(message(100));
    one.insert(50, message(999));
    assert_eq!(two, (0..100).map(message).collect());
    assert_eq!(one.len(), 102);
    assert_eq!(one.get(50).map(|m| m.text()), Some("999".into()));
    assert_eq!(one.get(51).map(|m| m.text()), Some("50".into()));
    let shared = one
        .get(3)
        .zip(two.get(3))
        .is_some_and(|(a, b)| Arc::ptr_eq(a, b));
    assert!(shared);
}

#[test]
fn backwards_and_from_the_middle() {
    let messages: Messages = (0..70).map(message).collect();
    let mut backwards: Vec<String> = messages.iter().rev().map(|m| m.text()).collect();
    backwards.reverse();
    assert_eq!(backwards, texts(&messages));
    let tail: Vec<String> = messages.iter_from(68).map(|m| m.text()).collect();
    assert_eq!(tail, ["68", "69"]);
    assert_eq!(messages.iter_from(1000).next(), None);
}

#[test]
fn prefix_and_equality_look_at_values() {
    let long: Messages = (0..40).map(message).collect();
    let mut short = long.clone();
    short.truncate(33);
    assert!(short.is_prefix_of(&long));
    assert!(!long.is_prefix_of(&short));
    assert_eq!(short, (0..33).map(message).collect());
    assert_ne!(short, (1..34).map(message).collect());
}

#[test]
fn lists_of_one_length_are_equal_however_they_came_about() {
    for length in [0, 1, WIDTH, WIDTH + 1, WIDTH * WIDTH, WIDTH * WIDTH + 1] {
        let grown: Messages = (0..length).map(message).collect();
        let mut shrunk: Messages = (0..WIDTH * WIDTH * 2).map(message).collect();
        shrunk.truncate(length);
        assert_eq!(grown, shrunk, "{length}");
        assert_eq!(shrunk, grown, "{length}");
        shrunk.push(message(length));
        assert!(grown.is_prefix_of(&shrunk));
        assert_eq!(
            shrunk.last().map(|last| last.text()),
            Some(length.to_string())
        );
    }
}

#[test]
fn truncating_is_popping() {
    let whole: Messages = (0..(WIDTH * WIDTH + WIDTH + 3)).map(message).collect();
    let mut popped = whole.clone();
    for length in (0..=whole.len()).rev() {
        let mut cut = whole.clone();
        cut.truncate(length);
        assert_eq!((cut.len(), cut.height), (length, popped.height));
        assert_eq!(cut, popped);
        assert_eq!(cut.get(length), None);
        cut.push(message(7));
        assert_eq!(cut.len(), length + 1);
        assert_eq!(cut.last().map(|last| last.text()), Some("7".to_owned()));
        popped.pop();
    }
    assert_eq!(whole.len(), WIDTH * WIDTH + WIDTH + 3);
}
