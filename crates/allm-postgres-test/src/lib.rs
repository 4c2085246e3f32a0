//! A PostgreSQL server of one's own on loopback, for tests.
//!
//! [`Server::shared`] is one server for all test programs that run at the same time; each test takes a
//! [`database`](Server::database) of its own. [`Server::private`] is for a test that stops the server.
//!
//! The programs are those of the system (`scripts/setup-postgres` installs them). Where they are not there, both are
//! `None` and say `SKIPPED` on the error stream; with `ALLM_POSTGRES=required` that is a panic.
//!
//! A server ends by itself when no test program uses it any more, however that ended: every user holds a lock on a
//! file, and a small script beside the server waits until nobody does.
//!
//! ```no_run
//! let Some(server) = allm_postgres_test::Server::shared() else {
//!     return;
//! };
//! let url = server.database();
//! # drop(url);
//! ```

#![expect(
    clippy::print_stderr,
    clippy::expect_used,
    reason = "only tests use it, and a test that is skipped says so"
)]

mod pooler;
mod system;

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

pub use pooler::Pooler;
use system::{Account, free_port, programs, watch};

/// What the password of the server's only user is. It is in every URL, so no error may show it.
pub const PASSWORD: &str = "hunter2-postgres";

/// A server that runs for as long as somebody holds it.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    account: Account,
    folder: PathBuf,
    port: u16,
    /// Whether what is committed is really on the disk.
    durable: bool,
    /// A lock that says: somebody uses it. It ends with the program, however that ends.
    _users: File,
}

impl Server {
    /// The server that all test programs of this workspace share. It does not wait for the disk.
    ///
    /// # Panics
    ///
    /// When it does not start, or is not installed and `ALLM_POSTGRES=required`.
    #[must_use]
    pub fn shared() -> Option<Self> {
        let name = env!("CARGO_MANIFEST_DIR").bytes().fold(7_u64, |sum, byte| {
            sum.wrapping_mul(1_099_511_628_211)
                .wrapping_add(byte.into())
        });
        Self::in_folder(&format!("shared-{name:016x}"), false)
    }

    /// A server for this holder alone, which may [`stop`](Self::stop) it. What is committed is on the disk.
    ///
    /// # Panics
    ///
    /// As [`shared`](Self::shared).
    #[must_use]
    pub fn private() -> Option<Self> {
        Self::in_folder(&format!("private-{}", unique()), true)
    }

    fn in_folder(name: &str, durable: bool) -> Option<Self> {
        let programs = programs()?;
        let account = Account::of_server();
        let folder = std::env::temp_dir().join(format!("allm-postgres-{name}"));
        fs::create_dir_all(&folder).expect("a folder");
        // One at a time: who comes second finds the server running.
        let lock = locked(&folder.join("lock"));
        let users = open(&folder.join("users"));
        users.lock_shared().expect("a lock");
        let mut server = Self {
            programs,
            account,
            folder,
            port: 0,
            durable,
            _users: users,
        };
        let known = fs::read_to_string(server.folder.join("port")).ok();
        server.port = known.and_then(|port| port.parse().ok()).unwrap_or(0);
        if !server.is_running() {
            server.port = free_port();
            server.make();
            server.start();
            fs::write(server.folder.join("port"), server.port.to_string()).expect("written");
            watch(&server.programs, &server.account, &server.folder);
        }
        drop(lock);
        Some(server)
    }

    /// Makes the files of a new server.
    fn make(&self) {
        let data = self.folder.join("data");
        drop(fs::remove_dir_all(&data));
        fs::create_dir(&data).expect("a folder");
        let password = self.folder.join("password");
        fs::write(&password, PASSWORD).expect("written");
        self.account.owns(&data);
        self.account.owns(&password);
        let mut make = self.program("initdb");
        make.args(["-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8"]);
        make.args(["--locale=C", "--no-sync", "--pwfile"])
            .arg(&password);
        make.arg("-D").arg(&data);
        done(&mut make);
    }

    /// Starts it again after [`stop`](Self::stop), where it was.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn start(&self) {
        let fsync = if self.durable { "on" } else { "off" };
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync={fsync} \
             -c max_connections=300 -c logging_collector=off",
            self.port
        );
        let log = self.folder.join("data/server.log");
        let mut start = self.program("pg_ctl");
        start.args(["start", "-s", "-w", "-t", "120", "-o", &options]);
        start
            .arg("-l")
            .arg(log)
            .arg("-D")
            .arg(self.folder.join("data"));
        done(&mut start);
    }

    /// Stops it at once, as a crash would: connections are cut, nothing is tidied up.
    ///
    /// # Panics
    ///
    /// When it does not stop.
    pub fn stop(&self) {
        let mut stop = self.program("pg_ctl");
        stop.args(["stop", "-s", "-w", "-m", "immediate", "-D"]);
        done(stop.arg(self.folder.join("data")));
    }

    /// A new, empty database: `postgres://…`.
    ///
    /// # Panics
    ///
    /// When there is none to be had.
    #[must_use]
    pub fn database(&self) -> String {
        let name = format!("test_{}", unique());
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// The URL of a database of this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let port = self.port;
        format!("postgres://postgres:{PASSWORD}@127.0.0.1:{port}/{database}")
    }

    /// Runs SQL in a database, named or by its URL, and gives what it prints: a line for each row, `|` between columns.
    ///
    /// # Panics
    ///
    /// When the SQL fails.
    pub fn psql(&self, database: &str, sql: &str) -> String {
        let name = database.rsplit('/').next().unwrap_or(database);
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d"]);
        let out = done(psql.arg(self.url(name)).args(["-c", sql]));
        String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
    }

    /// Where it listens on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    fn is_running(&self) -> bool {
        self.port != 0 && TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        self.account.runs(&mut command);
        command.current_dir(&self.folder);
        command
    }
}

/// Runs a program to its end.
fn done(command: &mut Command) -> Output {
    // Its output goes to a file where a server would keep a pipe open.
    let out = command.output().expect("the program starts");
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {error}");
    out
}

fn open(path: &Path) -> File {
    let mut options = File::options();
    let options = options.create(true).truncate(false).write(true);
    options.open(path).expect("a file to lock")
}

fn locked(path: &Path) -> File {
    let file = open(path);
    file.lock().expect("a lock");
    file
}

fn unique() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = since.unwrap_or_default().subsec_nanos();
    format!("{}_{nanos}_{number}", std::process::id())
}

/// What is not installed is a fault where it is required, and is told elsewhere.
fn missing(what: &str) {
    let required = std::env::var("ALLM_POSTGRES").is_ok_and(|value| value == "required");
    assert!(!required, "{what} is not there: run scripts/setup-postgres");
    eprintln!("SKIPPED: {what} is not there; scripts/setup-postgres installs it");
}
