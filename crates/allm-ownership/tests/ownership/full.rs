//! N: a disk that is full at one append and at all that follow, under a real file of SQLite and a real PostgreSQL.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::session::EntryBody;
use allm::{
    BoxFuture, DurableSession, Engine, Fake, Script, SessionReason, SessionStatus, Sessions,
    SessionsOptions, StoreReason,
};
use allm_postgres_test::Server;
use allm_store::{PostgresStore, SqliteStore};
use serde_json::json;

use crate::support::journal::Journal;
use crate::support::programs;
use crate::support::sql::execute;
use crate::support::stores::{Store, folder};
use crate::support::world::{ALL, ONCE, World, model, results};
use crate::support::wrapped::{Call, Fate, Op, Rule, Wrapped};

/// What can be filled, and emptied again.
#[derive(Clone, Debug)]
enum Disk {
    /// A file that may not grow beyond some pages.
    Limited(PathBuf),
    /// A file system that has no room left.
    Small(PathBuf),
    /// A database of a server that has tables on such a file system.
    Served {
        server: Arc<Server>,
        url: String,
        folder: PathBuf,
    },
}

/// Fills a file system to the last byte.
fn fill(folder: &Path) {
    let mut ballast = File::create(folder.join("ballast")).expect("a file");
    for size in [1 << 16, 1 << 12, 1] {
        while ballast.write_all(&vec![1; size]).is_ok() {}
    }
}

impl Disk {
    fn file(folder: &Path) -> PathBuf {
        folder.join("sessions.db")
    }

    async fn store(&self) -> Store {
        let options = SqliteStore::options();
        let (options, folder) = match self {
            Self::Limited(folder) => (options.max_pages(500), folder),
            Self::Small(folder) => (options, folder),
            Self::Served { url, .. } => {
                return Arc::new(PostgresStore::connect(url).await.expect("a database"));
            }
        };
        Arc::new(options.open(Self::file(folder)).await.expect("a file"))
    }

    fn fill(&self) {
        match self {
            // Whether an entry needs a new page is chance. With this, each needs more than there may be.
            Self::Limited(folder) => {
                let sql = "CREATE TABLE ballast (content BLOB);
                    CREATE TRIGGER full BEFORE INSERT ON entries
                    BEGIN INSERT INTO ballast VALUES (zeroblob(4000000)); END";
                execute(&Self::file(folder), sql);
            }
            Self::Small(folder) => fill(folder),
            // Here, too, each entry needs a page more: one on the disk that is full.
            Self::Served {
                server,
                url,
                folder,
            } => {
                let sql = "CREATE TABLE ballast (content bytea) TABLESPACE small;
                    ALTER TABLE ballast ALTER content SET STORAGE PLAIN;
                    CREATE FUNCTION ballast() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                        INSERT INTO public.ballast SELECT decode(repeat('00', 8000), 'hex')
                            FROM generate_series(1, 20);
                        RETURN new; END $$;
                    CREATE TRIGGER ballast BEFORE INSERT ON allm.entries
                        FOR EACH ROW EXECUTE FUNCTION ballast()";
                server.psql(url, sql);
                fill(folder);
            }
        }
    }

    fn empty(&self) {
        let ballast =
            |folder: &Path| std::fs::remove_file(folder.join("ballast")).expect("removed");
        match self {
            Self::Limited(folder) => execute(&Self::file(folder), "DROP TRIGGER full"),
            Self::Small(folder) => ballast(folder),
            Self::Served {
                server,
                url,
                folder,
            } => {
                server.psql(url, "DROP TRIGGER ballast ON allm.entries");
                ballast(folder);
            }
        }
    }

    /// Takes away what nobody needs any more.
    fn remove(&self) {
        match self {
            Self::Limited(folder) | Self::Small(folder) => {
                let _ = std::fs::remove_dir_all(folder);
            }
            Self::Served { server, url, .. } => {
                let name = url.rsplit('/').next().expect("a name");
                server.psql(
                    "postgres",
                    &format!("DROP DATABASE \"{name}\" WITH (FORCE)"),
                );
            }
        }
    }
}

/// Fills the disk just before an append, and listens to what becomes of it.
struct Filling {
    at: usize,
    disk: Disk,
    world: World,
    fake: Fake,
    state: Mutex<Filled>,
}

#[derive(Clone, Default)]
struct Filled {
    /// What each append was answered.
    answers: Vec<Result<u64, StoreReason>>,
    asked: usize,
    /// What had been begun when the disk became full.
    begun: Option<Begun>,
}

/// How often the model was asked, and each handler entered.
type Begun = (usize, [u32; 4]);

fn begun(fake: &Fake, world: &World) -> Begun {
    (fake.calls().len(), ALL.map(|tool| world.entered(tool)))
}

impl Filling {
    fn state(&self) -> Filled {
        self.state.lock().expect("not poisoned").clone()
    }
}

impl Rule for Filling {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        let mut state = self.state.lock().expect("not poisoned");
        let mut fills = false;
        if call.op == Op::Append {
            fills = state.asked == self.at;
            state.asked += 1;
        }
        if fills {
            state.begun = Some(begun(&self.fake, &self.world));
        }
        drop(state);
        Box::pin(async move {
            if fills {
                self.disk.fill();
            }
            // The store is asked in any case: it is the file that refuses.
            Fate::Done
        })
    }

    fn told(&self, call: &Call, answer: Result<u64, StoreReason>) {
        if call.op == Op::Append {
            let mut state = self.state.lock().expect("not poisoned");
            state.answers.push(answer);
        }
    }
}

/// How the model calls the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    OneByOne,
    AtOnce,
}

/// A model that calls these tools one after the other.
fn one_by_one(tools: &[&'static str]) -> Fake {
    let mut fake = Fake::new();
    for _ in 0..8 {
        for (number, name) in tools.iter().enumerate() {
            let call = Script::new().call_with_id(format!("call_{number}"), *name, json!({}));
            fake = fake.reply_when(move |request| results(request) == number, call);
        }
        let all = tools.len();
        fake = fake.reply_when(move |request| results(request) == all, "done");
    }
    fake
}

/// A session on a disk that is full from one append on.
struct Case {
    store: Store,
    filling: Arc<Filling>,
    engine: Engine,
    session: DurableSession,
}

async fn case(disk: &Disk, id: &str, way: Way, at: usize) -> Case {
    let store = disk.store().await;
    let world = World::default();
    let fake = match way {
        Way::OneByOne => one_by_one(&ALL),
        Way::AtOnce => model(&ALL),
    };
    // The far side is asked after this, when nobody knows what became of a call.
    let engine = world.engine("a", None, &fake);
    let engine = engine.tool_timeout(Duration::from_millis(1500));
    let filling = Arc::new(Filling {
        at,
        disk: disk.clone(),
        world,
        fake,
        state: Mutex::default(),
    });
    let mut options = SessionsOptions::default();
    options.retry_for = Duration::ZERO;
    options.call_slack = Duration::ZERO;
    let machine = Sessions::with(Wrapped::around(&store, "a", &filling), options);
    let session = machine.create(id).await.expect("created");
    Case {
        store,
        filling,
        engine: engine.build().expect("an engine"),
        session,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Save,
    Resume,
}

impl Case {
    /// No command was begun since the disk is full. Calls of one answer are begun together, so of those some may be on
    /// their way to their handlers; but none without an intent in the journal.
    fn assert_nothing_begun(&self, way: Way, journal: &Journal, place: &str) {
        let Filling { world, fake, .. } = &*self.filling;
        let now = begun(fake, world);
        let then = self.filling.state().begun.expect("it became full");
        assert_eq!(now.0, then.0, "the model was asked: {place}");
        if way == Way::OneByOne {
            assert_eq!(now.1, then.1, "a handler was entered: {place}");
        }
        for tool in &ALL[1..] {
            let of_tool = |body: &&EntryBody| matches!(body, EntryBody::ToolIntent(intent) if intent.tool == *tool);
            let intended = journal.bodies().filter(of_tool).count();
            assert!(world.entered(tool) as usize <= intended, "{tool}: {place}");
        }
    }

    /// A run on a disk that becomes full, and what comes after. False when it never came so far.
    async fn run(mut self, id: &str, way: Way, after: After, place: &str) -> bool {
        let end = self.session.reply(&self.engine, "Go").await;
        let Filled { answers, begun, .. } = self.filling.state();
        if begun.is_none() {
            end.expect("nothing was in the way");
            return false;
        }
        let error = end.expect_err(place);
        assert_eq!(error.reason, SessionReason::Store, "{place}: {error}");
        let source = error.store.as_ref().map(|error| error.reason);
        assert_eq!(source, Some(StoreReason::Full), "{place}");
        assert!(!error.unsaved.is_empty(), "{place}");
        let (before, since) = answers.split_at(self.filling.at);
        assert!(before.iter().all(Result::is_ok), "{place}: {before:?}");
        assert_eq!(since[0], Err(StoreReason::Full), "{place}");
        assert!(since.iter().all(Result::is_err), "{place}: {since:?}");
        let stored = Journal::read(&self.store, id).await;
        assert_eq!(*self.session, stored.session, "{place}");
        self.assert_nothing_begun(way, &stored, place);

        self.filling.disk.empty();
        if after == After::Save {
            self.session.save(error.unsaved).await.expect(place);
        }
        if self.filling.at == 0 && after == After::Resume {
            // Nothing of it was stored, so there is nothing to go on with.
            self.session.reply(&self.engine, "Go").await.expect(place);
        } else if self.session.status() == SessionStatus::InProgress {
            self.session.resume(&self.engine).await.expect(place);
        }
        let journal = Journal::read(&self.store, id).await;
        journal.assert_one_outcome_each();
        assert_eq!(*self.session, journal.session, "{place}");
        assert_eq!(self.session.status(), SessionStatus::Completed, "{place}");
        assert_eq!(journal.count("user_message"), 1, "{place}");
        let world = &self.filling.world;
        world.assert_counts(&ALL, place);
        if after == After::Save {
            // What was in hand was not lost, so nothing was done twice and nothing that was done is unknown. A call that
            // was on its way to its handler when its siblings filled the disk was stopped, and nobody can know that.
            for tool in ALL {
                let entered = world.entered(tool);
                if !(way == Way::AtOnce && tool == ONCE) {
                    assert_eq!(entered, 1, "{tool}: {place}");
                }
                assert!(entered <= 1, "{tool}: {place}");
                assert_eq!(world.effects(tool), entered, "{tool}: {place}");
            }
        }
        true
    }
}

async fn full_at_every_append(disk: impl Fn(&str) -> Disk) {
    for way in [Way::OneByOne, Way::AtOnce] {
        for after in [After::Save, After::Resume] {
            let mut at = 0;
            loop {
                let place = format!("{way:?}, append {at}, then {after:?}");
                let disk = disk(&format!("{way:?}-{after:?}-{at}"));
                let case = case(&disk, "s", way, at).await;
                let was_full = case.run("s", way, after, &place).await;
                disk.remove();
                if !was_full {
                    break;
                }
                at += 1;
            }
            // Answer and outcome of each call, at least.
            let least = if way == Way::OneByOne { 9 } else { 6 };
            assert!(at >= least, "{way:?} has {at} appends");
        }
    }
}

fn folder_in(parent: &Path, name: &str) -> PathBuf {
    let folder = parent.join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// S163: the file may not grow.
#[tokio::test(flavor = "multi_thread")]
async fn s163_a_file_that_may_not_grow_at_every_append() {
    let parent = folder();
    full_at_every_append(|name| Disk::Limited(folder_in(&parent, name))).await;
    let _ = std::fs::remove_dir_all(parent);
}

/// Runs a test of this program where a folder is a file system of its own, which goes with the program that sees it.
fn on_a_disk_of_its_own(test: &str, ways: &[&[&str]]) {
    let allowed = ways.iter().find(|way| {
        let mount = "mount -t tmpfs -o size=1m tmpfs /mnt";
        let tried = std::process::Command::new("unshare")
            .args(**way)
            .args(["--", "sh", "-c", mount])
            .output();
        tried.is_ok_and(|out| out.status.success())
    });
    let Some(way) = allowed else {
        let is_required = std::env::var_os("ALLM_MOUNT").is_some_and(|word| word == "required");
        assert!(!is_required, "no file system can be mounted here");
        eprintln!("SKIPPED: no file system can be mounted here, so no disk can be filled");
        return;
    };
    let parent = folder();
    let mut command = vec!["unshare"];
    command.extend(*way);
    command.push("--");
    let task = parent.to_str().expect("a path");
    let out = programs::run(&command, test, task, &[]);
    let _ = std::fs::remove_dir_all(parent);
    assert!(out.status.success(), "{}", programs::said(&out));
}

/// What root can do, and what most others can.
const AS_ROOT: &[&str] = &["--mount"];
const AS_ANYONE: &[&str] = &["--mount", "--user", "--map-root-user"];

fn mounted() -> Option<PathBuf> {
    let parent = programs::task()?;
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs", &parent])
        .status();
    assert!(mounted.expect("mount is there").success());
    Some(PathBuf::from(parent))
}

/// S163: the disk has no room, not for a byte.
#[test]
fn s163_a_disk_that_is_full_at_every_append() {
    on_a_disk_of_its_own("full::on_a_small_disk", &[AS_ROOT, AS_ANYONE]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another test starts it"]
async fn on_a_small_disk() {
    let Some(parent) = mounted() else {
        return;
    };
    full_at_every_append(|name| Disk::Small(folder_in(&parent, name))).await;
    programs::done();
}

/// S163: the disk of a server has no room. PostgreSQL does not run as anybody who only seems to be root.
#[test]
fn s163_a_server_whose_disk_is_full_at_every_append() {
    if Server::shared().is_some() {
        on_a_disk_of_its_own("full::on_a_server_with_a_small_disk", &[AS_ROOT]);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another test starts it"]
async fn on_a_server_with_a_small_disk() {
    let Some(parent) = mounted() else {
        return;
    };
    let server = Arc::new(Server::private().expect("a server"));
    // Where the server has tables it must be the owner.
    let tables = folder_in(&parent, "tables");
    let data = server.psql("postgres", "SHOW data_directory");
    let owned = std::process::Command::new("chown")
        .arg(format!("--reference={data}"))
        .args([&parent, &tables])
        .status();
    assert!(owned.expect("chown is there").success());
    let tables = tables.to_str().expect("a path");
    let sql = format!("CREATE TABLESPACE small LOCATION '{tables}'");
    server.psql("postgres", &sql);
    full_at_every_append(|_| Disk::Served {
        url: server.database(),
        server: Arc::clone(&server),
        folder: parent.clone(),
    })
    .await;
    programs::done();
}
