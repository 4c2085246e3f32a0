//! Many sessions, many programs, deaths at random.

mod verdict;
pub mod worker;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use allm_postgres_test::Server;
use serde::{Deserialize, Serialize};

use crate::job::StoreAt;
use crate::world::World;
pub use verdict::Verdict;

/// How much is done.
#[derive(Clone, Debug)]
pub struct Soak {
    /// The program of a worker.
    pub program: PathBuf,
    /// How many sessions.
    pub sessions: usize,
    /// How many programs at once.
    pub workers: usize,
    /// How long programs are killed.
    pub time: Duration,
    /// The same seed kills the same workers after the same times.
    pub seed: u64,
}

/// What a worker is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work {
    /// Where sessions are kept.
    pub store: StoreAt,
    /// The port of the world.
    pub world: u16,
    /// How many sessions.
    pub sessions: usize,
    /// For its choices.
    pub seed: u64,
    /// Where it writes down what was appended for sure.
    pub kept: PathBuf,
    /// Where it writes down which messages were taken.
    pub taken: PathBuf,
    /// When this file is there nothing new is said.
    pub closing: PathBuf,
}

/// Numbers that look random: the same from the same seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below this.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit.max(1)
    }
}

/// Programs that end with whoever started them.
struct Workers(Vec<Child>);

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// How long the sessions may take to end when nobody is killed any more.
const CLOSING: Duration = Duration::from_secs(300);

/// Kills programs for a while, lets the others end what is left, and looks at everything. `None` where there is no
/// PostgreSQL.
///
/// # Panics
///
/// When a worker ends by itself in another way than well, or the sessions come to no end.
pub async fn soak(soak: &Soak) -> Option<Verdict> {
    let server = Server::shared()?;
    let folder = std::env::temp_dir().join(format!("allm-soak-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let at = StoreAt::Postgres(server.database());
    let store = at.open().await;
    let world = World::counting(Arc::clone(&store)).await;
    let mut work = Work {
        store: at,
        world: world.port(),
        sessions: soak.sessions,
        seed: soak.seed,
        kept: folder.join("kept"),
        taken: folder.join("taken"),
        closing: folder.join("closing"),
    };
    let mut start = || {
        work.seed += 1;
        start(&soak.program, &work)
    };
    let mut workers = Workers((0..soak.workers).map(|_| start()).collect());
    let mut dice = Dice::new(soak.seed);
    let begun = Instant::now();
    let mut kills = 0;
    while begun.elapsed() < soak.time {
        let pause = Duration::from_millis(100 + dice.below(600));
        tokio::time::sleep(pause).await;
        let place = usize::try_from(dice.below(soak.workers as u64)).unwrap_or(0);
        let Some(worker) = workers.0.get_mut(place) else {
            continue;
        };
        if let Some(status) = worker.try_wait().expect("a child") {
            panic!("a worker ended by itself: {status}");
        }
        // This is signal 9.
        worker.kill().expect("killed");
        worker.wait().expect("it ended");
        kills += 1;
        *worker = start();
    }
    std::fs::write(folder.join("closing"), "").expect("written");
    let closing = Instant::now();
    while let Some(place) = workers
        .0
        .iter_mut()
        .position(|worker| worker.try_wait().expect("a child").is_none())
    {
        assert!(closing.elapsed() < CLOSING, "worker {place} came to no end");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for worker in &mut workers.0 {
        assert!(
            worker.wait().expect("it ended").success(),
            "a worker failed"
        );
    }
    let mut verdict = Verdict::of(&*store, &work_files(&folder), &world.seen()).await;
    verdict.kills = kills;
    verdict.closing = closing.elapsed();
    let _ = std::fs::remove_dir_all(&folder);
    Some(verdict)
}

fn work_files(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("kept"), folder.join("taken"))
}

fn start(program: &Path, work: &Work) -> Child {
    let work = serde_json::to_string(work).expect("work is JSON");
    Command::new(program)
        .arg(work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts")
}
