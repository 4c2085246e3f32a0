//! Nothing secret comes out, whatever the server repeats of it.
//!
//! Every secret has a mark of its own. The server says all of them, plain and encoded, wherever it can; what comes out
//! is collected and looked through.

mod marks;
mod sink;

use allm::{Anthropic, Api, Auth, Azure, Compat, Engine, EngineBuilder, Gemini, OpenAi, Toggle};
use serde_json::{Value, json};

use super::server::{Do, Script, Server, answer, head, send};
use super::wires::{EVENT_LIMIT, Wire};
use super::{NO_LIMITS, policy};
use marks::{
    CALL_HEADER, CALL_KEY, HEADER, HOST, KEY, Key, ORGANIZATION, PROJECT, QUERY, TOKEN, all,
};
use sink::Sink;

/// A provider with a secret in every place that can have one, and the wire that it speaks.
type Case = (&'static str, Wire, EngineBuilder);

macro_rules! marked {
    ($sink:expr, $provider:expr, $url:expr) => {{
        let provider = $provider
            .base_url(format!("{}/base?key={QUERY}", $url))
            .api_key(KEY)
            .header("x-custom", HEADER)
            .header("x-host", HOST)
            .header("x-other-auth", format!("Bearer {TOKEN}"))
            .query("api_token", QUERY)
            .max_event_bytes(EVENT_LIMIT);
        $sink.debug("provider", &provider);
        Engine::builder().provider(provider)
    }};
}

/// For providers that have no organisation and no project of their own.
macro_rules! others {
    ($sink:expr, $provider:expr, $url:expr) => {{
        let provider = $provider.header("x-who", ORGANIZATION);
        marked!($sink, provider.header("x-what", PROJECT), $url)
    }};
}

fn cases(url: &str, sink: &mut Sink) -> Vec<Case> {
    let openai = |api| {
        let openai = OpenAi::new().api(api);
        openai.organization(ORGANIZATION).project(PROJECT)
    };
    let responses = marked!(sink, openai(Api::Responses), url).model("openai:gpt-5");
    let chat = marked!(sink, openai(Api::ChatCompletions), url).model("openai:gpt-4.1");
    let azure = Azure::new("mine").deployment("d", "2024-10-21");
    let azure = others!(sink, azure, url).model("azure:gpt-4.1");
    let compat = Compat::new("acme", url).auth(Auth::Header("x-key".to_owned()));
    let compat = others!(sink, compat, url).model("acme:m");
    let anthropic = others!(sink, Anthropic::new().beta("b"), url);
    let gemini = others!(sink, Gemini::new(), url).model("gemini:gemini-2.5-flash");
    let vertex = others!(sink, Gemini::new().vertex("p", "global"), url);
    vec![
        ("responses", Wire::Responses, responses),
        ("chat", Wire::Chat, chat),
        ("azure", Wire::Chat, azure),
        ("compat", Wire::Compat, compat),
        (
            "anthropic",
            Wire::Anthropic,
            anthropic.model("anthropic:claude-sonnet-4-5"),
        ),
        ("gemini", Wire::Gemini, gemini),
        (
            "vertex",
            Wire::Gemini,
            vertex.model("gemini:gemini-2.5-flash"),
        ),
    ]
}

/// An error in each wire's form that says this in every field.
fn in_band(wire: Wire, said: &str) -> String {
    let error = json!({"code": said, "type": said, "status": said, "message": said, "param": said,
        "failed_generation": said, "metadata": {"raw": said}, "details": [{"reason": said, "@type": said}]});
    let frame = match wire {
        Wire::Responses => {
            let response = json!({"id": "r", "status": "failed", "error": error});
            json!({"type": "response.failed", "response": response})
        }
        Wire::Anthropic => json!({"type": "error", "error": error, "request_id": said}),
        Wire::Chat | Wire::Compat | Wire::Gemini => json!({"error": error}),
    };
    wire.frames(&[frame])
}

fn scripts(wire: Wire, key: Key) -> Vec<(&'static str, Script)> {
    let said = all(key);
    let header: String = said.chars().filter(|c| !c.is_control()).collect();
    let body = json!({"request_id": said, "type": said, "message": said, "detail": said, "error": {
        "message": said, "code": said, "type": said, "param": said, "status": said, "failed_generation": said,
        "metadata": {"raw": json!({"error": {"message": said}}).to_string()},
        "details": [{"reason": said}]}})
    .to_string();
    let nested = json!({"error": {"message": "x", "metadata": {"raw": said}}}).to_string();
    let echoes = [
        ("x-request-id", &*header),
        ("retry-after", &*header),
        ("x-ratelimit-limit-requests", &*header),
        ("content-type", &*header),
        ("www-authenticate", &*header),
    ];
    let target = format!("https://user:{TOKEN}@{HOST}.example/{KEY}?key={KEY}#{KEY}");
    let page = format!("<html>{said}");
    let frame = format!("data: {}\n\n", said.replace('\n', " "));
    let large = wire.text(&said.repeat(1 + EVENT_LIMIT / said.len()));
    let document = |value: Value| answer(200, &echoes, value.to_string());
    vec![
        ("good", answer(200, &echoes, wire.stream())),
        ("good document", document(wire.document())),
        ("401", answer(401, &echoes, &body)),
        ("400", answer(400, &echoes, &body)),
        ("429", answer(429, &echoes, &body)),
        ("500", answer(500, &echoes, &nested)),
        ("text", answer(403, &echoes, &said)),
        ("array", answer(503, &echoes, format!("[{body}]"))),
        ("cut body", answer(404, &echoes, &body[..body.len() / 2])),
        ("redirect", answer(302, &[("location", &target)], &page)),
        ("odd redirect", answer(307, &[("location", &header)], "")),
        ("page", answer(200, &echoes, &page)),
        ("another document", document(json!({"x": said}))),
        (
            "error document",
            document(json!({"error": {"message": said, "code": said}})),
        ),
        ("no event", answer(200, &echoes, &frame)),
        (
            "no event later",
            answer(200, &[], [wire.begun(), frame].concat()),
        ),
        ("too large", answer(200, &[], large)),
        ("error first", answer(200, &echoes, in_band(wire, &said))),
        (
            "error later",
            answer(200, &[], [wire.begun(), in_band(wire, &said)].concat()),
        ),
        ("cut", answer(200, &echoes, wire.begun())),
        (
            "broken",
            vec![head(200, &echoes), send(wire.begun()), Do::Reset],
        ),
        ("no HTTP", vec![send(format!("HTTP/1.1 {header}\r\n\r\n"))]),
        (
            "odd header",
            vec![send(format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n"))],
        ),
        (
            "odd chunk",
            vec![
                head(200, &[("transfer-encoding", "chunked")]),
                send(format!("{header}\r\n")),
            ],
        ),
    ]
}

/// Asks in every way, and keeps all that comes out.
async fn ask_all(engine: &Engine, key: Key, sink: &mut Sink) {
    let own = allm::ApiKey::new(CALL_KEY).unwrap().unwrap();
    let (generate, chat) = (|| engine.generate("hi"), || engine.chat("hi"));
    let generate = || match key {
        Key::Configured => generate(),
        Key::OfTheCall => generate()
            .api_key(own.clone())
            .header("x-call", CALL_HEADER),
    };
    let chat = || match key {
        Key::Configured => chat(),
        Key::OfTheCall => chat().api_key(own.clone()).header("x-call", CALL_HEADER),
    };
    sink.debug("generate", &generate());
    sink.debug("chat", &chat());
    sink.answer(&generate().await);
    sink.failure(generate().text().await.err());
    let mut stream = generate().stream();
    sink.debug("stream", &stream);
    while let Some(event) = stream.next().await {
        sink.debug("event", &event);
        sink.json(&event);
        sink.debug("stream", &stream);
    }
    let run = chat().await;
    sink.debug("run", &run);
    match run {
        Ok(result) => {
            sink.json(&result);
            sink.json(&result.thread);
        }
        Err(error) => sink.failure(Some(error)),
    }
}

/// C104 to C107, C144, C173, P65, P85.
#[tokio::test(start_paused = true)]
async fn c104_c105_c106_c107_c144_c173_p65_p85_nothing_comes_out() {
    for number in 0..7 {
        let wire = cases("http://127.0.0.1", &mut Sink::default())[number].1;
        let by_key = [Key::Configured, Key::OfTheCall].map(|key| (key, scripts(wire, key)));
        let all = by_key
            .into_iter()
            .flat_map(|(key, scripts)| scripts.into_iter().map(move |case| (key, case)));
        for (key, (name, script)) in all {
            let mut sink = Sink::default();
            let told = sink.listen();
            let server = Server::start(vec![script]).await;
            let (provider, _, engine) = cases(&server.url, &mut sink).swap_remove(number);
            let engine = engine
                .timeouts(NO_LIMITS)
                .retry(policy())
                .capture_content(Toggle::On);
            sink.debug("builder", &engine);
            let engine = engine.build().unwrap();
            sink.debug("engine", &engine);
            ask_all(&engine, key, &mut sink).await;
            drop(told);
            sink.assert_clean(&format!("{provider}, {name}, {key:?}"));
            // What is sent does hold them, so that the server could have read them there.
            let seen = server.seen();
            let own = match key {
                Key::Configured => KEY,
                Key::OfTheCall => CALL_KEY,
            };
            for sent in [own, HEADER, TOKEN, QUERY] {
                assert!(seen.iter().all(|seen| seen.head.contains(sent)), "{name}");
            }
        }
    }
}

/// C143: a text is cut after it was redacted, so that no half of a key is left at its end.
#[tokio::test(start_paused = true)]
async fn c143_a_key_at_the_cut() {
    for wire in [Wire::Responses, Wire::Chat, Wire::Anthropic, Wire::Gemini] {
        for before in (2048 - KEY.len())..2048 {
            let said = format!("{} {KEY} {}", "x".repeat(before - 1), "y".repeat(99));
            let body = json!({"error": {"message": said, "code": said, "failed_generation": said}});
            for script in [
                answer(400, &[], body.to_string()),
                answer(400, &[], &said),
                answer(200, &[], wire.frames(&[body])),
            ] {
                let server = Server::start(vec![script]).await;
                let engine = wire.engine(&server.url).timeouts(NO_LIMITS);
                let engine = engine.retry(allm::RetryPolicy::none()).build().unwrap();
                let key = allm::ApiKey::new(KEY).unwrap().unwrap();
                let error = engine.generate("hi").api_key(key).await.unwrap_err();
                let shown = format!("{error:?}");
                assert!(!shown.contains(&KEY[..4]), "{wire:?}: {before}: {shown}");
                assert!(shown.contains("[cut: 2"), "{wire:?}: {shown}");
            }
        }
    }
}

/// C104: where nobody listens, and where the address itself is wrong.
#[tokio::test(start_paused = true)]
async fn c104_no_server() {
    for url in [
        "http://127.0.0.1:1",
        "http://nowhere.invalid:1",
        "nonsense",
        "ftp://h",
        "https://h h",
    ] {
        for number in 0..7 {
            let mut sink = Sink::default();
            let told = sink.listen();
            let (provider, _, engine) = cases(url, &mut sink).swap_remove(number);
            match engine.retry(policy()).build() {
                Err(error) => sink.failure(Some(error.into())),
                Ok(engine) => ask_all(&engine, Key::OfTheCall, &mut sink).await,
            }
            drop(told);
            sink.assert_clean(&format!("{provider} at {url}"));
        }
    }
}

/// C161: what the model said belongs to the caller; what is told of it to others has no key in it.
#[tokio::test(start_paused = true)]
async fn c161_what_the_model_says() {
    for wire in [Wire::Responses, Wire::Chat, Wire::Anthropic, Wire::Gemini] {
        let number = match wire {
            Wire::Responses => 0,
            Wire::Chat => 1,
            Wire::Anthropic => 4,
            _ => 5,
        };
        let mut sink = Sink::default();
        let told = sink.listen();
        let said = [wire.begun(), wire.text(KEY), wire.stream()].concat();
        let server = Server::start(vec![answer(200, &[], said)]).await;
        let (_, _, engine) = cases(&server.url, &mut sink).swap_remove(number);
        let engine = engine.timeouts(NO_LIMITS).capture_content(Toggle::On);
        let answered = engine.build().unwrap().generate("hi").await.unwrap();
        assert!(answered.text().contains(KEY) || wire == Wire::Responses);
        drop(told);
        sink.assert_clean(&format!("{wire:?}"));
    }
}

/// C104: nothing of it is printed either.
#[test]
fn c104_nothing_is_printed() {
    let this = std::env::current_exe().unwrap();
    let mut child = std::process::Command::new(this);
    child.args(["--nocapture", "--exact"]);
    child.arg("secrets::c104_c105_c106_c107_c144_c173_p65_p85_nothing_comes_out");
    child.env("RUST_LOG", "trace").env("RUST_BACKTRACE", "1");
    let output = child.output().unwrap();
    assert!(output.status.success());
    let mut sink = Sink::default();
    sink.text("stdout", &String::from_utf8_lossy(&output.stdout));
    sink.text("stderr", &String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    sink.assert_clean("a child");
}
