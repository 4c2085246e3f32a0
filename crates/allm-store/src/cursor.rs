//! Where a listing goes on: the key of the last session shown, bound to the filter.

use allm_core::{
    Cursor, Hash, Head, Page, PageRequest, SessionFilter, SessionId, StoreError, Timestamp,
};

use crate::rules::refused;

/// What listings are ordered by.
pub(crate) type Key = (Timestamp, SessionId);

/// A cursor that goes on after this session.
fn after(filter: &SessionFilter, last: &Head) -> Cursor {
    let millis = last.created_at.as_millis();
    let id = last.id.as_str();
    Cursor::new(format!("{}.{millis}.{id}", seal(filter, millis, id)))
}

/// What a cursor says.
///
/// # Errors
///
/// `refused` for a text that was not made by [`after`] with this filter.
pub(crate) fn read(filter: &SessionFilter, cursor: &Cursor) -> Result<Key, StoreError> {
    parsed(filter, cursor.as_str())
        .ok_or_else(|| refused("the cursor was not made by this store for this filter"))
}

/// The page that these heads begin, of which there is at least one too many if another page follows.
pub(crate) fn page(
    filter: &SessionFilter,
    request: &PageRequest,
    mut items: Vec<Head>,
) -> Page<Head> {
    let size = request.size() as usize;
    let more = items.len() > size;
    items.truncate(size);
    let last = items.last().filter(|_| more);
    let next = last.map(|last| after(filter, last));
    Page { items, next }
}

fn parsed(filter: &SessionFilter, cursor: &str) -> Option<Key> {
    let (found, rest) = cursor.split_once('.')?;
    let (millis, id) = rest.split_once('.')?;
    let millis = millis.parse().ok()?;
    if found != seal(filter, millis, id) {
        return None;
    }
    Some((Timestamp::from_millis(millis).ok()?, id.parse().ok()?))
}

/// A hash of all that makes the cursor, so that one for another filter is told from one for this.
fn seal(filter: &SessionFilter, millis: i64, id: &str) -> String {
    let filter = serde_json::to_vec(filter).unwrap_or_default();
    let filter = Hash::of_bytes(&filter);
    let seal = Hash::of(&filter, format!("allm-cursor-1 {millis} {id}").as_bytes());
    let bytes = seal.as_bytes().iter().take(12);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use allm_core::StoreReason;

    use super::*;

    #[test]
    fn s114_a_cursor_is_good_for_its_filter_only() {
        let filter = SessionFilter::new().tag("a", "b.c");
        let id: SessionId = "a.b/ü".parse().expect("valid");
        let seal = seal(&filter, -5, id.as_str());
        let text = format!("{seal}.-5.a.b/ü");
        let key = read(&filter, &Cursor::new(text.as_str())).expect("made so");
        assert_eq!((key.0.as_millis(), key.1), (-5, id));
        for forged in [
            "",
            "forged",
            "..",
            &text.replace("-5", "-6"),
            &text.replace('ü', "u"),
        ] {
            let refused = read(&filter, &Cursor::new(forged)).expect_err("forged");
            assert_eq!(refused.reason, StoreReason::Refused);
        }
        let other = SessionFilter::new();
        assert!(read(&other, &Cursor::new(text.as_str())).is_err());
    }
}
