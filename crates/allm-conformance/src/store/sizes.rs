//! Content that is large.

use allm_core::{DeleteIf, Entry, EntryClass, Hash, LoadFrom, StoreReason};

use super::Look;
use super::bench::{Located, Wanted, append_id, refused, time};
use super::place::Place;
use super::session::{Known, follow, same};
use crate::finding::{Checked, Finding, Rule};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "too_large",
            contract: "S115",
            behaviour: "an entry of 16 MiB and a byte is `too_large`, and nothing of its append is written",
        },
        |place| Box::pin(one_byte_more(place)),
    ),
    (
        Rule {
            name: "largest",
            contract: "S115",
            behaviour: "an entry of 16 MiB is taken and comes back",
        },
        |place| Box::pin(largest(place)),
    ),
    (
        Rule {
            name: "large_content",
            contract: "S115",
            behaviour: "content around and above 64 KiB comes back byte for byte, from entries and snapshots",
        },
        |place| Box::pin(large_content(place)),
    ),
    (
        Rule {
            name: "shared_content",
            contract: "S115, S169",
            behaviour: "equal large content in two sessions stays when one of them is deleted",
        },
        |place| Box::pin(shared_content(place)),
    ),
];

const KIB: usize = 1024;

/// Bytes that do not compress and do not repeat.
fn noise(length: usize, mut seed: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 4);
    while bytes.len() < length {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        bytes.extend_from_slice(&seed.to_be_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// An entry over the limit that follows what is known. It is not hashed, because no store gets so far.
pub(super) fn too_large(known: &Known) -> Result<Entry, Finding> {
    Ok(Entry {
        version: known.version().next(),
        class: EntryClass::Input,
        at: time(0)?,
        bytes: vec![b'x'; Entry::MAX_BYTES + 1].into(),
        chain: Hash::ZERO,
    })
}

async fn one_byte_more(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::created(store, "a").await?;
    let mut entries = known.next(EntryClass::Input, &["x"])?;
    entries.push(Entry {
        version: known.version().next().next(),
        ..too_large(&known)?
    });
    let answer = known
        .try_append(store, None, append_id("1"), &entries)
        .await;
    refused(answer, StoreReason::TooLarge)?;
    known.is_there(store).await
}

async fn largest(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    let bytes = noise(Entry::MAX_BYTES, 1);
    let entry = follow(&known.link(), EntryClass::Input, bytes)?;
    known.append(store, None, &[entry]).await?;
    known.is_there(store).await
}

async fn large_content(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    let sizes = [64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 300 * KIB, 300 * KIB];
    for size in sizes {
        let which = format!("{size} bytes");
        // The last two are equal: one content twice in one session.
        let entry = follow(&known.link(), EntryClass::Input, noise(size, 7))?;
        known.append(store, None, &[entry]).await.located(&which)?;
    }
    known.is_there(store).await?;
    let mut snapshot = known.snapshot(known.version().0)?;
    snapshot.bytes = noise(300 * KIB, 7).into();
    let put = known.try_snapshot(store, &snapshot).await;
    put.wanted("a snapshot that fits is kept")?;
    let loaded = known.load(store, LoadFrom::Snapshot).await?;
    same(&loaded, &known.after(known.version(), Some(snapshot)))?;
    known.is_there(store).await
}

async fn shared_content(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut both = Vec::new();
    for name in ["a", "b"] {
        let mut known = Known::created(store, name).await?;
        let entry = follow(&known.link(), EntryClass::Input, noise(100 * KIB, 3))?;
        known.append(store, None, &[entry]).await?;
        let mut snapshot = known.snapshot(2)?;
        snapshot.bytes = noise(100 * KIB, 3).into();
        let put = known.try_snapshot(store, &snapshot).await;
        put.wanted("a snapshot that fits is kept")?;
        both.push((known, snapshot));
    }
    let [(deleted, _), (kept, snapshot)] = both.as_slice() else {
        return Err(Finding::failed("two sessions", "others"));
    };
    let answer = store.delete(&deleted.head.id, DeleteIf::Any).await;
    answer.wanted("deleted")?;
    kept.is_there(store).await?;
    let loaded = kept.load(store, LoadFrom::Snapshot).await?;
    same(&loaded, &kept.after(kept.version(), Some(snapshot.clone())))
}
