//! The terminal is left as it was found, however the program ends.

use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// How the terminal was found.
static FOUND: Mutex<Option<Termios>> = Mutex::new(None);

/// Held by whoever is about to change the terminal; by the end of the program for good.
static CHANGING: Mutex<()> = Mutex::new(());

/// Switches off what line editors switch on: marks around what is pasted, styles, a hidden cursor.
const PLAIN: &[u8] = b"\x1b[?2004l\x1b[0m\x1b[?25h";

/// Remembers how the terminal is, and puts it back when this goes or the program panics.
#[derive(Debug)]
#[must_use = "the terminal is put back when this goes"]
pub(crate) struct Kept(());

/// Remembers how the terminal is. `None` where there is none.
pub(crate) fn keep() -> Option<Kept> {
    let found = tcgetattr(std::io::stdin()).ok()?;
    *FOUND.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
    Some(Kept(()))
}

impl Drop for Kept {
    fn drop(&mut self) {
        restore();
        *FOUND.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Puts the terminal back as it was found.
pub(crate) fn restore() {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(found) = found.as_ref() else {
        return;
    };
    // A terminal that is gone needs nothing.
    let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, found);
    // A dumb terminal was told nothing that has to be taken back.
    if !super::is_dumb() {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(PLAIN);
        let _ = out.flush();
    }
}

/// Waits until the terminal may be changed; once the program ends, for ever. The line editor holds this until it has
/// changed it, so that it cannot be between the last look at the terminal and the end.
pub(crate) fn changing() -> MutexGuard<'static, ()> {
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts the terminal back as it was found, and nothing changes it any more: the program ends.
pub(crate) fn restore_for_good() {
    std::mem::forget(changing());
    restore();
    *FOUND.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// What is typed is not shown as long as this is there: it would be written into the middle of an answer. It is not lost:
/// the next prompt has it.
#[derive(Debug)]
#[must_use = "typing is shown again when this goes"]
pub(crate) struct Unseen(());

/// Does not show what is typed.
pub(crate) fn unseen() -> Option<Unseen> {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let mut quiet = found.clone()?;
    quiet.local_modes -= LocalModes::ECHO | LocalModes::ECHONL;
    tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet).ok()?;
    Some(Unseen(()))
}

impl Drop for Unseen {
    fn drop(&mut self) {
        let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = found.as_ref() {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, found);
        }
    }
}

#[cfg(test)]
mod tests;
