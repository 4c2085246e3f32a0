//! A terminal in which the program runs: keys are typed, and what a person would see is compared.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Instant;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use super::home::Home;
use super::patience::LIMIT;

/// A terminal with the program in it.
pub(crate) struct Screen {
    seen: Arc<Seen>,
    keys: Box<dyn Write + Send>,
    terminal: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

/// What came from the program.
struct Seen {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    raw: Vec<u8>,
    is_over: bool,
}

/// How the program is started.
pub(crate) struct Started<'a> {
    home: &'a Home,
    program: &'static str,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    rows: u16,
    columns: u16,
}

impl<'a> Started<'a> {
    pub(crate) fn new(home: &'a Home, arguments: &[&str]) -> Self {
        Self {
            home,
            program: env!("CARGO_BIN_EXE_allm"),
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            environment: vec![("TERM".to_owned(), "xterm-256color".to_owned())],
            rows: 40,
            columns: 80,
        }
    }

    /// A shell that does this.
    #[cfg(feature = "local")]
    pub(crate) fn shell(home: &'a Home, words: &str) -> Self {
        let mut started = Self::new(home, &["-c", words]);
        started.program = "/bin/sh";
        started
    }

    pub(crate) fn size(mut self, rows: u16, columns: u16) -> Self {
        (self.rows, self.columns) = (rows, columns);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn start(self) -> Screen {
        let size = size(self.rows, self.columns);
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(self.program);
        command.args(&self.arguments);
        command.env_clear();
        command.env("HOME", self.home.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command.cwd(self.home.path());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let seen = Arc::new(Seen {
            state: Mutex::new(State {
                parser: vt100::Parser::new(some(self.rows), some(self.columns), 1_000),
                raw: Vec::new(),
                is_over: false,
            }),
            changed: Condvar::new(),
        });
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let for_reader = Arc::clone(&seen);
        thread::spawn(move || {
            let mut buffer = [0; 4_096];
            loop {
                // The terminal fails when the program is gone.
                let count = reader.read(&mut buffer).unwrap_or(0);
                let mut state = for_reader.state.lock().unwrap();
                state.raw.extend_from_slice(&buffer[..count]);
                state.parser.process(&buffer[..count]);
                state.is_over = count == 0;
                for_reader.changed.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Screen {
            seen,
            keys,
            terminal: pair.master,
            child,
        }
    }
}

/// There is no window without rows or columns.
fn some(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

impl Screen {
    /// `allm chat` with these arguments, in a terminal of the usual size.
    pub(crate) fn chat(home: &Home, arguments: &[&str]) -> Self {
        let arguments = [&["chat"], arguments].concat();
        Started::new(home, &arguments).start()
    }

    /// `allm chat` in which this is said.
    pub(crate) fn saying(home: &Home, text: &str) -> Self {
        let mut screen = Self::chat(home, &[]);
        screen.wait_at(">");
        screen.line(text);
        screen
    }

    /// Types keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.keys(&format!("{text}\r"));
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn wait(&self, what: &str, is_wanted: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + LIMIT;
        let mut state = self.seen.state.lock().unwrap();
        loop {
            let text = contents(&state.parser);
            if is_wanted(&text) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let is_over = state.is_over;
            assert!(
                !left.is_zero() && !is_over,
                "waited for {what}; over: {is_over}; the screen:\n{text}"
            );
            state = self.seen.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Waits until the screen shows a text.
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait(text, |screen| screen.contains(text));
    }

    /// Waits until the screen ends with this line.
    pub(crate) fn wait_at(&self, line: &str) {
        self.wait(line, |screen| screen.lines().last() == Some(line));
    }

    /// Waits for a text, and then for the prompt below it.
    pub(crate) fn wait_done(&self, text: &str) {
        self.wait(text, |screen| {
            screen.contains(text) && screen.lines().last() == Some(">")
        });
    }

    /// What is seen.
    pub(crate) fn text(&self) -> String {
        contents(&self.seen.state.lock().unwrap().parser)
    }

    /// What is seen below the header, with `ID` for the session and `0.0 s` for times.
    pub(crate) fn shown(&self) -> String {
        let text = self.text();
        let id = id_in(&text);
        let text = text.replace(&id, "ID");
        let below = text.split_once("Ctrl-D leaves\n").map(|(_, below)| below);
        without_times(below.unwrap_or(&text))
    }

    /// The id of the session in the header.
    pub(crate) fn id(&self) -> String {
        self.wait_for("Ctrl-D leaves");
        id_in(&self.text())
    }

    /// Every byte that came.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.seen.state.lock().unwrap().raw).into_owned()
    }

    /// The style of a text that is seen: bold, dim, italic, or a colour.
    pub(crate) fn style_of(&self, text: &str) -> String {
        let state = self.seen.state.lock().unwrap();
        let screen = state.parser.screen();
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        for row in 0..rows {
            let line: Vec<String> = (0..columns)
                .map(|column| {
                    let cell = screen.cell(row, column).unwrap();
                    match cell.contents() {
                        "" => " ".to_owned(),
                        text => text.to_owned(),
                    }
                })
                .collect();
            if let Some(place) = line.concat().find(text) {
                let column = line.concat()[..place].chars().count();
                let cell = screen.cell(row, u16::try_from(column).unwrap()).unwrap();
                let mut style = Vec::new();
                for (is_on, name) in [
                    (cell.bold(), "bold"),
                    (cell.dim(), "dim"),
                    (cell.italic(), "italic"),
                    (cell.underline(), "underline"),
                ] {
                    if is_on {
                        style.push(name.to_owned());
                    }
                }
                if cell.fgcolor() != vt100::Color::Default {
                    style.push(format!("{:?}", cell.fgcolor()));
                }
                return style.join(" ");
            }
        }
        panic!("{text} is not seen:\n{}", contents(&state.parser));
    }

    /// Changes the size of the window.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let mut state = self.seen.state.lock().unwrap();
        state
            .parser
            .screen_mut()
            .set_size(some(rows), some(columns));
        self.terminal.resize(size(rows, columns)).unwrap();
    }

    /// Whether the terminal shows what is typed and reads whole lines, as it did before, and nothing else is switched on.
    pub(crate) fn is_as_before(&self) -> bool {
        let modes = self.terminal.get_termios().unwrap();
        let modes = format!("{:?}", modes.local_flags);
        let has = |name: &str| {
            modes
                .split(|next: char| !next.is_alphanumeric())
                .any(|mode| mode == name)
        };
        let state = self.seen.state.lock().unwrap();
        let screen = state.parser.screen();
        ["ECHO", "ICANON", "ISIG"].into_iter().all(has)
            && !screen.bracketed_paste()
            && !screen.hide_cursor()
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.process_id().unwrap()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Kills the program, with no chance to do anything.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::KILL);
        self.child.wait().unwrap();
    }

    /// Waits for the end of the program and tells its exit code.
    pub(crate) fn ended(&mut self) -> u32 {
        // The terminal is over when nobody holds it open, and the program is the one who does.
        let deadline = Instant::now() + LIMIT;
        let mut state = self.seen.state.lock().unwrap();
        while !state.is_over {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "waited for the end; the screen:\n{}",
                contents(&state.parser)
            );
            state = self.seen.changed.wait_timeout(state, left).unwrap().0;
        }
        drop(state);
        self.child.wait().unwrap().exit_code()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// The screen as text: no spaces at the ends of lines, no empty lines at the end.
fn contents(parser: &vt100::Parser) -> String {
    let text = parser.screen().contents();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

fn id_in(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("session "));
    line.unwrap_or("(no id is seen)").to_owned()
}

/// Times differ from run to run.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let words: Vec<&str> = line.split(' ').collect();
        let is_time = |place: usize| {
            matches!(words.get(place + 1), Some(&"s" | &"s:"))
                && words[place].len() > 2
                && words[place].parse::<f64>().is_ok()
        };
        let words: Vec<&str> = (0..words.len())
            .map(|place| if is_time(place) { "0.0" } else { words[place] })
            .collect();
        out.push_str(&words.join(" "));
    }
    out
}
