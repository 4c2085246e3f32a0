//! Tags as one value of bytes: each key and value after its length. Equal tags have equal bytes.

use std::collections::BTreeMap;

pub(crate) type Tags = BTreeMap<String, String>;

/// One tag. What can be told apart as texts can be told apart as bytes.
#[cfg(any(feature = "postgres", test))]
pub(crate) fn one(key: &str, value: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(key.len() + value.len() + 8);
    push(&mut bytes, key);
    push(&mut bytes, value);
    bytes
}

#[cfg(any(feature = "sqlite", test))]
pub(crate) fn all(tags: &Tags) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in tags {
        push(&mut bytes, key);
        push(&mut bytes, value);
    }
    bytes
}

/// The tags in these bytes; `None` when they are no tags.
pub(crate) fn read(mut bytes: &[u8]) -> Option<Tags> {
    let mut tags = Tags::new();
    while !bytes.is_empty() {
        let key = pop(&mut bytes)?;
        tags.insert(key, pop(&mut bytes)?);
    }
    Some(tags)
}

fn push(bytes: &mut Vec<u8>, text: &str) {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn pop(bytes: &mut &[u8]) -> Option<String> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s116_tags_come_back_whatever_they_hold() {
        let odd = ["", "a", "a\0b", "%_'\"", "é", "; DROP TABLE sessions"];
        let mut tags = Tags::new();
        for (index, key) in odd.iter().enumerate() {
            tags.insert((*key).to_owned(), odd[odd.len() - 1 - index].to_owned());
        }
        assert_eq!(read(&all(&tags)), Some(tags));
        assert_eq!(read(&[]), Some(Tags::new()));
        assert_eq!(read(&[0, 0, 0, 9, b'a']), None);
        assert_eq!(
            read(&one("a", "b")),
            Some(Tags::from([("a".into(), "b".into())]))
        );
    }
}
