//! Serving by streamable HTTP.

use std::time::Duration;

use allm_mcp::server::ServeReason;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::asking::books;
use crate::support::web::{Site, call, hello};
use crate::support::{Hold, echo, service, text};

/// M150
#[tokio::test]
async fn a_session_calls_tools() {
    let site = Site::open(service([echo()]), |http| http).await;
    let session = site.session(json!({})).await;
    let answer = site
        .post(&[&session], &call(1, "echo", json!({"text": "hi"})))
        .await;
    assert_eq!(answer.status, 200);
    let messages = answer.messages();
    assert_eq!(messages.len(), 1, "{answer:?}");
    assert_eq!(
        messages[0]["result"]["structuredContent"],
        json!({"text": "hi"})
    );
    // And is over when it is deleted.
    assert_eq!(
        site.send("DELETE", "/mcp", &[&session], "").await.status,
        202
    );
    let late = call(2, "echo", json!({"text": "hi"}));
    assert_eq!(site.post(&[&session], &late).await.status, 404);
}

/// M150
#[tokio::test]
async fn a_client_of_the_newest_version_needs_no_session() {
    let site = Site::open(service([echo()]), |http| http).await;
    let answer = site
        .post(&stateless("echo"), &stateless_call("echo", "hi"))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let messages = answer.messages();
    assert_eq!(
        messages[0]["result"]["structuredContent"],
        json!({"text": "hi"})
    );
}

fn stateless(tool: &str) -> Vec<&'static str> {
    let name: &'static str = match tool {
        "echo" => "Mcp-Name: echo",
        _ => "Mcp-Name: hold",
    };
    vec![
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        name,
    ]
}

fn stateless_call(tool: &str, said: &str) -> Value {
    let mut call = call(1, tool, json!({"text": said}));
    call["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    call
}

/// M120, M150
#[tokio::test]
async fn a_question_comes_on_the_stream_of_its_call() {
    let site = Site::open(service([books()]), |http| http).await;
    let session = site.session(json!({"elicitation": {}})).await;
    let call = call(7, "book", json!({}));
    let stream = site
        .begin("POST", "/mcp", &[&session], &call.to_string())
        .await;
    let mut lines = BufReader::new(stream).lines();
    let mut asked = Vec::new();
    let result = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        let Some(message) = line
            .strip_prefix("data: ")
            .and_then(|data| serde_json::from_str::<Value>(data).ok())
        else {
            continue;
        };
        if message["id"] == json!(7) && message.get("result").is_some() {
            break message["result"].clone();
        }
        assert_eq!(message["method"], json!("elicitation/create"));
        asked.push(message["params"]["message"].clone());
        let content = json!({"answer": format!("answer {}", asked.len())});
        let answer = json!({
            "jsonrpc": "2.0",
            "id": message["id"],
            "result": {"action": "accept", "content": content}
        });
        assert_eq!(site.post(&[&session], &answer).await.status, 202);
    };
    assert_eq!(asked, [json!("Window or aisle?"), json!("When?")]);
    assert_eq!(
        result["structuredContent"],
        json!({"seat": "answer 1", "when": "answer 2"})
    );
}

/// M184
#[tokio::test]
async fn a_session_is_kept_while_a_person_is_asked() {
    let site = Site::open(service([books()]), |http| http).await;
    let session = site.session(json!({"elicitation": {}})).await;
    let call = call(7, "book", json!({}));
    let stream = site
        .begin("POST", "/mcp", &[&session], &call.to_string())
        .await;
    let mut lines = BufReader::new(stream).lines();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let line = lines.next_line().await.unwrap().expect("a line");
        let data = line.strip_prefix("data: ");
        let Some(message) = data.and_then(|data| serde_json::from_str::<Value>(data).ok()) else {
            continue;
        };
        if message["method"] == json!("elicitation/create") {
            // Nine of the ten minutes that a person has.
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(540)).await;
            tokio::time::resume();
            let result = json!({"action": "accept", "content": {"answer": "yes"}});
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            assert_eq!(site.post(&[&session], &answer).await.status, 202);
        }
        seen.push(message);
    }
    assert_eq!(
        seen[2]["result"]["structuredContent"],
        json!({"seat": "yes", "when": "yes"})
    );
}

/// M151
#[tokio::test]
async fn an_address_that_others_reach_wants_a_token() {
    let open = service([echo()]).http("0.0.0.0:0").bind().await;
    let error = open.unwrap_err();
    assert_eq!(error.reason(), ServeReason::InvalidConfig);
    assert!(error.to_string().contains("no bearer token"), "{error}");
    let told = service([echo()]).http("0.0.0.0:0").bearer_token("t");
    let listening = told.bind().await.unwrap();
    assert!(listening.url().starts_with("http://127.0.0.1:"));
    let told = service([echo()]).http("0.0.0.0:0").without_token();
    assert!(told.bind().await.is_ok());
}

/// M151
#[tokio::test]
async fn what_cannot_be_listened_on_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = service([echo()]).http(address).bind().await.unwrap_err();
    assert_eq!(error.reason(), ServeReason::Address);
    for wrong in ["mcp", "/a?b"] {
        let http = service([echo()]).http("127.0.0.1:0").path(wrong);
        assert_eq!(
            http.bind().await.unwrap_err().reason(),
            ServeReason::InvalidConfig
        );
    }
    let empty = service([echo()]).http("127.0.0.1:0").bearer_token("");
    assert_eq!(
        empty.bind().await.unwrap_err().reason(),
        ServeReason::InvalidConfig
    );
}

/// M152
#[tokio::test]
async fn without_the_token_nobody_is_answered() {
    let site = Site::open(service([echo()]), |http| http.bearer_token("s3cret")).await;
    for lines in [
        vec![],
        vec!["Authorization: Bearer wrong"],
        vec!["Authorization: Bearer "],
        vec!["Authorization: Basic s3cret"],
        vec!["Authorization: s3cret"],
        vec![
            "Authorization: Bearer s3cret",
            "Authorization: Bearer wrong",
        ],
    ] {
        let answer = site.post(&lines, &hello(json!({}))).await;
        assert_eq!(answer.status, 401, "{lines:?}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert!(!answer.body.contains("s3cret"));
    }
    for line in [
        "Authorization: Bearer s3cret",
        "authorization: bearer s3cret",
    ] {
        assert_eq!(site.post(&[line], &hello(json!({}))).await.status, 200);
    }
}

/// M153
#[tokio::test]
async fn a_page_from_elsewhere_is_refused() {
    let site = Site::open(service([echo()]), |http| {
        http.allow_host("tools.example.com")
            .allow_origin("https://app.example.com:443")
    })
    .await;
    let port = site.address.port();
    for (lines, status) in [
        (vec!["Host: evil.example"], 403),
        (vec!["Host: evil.example:80"], 403),
        (vec!["Origin: http://evil.example"], 403),
        (vec!["Origin: null"], 403),
        (vec!["Origin: https://localhost"], 403),
        (vec!["Origin: http://localhost.evil.example"], 403),
        (vec!["Origin: https://app.example.com:444"], 403),
        (vec!["Origin: http://localhost:3000"], 200),
        (vec!["Origin: https://app.example.com"], 200),
        (vec!["Host: tools.example.com"], 200),
    ] {
        let answer = site.post(&lines, &hello(json!({}))).await;
        assert_eq!(answer.status, status, "{lines:?}");
    }
    let host = format!("Host: localhost:{port}");
    assert_eq!(site.post(&[&host], &hello(json!({}))).await.status, 200);
}

/// M154
#[tokio::test]
async fn there_is_one_path() {
    let site = Site::open(service([echo()]), |http| http.path("/tools")).await;
    let hello = hello(json!({})).to_string();
    for (method, path, status) in [
        ("POST", "/mcp", 404),
        ("POST", "/", 404),
        ("POST", "/tools/", 404),
        ("POST", "/tools", 200),
        ("PUT", "/tools", 405),
    ] {
        let answer = site.send(method, path, &[], &hello).await;
        assert_eq!(answer.status, status, "{method} {path}");
    }
}

/// M141
#[tokio::test]
async fn a_message_that_is_too_long_is_refused() {
    let site = Site::open(service([echo()]).max_message(1000), |http| http).await;
    let session = site.session(json!({})).await;
    let long = call(1, "echo", json!({"text": "x".repeat(5000)}));
    assert_eq!(site.post(&[&session], &long).await.status, 413);
    let short = call(2, "echo", json!({"text": "x"}));
    assert_eq!(site.post(&[&session], &short).await.status, 200);
}

/// M140, M143
#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let site = Site::open(service([echo()]), |http| http).await;
    for body in ["", "{", "42", "[]"] {
        let answer = site.send("POST", "/mcp", &[], body).await;
        assert!((400..500).contains(&answer.status), "{body}: {answer:?}");
    }
    // A call before the beginning, and one of a session that is not there.
    let call = call(1, "echo", json!({"text": "x"}));
    assert_eq!(site.post(&[], &call).await.status, 400);
    let gone = "Mcp-Session-Id: 00000000-0000-0000-0000-000000000000";
    assert_eq!(site.post(&[gone], &call).await.status, 404);
}

/// M155
#[tokio::test]
async fn there_may_be_so_many_clients() {
    let site = Site::open(service([echo()]), |http| http.max_clients(2)).await;
    let first = site.session(json!({})).await;
    site.session(json!({})).await;
    assert_eq!(site.post(&[], &hello(json!({}))).await.status, 503);
    // Those that are there, and those that need no session, go on.
    let call = call(1, "echo", json!({"text": "x"}));
    assert_eq!(site.post(&[&first], &call).await.status, 200);
    let answer = site
        .post(&stateless("echo"), &stateless_call("echo", "x"))
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(site.send("DELETE", "/mcp", &[&first], "").await.status, 202);
    assert_eq!(site.post(&[], &hello(json!({}))).await.status, 200);
}

/// M156
#[tokio::test]
async fn a_client_of_the_newest_version_that_vanishes_stops_its_call() {
    let hold = Hold::new();
    let site = Site::open(service([hold.tool()]), |http| http).await;
    let call = stateless_call("hold", "x").to_string();
    let stream = site.begin("POST", "/mcp", &stateless("hold"), &call).await;
    hold.began().await;
    drop(stream);
    tokio::time::timeout(Duration::from_secs(20), hold.was_fired())
        .await
        .unwrap();
}

/// M130, M156
#[tokio::test]
async fn a_call_of_a_session_outlives_its_connection_until_it_is_cancelled() {
    let hold = Hold::new();
    let site = Site::open(service([hold.tool()]), |http| http).await;
    let session = site.session(json!({})).await;
    let call = call(9, "hold", json!({})).to_string();
    let stream = site.begin("POST", "/mcp", &[&session], &call).await;
    hold.began().await;
    drop(stream);
    assert_eq!(hold.fired.available_permits(), 0);
    let cancel = json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 9}
    });
    assert_eq!(site.post(&[&session], &cancel).await.status, 202);
    tokio::time::timeout(Duration::from_secs(20), hold.was_fired())
        .await
        .unwrap();
}

/// M157
#[tokio::test]
async fn a_service_that_stops_lets_calls_end_and_closes() {
    let hold = Hold::new();
    let site = Site::open(service([hold.tool()]), |http| http).await;
    let session = site.session(json!({})).await;
    let call = call(3, "hold", json!({}));
    let lines = [session.as_str()];
    let (answer, ()) = tokio::join!(site.post(&lines, &call), async {
        hold.began().await;
        site.cancel.cancel();
        hold.go.add_permits(1);
    });
    assert_eq!(text(&answer.messages()[0]["result"]), "held");
    tokio::time::timeout(Duration::from_secs(20), site.served)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert!(tokio::net::TcpStream::connect(site.address).await.is_err());
}

/// M157
#[tokio::test]
async fn a_call_that_does_not_end_is_stopped() {
    let hold = Hold::new();
    let site = Site::open(service([hold.tool()]), |http| http).await;
    let session = site.session(json!({})).await;
    let call = call(3, "hold", json!({})).to_string();
    let _stream = site.begin("POST", "/mcp", &[&session], &call).await;
    hold.began().await;
    site.cancel.cancel();
    tokio::time::timeout(Duration::from_secs(20), hold.was_fired())
        .await
        .unwrap();
    tokio::time::timeout(Duration::from_secs(20), site.served)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
}

/// M144
#[tokio::test]
async fn a_hundred_clients_at_once_are_answered() {
    let site = Site::open(service([echo()]), |http| http).await;
    let calls = (0..100).map(|number| {
        let site = &site;
        async move {
            let session = site.session(json!({})).await;
            let said = format!("call {number}");
            let call = call(number, "echo", json!({"text": said}));
            let answer = site.post(&[&session], &call).await;
            let messages = answer.messages();
            assert_eq!(
                messages[0]["result"]["structuredContent"],
                json!({"text": said})
            );
        }
    });
    for call in calls.collect::<Vec<_>>() {
        call.await;
    }
}
