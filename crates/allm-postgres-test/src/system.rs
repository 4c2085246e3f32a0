//! What the system has: programs, accounts, ports.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::missing;

/// Whom servers run as: PostgreSQL and pgbouncer refuse to be root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account(Option<(u32, u32)>);

impl Account {
    /// The account `postgres` for root, and whoever it is for everybody else.
    pub(crate) fn of_server() -> Self {
        let root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let postgres = accounts.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
            (name == "postgres").then_some((user, group))
        });
        Self(postgres.filter(|_| root))
    }

    pub(crate) fn runs(&self, command: &mut Command) {
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
    }

    pub(crate) fn owns(&self, path: &Path) {
        if let Some((user, group)) = self.0 {
            chown(path, Some(user), Some(group)).expect("given away");
        }
    }
}

/// Where the programs of PostgreSQL are; the newest if there are several.
pub(crate) fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<PathBuf> = versions.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse::<u32>().ok())
    });
    let newest = versions.pop().map(|path| path.join("bin"));
    let asked = || {
        let out = Command::new("pg_config").arg("--bindir").output().ok()?;
        let path = String::from_utf8(out.stdout).ok()?;
        Some(PathBuf::from(path.trim()))
    };
    let found = newest
        .or_else(asked)
        .filter(|path| path.join("initdb").exists());
    if found.is_none() {
        missing("PostgreSQL");
    }
    found
}

pub(crate) fn free_port() -> u16 {
    let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
    free.expect("a free port").port()
}

/// Starts a script that stops the server, and removes it, when nobody has used it for some seconds.
#[expect(clippy::zombie_processes, reason = "it lives longer than this program")]
pub(crate) fn watch(programs: &Path, account: &Account, folder: &Path) {
    // Who starts a server, or joins one, holds `lock`; so nobody joins while it is being stopped.
    const SCRIPT: &str = r#"
        idle=0
        while [ "$idle" -lt 5 ]; do
            sleep 1
            if flock -n -x "$1/users" true; then idle=$((idle + 1)); else idle=0; fi
        done
        exec 9>>"$1/lock"
        flock -x 9
        if flock -n -x "$1/users" true; then
            "$2/pg_ctl" stop -s -w -m immediate -D "$1/data"
            rm -rf "$1/data" "$1/port"
            case "$1" in *-private-*) rm -rf "$1" ;; esac
        else
            exec 9>&-
            exec sh -c "$0" "$0" "$1" "$2"
        fi
    "#;
    // The files of a server that ends by itself are removed by the account that made them.
    account.owns(folder);
    for file in ["lock", "users"] {
        account.owns(&folder.join(file));
    }
    let mut script = Command::new("sh");
    script
        .args(["-c", SCRIPT, SCRIPT])
        .arg(folder)
        .arg(programs);
    account.runs(&mut script);
    script.process_group(0).current_dir("/");
    script
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    script.spawn().expect("sh starts");
}
