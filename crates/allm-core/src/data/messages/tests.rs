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
        assert_eq!((cut.len(), cut.tree.height), (length, popped.tree.height));
        assert_eq!(cut, popped);
        assert_eq!(cut.get(length), None);
        cut.push(message(7));
        assert_eq!(cut.len(), length + 1);
        assert_eq!(cut.last().map(|last| last.text()), Some("7".to_owned()));
        popped.pop();
    }
    assert_eq!(whole.len(), WIDTH * WIDTH + WIDTH + 3);
}

/// A number that was noted.
struct Noted(usize);

fn common(messages: &Messages) -> Option<(usize, usize)> {
    let (noted, common) = messages.noted::<Noted>()?;
    Some((noted.0, common))
}

#[test]
fn a_note_tells_how_much_is_still_the_same() {
    let lengths = [1, 2, WIDTH - 1, WIDTH, WIDTH + 1, WIDTH * 3 + 7];
    let heights = [WIDTH * WIDTH, WIDTH * WIDTH + 1, WIDTH * WIDTH + WIDTH * 2];
    let lengths: Vec<usize> = lengths.into_iter().chain(heights).collect();
    let whole: Messages = (0..WIDTH * WIDTH * 2).map(message).collect();
    for noted in &lengths {
        for kept in lengths.iter().filter(|kept| *kept <= noted) {
            let mut list = whole.clone();
            list.truncate(*noted);
            list.note(Noted(*noted));
            assert_eq!(common(&list), Some((*noted, *noted)));
            list.truncate(*kept);
            assert_eq!(common(&list), Some((*noted, *kept)));
            // Equal, and not the same.
            list.extend((*kept..*kept + 40).map(message));
            assert_eq!(common(&list), Some((*noted, *kept)));
        }
    }
}

#[test]
fn clones_have_the_same_notes_and_values_none() {
    let one: Messages = (0..40).map(message).collect();
    let mut two = one.clone();
    assert_eq!(common(&one), None);
    two.push(message(40));
    two.note(Noted(1));
    assert_eq!(common(&one), Some((1, 40)));
    one.note(Noted(2));
    assert_eq!(common(&two), Some((2, 40)));
    assert_eq!(one, (0..40).map(message).collect());
    let text = serde_json::to_string(&one).expect("JSON");
    let read: Messages = serde_json::from_str(&text).expect("messages");
    assert_eq!(common(&read), None);
    assert_eq!(format!("{read:?}"), format!("{one:?}"));
    let mut changed = one.clone();
    changed.insert(3, message(99));
    assert_eq!(common(&changed), Some((2, 3)));
}

#[test]
fn notes_go_with_the_last_list() {
    let list: Messages = (0..40).map(message).collect();
    let told = Arc::new(());
    list.note(Arc::clone(&told));
    let clone = list.clone();
    drop(list);
    assert_eq!(Arc::strong_count(&told), 2);
    drop(clone);
    assert_eq!(Arc::strong_count(&told), 1);
}
