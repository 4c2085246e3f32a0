//! The machine: room on its disk, and the terminal.

use std::path::Path;

use crate::problem::Problem;
use crate::terminal::Terminal;

use super::Line;

/// Less room than this is too little for conversations.
const NEEDED: u64 = 100 * 1024 * 1024;

/// The room that there is for a file.
pub(super) fn space(file: &Path) -> Line {
    let folder = existing(file);
    let shown = folder.display();
    match rustix::fs::statvfs(folder) {
        Ok(about) => {
            let free = about.f_bavail.saturating_mul(about.f_frsize);
            let text = format!("{} MB free at {shown}", free / 1_000_000);
            match free >= NEEDED {
                true => Line::ok("disk", text),
                false => {
                    let advice = "make room there, or name another file with --store";
                    Line::missing("disk", &Problem::failed(text).advice(advice))
                }
            }
        }
        Err(error) => Line::missing("disk", &Problem::failed(format!("{shown}: {error}"))),
    }
}

/// The nearest folder above a file that is there.
pub(super) fn existing(file: &Path) -> &Path {
    let folders = file.ancestors().skip(1);
    let mut there = folders.filter(|folder| folder.is_dir());
    // A name alone is in the folder where the program was started.
    there.next().unwrap_or(Path::new("."))
}

/// What is known of the terminal.
pub(super) fn terminal() -> Line {
    let terminal = Terminal::here();
    if !terminal.is_read {
        return Line::ok("terminal", "none: output is plain");
    }
    let colours = match terminal.has_styles {
        true => "with colours",
        false => "without colours",
    };
    Line::ok(
        "terminal",
        format!("{} columns, {colours}", terminal.width()),
    )
}
