//! Plays scenarios with deaths.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use allm::session::Outcome;
use allm::{LoadFrom, Loaded, SessionId, SessionStore, Version};
use allm_postgres_test::Server;
use tokio::process::Command;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;

use crate::checks::{self, Death};
use crate::facts::Facts;
use crate::job::{Job, OldLease, StoreAt};
use crate::world::{Honesty, Seen, World};

/// Which kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// The journal of a host.
    Host,
}

/// How many children run at once. They wait more than they work.
const AT_ONCE: usize = 6;

/// How long a child may take before something is wrong.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long the lease of a child lasts that is not waited for.
const LONG_LEASE: u64 = 30_000;

/// A place to play on.
#[derive(Debug)]
pub struct Stage {
    program: PathBuf,
    scenario: String,
    folder: PathBuf,
    slots: Mutex<Vec<Slot>>,
    free: Semaphore,
    number: AtomicU64,
    kills: AtomicU64,
    /// Positions that were not come by, where that is chance.
    missed: AtomicU64,
    /// It runs for as long as somebody holds it.
    _server: Option<Server>,
}

/// A store that one session at a time is played in.
struct Slot {
    at: StoreAt,
    store: Arc<dyn SessionStore>,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.at.fmt(f)
    }
}

/// How a scenario ended.
#[derive(Debug)]
pub struct End {
    /// What the journal says.
    pub facts: Facts,
    /// What happened in the world.
    pub seen: Seen,
    /// Who died on the way.
    pub deaths: Vec<Death>,
}

/// How it is played.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// What is done about the leases of the dead.
    pub lease: OldLease,
    /// What the far side says when it is asked.
    pub honesty: Honesty,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            lease: OldLease::Force,
            honesty: Honesty::Truth,
        }
    }
}

impl Stage {
    /// A place to play a scenario on; `None` where there is no PostgreSQL.
    ///
    /// # Panics
    ///
    /// When there is no store to be had.
    pub async fn new(program: impl AsRef<Path>, kind: Kind, scenario: &str) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("allm-durability-{}-{number}", std::process::id());
        // Only programs die here and never the machine, so nothing need reach a disk.
        let memory = PathBuf::from("/dev/shm");
        let base = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let folder = base.join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let server = match kind {
            Kind::Postgres => Some(Server::shared()?),
            _ => None,
        };
        let url = server.as_ref().map(Server::database).unwrap_or_default();
        let mut slots = Vec::new();
        for number in 0..AT_ONCE {
            let at = match kind {
                Kind::Sqlite => StoreAt::Sqlite(folder.join(format!("{number}.db"))),
                Kind::Postgres => StoreAt::Postgres(url.clone()),
                Kind::Host => StoreAt::Host(folder.join(format!("{number}.log"))),
            };
            let store = at.open().await;
            slots.push(Slot { at, store });
        }
        Some(Self {
            program: program.as_ref().to_owned(),
            scenario: scenario.to_owned(),
            folder,
            free: Semaphore::new(slots.len()),
            slots: Mutex::new(slots),
            number: AtomicU64::new(0),
            kills: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            _server: server,
        })
    }

    /// How many programs were killed.
    #[must_use]
    pub fn kills(&self) -> u64 {
        self.kills.load(Ordering::Relaxed)
    }

    /// Plays the scenario: a program dies at each of these positions, one after the other, and the last one lives.
    ///
    /// # Panics
    ///
    /// When a program dies elsewhere, does not come to its end, or does not come by its position.
    pub async fn play(&self, deaths: &[String], manner: Manner) -> End {
        let end = self.try_play(deaths, manner).await;
        end.unwrap_or_else(|| panic!("nobody came by {deaths:?}"))
    }

    async fn try_play(&self, deaths: &[String], manner: Manner) -> Option<End> {
        let _permit = self.free.acquire().await.expect("open");
        let slot = self.slots.lock().await.pop().expect("as many as permits");
        // What runs side by side does not take the same way each time, so a position may be missed once.
        for _ in 0..5 {
            let end = self.play_in(&slot, deaths, manner).await;
            if end.is_some() {
                self.slots.lock().await.push(slot);
                return end;
            }
        }
        self.slots.lock().await.push(slot);
        None
    }

    /// `None` when a program lived on because it did not come by its position, or was too slow.
    async fn play_in(&self, slot: &Slot, deaths: &[String], manner: Manner) -> Option<End> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let session = format!("{}-{number}", self.scenario);
        let own;
        let slot = match &slot.at {
            StoreAt::Host(_) => {
                // A host reads its file from the beginning, so each session has one.
                let at = StoreAt::Host(self.folder.join(format!("{session}.log")));
                let store = at.open().await;
                own = Slot { at, store };
                &own
            }
            _ => slot,
        };
        let world = World::begin(Arc::clone(&slot.store), manner.honesty).await;
        let mut job = Job {
            store: slot.at.clone(),
            session,
            scenario: self.scenario.clone(),
            world: world.port(),
            kill_at: None,
            lease: OldLease::None,
            lease_millis: match manner.lease {
                OldLease::Wait => 1000,
                _ => LONG_LEASE,
            },
        };
        let mut died = Vec::new();
        for at in deaths {
            job.kill_at = Some(at.clone());
            let (status, said) = self.run(&job).await;
            if status.success() {
                return None;
            }
            assert_eq!(status.signal(), Some(9), "at `{at}`: {status}: {said}");
            self.kills.fetch_add(1, Ordering::Relaxed);
            died.push(Death {
                at: at.clone(),
                facts: facts(&*slot.store, &job.session).await,
                seen: world.settled().await,
            });
            job.lease = manner.lease;
        }
        job.kill_at = None;
        let (status, said) = self.run(&job).await;
        assert!(status.success(), "after {deaths:?}: {status}: {said}");
        let journal = journal(&*slot.store, &job.session).await;
        let journal = journal.expect("a session");
        for death in &mut died {
            let facts = death.facts.as_ref();
            death.facts = facts.map(|facts| facts.left_behind(&journal));
        }
        let facts = Facts::of(&journal);
        // Time limits are real: on a machine that is busy elsewhere a tool may be too slow, which is not what is looked at.
        let too_slow = facts.outcomes.values();
        if too_slow
            .copied()
            .any(|outcome| outcome == Outcome::TimedOut)
        {
            return None;
        }
        Some(End {
            facts,
            seen: world.settled().await,
            deaths: died,
        })
    }

    async fn run(&self, job: &Job) -> (ExitStatus, String) {
        let job = serde_json::to_string(job).expect("a job is JSON");
        let child = Command::new(&self.program)
            .arg(job)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let out = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
        let out = out.expect("it ends in time").expect("it ran");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        (out.status, said)
    }

    /// Plays the scenario once without a death, then once for each position with a death there, and compares.
    ///
    /// # Panics
    ///
    /// When something is not as it must be.
    pub async fn kill_everywhere(self: &Arc<Self>, manner: Manner) -> Facts {
        let unkilled = self.play(&[], manner).await;
        let faults = checks::faults(&unkilled.facts, &unkilled.facts, &[], &unkilled.seen);
        assert!(faults.is_empty(), "unkilled: {faults:#?}");
        let unkilled = Arc::new(unkilled);
        let positions = unkilled.seen.passed.iter();
        let deaths: Vec<_> = positions.map(|position| vec![position.clone()]).collect();
        let count = deaths.len();
        self.kill_all(deaths, &unkilled, manner).await;
        println!("{}: {count} positions", self.scenario);
        unkilled.facts.clone()
    }

    /// As [`kill_everywhere`](Self::kill_everywhere), and whoever takes over dies at every position as well.
    ///
    /// # Panics
    ///
    /// When something is not as it must be.
    pub async fn kill_twice(self: &Arc<Self>, manner: Manner) {
        let unkilled = Arc::new(self.play(&[], manner).await);
        let mut firsts = JoinSet::new();
        for first in unkilled.seen.passed.clone() {
            let stage = Arc::clone(self);
            firsts.spawn(async move {
                let end = stage.try_play(std::slice::from_ref(&first), manner).await;
                let Some(end) = end else {
                    assert!(stage.is_chance(&first), "nobody came by {first}");
                    stage.missed.fetch_add(1, Ordering::Relaxed);
                    return Vec::new();
                };
                let seconds = end.seen.passed.into_iter();
                seconds
                    .map(|second| vec![first.clone(), second])
                    .collect::<Vec<_>>()
            });
        }
        let count = firsts.len();
        let deaths: Vec<_> = firsts.join_all().await.into_iter().flatten().collect();
        let missed = usize::try_from(self.missed.load(Ordering::Relaxed)).unwrap_or(count);
        println!(
            "{}: {missed} of {count} first ones were missed",
            self.scenario
        );
        assert!(missed * 10 <= count, "{missed} of {count} were missed");
        let count = deaths.len();
        self.kill_all(deaths, &unkilled, manner).await;
        println!("{}: {count} pairs of positions", self.scenario);
    }

    /// Whether it is chance that this position is come by. Where a driver and somebody else of the same program write
    /// side by side, an append that others came before is made a second time; who comes first is chance. `all` has a
    /// cancellation in it.
    fn is_chance(&self, position: &str) -> bool {
        let others_write = ["send", "cancel", "all"].contains(&self.scenario.as_str());
        others_write && position.contains('#')
    }

    async fn kill_all(
        self: &Arc<Self>,
        deaths: Vec<Vec<String>>,
        unkilled: &Arc<End>,
        manner: Manner,
    ) {
        let mut tasks = JoinSet::new();
        let count = u64::try_from(deaths.len()).unwrap_or(u64::MAX);
        let missed_before = self.missed.load(Ordering::Relaxed);
        for deaths in deaths {
            let (stage, unkilled) = (Arc::clone(self), Arc::clone(unkilled));
            tasks.spawn(async move {
                let Some(end) = stage.try_play(&deaths, manner).await else {
                    // What the second program still has to do is chance: how far the siblings of a call had got when
                    // the first one died.
                    let by_chance =
                        deaths.len() > 1 || deaths.iter().any(|death| stage.is_chance(death));
                    if by_chance {
                        stage.missed.fetch_add(1, Ordering::Relaxed);
                    }
                    let fault = (!by_chance).then(|| "nobody came by".to_owned());
                    return (deaths, fault.into_iter().collect());
                };
                let faults = checks::faults(&unkilled.facts, &end.facts, &end.deaths, &end.seen);
                (deaths, faults)
            });
        }
        let mut bad = Vec::new();
        while let Some(done) = tasks.join_next().await {
            let (deaths, faults) = done.expect("it was played");
            if !faults.is_empty() {
                bad.push((deaths, faults));
            }
        }
        let many = bad.len();
        bad.truncate(8);
        let missed = self.missed.load(Ordering::Relaxed) - missed_before;
        println!("{}: {missed} of {count} were missed", self.scenario);
        assert!(missed * 10 <= count, "{missed} of {count} were missed");
        assert!(bad.is_empty(), "{}: {many} bad: {bad:#?}", self.scenario);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What the journal of a session says; `None` when there is no session.
async fn facts(store: &dyn SessionStore, session: &str) -> Option<Facts> {
    journal(store, session).await.as_ref().map(Facts::of)
}

async fn journal(store: &dyn SessionStore, session: &str) -> Option<Loaded> {
    let id = SessionId::new(session).ok()?;
    store.load(&id, LoadFrom::After(Version(0))).await.ok()
}
