//! A database that cannot be used: what is said, how the program ends, and that nothing was written.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::home::Ended;
use crate::support::stored::{Stored, waits_for_approval};
use crate::support::{Home, ended};

/// Every way to look at a session, and every way to change one.
const COMMANDS: &[&[&str]] = &[
    &["sessions", "list"],
    &["sessions", "show", "waits"],
    &["sessions", "approve", "waits"],
    &["sessions", "delete", "waits"],
    &["sessions", "export", "waits"],
    &["replay", "waits"],
];

fn told(home: &Home, command: &[&str], what: &str) {
    let file = home.database();
    let before = std::fs::read(&file).ok();
    let ended = home.allm(command);
    let what = what.replace("FILE", &file.display().to_string());
    assert_eq!(
        ended,
        Ended {
            code: Some(1),
            stdout: String::new(),
            stderr: what
        }
    );
    assert_eq!(std::fs::read(&file).ok(), before, "{command:?}");
}

fn garbage(home: &Home, bytes: &[u8]) {
    let file = home.database();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_file_that_is_no_database() {
    let home = Home::new();
    garbage(&home, &b"This is a letter and no database. ".repeat(200));
    for command in COMMANDS {
        told(
            &home,
            command,
            "allm: FILE is damaged, or no database of sessions\n  \
             bring back a copy of it, or name another file with --store\n",
        );
    }
}

#[test]
fn a_database_of_somebody_else() {
    let home = Home::new();
    garbage(&home, b"");
    let what = "allm: FILE is no database of sessions of this allm\n  name another file with --store; `allm chat` \
                makes one, and brings an older one up to date\n";
    told(&home, &["sessions", "list"], what);
}

/// S118
#[test]
fn s118_a_database_of_a_newer_program() {
    let home = Home::new();
    let stored = Stored::new(&home);
    waits_for_approval(&stored, "waits");
    stored.execute("INSERT INTO allm_schema (number, checksum, applied_at) VALUES (99, x'00', 0); PRAGMA wal_checkpoint(TRUNCATE)");
    for command in COMMANDS {
        told(
            &home,
            command,
            "allm: the sessions in FILE were written by a newer allm\n  use that one, or name another file with --store\n",
        );
    }
}

#[test]
fn a_folder_in_place_of_the_file() {
    let home = Home::new();
    std::fs::create_dir_all(home.database()).unwrap();
    let ended = home.allm(["sessions", "list"]);
    let file = home.database();
    assert_eq!(
        (ended.stderr, ended.code),
        (
            format!(
                "allm: the sessions in {} cannot be opened: Is a directory (os error 21)\n  name another file with --store\n",
                file.display()
            ),
            Some(1)
        )
    );
}

#[test]
fn no_right_to_the_file() {
    let home = Home::new();
    waits_for_approval(&Stored::new(&home), "waits");
    let file = home.database();
    for path in [
        &file,
        &file.with_extension("db-wal"),
        &file.with_extension("db-shm"),
    ] {
        if path.exists() {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap();
        }
    }
    let mut command = home.command(["sessions", "list"]);
    // Rights mean nothing to root.
    if std::fs::File::open(&file).is_ok() {
        command.uid(65_534);
    }
    command.stdout(std::process::Stdio::piped());
    let output = match command.stderr(std::process::Stdio::piped()).spawn() {
        Ok(child) => ended(child),
        Err(error) => panic!("the program must be in a folder that everybody may enter: {error}"),
    };
    let what = format!(
        "allm: the sessions in {} cannot be opened: Permission denied (os error 13)\n  \
         see who may read and write it (ls -l), or name another file with --store\n",
        file.display()
    );
    assert_eq!(
        output,
        Ended {
            code: Some(1),
            stdout: String::new(),
            stderr: what
        }
    );
}

#[test]
fn a_database_that_another_program_holds() {
    let first = Home::new();
    let stored = Stored::new(&first);
    waits_for_approval(&stored, "waits");
    stored.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    // A copy that nobody has open, so that one program can have all of it and nobody else may read.
    let home = Home::new();
    let file = home.database();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::copy(first.database(), &file).unwrap();
    let other = Connection::open(&file).unwrap();
    let mode = other.query_row("PRAGMA journal_mode = DELETE", [], |row| {
        row.get::<_, String>(0)
    });
    assert_eq!(mode.unwrap(), "delete");
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    for command in [
        &["sessions", "list"][..],
        &["sessions", "approve", "waits"],
        &["replay", "waits"],
    ] {
        let began = Instant::now();
        // The file is not read here: closing it would let go of the lock that this process has on it.
        let ended = home.allm(command);
        let what = format!(
            "allm: the sessions in {} are held by another program, for more than 5 s\n  \
             close the program that holds the file, or name another one with --store\n",
            file.display()
        );
        assert_eq!(
            ended,
            Ended {
                code: Some(1),
                stdout: String::new(),
                stderr: what
            }
        );
        assert!(
            began.elapsed() >= Duration::from_secs(5),
            "it waits a while before it gives up"
        );
    }
    other.execute_batch("ROLLBACK").unwrap();
    other.close().unwrap();
    assert_eq!(home.allm(["sessions", "list"]).code, Some(0));
}

#[test]
fn a_database_that_another_program_writes_to_can_be_read_and_not_written() {
    let home = Home::new();
    let stored = Stored::new(&home);
    waits_for_approval(&stored, "waits");
    let locked = stored.locked();
    assert_eq!(home.allm(["sessions", "list"]).code, Some(0));
    let ended = home.allm(["sessions", "delete", "waits"]);
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        (
            "allm: the database of sessions does not answer: another program holds it\n  \
             close the program that holds the file, and do it again\n",
            Some(1)
        )
    );
    drop(locked);
    assert_eq!(home.allm(["sessions", "delete", "waits"]).code, Some(0));
}

#[test]
fn output_that_nobody_reads_is_no_failure() {
    let home = Home::new();
    crate::support::stored::whole_story(&Stored::new(&home), "order-42");
    for arguments in [&["sessions", "show"][..], &["replay", "order-42"]] {
        let mut child = home
            .command(arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = ended(child);
        assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    }
}
