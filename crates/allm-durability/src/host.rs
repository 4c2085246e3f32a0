//! A host that keeps the journal itself: one file that only grows.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use allm::{
    AppendId, BoxFuture, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionStore, Snapshot,
    StoreError, StoreReason, Takeover, Timestamp, Version, WriterId,
};
use allm_store::{Clock, MemoryStore};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

/// The sessions of a host that has a log of its own and no database. Many programs may use one file.
///
/// A line of the file is one thing that was done. What stands there is what is: the state is that of a store in memory
/// to which all lines were told. A line is on the disk before anyone is answered; half a line at the end is one that
/// nobody was answered about.
pub struct HostStore {
    path: PathBuf,
    read: Mutex<AsRead>,
}

/// The state as far as the file was read.
struct AsRead {
    clock: Clock,
    memory: MemoryStore,
    bytes: u64,
}

/// One thing that was done.
#[derive(Serialize, Deserialize)]
struct Line {
    at: Timestamp,
    deed: Deed,
}

#[derive(Clone, Serialize, Deserialize)]
enum Deed {
    Create(Box<NewSession>),
    Append {
        at: Position,
        fence: Option<Fence>,
        id: AppendId,
        entries: Vec<Entry>,
        head: HeadUpdate,
    },
    Delete(SessionId, DeleteIf),
    Acquire(SessionId, WriterId, u64, Takeover),
    Renew(Lease),
    Release(Lease),
    Snapshot(Position, Snapshot),
    Trim(Position, Version),
}

/// What a deed is answered with.
enum Done {
    Head(Box<Head>),
    Version(Version),
    Lease(Lease),
    Nothing,
}

impl Deed {
    async fn tell(self, memory: &MemoryStore) -> Result<Done, StoreError> {
        let nothing = |()| Done::Nothing;
        match self {
            Self::Create(new) => memory.create(&new).await.map(Box::new).map(Done::Head),
            Self::Append {
                at,
                fence,
                id,
                entries,
                head,
            } => {
                let appended = memory.append(&at, fence, id, &entries, &head).await;
                appended.map(Done::Version)
            }
            Self::Delete(id, condition) => memory.delete(&id, condition).await.map(nothing),
            Self::Acquire(id, holder, millis, takeover) => {
                let ttl = Duration::from_millis(millis);
                let lease = memory.acquire(&id, &holder, ttl, takeover).await;
                lease.map(Done::Lease)
            }
            Self::Renew(lease) => memory.renew(&lease).await.map(Done::Lease),
            Self::Release(lease) => memory.release(lease).await.map(nothing),
            Self::Snapshot(at, snapshot) => memory.put_snapshot(&at, snapshot).await.map(nothing),
            Self::Trim(at, before) => memory.trim(&at, before).await.map(nothing),
        }
    }
}

fn unavailable(error: &io::Error) -> StoreError {
    StoreError::new(StoreReason::Unavailable, error.kind().to_string())
}

impl std::fmt::Debug for HostStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostStore").finish_non_exhaustive()
    }
}

impl HostStore {
    /// The sessions in this file, which need not be there yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let clock = Clock::manual(Clock::system().now());
        Self {
            path: path.to_owned(),
            read: Mutex::new(AsRead {
                memory: MemoryStore::with_clock(clock.clone()),
                clock,
                bytes: 0,
            }),
        }
    }

    fn open(&self) -> io::Result<File> {
        let mut options = File::options();
        let file = options.read(true).append(true).create(true);
        file.open(&self.path)
    }

    /// Does a deed, and writes it down if it was done.
    async fn deed(&self, deed: Deed) -> Result<Done, StoreError> {
        let mut read = self.read.lock().await;
        let mut file = self.open().map_err(|error| unavailable(&error))?;
        file.lock().map_err(|error| unavailable(&error))?;
        read.catch_up(&mut file).await?;
        let at = Clock::system().now();
        read.clock.set(at);
        let done = deed.clone().tell(&read.memory).await?;
        let written = serde_json::to_vec(&Line { at, deed });
        let mut line = written.map_err(|error| unavailable(&io::Error::other(error)))?;
        line.push(b'\n');
        let written = file.write_all(&line).and_then(|()| file.sync_data());
        match written {
            Ok(()) => read.bytes += line.len() as u64,
            Err(error) => {
                // What is in memory may not be in the file: read again.
                *read = Self::new(&self.path).read.into_inner();
                return Err(unavailable(&error));
            }
        }
        Ok(done)
    }

    /// Looks at what is there.
    async fn look(&self) -> Result<tokio::sync::MutexGuard<'_, AsRead>, StoreError> {
        let mut read = self.read.lock().await;
        let mut file = self.open().map_err(|error| unavailable(&error))?;
        file.lock().map_err(|error| unavailable(&error))?;
        read.catch_up(&mut file).await?;
        read.clock.set(Clock::system().now());
        Ok(read)
    }
}

impl AsRead {
    /// Takes in what others have written, and cuts off half a line that somebody left who died.
    async fn catch_up(&mut self, file: &mut File) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        let read = file
            .seek(SeekFrom::Start(self.bytes))
            .and_then(|_| file.read_to_end(&mut bytes));
        read.map_err(|error| unavailable(&error))?;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if line.last() != Some(&b'\n') {
                file.set_len(self.bytes)
                    .map_err(|error| unavailable(&error))?;
                break;
            }
            let corrupt = |_| StoreError::new(StoreReason::Corrupt, "a line cannot be read");
            let Line { at, deed } = serde_json::from_slice(line).map_err(corrupt)?;
            self.clock.set(at);
            deed.tell(&self.memory).await?;
            self.bytes += line.len() as u64;
        }
        Ok(())
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

fn odd() -> StoreError {
    StoreError::new(StoreReason::Corrupt, "a deed was answered oddly")
}

impl SessionStore for HostStore {
    fn create<'a>(&'a self, new: &'a NewSession) -> Answer<'a, Head> {
        Box::pin(async move {
            match self.deed(Deed::Create(Box::new(new.clone()))).await? {
                Done::Head(head) => Ok(*head),
                _ => Err(odd()),
            }
        })
    }

    fn load<'a>(&'a self, id: &'a SessionId, from: LoadFrom) -> Answer<'a, Loaded> {
        Box::pin(async move { self.look().await?.memory.load(id, from).await })
    }

    fn append<'a>(
        &'a self,
        at: &'a Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, Version> {
        Box::pin(async move {
            let deed = Deed::Append {
                at: at.clone(),
                fence,
                id: append_id,
                entries: entries.to_vec(),
                head: head.clone(),
            };
            match self.deed(deed).await? {
                Done::Version(version) => Ok(version),
                _ => Err(odd()),
            }
        })
    }

    fn list<'a>(&'a self, filter: &'a SessionFilter, page: PageRequest) -> Answer<'a, Page<Head>> {
        Box::pin(async move { self.look().await?.memory.list(filter, page).await })
    }

    fn delete<'a>(&'a self, id: &'a SessionId, condition: DeleteIf) -> Answer<'a, ()> {
        Box::pin(async move {
            self.deed(Deed::Delete(id.clone(), condition)).await?;
            Ok(())
        })
    }

    fn acquire<'a>(
        &'a self,
        id: &'a SessionId,
        holder: &'a WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Answer<'a, Lease> {
        Box::pin(async move {
            let millis = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
            let deed = Deed::Acquire(id.clone(), holder.clone(), millis, takeover);
            match self.deed(deed).await? {
                Done::Lease(lease) => Ok(lease),
                _ => Err(odd()),
            }
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Lease> {
        Box::pin(async move {
            match self.deed(Deed::Renew(lease.clone())).await? {
                Done::Lease(lease) => Ok(lease),
                _ => Err(odd()),
            }
        })
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        Box::pin(async move {
            self.deed(Deed::Release(lease)).await?;
            Ok(())
        })
    }

    fn put_snapshot<'a>(&'a self, at: &'a Position, snapshot: Snapshot) -> Answer<'a, ()> {
        Box::pin(async move {
            self.deed(Deed::Snapshot(at.clone(), snapshot)).await?;
            Ok(())
        })
    }

    fn trim<'a>(&'a self, at: &'a Position, before: Version) -> Answer<'a, ()> {
        Box::pin(async move {
            self.deed(Deed::Trim(at.clone(), before)).await?;
            Ok(())
        })
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        Box::pin(async move { Ok(Clock::system().now()) })
    }
}
