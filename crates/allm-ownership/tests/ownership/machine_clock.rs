//! N: the wall clock of the machine that drives is wrong, or jumps. What counts is the clock of the store.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use allm::session::EntryBody;
use allm::{
    ApprovalRule, Effect, Engine, Fake, PageRequest, Script, Session, SessionFilter, SessionReason,
    SessionStatus, Sessions, SessionsOptions, Timestamp, Tool,
};
use allm_postgres_test::Server;
use allm_store::{Clock, PostgresStore, SqliteStore};
use serde_json::{Value, json};

use crate::owners::{SOON, tool};
use crate::support::journal::Journal;
use crate::support::programs;
use crate::support::stores::{Store, folder};
use crate::support::world::{ALL, World};

const DAY: i64 = 24 * 60 * 60;
const HOUR: Duration = Duration::from_secs(60 * 60);
/// Much less than a shift, and more than any of this takes.
const SLACK: i64 = 10 * 60 * 1000;
/// Where the shift of a program's clock stands.
const SHIFT: &str = "ALLM_CLOCK_SHIFT";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Makes the library that shifts the clock of a program, if there is what it needs.
fn shifter(folder: &Path) -> Option<PathBuf> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        eprintln!("SKIPPED: the clock of a program is shifted on Linux with glibc only");
        return None;
    }
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ownership/machine_clock/shifted.c");
    let library = folder.join("shifted.so");
    // SQLite is compiled with the same compiler, so where these tests are built it is there.
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-O1", "-o"]);
    match compile.arg(&library).arg(source).output() {
        Ok(out) => {
            assert!(out.status.success(), "{}", programs::said(&out));
            Some(library)
        }
        Err(error) => {
            eprintln!("SKIPPED: no C compiler, so no clock can be shifted: {error}");
            None
        }
    }
}

/// S167: a program whose clock is a day ahead, a day behind, or jumps, beside a server whose clock is right and a file
/// that has a clock of its own.
#[test]
fn s167_the_clock_of_the_client_does_not_count() {
    let folder = folder();
    let Some(library) = shifter(&folder) else {
        return;
    };
    let shift = folder.join("shift");
    std::fs::write(&shift, 0_i64.to_ne_bytes()).expect("written");
    let server = Server::shared();
    let places = server.iter().map(Server::database);
    let file = folder.join("sessions.db");
    for place in places.chain([file.to_str().expect("a path").to_owned()]) {
        let environment = [
            ("LD_PRELOAD", library.to_str().expect("a path")),
            (SHIFT, shift.to_str().expect("a path")),
        ];
        let test = "machine_clock::under_another_clock";
        let out = programs::run(&[], test, &place, &environment);
        assert!(out.status.success(), "{}", programs::said(&out));
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// The clock of this program, which can be shifted.
#[derive(Clone)]
struct Machine {
    file: PathBuf,
    /// Two clocks that were read together, without a shift.
    then: (SystemTime, Instant),
}

impl Machine {
    fn new() -> Self {
        let file = PathBuf::from(std::env::var(SHIFT).expect("a file"));
        let machine = Self {
            file,
            then: (SystemTime::now(), Instant::now()),
        };
        machine.shift(0);
        machine
    }

    /// Shifts the clock by seconds from where it should be, and sees that it is.
    fn shift(&self, seconds: i64) {
        let file = std::fs::File::options().write(true).open(&self.file);
        let mut file = file.expect("a file");
        file.write_all(&seconds.to_ne_bytes()).expect("written");
        let right = self.then.0 + self.then.1.elapsed();
        let shown = match SystemTime::now().duration_since(right) {
            Ok(ahead) => i64::try_from(ahead.as_secs()).expect("small"),
            Err(behind) => -i64::try_from(behind.duration().as_secs()).expect("small"),
        };
        assert!((shown - seconds).abs() < 60, "{shown} and not {seconds}");
    }
}

/// A store whose clock is not that of this program.
#[derive(Clone)]
struct Elsewhere {
    store: Store,
    /// Set by hand, or that of a server.
    clock: Option<Clock>,
}

impl Elsewhere {
    async fn at(place: &str) -> Self {
        if place.starts_with("postgres://") {
            let store = PostgresStore::connect(place).await.expect("a database");
            return Self {
                store: Arc::new(store),
                clock: None,
            };
        }
        let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000).expect("a time"));
        let store = SqliteStore::options().clock(clock.clone()).open(place);
        Self {
            store: Arc::new(store.await.expect("a file")),
            clock: Some(clock),
        }
    }

    async fn now(&self) -> i64 {
        self.store.now().await.expect("a clock").as_millis()
    }

    /// Lets a little time pass, for the store too.
    async fn pass(&self) {
        let little = Duration::from_millis(20);
        tokio::time::sleep(little).await;
        if let Some(clock) = &self.clock {
            clock.advance(little);
        }
    }

    async fn pass_until(&self, time: Timestamp) {
        while self.now().await <= time.as_millis() {
            self.pass().await;
        }
    }

    async fn lease(&self, id: &str) -> Option<Timestamp> {
        let everything = SessionFilter::new();
        let heads = self.store.list(&everything, PageRequest::default()).await;
        let heads = heads.expect("listed").items;
        let head = heads.into_iter().find(|head| head.id.as_str() == id);
        Some(head.expect("there").lease?.expires_at)
    }

    fn sessions(&self) -> Sessions {
        let mut options = SessionsOptions::default();
        options.lease_ttl = Duration::from_secs(2);
        Sessions::with(Arc::clone(&self.store), options)
    }
}

/// A tool that lets the machine's clock jump, and then sees its driver's lease renewed by the clock of the store.
fn jump(to: i64, machine: &Machine, elsewhere: &Elsewhere, id: &str) -> Tool {
    let (machine, elsewhere, id) = (machine.clone(), elsewhere.clone(), id.to_owned());
    tool("jump").effect(Effect::Pure).handler(move |_: Value| {
        let (machine, elsewhere, id) = (machine.clone(), elsewhere.clone(), id.clone());
        async move {
            let first = elsewhere.lease(&id).await.expect("a lease");
            machine.shift(to);
            let renewed = async {
                for _ in 0..2 {
                    let before = elsewhere.lease(&id).await.expect("a lease");
                    while elsewhere.lease(&id).await == Some(before) {
                        elsewhere.pass().await;
                    }
                }
            };
            let renewed = tokio::time::timeout(SOON, renewed).await;
            renewed.expect("the lease is renewed, whatever the clock shows");
            let until = elsewhere.lease(&id).await.expect("a lease");
            let now = elsewhere.now().await;
            assert!(first < until && until.as_millis() <= now + 2_000);
            Ok::<_, std::fmt::Error>("jumped")
        }
    })
}

fn gated() -> Tool {
    tool("gated")
        .approval(ApprovalRule::Always)
        .handler(|_: Value| async { Ok::<_, std::fmt::Error>("agreed") })
}

/// Everything about one session with this shift, and that one from the middle of its run on.
async fn one(elsewhere: &Elsewhere, machine: &Machine, [first, then]: [i64; 2]) {
    let id = format!("from {first} to {then}");
    machine.shift(first);
    let began = elsewhere.now().await;
    let world = World::default();
    let mut calls = Script::new()
        .call("jump", json!({}))
        .call("gated", json!({}));
    for name in ALL {
        calls = calls.call(name, json!({}));
    }
    let fake = Fake::new().reply(calls).reply("done");
    let engine = world
        .engine("a", None, &fake)
        .tools([jump(then, machine, elsewhere, &id), gated()])
        .tool_timeout(TIMEOUT)
        .approval_expiry(HOUR)
        .build()
        .expect("an engine");
    let mut session = elsewhere.sessions().create(id.clone()).await.expect(&id);
    session.reply(&engine, "Go").await.expect(&id);
    assert_eq!(session.status(), SessionStatus::AwaitingApproval, "{id}");
    let ended = elsewhere.now().await;
    let within = |time: Timestamp, what: &str| {
        let window = began - 1_000..=ended + SLACK;
        assert!(window.contains(&time.as_millis()), "{what} of {id}: {time}");
    };
    let approval = session.approvals().remove(0);
    within(approval.requested_at, "the request");
    let open = approval.expires_at.expect("an end").as_millis() - approval.requested_at.as_millis();
    // The expiry is counted from when the call was planned, which is just before.
    assert!((open - 3_600_000).abs() < SLACK, "{open}");
    // By a clock that is a day ahead this would be too late.
    session.approve(&approval).await.expect(&id);
    session.resume(&engine).await.expect(&id);
    assert_eq!(session.status(), SessionStatus::Completed, "{id}");
    let journal = Journal::read(&elsewhere.store, &id).await;
    let mut last = session.created_at().expect("a time");
    for entry in &journal.entries {
        within(entry.at, entry.body.kind());
        assert!(last <= entry.at, "{id}: {} goes back", entry.body.kind());
        last = entry.at;
        if let EntryBody::ToolIntent(intent) = &entry.body {
            let left = intent.deadline.as_millis() - entry.at.as_millis();
            assert!((left - 60_000).abs() < SLACK, "{left}");
        }
    }
    assert_eq!(session.updated_at(), Some(last), "{id}");
    assert_eq!(journal.count("recovered"), 0, "{id}");
    world.assert_counts(&ALL, &id);
    for name in ALL {
        assert_eq!(world.entered(name), 1, "{id}");
    }
}

/// An approval that has expired by the store's clock, however early it is by this machine's.
async fn too_late(elsewhere: &Elsewhere, machine: &Machine) {
    machine.shift(-DAY);
    let fake = Fake::new().reply(Script::new().call("gated", json!({})));
    let engine = Engine::builder().provider(fake).model("fake:any");
    let engine = engine.tool(gated()).build().expect("an engine");
    let mut session = elsewhere.sessions().create("late").await.expect("created");
    let call = session.reply(&engine, "Go");
    call.approval_expiry(Duration::from_millis(50))
        .await
        .expect("it waits");
    let approval = session.approvals().remove(0);
    elsewhere
        .pass_until(approval.expires_at.expect("an end"))
        .await;
    let error = session.approve(&approval).await.unwrap_err();
    assert_eq!(error.reason, SessionReason::ApprovalExpired);
}

/// A session that no store keeps has only this machine's clock. Its times do not go back either.
async fn value(machine: &Machine) {
    let fake = Fake::new().always("Hello.");
    let engine = Engine::builder().provider(fake).model("fake:any");
    let engine = engine.build().expect("an engine");
    let mut session = Session::new("value").expect("an id");
    let mut last = None;
    for shift in [0, DAY, -DAY, 0] {
        machine.shift(shift);
        session.reply(&engine, "Hi").await.expect("done");
        assert!(session.updated_at() >= last, "{shift}");
        last = session.updated_at();
    }
    let shown = last.expect("a time").as_millis() - session.created_at().unwrap().as_millis();
    assert!((shown - DAY * 1000).abs() < SLACK, "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another test starts it"]
async fn under_another_clock() {
    let Some(place) = programs::task() else {
        return;
    };
    let machine = Machine::new();
    let elsewhere = Elsewhere::at(&place).await;
    for shifts in [
        [DAY, DAY],
        [-DAY, -DAY],
        [0, DAY],
        [0, -DAY],
        [DAY, -DAY],
        [-DAY, DAY],
    ] {
        one(&elsewhere, &machine, shifts).await;
    }
    too_late(&elsewhere, &machine).await;
    value(&machine).await;
    programs::done();
}

/// Every source file below here.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// S167: the wall clock is read by stores, and by sessions that have none. Nothing else of a session may read it.
#[test]
fn s167_only_stores_and_values_read_the_wall_clock() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![crates.join("allm/src/sessions.rs")];
    for folder in ["allm/src/sessions", "allm-core/src", "allm-store/src"] {
        sources(&crates.join(folder), &mut files);
    }
    assert!(files.len() > 100, "{} files", files.len());
    let mut found = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a text");
        for word in [
            "SystemTime",
            "UNIX_EPOCH",
            "Utc::now",
            "Local::now",
            "now_utc",
            "now_local",
            "machine_time",
        ] {
            if text.contains(word) {
                let file = file.strip_prefix(&crates).expect("below");
                found.insert((file.display().to_string(), word));
            }
        }
    }
    let allowed = [
        // Where the values of sessions have their time from.
        ("allm/src/sessions/journal.rs", "SystemTime"),
        ("allm/src/sessions/journal.rs", "UNIX_EPOCH"),
        ("allm/src/sessions/journal.rs", "machine_time"),
        ("allm/src/sessions/value.rs", "machine_time"),
        // The clock of stores that have no server to ask.
        ("allm-store/src/clock.rs", "SystemTime"),
        ("allm-store/src/clock.rs", "UNIX_EPOCH"),
    ];
    let allowed: BTreeSet<_> = allowed.map(|(file, word)| (file.to_owned(), word)).into();
    assert_eq!(found, allowed);
}
