//! What comes back.

use allm_core::{EntryClass, Link, LoadFrom, StoreReason, Version};

use super::Look;
use super::bench::{Located, Wanted, id, refused};
use super::place::Place;
use super::session::{Known, follow, same};
use crate::finding::{Checked, Rule};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "load_after",
            contract: "S112",
            behaviour: "a load gives exactly the entries later than the version that it names, in order",
        },
        |place| Box::pin(load_after(place)),
    ),
    (
        Rule {
            name: "load_all",
            contract: "S69, S112",
            behaviour: "without a snapshot a load from the snapshot gives every entry, and the chain verifies",
        },
        |place| Box::pin(load_all(place)),
    ),
    (
        Rule {
            name: "load_unknown",
            contract: "S112",
            behaviour: "loading an id that never was is `not_found`",
        },
        |place| Box::pin(load_unknown(place)),
    ),
    (
        Rule {
            name: "exact_bytes",
            contract: "S56",
            behaviour: "bytes come back as they went in, whatever they are",
        },
        |place| Box::pin(exact_bytes(place)),
    ),
];

async fn load_after(place: Place<'_>) -> Checked {
    let store = &**place.store();
    // More than ten, so that versions are not ordered as texts.
    let known = Known::with_entries(store, "a", 12).await?;
    Known::with_entries(store, "b", 3).await?;
    for after in (0..15).chain([1 << 63, u64::MAX]).map(Version) {
        let loaded = known.load(store, LoadFrom::After(after)).await?;
        same(&loaded, &known.after(after, None)).located(&format!("after {after}"))?;
    }
    Ok(())
}

async fn load_all(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let known = Known::with_entries(store, "a", 12).await?;
    let loaded = known.load(store, LoadFrom::Snapshot).await?;
    same(&loaded, &known.after(Version(0), None))?;
    let verified = loaded.verify(&Link::START);
    verified.wanted("the chain verifies").map(|_| ())
}

async fn load_unknown(place: Place<'_>) -> Checked {
    let store = &**place.store();
    Known::created(store, "a").await?;
    for from in [LoadFrom::Snapshot, LoadFrom::After(Version(0))] {
        refused(store.load(&id("b")?, from).await, StoreReason::NotFound)?;
    }
    Ok(())
}

/// Bytes that a column, a text or a JSON value would change.
fn awkward() -> Vec<(&'static str, Vec<u8>)> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("every byte", (0..=255).collect()),
        ("nothing", Vec::new()),
        ("zeros", vec![0; 3]),
        ("no UTF-8", vec![0xff, 0xfe, 0xc3, 0x28]),
        (
            "JSON with its spaces",
            text(r#"{"b": 1.0, "a":-0, "a": 1e300 }"#),
        ),
        ("a number of 64 bits", text("18446744073709551615")),
        ("escapes", text(r#"["\u0000","\u00e9","\/"]"#)),
        ("line ends", text("a\r\nb\n \t")),
        ("an é in two ways", text("e\u{301} \u{e9}")),
        ("SQL", text("'); DELETE FROM entries; --")),
        ("a text that looks like bytes", text(r"\x00ff")),
    ]
}

async fn exact_bytes(place: Place<'_>) -> Checked {
    let store = &**place.store();
    let mut known = Known::created(store, "a").await?;
    for (which, bytes) in awkward() {
        let entry = follow(&known.link(), EntryClass::Input, bytes.clone())?;
        known.append(store, None, &[entry]).await.located(which)?;
        known.is_there(store).await.located(which)?;
        let mut snapshot = known.snapshot(known.version().0)?;
        snapshot.bytes = bytes.into();
        let put = known.try_snapshot(store, &snapshot).await;
        put.wanted("a snapshot that fits is kept").located(which)?;
        let loaded = known.load(store, LoadFrom::Snapshot).await?;
        let expected = known.after(known.version(), Some(snapshot));
        same(&loaded, &expected).located(which)?;
    }
    Ok(())
}
