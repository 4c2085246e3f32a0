//! What `allm run` says when the model cannot be asked, or does not answer.

use serde_json::json;

use crate::support::home::{Ended, run};
use crate::support::model::{Model, Reply};
use crate::support::{Home, ended};

fn told(ended: Ended, code: i32) -> String {
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(code), ""),
        "{ended:?}"
    );
    ended.stderr
}

#[test]
fn models_that_are_none() {
    let home = Home::new();
    #[cfg(not(feature = "local"))]
    assert_eq!(
        told(home.allm(["run", "Hi"]), 2),
        "allm: there is no key, the configuration names no model, and this build has no embedded one\n  export ANTHROPIC_API_KEY=…, or the key of another provider that `allm models` lists; or name a model with --model\n"
    );
    assert_eq!(
        told(home.allm(["run", "-m", "gpt-5", "Hi"]), 2),
        "allm: `gpt-5` is no model\n  write it as provider:model, such as openai:gpt-4.1-mini or ollama:llama3.2\n"
    );
    let local = match cfg!(feature = "local") {
        true => " local,",
        false => "",
    };
    assert_eq!(
        told(home.allm(["run", "-m", "opnai:gpt-5", "Hi"]), 2),
        format!(
            "allm: there is no provider `opnai` for the model `opnai:gpt-5`\n  there are anthropic, cerebras, deepseek, fireworks, gemini, groq, llamacpp, lmstudio,{local} mistral, ollama, openai, openrouter, together, vllm, xai; or describe it: [providers.opnai] with base_url in allm.toml\n"
        )
    );
    home.write("allm.toml", "[providers.office]\nkind = \"openai\"\n");
    assert_eq!(
        told(home.allm(["run", "-m", "office:x", "Hi"]), 2),
        "allm: the provider `office` of the configuration has no `base_url`\n  say where it is: base_url = \"https://…/v1\"\n"
    );
}

/// A key alone is enough, whichever provider's it is.
#[test]
fn every_provider_that_needs_a_key_is_taken_by_it() {
    let home = Home::new();
    let listed = home.allm(["models"]).stdout;
    let keys: Vec<(&str, &str)> = listed
        .lines()
        .filter_map(|line| {
            let (provider, key) = line.split_once("no key: set ")?;
            Some((provider.trim(), key.split(' ').next()?))
        })
        .collect();
    assert_eq!(keys.len(), 11, "{listed}");
    for (provider, key) in keys {
        let mut command = home.command(["models"]);
        let told = run(command.env(key, "x")).stdout;
        let first = told.lines().next().unwrap();
        let ending = format!(" (because {key} has a key)");
        assert!(
            first.starts_with(&format!("model: {provider}:")) && first.ends_with(&ending),
            "{first}"
        );
    }
}

#[test]
fn keys_that_are_missing() {
    let home = Home::new();
    assert_eq!(
        told(
            home.allm(["run", "-m", "anthropic:claude-sonnet-4-5", "Hi"]),
            2
        ),
        "allm: there is no key for `anthropic`\n  set ANTHROPIC_API_KEY, or choose another model with --model\n"
    );
    assert_eq!(
        told(home.allm(["run", "-m", "gemini:gemini-2.5-flash", "Hi"]), 2),
        "allm: there is no key for `gemini`\n  set GEMINI_API_KEY or GOOGLE_API_KEY, or choose another model with --model\n"
    );
    home.write("allm.toml", "[providers.openai]\nkey_env = \"WORK_KEY\"\n");
    assert_eq!(
        told(home.allm(["run", "-m", "openai:gpt-5", "Hi"]), 2),
        "allm: there is no key for `openai`\n  set WORK_KEY, or choose another model with --model\n"
    );
}

#[test]
fn what_a_provider_refuses() {
    for (status, message, expected) in [
        (
            401,
            "bad key",
            "allm: `scripted` does not accept the key (status 401): bad key\n  put a key that is good into SCRIPTED_API_KEY\n",
        ),
        (
            403,
            "not yours",
            "allm: the key is not allowed to use `scripted:any` (status 403): not yours\n  look at the rights of the key in SCRIPTED_API_KEY, or choose another model\n",
        ),
        (
            413,
            "too big",
            "allm: that is too long for `scripted:any` (status 413): too big\n  ask for less, or choose a model that takes more\n",
        ),
    ] {
        let model = Model::script([Reply::Status(status, message.to_owned())]);
        let home = Home::with_model(&model, "");
        assert_eq!(told(home.allm(["run", "Hi"]), 1), expected);
        assert_eq!(model.asked().len(), 1);
    }
}

#[test]
fn models_that_a_provider_does_not_have_and_accounts_that_are_empty() {
    for (status, error, expected) in [
        (
            404,
            json!({"message": "The model `any` does not exist", "type": "invalid_request_error", "code": "model_not_found"}),
            "allm: `scripted` has no model `any` (status 404): The model `any` does not exist\n  name another model with --model\n",
        ),
        (
            402,
            json!({"message": "no credit"}),
            "allm: the account at `scripted` has nothing left (status 402): no credit\n  look at the account's limits and payments\n",
        ),
    ] {
        let model = Model::script([Reply::Refused(status, error)]);
        let home = Home::with_model(&model, "");
        assert_eq!(told(home.allm(["run", "Hi"]), 1), expected);
    }
}

/// What may pass is tried again, and then told.
#[test]
fn a_provider_that_takes_no_more_for_now() {
    let model = Model::answering(|_, _| Reply::Status(429, "slow down".to_owned()));
    let home = Home::with_model(&model, "");
    assert_eq!(
        told(home.allm(["run", "Hi"]), 1),
        "allm: `scripted` takes no more requests for now (status 429): slow down\n  try again in a while\n"
    );
    assert!(model.asked().len() > 1);
}

#[test]
fn a_server_that_is_not_there() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let home = Home::new();
    home.write(
        "allm.toml",
        &format!("[providers.office]\nbase_url = \"http://127.0.0.1:{port}/v1\"\n"),
    );
    assert_eq!(
        told(home.allm(["run", "-m", "office:x", "Hi"]), 1),
        format!(
            "allm: the server of `office` cannot be reached: the connection failed\n  is the server at http://127.0.0.1:{port}/v1 running?\n"
        )
    );
}

#[test]
fn an_answer_that_breaks_off() {
    let model = Model::answering(|_, _| Reply::Broken("Half an ".to_owned()));
    let home = Home::with_model(&model, "");
    let ended = home.allm(["run", "Hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "Half an \n"));
    assert!(
        ended
            .stderr
            .starts_with("allm: the answer of `scripted:any` broke off: "),
        "{}",
        ended.stderr
    );
}

/// A disk without room: what was not written is told.
#[test]
fn output_that_cannot_be_written() {
    let model = Model::script([Reply::text("Hello.")]);
    let home = Home::with_model(&model, "");
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = home.command(["run", "Hi"]);
    command.stdin(std::process::Stdio::null()).stdout(full);
    let child = command.stderr(std::process::Stdio::piped()).spawn();
    let ended = ended(child.unwrap());
    assert_eq!(
        told(ended, 1),
        "allm: the answer cannot be written: No space left on device (os error 28)\n"
    );
}

#[test]
fn keys_are_never_told() {
    let model = Model::script([Reply::Status(401, "bad key sk-secret-123456".to_owned())]);
    let home = Home::with_model(&model, "");
    let mut command = home.command(["run", "Hi", "--json"]);
    command.env("SCRIPTED_API_KEY", "sk-secret-123456");
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(1));
    assert!(!format!("{ended:?}").contains("secret"), "{ended:?}");
}
