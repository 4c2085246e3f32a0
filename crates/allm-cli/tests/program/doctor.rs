//! `allm doctor`, `allm models`, completions and manual pages.

use crate::support::Home;
use crate::support::home::{Ended, run};
use crate::support::model::{Model, Reply};
use crate::support::screen::Started;

fn ended(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
    let mut command = home.command(arguments);
    run(command.envs(variables.iter().copied()))
}

/// Without what differs from machine to machine.
fn lines(ended: &Ended, home: &Home) -> Vec<String> {
    let here = home.path().display().to_string();
    let lines = ended
        .stdout
        .lines()
        .filter(|line| !line.contains(" MB free at "));
    lines.map(|line| line.replace(&here, "~")).collect()
}

#[cfg(feature = "local")]
mod words {
    pub(super) const NO_MODEL: &str = "missing  model          the embedded model is not here yet: there is no ~/.local/share/allm/models/smollm2-135m.gguf";
    pub(super) const FIX: &str = "                        fix: fetch it once (98.4 MB): allm models pull; or export ANTHROPIC_API_KEY=…, or the key of another provider";
    pub(super) const LOCAL_MODELS: &str =
        "  local:smollm2-135m  not here: allm models pull smollm2-135m (98.4 MB)";
}

#[cfg(not(feature = "local"))]
mod words {
    pub(super) const NO_MODEL: &str = "missing  model          there is no key, the configuration names no model, and this build has no embedded one";
    pub(super) const FIX: &str = "                        fix: export ANTHROPIC_API_KEY=…, or the key of another provider that `allm models` lists; or name a model with --model";
    pub(super) const LOCAL_MODELS: &str = "  none: this build has no embedded model";
}

use words::{FIX, LOCAL_MODELS, NO_MODEL};

#[test]
fn doctor_says_what_is_missing_and_ends_with_1() {
    let home = Home::new();
    let told = home.allm(["doctor"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(1), ""));
    assert_eq!(
        lines(&told, &home),
        [
            "ok       configuration  none; the defaults hold",
            NO_MODEL,
            FIX,
            "ok       sessions       none yet; they will be in ~/.local/share/allm/sessions.db",
            "ok       terminal       none: output is plain",
            "ok       tools          none are offered",
        ]
    );
    // It only looked.
    assert!(!home.path().join(".local").exists());
    let told = ended(&home, &["doctor"], &[("ALLM_MODEL", "openai:gpt-5")]);
    assert_eq!(told.code, Some(1));
    assert_eq!(
        lines(&told, &home)[1..4],
        [
            "ok       model          openai:gpt-5, as ALLM_MODEL says",
            "missing  key            there is none for `openai`",
            "                        fix: export OPENAI_API_KEY=…",
        ]
    );
}

#[test]
fn doctor_is_content() {
    let model = Model::script([Reply::text("Hi.")]);
    let tool = "[builtin]\ndate = true\n[[tools]]\nname = \"show\"\ndescription = \"d\"\ncommand = [\"cat\", \"x\"]\n";
    let home = Home::with_model(&model, tool);
    assert_eq!(home.allm(["run", "--session", "s", "Hi"]).code, Some(0));
    let told = home.allm(["doctor"]);
    assert_eq!(
        lines(&told, &home),
        [
            "ok       configuration  allm.toml",
            "ok       model          scripted:any, as the configuration says",
            "ok       key            `scripted` needs none",
            "ok       sessions       1 in ~/.local/share/allm/sessions.db, all whole",
            "ok       terminal       none: output is plain",
            "ok       tool show      cat x",
            "ok       tools          date, show",
        ]
    );
    assert_eq!(told.code, Some(0));
}

#[test]
fn doctor_finds_broken_things() {
    let home = Home::new();
    let tool = "model = \"ollama:llama3.2\"\nstore = \"broken.db\"\n[[tools]]\nname = \"t\"\ndescription = \"d\"\ncommand = [\"no-such-program-anywhere\"]\n";
    home.write("allm.toml", tool);
    home.write("broken.db", &"this is no database ".repeat(100));
    let told = home.allm(["doctor"]);
    assert_eq!(told.code, Some(1));
    let lines = lines(&told, &home);
    assert_eq!(
        lines[1..3],
        [
            "ok       model          ollama:llama3.2, as the configuration says",
            "ok       key            `ollama` needs none",
        ]
    );
    assert_eq!(
        lines[3],
        "missing  sessions       broken.db is damaged, or no database of sessions"
    );
    assert_eq!(
        lines[lines.len() - 4..],
        [
            "missing  tool t         allm.toml:6:12: there is no program `no-such-program-anywhere` on PATH",
            "                          6 | command = [\"no-such-program-anywhere\"]",
            "                            |            ^^^^^^^^^^^^^^^^^^^^^^^^^^",
            "                        fix: install it, or name it by its whole path",
        ]
    );
    home.write("allm.toml", "model = 7\n");
    let told = home.allm(["doctor"]);
    assert_eq!(told.code, Some(1));
    assert_eq!(
        told.stdout.lines().next(),
        Some("missing  configuration  allm.toml:1:9: invalid type: integer `7`, expected a string")
    );
}

#[test]
fn models_are_listed_and_keys_are_not() {
    let home = Home::new();
    home.write("allm.toml", "[providers.office]\nbase_url = \"http://127.0.0.1:1/v1\"\n[providers.groq]\nkey_env = \"WORK_KEY\"\n");
    let told = ended(
        &home,
        &["models"],
        &[("GOOGLE_API_KEY", "secret-1"), ("WORK_KEY", "secret-2")],
    );
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        told.stdout,
        format!(
            "\
model: gemini:gemini-2.5-flash (because GOOGLE_API_KEY has a key)

providers:
  anthropic   no key: set ANTHROPIC_API_KEY
  openai      no key: set OPENAI_API_KEY
  gemini      key in GOOGLE_API_KEY
  ollama      needs no key
  vllm        needs no key
  llamacpp    needs no key
  lmstudio    needs no key
  groq        key in WORK_KEY
  mistral     no key: set MISTRAL_API_KEY
  deepseek    no key: set DEEPSEEK_API_KEY
  openrouter  no key: set OPENROUTER_API_KEY
  xai         no key: set XAI_API_KEY
  together    no key: set TOGETHER_API_KEY
  fireworks   no key: set FIREWORKS_API_KEY
  cerebras    no key: set CEREBRAS_API_KEY
  office      needs no key, at http://127.0.0.1:1/v1

local models:
{LOCAL_MODELS}
"
        )
    );
}

#[test]
fn completions_for_each_shell() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let told = home.allm(["completions", shell]);
        assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
        assert!(
            told.stdout.contains("allm") && told.stdout.contains("max-turns"),
            "{shell}"
        );
    }
    // Bash takes what it is given.
    let script = home.write("allm.bash", &home.allm(["completions", "bash"]).stdout);
    let check = std::process::Command::new("bash")
        .arg("-n")
        .arg(script)
        .output()
        .unwrap();
    assert!(check.status.success(), "{check:?}");
    let told = home.allm(["completions", "cmd"]);
    assert_eq!(
        (told.code, told.stderr.as_str()),
        (
            Some(2),
            "allm: there are no completions for `cmd`\n  there are bash, zsh, fish, elvish and powershell\n"
        )
    );
}

#[test]
fn manual_pages() {
    let home = Home::new();
    let page = home.allm(["man"]);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""));
    assert!(
        page.stdout.starts_with(".ie \\n(.g .ds Aq"),
        "{}",
        page.stdout
    );
    assert!(page.stdout.contains(".TH allm 1"), "{}", page.stdout);
    assert_eq!(home.allm(["man", "--dir", "pages/man1"]).code, Some(0));
    let mut names: Vec<String> = std::fs::read_dir(home.path().join("pages/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    for name in [
        "allm.1",
        "allm-run.1",
        "allm-chat.1",
        "allm-sessions-approve.1",
        "allm-doctor.1",
    ] {
        assert!(names.iter().any(|page| page == name), "{names:?}");
    }
    let run = std::fs::read_to_string(home.path().join("pages/man1/allm-run.1")).unwrap();
    assert!(
        run.contains("Exit codes") && run.contains("git diff"),
        "{run}"
    );
    home.write("file", "");
    let told = home.allm(["man", "--dir", "file/man1"]);
    assert_eq!(
        (told.code, told.stderr.as_str()),
        (
            Some(1),
            "allm: the pages cannot be written to file/man1: Not a directory (os error 20)\n  name another folder with --dir\n"
        )
    );
}

/// What needs nothing reads nothing: neither a home nor a configuration, broken as they may be.
#[test]
fn the_version_and_the_pages_need_nothing() {
    let home = Home::new();
    home.write("allm.toml", "this is no configuration");
    for arguments in [
        &["--version"][..],
        &["--help"],
        &["man"],
        &["completions", "zsh"],
    ] {
        let mut command = home.command(arguments);
        command.env_clear().env("ALLM_DATA_DIR", "/nowhere");
        let told = run(&mut command);
        assert_eq!(
            (told.code, told.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn doctor_knows_the_terminal() {
    let home = Home::new();
    for (colours, expected) in [("", "with colours"), ("1", "without colours")] {
        let screen = Started::new(&home, &["doctor"])
            .size(40, 72)
            .env("NO_COLOR", colours)
            .start();
        screen.wait_for(&format!("72 columns, {expected}"));
    }
}
