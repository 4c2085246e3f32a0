//! The stretch of a string that stands in JSON as it is.

use crate::json::plain::plain_length;

/// Every byte at every place of texts that are shorter and longer than what is looked at together.
#[test]
fn the_first_byte_that_needs_an_escape_is_found_wherever_it_is() {
    for byte in 0..=u8::MAX {
        let needs_one = byte < 0x20 || byte == b'"' || byte == b'\\';
        for length in 0..=20 {
            for at in 0..length {
                for around in [b'a', 0x20, 0x7f, 0x80, 0xa0, 0xff] {
                    let mut text = vec![around; length];
                    text[at] = byte;
                    let expected = if needs_one { at } else { length };
                    assert_eq!(
                        plain_length(&text),
                        expected,
                        "{byte:#x} at {at} of {length}"
                    );
                }
            }
        }
    }
}

/// What comes after the first one does not hide it.
#[test]
fn the_first_of_several_counts() {
    for first in 0..16 {
        for second in first..16 {
            let mut text = [b'!'; 16];
            text[second] = b'\\';
            text[first] = 0x1f;
            assert_eq!(plain_length(&text), first);
        }
    }
}
