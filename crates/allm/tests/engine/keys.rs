//! Which key a call is made with.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use allm::{DotEnv, EngineReason, Error, Fake, KeyError, KeyRequest, KeyUse, Setting};
use tokio::sync::Barrier;
use tokio::time::Instant;

use super::{Answer, Keyed, Source, engine, key, text};

/// A file that is there until it is dropped.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: &str) -> Self {
        let name = format!("allm-{name}-{}.env", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("a file");
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

const CHILD: &str = "ALLM_C96_CHILD";

/// C96. A process cannot change its own environment safely, so the test runs itself again with the variable set.
#[test]
fn c96_the_first_level_that_has_a_key_gives_it() {
    if std::env::var_os(CHILD).is_some() {
        return every_set_of_levels();
    }
    let child = Command::new(std::env::current_exe().expect("this test"))
        .args([
            "--exact",
            "keys::c96_the_first_level_that_has_a_key_gives_it",
        ])
        .env(CHILD, "1")
        .env("WITH_VARIABLE_API_KEY", "environment")
        .env("BLANK_VARIABLE_API_KEY", "  ")
        .output()
        .expect("a child");
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[tokio::main(flavor = "current_thread")]
async fn every_set_of_levels() {
    let dotenv = File::new(
        "c96",
        "WITH_VARIABLE_API_KEY=dotenv\nBLANK_VARIABLE_API_KEY=dotenv\n",
    );
    let names = ["call", "provider", "source", "environment", "dotenv"];
    for set in 0..32_usize {
        let has = |level: usize| set & (1 << level) != 0;
        // A variable of white space is no key, as is one that is not there.
        let name = if has(3) {
            "with-variable"
        } else {
            "blank-variable"
        };
        let mut provider = Keyed::new(name, KeyUse::Optional);
        provider.own = has(1).then(|| key("provider"));
        let mut builder = provider.engine();
        if has(2) {
            builder = builder.key_source(key("source"));
        }
        if has(4) {
            builder = builder.dotenv(DotEnv::new(&dotenv.0));
        }
        let mut call = builder.build().expect("valid").generate("hi");
        if has(0) {
            call = call.api_key(key("call"));
        }
        let _ = call.await.expect("an answer");
        let first = (0..5)
            .find(|level| has(*level))
            .map(|level| names[level].to_owned());
        assert_eq!(provider.last(), first, "levels {set:05b}");
    }
}

/// C97 at the levels that are asked: `Ok(None)` and blank entries go on to the next.
#[tokio::test]
async fn c97_a_source_without_a_key_is_passed_over() {
    let dotenv = File::new("c97", "PASSED_OVER_API_KEY=last\n");
    let provider = Keyed::new("passed-over", KeyUse::Required);
    let none = |_: KeyRequest| -> Answer { Box::pin(async { Ok(None) }) };
    let builder = provider.engine().key_source(Source(none));
    let engine = builder
        .dotenv(DotEnv::new(&dotenv.0))
        .build()
        .expect("valid");
    let _ = engine.generate("hi").await.expect("an answer");
    assert_eq!(provider.last().as_deref(), Some("last"));
}

#[tokio::test]
async fn c98_a_missing_key_is_an_error_with_the_levels_checked() {
    let provider = Keyed::new("nobodys", KeyUse::Required);
    let bare = provider.engine().build().expect("valid");
    let none = |_: KeyRequest| -> Answer { Box::pin(async { Ok(None) }) };
    let asked = provider.engine().key_source(Source(none));
    let asked = asked
        .dotenv(DotEnv::new("/nonexistent/.env"))
        .build()
        .expect("valid");
    for (engine, checked) in [
        (bare, &["call", "environment"][..]),
        (
            asked,
            &["call", "engine key source", "environment", ".env file"],
        ),
    ] {
        let errors = [
            engine.generate("hi").await.expect_err("no key"),
            engine.step("hi").await.expect_err("no key"),
            engine.chat("hi").await.expect_err("no key"),
        ];
        for error in errors {
            let Error::Engine(error) = error else {
                panic!("{error:?}");
            };
            assert_eq!(error.reason, EngineReason::MissingKey);
            assert_eq!(error.checked, checked);
            assert_eq!(error.provider, Some("nobodys".into()));
            assert!(
                error.message.contains("NOBODYS_API_KEY"),
                "{}",
                error.message
            );
        }
    }
    assert_eq!(provider.used(), []);
}

/// C99, as far as the engine goes: what an adapter has no key for it sends no header for.
#[tokio::test]
async fn c99_a_provider_that_needs_no_key_gets_one_only_if_there_is_one() {
    let local = Keyed::new("local", KeyUse::Optional);
    let engine = local.engine().build().expect("valid");
    let _ = engine.generate("hi").await.expect("an answer");
    assert_eq!(local.last(), None);
    let _ = engine
        .generate("hi")
        .api_key(key("k-1"))
        .await
        .expect("an answer");
    assert_eq!(local.last().as_deref(), Some("k-1"));

    let never = Keyed::new("never", KeyUse::Never);
    let unasked = |_: KeyRequest| -> Answer { panic!("nobody may be asked") };
    let engine = never
        .engine()
        .key_source(Source(unasked))
        .build()
        .expect("valid");
    let _ = engine
        .generate("hi")
        .api_key(key("k-1"))
        .await
        .expect("an answer");
    assert_eq!(never.last(), None);
}

/// C85 for keys: off asks nobody.
#[tokio::test]
async fn c85_a_key_that_is_off_is_looked_for_nowhere() {
    let mut provider = Keyed::new("off", KeyUse::Required);
    provider.own = Some(key("provider"));
    let engine = provider
        .engine()
        .key_source(key("source"))
        .build()
        .expect("valid");
    let call = engine.generate("hi").off(Setting::ApiKey);
    let error = call.await.expect_err("no key");
    assert_eq!(error.reason(), "missing_key");
    assert_eq!(provider.used(), []);
}

/// C100: all are at the key source at once, then all go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c100_a_hundred_calls_with_a_hundred_keys() {
    let provider = Keyed::new("shared", KeyUse::Required);
    let all = Arc::new(Barrier::new(100));
    let at_once = Arc::clone(&all);
    let source = move |ask: KeyRequest| -> Answer {
        let all = Arc::clone(&at_once);
        Box::pin(async move {
            all.wait().await;
            let tenant = ask.tenant.expect("a tenant");
            Ok(Some(key(&format!("key of {}", tenant.as_str()))))
        })
    };
    let engine = provider
        .engine()
        .key_source(Source(source))
        .build()
        .expect("valid");
    for own in [false, true] {
        let calls: Vec<_> = (0..100)
            .map(|i| {
                let call = engine.generate(format!("{i}"));
                let call = match own {
                    true => call.api_key(key(&format!("key of {i}"))),
                    false => call.tenant(format!("{i}")),
                };
                tokio::spawn(call.into_future())
            })
            .collect();
        for call in calls {
            let _ = call.await.expect("no panic").expect("an answer");
        }
        let used = provider.used();
        assert_eq!(used.len(), 100);
        for (prompt, key) in used {
            assert_eq!(key, Some(format!("key of {prompt}")));
        }
    }
}

/// C102: failing, hanging, and panicking before or in its future.
#[tokio::test(start_paused = true)]
async fn c102_a_bad_source_ends_the_call_within_its_limit() {
    let fails =
        |_: KeyRequest| -> Answer { Box::pin(async { Err(KeyError::new("the vault is shut")) }) };
    let hangs = |_: KeyRequest| -> Answer { Box::pin(std::future::pending()) };
    let panics = |_: KeyRequest| -> Answer { panic!("before its future") };
    let panics_later = |_: KeyRequest| -> Answer { Box::pin(async { panic!("in its future") }) };
    type Ask = fn(KeyRequest) -> Answer;
    let sources: [(&str, Ask, u64); 4] = [
        ("fails", fails, 0),
        ("hangs", hangs, 5),
        ("panics", panics, 0),
        ("panics later", panics_later, 0),
    ];
    for (name, source, seconds) in sources {
        let provider = Keyed::new("bad", KeyUse::Optional);
        let engine = provider
            .engine()
            .key_source(Source(source))
            .build()
            .expect("valid");
        let begun = Instant::now();
        let error = engine.chat("hi").await.expect_err(name);
        assert_eq!(error.reason(), "key_source_failed", "{name}");
        assert_eq!(begun.elapsed(), Duration::from_secs(seconds), "{name}");
        assert_eq!(provider.used(), [], "{name}");
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(
            cause.is_some_and(|cause| cause.contains("the vault is shut")),
            name == "fails"
        );
        // The engine can be used again, and a key of the call asks no source.
        let call = engine.chat("hi").api_key(key("k-1"));
        let _ = call.await.expect("a result");
    }
}

#[tokio::test]
async fn c111_a_dotenv_file_does_not_change_the_environment() {
    let dotenv = File::new("c111", "FROM_FILE_API_KEY=k-file\nPATH=/nowhere\n");
    let before: Vec<_> = std::env::vars_os().collect();
    let provider = Keyed::new("from-file", KeyUse::Required);
    let builder = provider.engine().dotenv(DotEnv::new(&dotenv.0));
    let _ = builder
        .build()
        .expect("valid")
        .chat("hi")
        .await
        .expect("a result");
    assert_eq!(provider.last().as_deref(), Some("k-file"));
    assert_eq!(std::env::vars_os().collect::<Vec<_>>(), before);
}

/// C93: nothing that is shown has a key or the value of a header in it.
#[tokio::test]
async fn c93_an_engine_shows_no_key_and_no_header() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let fake = Fake::new().always(text("x"));
    let engine = engine(&fake)
        .with(|builder| {
            builder
                .header("x-secret", "hidden")
                .key_source(key("hidden"))
        })
        .expect("valid");
    shared(&engine);
    let call = engine
        .chat("hi")
        .api_key(key("hidden"))
        .header("x", "hidden");
    let builder = allm::Engine::builder().header("x-secret", "hidden");
    let shown = format!("{engine:?} {engine:#?} {call:?} {builder:?}");
    assert!(!shown.contains("hidden"), "{shown}");
    assert!(shown.contains("fake:any"), "{shown}");
}
