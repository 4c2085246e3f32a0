#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::io::Read as _;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::*;

/// What is played in a terminal of its own: it changes the terminal as a line editor does, and panics.
#[test]
#[ignore = "it is started by the test below"]
fn changes_the_terminal_and_panics() {
    let _kept = keep().unwrap();
    let mut modes = tcgetattr(std::io::stdin()).unwrap();
    modes.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    tcsetattr(std::io::stdin(), OptionalActions::Now, &modes).unwrap();
    // Marks around what is pasted, no cursor, and red.
    let mut out = std::io::stdout().lock();
    out.write_all(b"\x1b[?2004h\x1b[?25l\x1b[31m").unwrap();
    out.flush().unwrap();
    drop(out);
    // The hook has to do it: a thread that is not this one drops nothing of it.
    let panicked = std::thread::spawn(|| panic!("on purpose")).join();
    assert!(panicked.is_err());
    // Nothing that runs when this returns may do it either.
    std::process::exit(101);
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was() {
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let before = format!("{:?}", pair.master.get_termios().unwrap());
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    let name = "terminal::state::tests::changes_the_terminal_and_panics";
    command.args(["--exact", name, "--ignored", "--nocapture"]);
    command.env("TERM", "xterm");
    let mut child = pair.slave.spawn_command(command).unwrap();
    let mut reader = pair.master.try_clone_reader().unwrap();
    // Held open, so that what came is not lost when the child ends.
    let slave = pair.slave;
    let told = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A terminal that nobody holds any more fails.
        let _ = reader.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    assert_eq!(child.wait().unwrap().exit_code(), 101);
    assert_eq!(format!("{:?}", pair.master.get_termios().unwrap()), before);
    drop(slave);
    let told = told.join().unwrap();
    let (_, after) = told.split_once("\x1b[31m").unwrap();
    // First the terminal, so that what went wrong can be read.
    assert!(
        after.starts_with("\x1b[?2004l\x1b[0m\x1b[?25h"),
        "{after:?}"
    );
    assert!(after.contains("on purpose"), "{after:?}");
}
