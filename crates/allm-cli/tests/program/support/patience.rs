//! How long a test waits for something: long enough for a busy machine, and never for ever.

use std::process::Child;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::home::Ended;

/// So long is waited for something that should come. It is not waited when it is there.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);

/// Waits until there is something to be seen of what goes on elsewhere.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits for the end of a program. One that does not end is killed, and what it said so far is told.
pub(crate) fn ended(child: Child) -> Ended {
    let id = Pid::from_child(&child);
    let (tell, told) = channel();
    thread::spawn(move || tell.send(child.wait_with_output()));
    let is_late = match told.recv_timeout(LIMIT) {
        Ok(output) => return output.unwrap().into(),
        Err(error) => error == RecvTimeoutError::Timeout,
    };
    assert!(is_late, "whoever waits for the program is gone");
    // It was not waited for, so that the id is still its own.
    let _ = kill_process(id, Signal::KILL);
    let said = told
        .recv_timeout(LIMIT)
        .ok()
        .map(|output| Ended::from(output.unwrap()));
    panic!("waited for the end of the program: {said:?}");
}
