//! Who holds a session.

use std::path::Path;

use allm::{Lease, LoadFrom, SessionId, Sessions, StoreError, Takeover, Timestamp, Version};

use crate::alive;

/// Who else holds a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Nobody.
    Nobody,
    /// A process that is alive.
    Alive,
    /// A process that nothing is known of, until then.
    Unknown(Timestamp),
}

/// Takes a session of this database from a process that is known to be dead, so that nobody has to wait until its hold
/// runs out. Tells who else holds it now.
pub(crate) async fn look(
    sessions: &Sessions,
    file: &Path,
    id: &SessionId,
) -> Result<Holder, StoreError> {
    let store = sessions.store();
    let nothing = LoadFrom::After(Version(u64::MAX));
    let Some(held) = store.load(id, nothing).await?.head.lease else {
        return Ok(Holder::Nobody);
    };
    let writer = sessions.writer();
    if held.holder == *writer {
        return Ok(Holder::Nobody);
    }
    match alive::is_gone(file, &held.holder) {
        Some(true) => {
            let ttl = Lease::DEFAULT_TTL;
            let lease = store.acquire(id, writer, ttl, Takeover::Force).await?;
            store.release(lease).await?;
            Ok(Holder::Nobody)
        }
        Some(false) => Ok(Holder::Alive),
        None => Ok(Holder::Unknown(held.expires_at)),
    }
}
